"""What an archive holds: its pages in their order, and what describes them. Nothing is taken by its name."""

from __future__ import annotations

import contextlib
import os
from collections import Counter, defaultdict
from collections.abc import Iterator

import msgspec

from appliance.media import hops, natural, zips
from appliance.media.hops import Broken, Hop
from appliance.media.limits import Limits
from appliance.media.reading import Source, unpacked
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.said import as_text, line
from appliance.media.sniff import HEAD, Family, sniff
from appliance.media.wire import Page
from appliance.media.zips import Member, Region


COMIC, UGOIRA = "application/vnd.comicbook+zip", "application/vnd.ugoira+zip"
_PAGES = (Family.STILL, Family.ANIMATION_OR_STILL)
_LITTER = frozenset({b"thumbs.db", b".ds_store", b"desktop.ini"})
_PICTURE_NAMES = (
    b".jpg",
    b".jpeg",
    b".png",
    b".gif",
    b".webp",
    b".avif",
    b".jxl",
    b".bmp",
    b".tif",
    b".tiff",
)
_TEXT_BYTES = 4 << 20
_LONGEST_NAME = 255
# Of what is passed over for one reason, so many are named, the end of each name alone.
_NAMED, _END_OF_NAME = 3, 60
# What downloaders and people put beside pictures, at most so many files to each and a few for all.
_BESIDE = (b".json", b".txt", b".xmp", b".xml", b".nfo", b".url", b".html")
_BESIDE_EACH, _BESIDE_ALL = 2, 5
# Archives by another name: their pictures are not pages.
_FOREIGN = {
    b"[content_types].xml": "Office document",
    b"meta-inf/manifest.mf": "Java archive",
    b"meta-inf/container.xml": "EPUB book",
    b"androidmanifest.xml": "Android app",
    b"mimetype": "OpenDocument file",
}


class Listing(msgspec.Struct):
    """The pages of an archive, and the two files that may say more about them."""

    pages: list[Page] = []
    comic: bytes = b""
    """ComicInfo.xml."""
    plan: bytes = b""
    """animation.json of an ugoira."""
    notes: list[str] = []


class _Walk:
    """One look through an archive and those within it."""

    def __init__(self, source: Source, limits: Limits) -> None:
        self._source = source
        self._limits = limits
        self._met = 0
        self.pages: list[Page] = []
        self.passed: Counter[str] = Counter()
        self._named: defaultdict[str, list[str]] = defaultdict(list)
        self.texts: dict[bytes, bytes] = {}
        self.others = 0
        self.beside = 0
        self.unpacked = 0

    def look(self, region: Region, prefix: bytes, way: list[Hop], depth: int) -> None:
        """Sort every member of one archive into pages, archives within it, and the rest."""
        found = self._members(region, prefix)
        self._met += len(found)
        if depth == 1:
            _refuse_foreign(found)
        seen: set[bytes] = set()
        for member in found:
            name = member.name.replace(b"\\", b"/")
            trouble = member.trouble or _distrusted(name, seen)
            seen.add(name)
            if _is_litter(name):
                continue
            if trouble:
                self._pass_over(trouble, prefix + name)
                self.passed["pictures"] += name.lower().endswith(_PICTURE_NAMES)
                continue
            self._sort(region, member, prefix + name, way, depth)

    def _pass_over(self, why: str, name: bytes) -> None:
        self.passed[why] += 1
        if len(self._named[why]) < _NAMED:
            self._named[why].append(line(name[-_END_OF_NAME:], _END_OF_NAME) or "one without a name")

    def _members(self, region: Region, prefix: bytes) -> list[Member]:
        try:
            return zips.members(region, self._limits.volume_members, self._met)
        except MediaFailure as failure:
            if not prefix or failure.reason is not Reason.TOO_LARGE:
                raise
            raise MediaFailure(
                failure.reason, f"{failure.detail}, with {as_text(prefix[:-1][:200])}"
            ) from failure

    def _sort(self, region: Region, member: Member, name: bytes, way: list[Hop], depth: int) -> None:
        offset = region.offset + member.offset
        hop = Hop(offset, member.stored, member.size, member.method, member.crc)
        inner = [*way, hop]
        try:
            head = hops.head(region.descriptor, [hop], HEAD)
        except Broken:
            self._unreadable(name, inner)
            return
        found = sniff(head, member.size)
        if found.family in _PAGES:
            self._page(Page(name[-_LONGEST_NAME:], inner, found.mime))
        elif found.family is Family.ARCHIVE:
            self._nested(region, hop, name, way, depth)
        else:
            beside = name.lower().endswith(_BESIDE)
            self.beside += beside
            self.others += not beside
            if name.lower().endswith(_PICTURE_NAMES):
                self._pass_over("not a picture" if member.size else "empty", name)
            self._keep_text(region, hop, name, depth)

    def _unreadable(self, name: bytes, way: list[Hop]) -> None:
        if name.lower().endswith(_PICTURE_NAMES):
            self._page(Page(name[-_LONGEST_NAME:], way, ""))
        else:
            self._pass_over("damaged", name)

    def _page(self, page: Page) -> None:
        size = page.hops[-1].size
        if size > self._limits.page_bytes:
            self._pass_over(f"larger than {_mb(self._limits.page_bytes)}", page.name)
            return
        self._count(size)
        self.pages.append(page)

    def _count(self, size: int) -> None:
        """Refuse what unpacks to more than any collection of pages does."""
        self.unpacked += size
        most, ratio = self._limits.volume_bytes, self._limits.volume_ratio
        if self.unpacked > most:
            raise MediaFailure(Reason.TOO_LARGE, f"unpacks to more than {_mb(most)}")
        if self.unpacked > max(ratio * self._source.size, self._limits.page_bytes):
            detail = f"{_mb(self._source.size)} unpack to more than {ratio} times as much"
            raise MediaFailure(Reason.TOO_LARGE, detail)

    def _nested(self, region: Region, hop: Hop, name: bytes, way: list[Hop], depth: int) -> None:
        if depth >= self._limits.volume_depth:
            self._pass_over("archives too deep within others", name)
            return
        try:
            with self._region(region, hop) as (inner, further):
                self.look(inner, name + b"/", [*way, *further], depth + 1)
        except Broken:
            self._pass_over("damaged", name)
        except MediaFailure as failure:
            if failure.reason is Reason.TOO_LARGE:
                raise
            # A broken archive within a sound one costs its own pages only.
            self._pass_over("broken archives", name)

    @contextlib.contextmanager
    def _region(self, region: Region, hop: Hop) -> Iterator[tuple[Region, list[Hop]]]:
        """An archive within another: where it lies, or unpacked into memory when it is packed."""
        if hop.method == hops.STORED:
            yield Region(region.descriptor, hop.offset, hop.size), []
            return
        if hop.size > self._limits.nested_bytes:
            detail = f"a packed archive of {_mb(hop.size)} in it > {_mb(self._limits.nested_bytes)}"
            raise MediaFailure(Reason.TOO_LARGE, f"{detail}; put it in unpacked")
        self._count(hop.size)
        descriptor = unpacked(region.descriptor, [hop])
        try:
            yield Region(descriptor, 0, hop.size), [hop]
        finally:
            os.close(descriptor)

    def _keep_text(self, region: Region, hop: Hop, name: bytes, depth: int) -> None:
        """Keep what describes the pages, from the archive itself and never from those within it."""
        known = name.rpartition(b"/")[2].lower()
        if depth > 1 or known not in (b"comicinfo.xml", b"animation.json") or hop.size > _TEXT_BYTES:
            return
        with contextlib.suppress(Broken):
            self.texts.setdefault(known, hops.whole(region.descriptor, [hop]))

    def notes(self) -> list[str]:
        """What was passed over, in words."""
        told = Counter({why: count for why, count in self.passed.items() if why != "pictures"})
        return [
            f"Passed over in the archive, {why}: {self._which(why, count)}"
            for why, count in told.most_common()
        ]

    def _which(self, why: str, count: int) -> str:
        names = ", ".join(self._named[why])
        return names if count <= _NAMED else f"{names} and {count - _NAMED:,} more"


def _distrusted(name: bytes, seen: set[bytes]) -> str | None:
    if name.startswith(b"/") or b":" in name[:2] or b".." in name.split(b"/") or b"\0" in name:
        return "named as if outside of it"
    return "named twice" if name in seen else None


def _is_litter(name: bytes) -> bool:
    last = name.rpartition(b"/")[2].lower()
    return name.startswith(b"__MACOSX/") or last in _LITTER or last.startswith(b"._")


def _mb(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


def listing(source: Source, limits: Limits) -> Listing:
    """List an archive once; fails when it holds no pages, with the reason that is nearest."""
    if source.listed is None:
        source.listed = _listing(source, limits)
    return source.listed


def _listing(source: Source, limits: Limits) -> Listing:
    region = Region(source.descriptor, 0, source.size)
    walk = _Walk(source, limits)
    walk.look(region, b"", [], 1)
    _refuse_pageless(walk)
    pages = sorted(walk.pages, key=lambda page: natural.key(page.name))
    texts = walk.texts
    return Listing(pages, texts.get(b"comicinfo.xml", b""), texts.get(b"animation.json", b""), walk.notes())


def _refuse_foreign(found: list[Member]) -> None:
    for member in found:
        name = _FOREIGN.get(member.name.lower())
        if name:
            raise MediaFailure(Reason.NOT_MEDIA, name)


def _refuse_pageless(walk: _Walk) -> None:
    readable = sum(page.mime != "" for page in walk.pages)
    foreign = walk.others + max(0, walk.beside - _BESIDE_EACH * readable - _BESIDE_ALL)
    if readable and (readable >= foreign or walk.texts):
        return
    packed = next((why for why in walk.passed if why.startswith(zips.PACKED)), None)
    if walk.passed["pictures"] and packed:
        raise MediaFailure(Reason.UNSUPPORTED, f"ZIP archive {packed}; pack it anew with Deflate")
    if walk.passed["pictures"] and walk.passed["encrypted"]:
        raise MediaFailure(Reason.UNSUPPORTED, "ZIP archive with a password")
    if walk.passed["pictures"] or len(walk.pages) > readable:
        raise MediaFailure(Reason.CORRUPT, "; ".join(walk.notes()) or "none of its pages can be read")
    raise MediaFailure(
        Reason.NOT_MEDIA, "ZIP archive of other files" if walk.others or walk.beside else "empty ZIP archive"
    )
