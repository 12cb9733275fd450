"""The directory of a ZIP archive, read without believing it: every member is checked where it lies."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator

import msgspec

from appliance.media.hops import DEFLATED, STORED
from appliance.media.reasons import MediaFailure, Reason


_END = struct.Struct("<4s4H2LH")
_LOCATOR = struct.Struct("<4sLQL")
_WIDE_END = struct.Struct("<4sQ2H2L4Q")
_CENTRAL = struct.Struct("<4s2B5H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_END_MARK, _WIDE_MARK, _LOCATOR_MARK = b"PK\5\6", b"PK\6\6", b"PK\6\7"
_CENTRAL_MARK, _LOCAL_MARK = b"PK\1\2", b"PK\3\4"
_NARROW, _SHORT = 0xFFFFFFFF, 0xFFFF
_LONGEST_COMMENT = 0xFFFF
_UNIX = 3
PACKED = "packed with "
"""How the trouble of a sound member begins that is packed by a method which nobody here unpacks."""
_METHODS = {1: "Shrink", 6: "Implode", 9: "Deflate64", 12: "bzip2", 14: "LZMA", 20: "Zstandard",
            93: "Zstandard", 95: "XZ", 97: "WavPack", 98: "PPMd"}  # fmt: skip
# A directory entry is 46 bytes and a name; so much says one that is not out to fill the memory.
_ENTRY_BYTES = 2048


class Region(msgspec.Struct, frozen=True):
    """A stretch of a file that holds an archive."""

    descriptor: int
    offset: int
    size: int

    def read(self, at: int, count: int) -> bytes:
        """Bytes of it, never of what lies around it."""
        if at < 0 or at > self.size:
            return b""
        return os.pread(self.descriptor, min(count, self.size - at), self.offset + at)


class Member(msgspec.Struct, frozen=True):
    """One file in an archive; `offset` is where its bytes begin, `trouble` why they cannot be had."""

    name: bytes
    header: int
    offset: int
    stored: int
    size: int
    method: int
    crc: int
    trouble: str | None = None


class _Directory(msgspec.Struct, frozen=True):
    """Where the directory lies, and by how much everything lies later than it says."""

    start: int
    size: int
    count: int
    shift: int


def members(region: Region, most: int, before: int = 0) -> list[Member]:
    """Every file of an archive in the order of its directory; folders are left out.

    Together with those that were met before there may be so many.
    """
    directory = _directory(region)
    if before + directory.count > most:
        raise MediaFailure(Reason.TOO_LARGE, f"{before + directory.count:,} members > {most:,}")
    if directory.size > most * _ENTRY_BYTES:
        raise MediaFailure(Reason.TOO_LARGE, f"a directory of {directory.size:,} bytes")
    found = [_checked(region, directory, entry) for entry in _entries(region, directory, most, before)]
    return _apart(found)


def ends_here(region: Region) -> bool:
    """Whether the last byte of a file is the last of an archive that lists members, however the file begins.

    Stricter than `members` is: the last of the files in a tape or disk image may well be an archive too, and
    something always follows it there.
    """
    try:
        place, end = _end(region)
        return place + _END.size + end[7] == region.size and _directory(region).count > 0
    except MediaFailure:
        return False


def _corrupt(detail: str) -> MediaFailure:
    return MediaFailure(Reason.CORRUPT, f"ZIP archive: {detail}")


def _directory(region: Region) -> _Directory:
    place, end = _end(region)
    count, size, offset = end[4], end[5], end[6]
    if _SHORT in (count, end[3]) or _NARROW in (size, offset):
        wide = _wide(region, place)
        if wide is not None:
            place, count, size, offset = wide
    start = place - size
    if start < 0 or offset > region.size:
        raise MediaFailure(Reason.TRUNCATED, "ZIP archive: its directory is not all there")
    if count and region.read(start, 4) != _CENTRAL_MARK:
        # Something stands between the directory and its end.
        start = offset
        if region.read(start, 4) != _CENTRAL_MARK:
            raise _corrupt("its directory is not where it should be")
    return _Directory(start, size, count, start - offset)


def _end(region: Region) -> tuple[int, tuple[int, ...]]:
    """Find the record that ends an archive: the last one whose comment fits."""
    start = max(0, region.size - _END.size - _LONGEST_COMMENT)
    tail = region.read(start, region.size - start)
    at = tail.rfind(_END_MARK)
    while at >= 0:
        if at + _END.size <= len(tail):
            found = _END.unpack_from(tail, at)
            if at + _END.size + found[7] <= len(tail):
                return start + at, found
        at = tail.rfind(_END_MARK, 0, at)
    raise MediaFailure(Reason.TRUNCATED, "ZIP archive: the directory at its end is missing")


def _wide(region: Region, end: int) -> tuple[int, int, int, int] | None:
    """The place and the figures of the record of large archives, if there is one before the end."""
    raw = region.read(end - _LOCATOR.size, _LOCATOR.size)
    if len(raw) < _LOCATOR.size or raw[:4] != _LOCATOR_MARK:
        return None
    # Right before its locator, unless someone put more into it.
    for at in (end - _LOCATOR.size - _WIDE_END.size, _LOCATOR.unpack(raw)[2]):
        record = region.read(at, _WIDE_END.size)
        if len(record) == _WIDE_END.size and record[:4] == _WIDE_MARK:
            figures = _WIDE_END.unpack(record)
            return at, figures[7], figures[8], figures[9]
    raise _corrupt("the directory of a large archive is missing")


class _Entry(msgspec.Struct, frozen=True):
    name: bytes
    system: int
    flags: int
    method: int
    crc: int
    stored: int
    size: int
    mode: int
    header: int


def _entries(region: Region, directory: _Directory, most: int, before: int) -> Iterator[_Entry]:
    raw = region.read(directory.start, directory.size)
    at = count = 0
    while raw[at : at + 4] == _CENTRAL_MARK and at + _CENTRAL.size <= len(raw):
        fields = _CENTRAL.unpack_from(raw, at)
        name_size, extra_size, comment_size = fields[11:14]
        name_at = at + _CENTRAL.size
        extra_at = name_at + name_size
        at = extra_at + extra_size + comment_size
        count += 1
        if at > len(raw):
            raise MediaFailure(Reason.TRUNCATED, "ZIP archive: its directory ends early")
        if before + count > most:
            raise MediaFailure(Reason.TOO_LARGE, f"more than {most:,} members")
        name = raw[name_at:extra_at]
        if not name.endswith((b"/", b"\\")):
            yield _entry(name, fields, raw[extra_at : extra_at + extra_size])
    if count < directory.count:
        raise _corrupt(f"its directory lists {count:,} of {directory.count:,} members")


def _entry(name: bytes, fields: tuple[int, ...], extra: bytes) -> _Entry:
    size, stored, header = _wide_figures(extra, [fields[10], fields[9], fields[17]])
    return _Entry(name, fields[2], fields[4], fields[5], fields[8], stored, size, fields[16] >> 16, header)


def _wide_figures(extra: bytes, figures: list[int]) -> list[int]:
    """Replace the figures that did not fit by those of the extra field for large files."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            wide = iter(struct.unpack_from(f"<{size // 8}Q", extra.ljust(at + 4 + size, b"\0"), at + 4))
            return [next(wide, figure) if figure == _NARROW else figure for figure in figures]
        at += 4 + size
    return figures


def _checked(region: Region, directory: _Directory, entry: _Entry) -> Member:
    """Compare an entry with what stands in front of the bytes themselves."""
    header = entry.header + directory.shift
    raw = region.read(header, _LOCAL.size + len(entry.name))
    offset = trouble = None
    if len(raw) < _LOCAL.size or raw[:4] != _LOCAL_MARK:
        trouble = "not where the directory says"
    else:
        fields = _LOCAL.unpack_from(raw)
        offset = header + _LOCAL.size + fields[9] + fields[10]
        trouble = _trouble(entry, fields, raw[_LOCAL.size :])
        if trouble is None and offset + entry.stored > directory.start:
            trouble = "reaches into the directory"
    return Member(entry.name, header, offset or 0, entry.stored, entry.size, entry.method, entry.crc, trouble)


def _trouble(entry: _Entry, local: tuple[int, ...], name: bytes) -> str | None:
    if (entry.flags | local[2]) & 0x41:
        return "encrypted"
    if entry.system == _UNIX and stat.S_ISLNK(entry.mode):
        return "a link"
    if name != entry.name or local[9] != len(entry.name):
        return "named differently in the directory"
    if entry.method != local[3]:
        return "packed differently in the directory"
    if entry.method not in (STORED, DEFLATED):
        return PACKED + _METHODS.get(entry.method, f"method {entry.method}")
    return "of two sizes" if entry.method == STORED and entry.stored != entry.size else None


def _apart(found: list[Member]) -> list[Member]:
    """Two members never share bytes: an archive in which they do is made to unpack to more than it is."""
    end, sharing = 0, set()
    for member in sorted((m for m in found if m.trouble is None), key=lambda m: m.header):
        if member.header < end:
            sharing.add(member.header)
        end = max(end, member.offset + member.stored)
    return [
        msgspec.structs.replace(m, trouble="lies within another") if m.header in sharing else m for m in found
    ]
