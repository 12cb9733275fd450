"""The keys of the grammar: how each reads its value, and the words that help with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from appliance.search import values
from appliance.search.values import BadValue, Range, Value, Word
from appliance.tagging.names import KINDS


@dataclass(frozen=True, slots=True)
class Key:
    """One key: `hint` is the way out of a wrong value, `examples` are offered while typing."""

    name: str
    read: Callable[[str], Value]
    about: str
    hint: str
    examples: tuple[str, ...] = ()
    limited: frozenset[str] = frozenset()
    """Values that only administrators may use."""


TYPES: Mapping[str, str] = {
    "image": "still",
    "still": "still",
    "picture": "still",
    "photo": "still",
    "video": "video",
    "animation": "animation",
    "animated": "animation",
    "volume": "volume",
    "comic": "volume",
    "page": "page",
}
FORMATS: Mapping[str, tuple[str, ...]] = {
    "jpeg": ("image/jpeg",),
    "jpg": ("image/jpeg",),
    "png": ("image/png", "image/apng"),
    "gif": ("image/gif",),
    "webp": ("image/webp",),
    "avif": ("image/avif",),
    "heic": ("image/heic", "image/heif"),
    "jxl": ("image/jxl",),
    "tiff": ("image/tiff",),
    "bmp": ("image/bmp",),
    "mp4": ("video/mp4",),
    "mov": ("video/quicktime",),
    "webm": ("video/webm",),
    "mkv": ("video/x-matroska",),
    "avi": ("video/x-msvideo",),
    "mpeg": ("video/mpeg", "video/mp2t"),
    "wmv": ("video/x-ms-asf",),
    "flv": ("video/x-flv",),
    "ogv": ("video/ogg",),
}
MARKS: Mapping[str, str] = {
    "favourite": "favourite",
    "favorite": "favourite",
    "inbox": "inbox",
    "kept": "kept",
    "archived": "archived",
    "trashed": "trashed",
    "trash": "trashed",
    "private": "private",
    "missing": "missing",
    "tagged": "tagged",
    "untagged": "untagged",
    "rated": "rated",
    "unrated": "unrated",
    "undated": "undated",
    "duplicate": "duplicate",
    "duplicate-free": "duplicate-free",
    "broken": "broken",
    "portrait": "portrait",
    "landscape": "landscape",
    "square": "square",
    "titled": "titled",
    "noted": "noted",
}
WORLDS = frozenset({"archived", "trashed", "private"})
"""Marks of what the timeline does not show."""
PAGES = frozenset({"page"})
"""The type of what is shown within volumes only; a world as well."""
SORTS = ("date", "added", "rating", "size", "duration", "random")
HOWS = ("folder", "upload", "subscription")
SIZES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
SEEDS = 2**31
TEXT_LONGEST = 200


def _one_of(known: Mapping[str, str]) -> Callable[[str], Word]:
    def read(text: str) -> Word:
        if text.casefold() not in known:
            raise BadValue
        return Word(known[text.casefold()])

    return read


def _words(*known: str) -> Callable[[str], Word]:
    return _one_of({k: k for k in known})


def _numbers(read: values.Reader, low: int = 0, high: int | None = None) -> Callable[[str], Range]:
    def reader(text: str) -> Range:
        found = values.number_range(text.casefold(), read)
        for end in (found.low, found.high):
            if end is not None and (end < low or (high is not None and end > high)):
                raise BadValue
        return found

    return reader


def _free(text: str) -> Word:
    if not text.strip() or len(text) > TEXT_LONGEST:
        raise BadValue
    return Word(text)


def _sort(text: str) -> Word:
    name, _, seed = text.casefold().partition(":")
    if name not in SORTS or (seed and name != "random"):
        raise BadValue
    if seed and not (seed.isascii() and seed.isdigit() and len(seed) <= 10 and int(seed) < SEEDS):
        raise BadValue
    return Word(f"{name}:{int(seed)}" if seed else name)


def _days(text: str) -> Value:
    return values.days(text.casefold())


_DATES = "Like 2024, 2024-05, 2024-05-31, 2023..2024, >=2024, <7d, today."
_RATIOS = ("portrait", "landscape", "square")


def _ratio(text: str) -> Value:
    folded = text.casefold()
    return Word(folded) if folded in _RATIOS else _numbers(values.ratio)(folded)


_ALL = (
    Key("kind", _words(*KINDS), "has a tag of a kind", f"Kinds are {', '.join(KINDS)}.", KINDS),
    Key(
        "type",
        _words(*TYPES, *FORMATS),
        "image, video, animation, volume, or a format",
        "Types are image, video, animation, volume, and formats such as jpeg, png, gif, webp, mp4, mkv.",
        ("image", "video", "animation", "volume", "page", "gif", "jpeg", "png", "webp", "heic", "mp4", "mkv"),
        PAGES,
    ),
    Key("date", _days, "when it was taken", _DATES, ("2024", "2024-05", "2023..2024", "<7d", "today")),
    Key("added", _days, "when it came in", _DATES, ("today", "<7d", "<1m", "2024-05")),
    Key(
        "rating",
        _numbers(values.whole, 0, 5),
        "stars, 0 to 5",
        "Rating is 0 to 5: rating:4, rating:>=3, rating:2..4.",
        ("5", ">=4", ">=3", "0"),
    ),
    Key(
        "is",
        _one_of(MARKS),
        "favourite, untagged, archived, …",
        f"Known are {', '.join(dict.fromkeys(MARKS.values()))}.",
        tuple(dict.fromkeys(MARKS.values())),
        WORLDS,
    ),
    Key("width", _numbers(values.whole), "pixels", "Pixels, like width:>2000.", (">2000", "1920")),
    Key("height", _numbers(values.whole), "pixels", "Pixels, like height:>2000.", (">2000", "1080")),
    Key("mpx", _numbers(values.decimal), "megapixels", "Megapixels, like mpx:>4.", (">4", "12", "<1")),
    Key(
        "ratio",
        _ratio,
        "width by height",
        "Like ratio:16:9, ratio:>1, ratio:portrait.",
        ("16:9", "3:2", "1:1", "portrait", "landscape"),
    ),
    Key(
        "size",
        _numbers(values.with_unit(SIZES, 1)),
        "of the file",
        "Like size:>5mb, size:100kb..2mb.",
        (">5mb", "<100kb", ">1gb"),
    ),
    Key(
        "duration",
        _numbers(values.duration),
        "of a video or animation",
        "Like duration:>1m, duration:10s..2m, duration:1:30.",
        (">1m", "10s..2m", "<10s", ">1h"),
    ),
    Key(
        "folder",
        _free,
        "a folder, whole or a part of its path",
        "Like folder:holidays or folder:/photos/2024.",
    ),
    Key("text", _free, "in title, note or file name", 'Like text:beach or text:"at the beach".'),
    Key("tags", _numbers(values.whole), "how many tags", "Like tags:0, tags:>5.", ("0", "<3", ">10")),
    Key("source", _words(*HOWS), "how it came in", f"Sources are {', '.join(HOWS)}.", HOWS),
    Key(
        "sort",
        _sort,
        "the order",
        f"Orders are {', '.join(SORTS)}; a minus before sort: turns them round.",
        SORTS,
    ),
)
KEYS: Mapping[str, Key] = {k.name: k for k in _ALL}
ALIASES: Mapping[str, str] = {"how": "source", "order": "sort"}
TAG_KEYS = frozenset(KINDS) | {"tag"}
