"""What a downloader (gallery-dl and its kin) wrote about the post that a picture came from."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from html.parser import HTMLParser
from typing import Any

from appliance.media import dates
from appliance.media.said import LONGEST_TITLE, MOST_TAGS, Said, as_text, line, position


Post = Mapping[str, Any]

MOST_SOURCES = 5
_MOST_KEYS = 2000
"""Posts have some dozens of fields."""
# How sites call their kinds of tags, and what we call them.
_KINDS = {
    "artist": "artist",
    "artists": "artist",
    "contributor": "artist",
    "circle": "artist",
    "character": "character",
    "characters": "character",
    "copyright": "fandom",
    "parody": "fandom",
    "general": "general",
    "tag": "general",
    "species": "general",
    "metadata": "meta",
    "meta": "meta",
    "lore": "meta",
}
_PASSED_OVER = frozenset({"invalid", "deprecated"})
_TAGS = ("tags", "tag_string", "hashtags")
_PEOPLE = ("artist", "author", "user", "creator", "owner", "account", "username", "blog_name")
_NAMES = ("name", "username", "account", "nick", "screen_name", "id")
_WORDS = ("description", "content", "caption", "selftext", "summary")
_PAGES = ("post_url", "webpage_url", "page_url", "permalink_url", "permalink", "gallery_url", "link")
_MARKUP = re.compile(r"</?(?:a|b|blockquote|br|div|em|i|img|li|ol|p|span|strong|u|ul)\b[^>]*>", re.IGNORECASE)
_RATINGS = {
    "g": "general",
    "general": "general",
    "s": "safe",
    "safe": "safe",
    "sensitive": "sensitive",
    "q": "questionable",
    "questionable": "questionable",
    "e": "explicit",
    "explicit": "explicit",
    "r-18": "explicit",
    "r-18g": "explicit",
}
# Where the letter s does not mean safe.
_SENSITIVE = frozenset({"danbooru", "aibooru", "atfbooru"})
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - wall time in UTC


def said(post: Post) -> Said:
    """Read a post; never fails."""
    found = Said()
    if "photoTakenTime" in post:
        _takeout(post, found)
        return found
    title = line(_scalar(post.get("title")), LONGEST_TITLE)
    # Some sites have no titles, and their files are called by their name.
    found.title = title if title and title != as_text(post.get("filename") or "") else None
    kinds = _sorted_tags(post, found)
    people = [name for key in _PEOPLE for name in _people(post.get(key))]
    if people and not kinds:
        found.tag(people[:1], "artist")
    if people:
        found.facts["artist"] = people[0]
    _plain_tags(post, found)
    _rating(post, found)
    _words(post, found)
    _sources(post, found)
    _date(post, found)
    found.at_most(MOST_TAGS)
    return found


def _scalar(value: Any) -> Any:
    return value if isinstance(value, str | int | float) else ""


def _sorted_tags(post: Post, found: Said) -> bool:
    """Tags that the site has sorted by kind; the answer is whether there are any."""
    before = len(found.tags)
    for key, value in itertools.islice(post.items(), _MOST_KEYS):
        name = key.removeprefix("tag_string_") if key.startswith("tag_string_") else key.removeprefix("tags_")
        if name != key and name not in _PASSED_OVER:
            found.tag(_split(value), _KINDS.get(name, "general"))
    grouped = post.get("tags")
    if isinstance(grouped, dict):
        for name, value in itertools.islice(grouped.items(), _MOST_KEYS):
            if name not in _PASSED_OVER:
                found.tag(_split(value), _KINDS.get(str(name), "general"))
    return len(found.tags) > before


def _plain_tags(post: Post, found: Said) -> None:
    known = {name.casefold() for _, name in found.tags}
    for key in _TAGS:
        names = _split(post.get(key)) if not isinstance(post.get(key), dict) else iter(())
        found.tag(n for n in names if n.casefold() not in known)


def _split(value: Any) -> Iterator[str]:
    """Names from a list, or from a string that parts them by commas or, where there are none, by blanks."""
    if isinstance(value, str):
        text = value[:100_000]
        yield from (p.strip() for p in (text.split(",") if "," in text else text.split()))
    elif isinstance(value, list):
        for each in value[:5000]:
            name = each.get("name") or each.get("tag") if isinstance(each, dict) else each
            if isinstance(name, str):
                yield name.removeprefix("#")


def _people(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = next((value[n] for n in _NAMES if isinstance(value.get(n), str) and value[n]), "")
    for each in value[:5] if isinstance(value, list) else [value]:
        name = line(each, 100) if isinstance(each, str) else ""
        if name:
            yield name


def _rating(post: Post, found: Said) -> None:
    written = as_text(_scalar(post.get("rating"))).casefold()
    name = _RATINGS.get(written)
    if written == "s" and as_text(_scalar(post.get("category"))) in _SENSITIVE:
        name = "sensitive"
    if name:
        found.tag([name], "rating")


def _words(post: Post, found: Said) -> None:
    text = next((t for t in (_scalar(post.get(name)) for name in _WORDS) if isinstance(t, str) and t), "")
    if text:
        found.facts["description"] = as_text(_without_markup(text[:50_000]))
    for name in ("category", "id"):
        value = line(_scalar(post.get(name, "")), 100)
        if value:
            found.facts[name] = value


class _Plain(HTMLParser):
    """The words between the marks."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        if tag in ("br", "p", "div", "li"):
            self.parts.append("\n")


def _without_markup(text: str) -> str:
    if not _MARKUP.search(text):
        return text
    plain = _Plain()
    plain.feed(text)
    plain.close()
    return "".join(plain.parts)


def _sources(post: Post, found: Said) -> None:
    """Addresses of the page, then of what the page names as its source; of the web only."""
    many = post.get("sources")
    written = [post.get(name) for name in (*_PAGES, "source")] + (many if isinstance(many, list) else [])
    sources: list[str] = []
    for each in written:
        address = address_of(each)
        if address and address not in sources:
            sources.append(address)
        if len(sources) == MOST_SOURCES:
            break
    if sources:
        found.facts["sources"] = sources


def address_of(value: Any) -> str | None:
    """Return an address of the web without anything that hides in it, or None."""
    text = value.strip() if isinstance(value, str) else ""
    if not re.match(r"https?://[^\s/@]+(?:/|\Z)", text, re.IGNORECASE) or len(text) > 1000:
        return None
    return text if text.isprintable() and " " not in text and as_text(text) == text else None


def _date(post: Post, found: Said) -> None:
    for name in ("date", "created_at", "create_date", "published", "published_time"):
        written = post.get(name)
        parsed = dates.parse(written) if isinstance(written, str) else _from_seconds(written)
        if parsed is not None:
            # Downloaders write moments in UTC unless they say otherwise.
            found.taken_at, found.taken_offset = parsed[0], parsed[1] or 0
            return


def _from_seconds(value: Any) -> tuple[datetime, int] | None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**35:
        return None
    moment = dates.plausible(_EPOCH + timedelta(seconds=value))
    return None if moment is None else (moment, 0)


def _takeout(post: Post, found: Said) -> None:
    """Google Takeout: the title is the name of the file and says nothing."""
    text = as_text(_scalar(post.get("description", "")))
    if text:
        found.facts["description"] = text
    taken = post.get("photoTakenTime")
    seconds = as_text(_scalar(taken.get("timestamp"))) if isinstance(taken, dict) else ""
    digits = seconds.isascii() and seconds.isdigit() and len(seconds) < 12
    parsed = _from_seconds(int(seconds)) if digits else None
    if parsed is not None:
        found.taken_at, found.taken_offset = parsed
    place = post.get("geoData")
    if isinstance(place, dict):
        sides = [place.get("latitude"), place.get("longitude")]
        if all(isinstance(s, int | float) for s in sides):
            found.facts |= position(float(sides[0]), float(sides[1])) or {}  # type: ignore[arg-type]
