"""Every text is a search or is refused at a place in it; what is understood can be written again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.search.errors import SearchError
from appliance.search.grammar import parse
from appliance.search.lexer import LONGEST
from appliance.search.query import Query


pieces = st.lists(
    st.sampled_from(
        [
            "fox",
            "-",
            "(",
            ")",
            " ",
            " ",
            "or",
            "|",
            '"',
            "\\",
            "*",
            ":",
            "artist:",
            "rating:",
            "4",
            ">=3",
            "date:",
            "2024-02",
            "..",
            "is:favourite",
            "sort:size",
            "sort:random:7",
            "size:>5mb",
            "Ä",
            "😀",
            "\0",
            "\ud800",
            "\x1c",
            "\n",
        ]
    ),
    max_size=14,
).map("".join)


@given(st.one_of(st.text(max_size=60), pieces))
def test_every_text_is_a_search_or_is_refused_at_a_place(text: str) -> None:
    try:
        query = parse(text)
    except SearchError as refused:
        assert 0 <= refused.start <= refused.end <= len(text)
        assert refused.title
        return
    again = parse(query.text)
    assert (again.node, again.sort) == (query.node, query.sort)
    assert again.text == query.text
    for term in query.terms:
        assert 0 <= term.start < term.end <= len(text)
        parse(query.without(term))


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("fox rating:9", 4, 12),
        ("rating:", 0, 7),
        ("fox )", 4, 5),
        ("(fox", 0, 1),
        ("fox ()", 4, 6),
        ("fox or", 4, 6),
        ("or fox", 0, 2),
        ("a or or b", 2, 4),
        ("fox -", 4, 5),
        ("fox - wolf", 4, 5),
        ("--fox", 0, 2),
        ('fox "red', 4, 8),
        ('"red"fox', 5, 6),
        ("re*d", 0, 4),
        ("*", 0, 1),
        ("artist:", 0, 7),
        ("(fox sort:size)", 5, 14),
        ("a or sort:size b", 5, 14),
        ("sort:size sort:date", 10, 19),
        ("sort:colour", 0, 11),
        ("sort:date:4", 0, 11),
        ("sort:random:99999999999", 0, 23),
        ("is:happy", 0, 8),
        ("width:wide", 0, 10),
        ("width:5..2", 0, 10),
        ("ratio:1:0", 0, 9),
        ("size:5tb", 0, 8),
        ("date:2024-13", 0, 12),
        ("date:..", 0, 7),
        ("type:smell", 0, 10),
        ("folder:", 0, 7),
        ("a\0b", 1, 2),
        ("fox \ud800", 4, 5),
        (":(", 0, 2),
    ],
)
def test_a_refusal_stands_under_the_words_that_it_concerns(text: str, start: int, end: int) -> None:
    with pytest.raises(SearchError) as refused:
        parse(text)
    assert (refused.value.start, refused.value.end) == (start, end)
    assert refused.value.hint


def test_a_wrong_value_names_the_right_ones() -> None:
    with pytest.raises(SearchError) as refused:
        parse("rating:9")
    assert refused.value.title == "rating: does not understand “9”"
    assert refused.value.hint.startswith("Rating is 0 to 5")


@pytest.mark.parametrize(
    "text",
    [
        "a" * (LONGEST + 1),
        "fox " * 600,
        "(" * 1000,
        "(" * 1000 + "a" + ")" * 1000,
        "-(" * 900 + "a",
        "a or " * 300 + "b",
    ],
)
def test_what_is_too_much_is_refused_and_breaks_nothing(text: str) -> None:
    with pytest.raises(SearchError) as refused:
        parse(text)
    assert refused.value.start < len(text)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("  fox   snow ", "fox snow"),
        ("(fox snow) wolf", "fox snow wolf"),
        ("fox OR wolf | bear", "fox or wolf or bear"),
        ("(a or (b or c)) -d", "(a or b or c) -d"),
        ("a b or c", "a b or c"),
        ("a (b or c)", "a (b or c)"),
        ("-(a b)", "-(a b)"),
        ("-(-a)", "a"),
        ('"fox"', "fox"),
        ('"red fox"', '"red fox"'),
        ('"or"', '"or"'),
        ('"-fox"', '"-fox"'),
        ('"date:2024"', '"date:2024"'),
        ('"fox*"', '"fox*"'),
        (r'"a \"b\" \\c"', r'"a \"b\" \\c"'),
        ("saber_(fate)", "saber_(fate)"),
        ("(saber_(fate) or rin)", "saber_(fate) or rin"),
        ("re:zero", "re:zero"),
        ("Artist:Anna", "artist:Anna"),
        ("artist:an*", "artist:an*"),
        ("tag:fox", "fox"),
        ("rating:safe", "rating:safe"),
        ("how:upload", "source:upload"),
        ('folder:"my photos"', 'folder:"my photos"'),
        ("sort:size fox", "fox sort:size"),
        ("-sort:random:007", "-sort:random:7"),
        ("", ""),
    ],
)
def test_a_search_has_one_canonical_text(text: str, canonical: str) -> None:
    assert parse(text).text == canonical


def test_terms_are_chips_with_their_places() -> None:
    query = parse('fox -"red fox" artist:an* (rating:>=3 or is:favourite) sort:size')
    shown = [(t.text, t.key, t.value, t.kind, t.negated, t.prefix) for t in query.terms]
    assert shown == [
        ("fox", "", "fox", "tag", False, False),
        ('-"red fox"', "", "red fox", "tag", True, False),
        ("artist:an*", "artist", "an", "tag", False, True),
        ("rating:>=3", "rating", ">=3", "filter", False, False),
        ("is:favourite", "is", "favourite", "filter", False, False),
        ("sort:size", "sort", "size", "sort", False, False),
    ]
    assert [query.source[t.start : t.end] for t in query.terms] == [t.text for t in query.terms]


def test_a_chip_is_taken_away_and_its_like_stays() -> None:
    query = parse("fox (wolf or -bear) fox sort:size")
    assert [query.without(t) for t in query.terms] == [
        "(wolf or -bear) fox sort:size",
        "fox -bear fox sort:size",
        "fox wolf fox sort:size",
        "fox (wolf or -bear) sort:size",
        "fox (wolf or -bear) fox",
    ]


@pytest.mark.parametrize(
    ("before", "more", "instead", "after"),
    [
        ("", "fox", (), "fox"),
        ("fox", "fox", (), "fox"),
        ("a or b", "fox", (), "(a or b) fox"),
        ("fox", "sort:size", (), "fox sort:size"),
        ("fox sort:date", "sort:size", (), "fox sort:size"),
        ("type:image fox", "type:video", ("type",), "fox type:video"),
        ("-type:image fox", "", ("type", "sort"), "fox"),
    ],
)
def test_something_is_added_to_a_search(before: str, more: str, instead: tuple[str, ...], after: str) -> None:
    assert parse(before).with_(more, instead=instead) == after


def test_a_random_order_gets_its_seed_once() -> None:
    query = parse("fox sort:random")
    assert query.needs_seed
    assert query.seeded(7) == "fox sort:random:7"
    assert not parse(query.seeded(7)).needs_seed
    assert Query().seeded(7) == ""
