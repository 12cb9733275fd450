"""Reading a file that describes another file: XMP, the JSON of a downloader, or lines of tags."""

from __future__ import annotations

import codecs
import hashlib
import json
import os
import re
from collections.abc import Callable
from typing import Any

import msgspec

from appliance.media import posts, reading, xmp
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.said import LONGEST_TITLE, MOST_READ, MOST_TAGS, Said, line
from appliance.media.wire import Described, DescribeRequest


MOST_BYTES = 4 << 20
_WORDS_OF_A_TAG = 6
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# How others call kinds of tags.
_SPACES = {"creator": "artist", "copyright": "fandom", "studio": "artist"}


def describe(request: DescribeRequest) -> Described:
    """Read and understand a sidecar; what makes no sense says why, and a file that is gone fails."""
    content = _content(request)
    digest = hashlib.sha256(content).digest()
    if not content.strip():
        return Described(digest, Said())
    try:
        return Described(digest, _READERS[request.kind](content))
    except _Senseless as problem:
        return Described(digest, None, str(problem), damaged=isinstance(problem, _Damaged))
    except Exception as error:  # noqa: BLE001
        # Whatever such a file holds, it costs its own words and nothing else.
        return Described(digest, None, f"it cannot be understood ({type(error).__name__})")


class _Senseless(Exception):
    """The content says nothing about another file."""


class _Damaged(_Senseless):
    """The content is not even of the kind that its name announces."""


def _content(request: DescribeRequest) -> bytes:
    try:
        source = reading.open_source(request.path, request.expect)
    except MediaFailure as failure:
        if failure.reason is Reason.EMPTY:
            return b""
        raise
    try:
        if source.size > MOST_BYTES:
            raise MediaFailure(Reason.TOO_LARGE, f"{source.size >> 20} MiB > {MOST_BYTES >> 20} MiB")
        content = os.pread(source.descriptor, MOST_BYTES, 0)
        source.check_unchanged()
        return content
    finally:
        source.close()


def _of_xmp(content: bytes) -> Said:
    known, problem = xmp.fields(content, MOST_BYTES)
    if problem is not None:
        raise _Damaged(f"its XML is damaged ({problem})")
    found = xmp.interpreted(known)
    found.at_most(MOST_TAGS)
    return found


def _json(content: bytes) -> Any:
    text = content.removeprefix(codecs.BOM_UTF8).decode()
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        if "\\ud" not in text.lower():
            raise
        # Half an emoji, where a site cut a title: only the standard library reads over it.
        return json.loads(text)


def _of_json(content: bytes) -> Said:
    try:
        value = _json(content)
    except UnicodeDecodeError:
        raise _Damaged("it is not written in UTF-8") from None
    except (ValueError, RecursionError):
        raise _Damaged("it is not JSON, or not all of it") from None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        raise _Senseless("its JSON describes no post")
    return posts.said(value)


def _of_text(content: bytes) -> Said:
    """Tags by line or comma; sentences are no tags, and what Vitrine has its own word for keeps it."""
    found = Said()
    pieces = [piece for piece in re.split(r"[\n\r,]+", _decoded(content)) if piece.strip()]
    if len(pieces) > MOST_READ:
        raise _Senseless("it is no list of tags")
    for piece in pieces:
        text = line(piece, 400)
        space, colon, name = (p.strip() for p in text.partition(":"))
        key = space.casefold() if colon and name else ""
        if not text or text.startswith("#") or key == "rating":
            continue
        if key == "title":
            found.title = line(name, LONGEST_TITLE)
        elif key in ("source", "url", "http", "https"):
            _source(found, text if key in ("http", "https") else name)
        elif len(text.split()) <= _WORDS_OF_A_TAG:
            found.tag([f"{_SPACES[key]}:{name}" if key in _SPACES else text])
    found.at_most(MOST_TAGS)
    return found


def _source(found: Said, text: str) -> None:
    address = posts.address_of(text)
    known = found.facts.setdefault("sources", []) if address else []
    if address and address not in known and len(known) < posts.MOST_SOURCES:
        known.append(address)


def _decoded(content: bytes) -> str:
    for mark, name in _MARKS.items():
        if content.startswith(mark):
            return content.decode(name, "replace")
    if b"\0" in content:
        raise _Senseless("it is not text")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


_READERS: dict[str, Callable[[bytes], Said]] = {"xmp": _of_xmp, "json": _of_json, "txt": _of_text}
KINDS = tuple(_READERS)
"""File name extensions of what is read, without a dot."""
