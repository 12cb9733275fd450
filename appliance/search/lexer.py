"""Search text to tokens, each with its place in the text."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from appliance.search.errors import SearchError


LONGEST = 2000
"""More is not typed by a person, and fits no address."""
OR_WORDS = frozenset({"or", "|"})


@dataclass(frozen=True, slots=True)
class Token:
    """One piece: `(`, `)`, `or`, `-`, or a `word` whose parts are given without their quotes."""

    kind: str
    start: int
    end: int
    text: str = ""
    key: str = ""
    """What stands before the colon of a word, folded; empty where there is none."""
    value: str = ""
    """What stands behind it."""
    quoted: bool = False
    """Whether the text, or the value where there is a key, stood in quotes."""
    value_start: int = 0


def tokens(text: str) -> list[Token]:
    """All tokens; refuses what cannot be one, at its place."""
    _check(text)
    found, at = [], 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        token = _token(text, at)
        found.append(token)
        at = token.end
    return found


def _check(text: str) -> None:
    if len(text) > LONGEST:
        raise SearchError(
            f"A search has at most {LONGEST} characters", "Leave something out.", start=LONGEST, end=len(text)
        )
    for at, c in enumerate(text):
        if unicodedata.category(c) in ("Cc", "Cs") and not c.isspace():
            raise SearchError("There is an unreadable character", "Remove it.", start=at, end=at + 1)


def _token(text: str, at: int) -> Token:
    if text[at] in "()":
        return Token(text[at], at, at + 1)
    if text[at] == "-":
        return Token("-", at, at + 1)
    if text[at] == '"':
        value, end = _quoted(text, at)
        return Token("word", at, _must_end(text, end), text=value, quoted=True, value_start=at)
    return _word(text, at)


def _word(text: str, start: int) -> Token:
    at, depth = start, 0
    while at < len(text) and not text[at].isspace():
        if text[at] == '"' and text[at - 1] == ":":
            key = text[start : at - 1]
            value, end = _quoted(text, at)
            end = _must_end(text, end)
            written = f"{key}:{value}"
            return Token("word", start, end, written, key.casefold(), value, quoted=True, value_start=at)
        # Names such as `saber_(fate)` keep their parentheses; one too many closes a group.
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth < 0:
            break
        at += 1
    if depth > 0:
        raise SearchError(
            "A parenthesis in a word is not closed", "Put the word in quotes.", start=start, end=at
        )
    word = text[start:at]
    if word.casefold() in OR_WORDS:
        return Token("or", start, at)
    key, colon, value = word.partition(":")
    if not colon:
        return Token("word", start, at, word, value_start=start)
    return Token("word", start, at, word, key.casefold(), value, value_start=start + len(key) + 1)


def _quoted(text: str, start: int) -> tuple[str, int]:
    out, at = [], start + 1
    while at < len(text):
        if text[at] == "\\" and text[at + 1 : at + 2] in ('"', "\\"):
            out.append(text[at + 1])
            at += 2
        elif text[at] == '"':
            return "".join(out), at + 1
        else:
            out.append(text[at])
            at += 1
    raise SearchError("A quotation is not closed", 'Add a " at its end.', start=start, end=len(text))


def _must_end(text: str, at: int) -> int:
    if at < len(text) and not text[at].isspace() and text[at] != ")":
        raise SearchError(
            "Something follows a quotation directly", "Put a space between.", start=at, end=at + 1
        )
    return at


def written(value: str) -> str:
    """A value as it can be typed: in quotes only where it must be."""
    if value and not _needs_quotes(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _needs_quotes(value: str) -> bool:
    depth = 0
    for c in value:
        depth += {"(": 1, ")": -1}.get(c, 0)
        if depth < 0 or c.isspace():
            return True
    return bool(depth) or value[0] in '-("' or value.casefold() in OR_WORDS or ':"' in value or "*" in value
