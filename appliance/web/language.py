"""The page that teaches the search: every line of it is an example that works."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """Examples and what they find."""

    examples: tuple[str, ...]
    words: str


class Part(NamedTuple):
    """One subject of the language."""

    title: str
    lead: str
    lines: tuple[Line, ...]


LANGUAGE = (
    Part(
        "Tags",
        "",
        (
            Line(("cat dog",), "Both tags."),
            Line(("cat -dog",), "The first without the second."),
            Line(("cat or dog",), "At least one of them."),
            Line(("(cat or dog) -sleeping",), "Groups stand in brackets."),
            Line(
                ('"winter coat"', "winter_coat"), "A name of several words: in quotes, or with underscores."
            ),
            Line(("win*",), "Every tag that begins so."),
            Line(
                ("artist:northlight",), "A tag of one kind: artist, character, fandom, series, meta, general."
            ),
            Line(("tags:0", "tags:>=5"), "By how many tags a picture has."),
        ),
    ),
    Part(
        "What it is",
        "",
        (
            Line(("type:image", "type:video", "type:animation"), "Pictures, videos, moving pictures."),
            Line(("type:volume", "type:page"), "Comics and other volumes; their pages, for administrators."),
            Line(("rating:5", "rating:>=3", "rating:0"), "Your stars; 0 is not rated."),
            Line(("is:favourite", "is:untagged"), "Favourites; without any tag."),
            Line(
                ("width:>2000", "mpx:>=12", "ratio:16:9"), "Its size in pixels, millions of them, its shape."
            ),
            Line(("size:>5mb", "duration:10s..2m"), "The size of its file, the length of a video."),
        ),
    ),
    Part(
        "When and where",
        "",
        (
            Line(("date:2024", "date:2024-05", "date:2023..2024"), "When it was taken."),
            Line(("added:<7d", "added:2026-11"), "When it came into the collection."),
            Line(('folder:"holidays"',), "In a folder of that name, or below it."),
            Line(('text:"lost key"',), "Words of its title, its note or its file name."),
        ),
    ),
    Part(
        "In which order",
        "Without a word about it, the newest come first.",
        (
            Line(
                ("sort:added", "sort:rating", "sort:size", "sort:duration"),
                "Newest here, best, largest, longest first.",
            ),
            Line(("-sort:date",), "A minus turns an order round."),
            Line(("sort:random:7",), "Shuffled; the same number shuffles the same way again."),
        ),
    ),
)
ADMIN = Part(
    "What the gallery does not show",
    "Only administrators find these.",
    (Line(("is:archived", "is:trashed", "is:private"), "Put aside, thrown away, kept from viewers."),),
)
