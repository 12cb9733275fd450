"""What a person may be about to type: tags by use, keys, and values of keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.search.keys import ALIASES, KEYS, TAG_KEYS, Key
from appliance.search.plan import Scope
from appliance.search.query import show_leaf
from appliance.search.tree import Tag
from appliance.tagging import services as tagging
from appliance.tagging.services import Completion, name_key


if TYPE_CHECKING:
    from asyncpg import Connection


LONGEST = 200
"""A longer word is no beginning of anything."""


class Suggestion(msgspec.Struct, frozen=True):
    """One line below the search box; `insert` takes the place of the text from `start` to `end`."""

    insert: str
    label: str
    kind: str
    """The kind of a tag, `key`, `value`, or `prefix` for all tags that begin so."""
    count: int | None
    note: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Fragment:
    """The unfinished word before the caret."""

    start: int
    end: int
    key: str
    text: str


async def complete(
    sql: Connection[Any], text: str, at: int, scope: Scope, *, limit: int = 8
) -> list[Suggestion]:
    """Suggestions for the word in which the caret stands; none where nothing was begun."""
    word = _fragment(text, max(0, min(at, len(text))))
    if len(word.text) > LONGEST:
        return []
    key = ALIASES.get(word.key, word.key)
    if key in KEYS and not (key == "rating" and word.text[:1].isalpha()):
        return _values(KEYS[key], word, scope)[:limit]
    kind = key if key in TAG_KEYS and key != "tag" else None
    if key and key not in TAG_KEYS:
        word, kind = _Fragment(word.start, word.end, "", f"{word.key}:{word.text}"), None
    tags = await _tags(sql, word, kind, scope, limit=limit)
    return [*tags, *_all_so(word, kind, tags), *([] if key else _keys(word))]


def _fragment(text: str, at: int) -> _Fragment:
    begin, quote = 0, -1
    for position, c in enumerate(text[:at]):
        if c == '"' and (quote >= 0 or position == begin or text[position - 1] == ":"):
            quote = -1 if quote >= 0 else position
        elif quote < 0 and (c.isspace() or (c in "(-" and position == begin)):
            begin = position + 1
    end = at
    while end < len(text) and quote < 0 and not text[end].isspace() and text[end] not in ')"':
        end += 1
    word = text[begin:at]
    if word.startswith('"'):
        return _Fragment(begin, end, "", word.replace('"', ""))
    key, colon, value = word.partition(":")
    if not colon:
        return _Fragment(begin, end, "", word)
    return _Fragment(begin, end, key.casefold(), value.replace('"', ""))


def _values(key: Key, word: _Fragment, scope: Scope) -> list[Suggestion]:
    begun = word.text.casefold()
    return [
        Suggestion(
            f"{key.name}:{value}", f"{key.name}:{value}", "value", None, key.about, word.start, word.end
        )
        for value in key.examples
        if value.startswith(begun) and (scope.admin or value not in key.limited)
    ]


def _keys(word: _Fragment) -> list[Suggestion]:
    begun = word.text.casefold()
    names = [n for n in KEYS if begun and n.startswith(begun)]
    return [Suggestion(f"{n}:", f"{n}:", "key", None, KEYS[n].about, word.start, word.end) for n in names[:4]]


async def _tags(
    sql: Connection[Any], word: _Fragment, kind: str | None, scope: Scope, *, limit: int
) -> list[Suggestion]:
    begun = word.text.removesuffix("*")
    if not name_key(begun):
        return []
    found = await tagging.complete(sql, begun, kind=kind, limit=limit if scope.admin else 3 * limit)
    # The name alone of a tag on hidden pictures tells a viewer something.
    found = [c for c in found if scope.admin or c.tag.uses > 0][:limit]
    keys = [name_key(c.tag.name) for c in found]
    return [_tag(c, word, kind, alone=keys.count(name_key(c.tag.name)) == 1) for c in found]


def _tag(c: Completion, word: _Fragment, kind: str | None, *, alone: bool) -> Suggestion:
    insert = show_leaf(Tag(c.tag.name, kind if alone else c.tag.kind))
    notes = [c.tag.fandom or "", f"also called {c.alias}" if c.alias else ""]
    note = ", ".join(n for n in notes if n)
    return Suggestion(insert, c.tag.name, c.tag.kind, c.tag.uses, note, word.start, word.end)


def _all_so(word: _Fragment, kind: str | None, tags: list[Suggestion]) -> list[Suggestion]:
    begun = word.text.removesuffix("*").strip()
    plain = begun and not any(c.isspace() or c in '()*"' for c in begun) and begun[0] != "-"
    if len(tags) < 2 or not plain:
        return []
    text = f"{kind}:{begun}*" if kind else f"{begun}*"
    return [Suggestion(text, text, "prefix", None, "every tag that begins so", word.start, word.end)]
