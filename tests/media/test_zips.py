"""Our reading of the directory of an archive beside that of Python: where both answer, they agree."""

from __future__ import annotations

import io
import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from appliance.media import zips
from appliance.media.hops import DEFLATED, Hop, whole
from appliance.media.zips import Region
from tests.media_files import jpeg


_NAMES = ["1.jpg", "b/2.jpg", "b/\u00e4.png", "empty.txt", "words.txt"]
_CONTENTS = [jpeg(1), jpeg(2), jpeg(3), b"", b"word " * 5000]


def _plain(method: int, *, wide: bool = False, comment: bytes = b"", prefix: bytes = b"") -> bytes:
    out = io.BytesIO(prefix)
    out.seek(len(prefix))
    with zipfile.ZipFile(out, "a" if prefix else "w", method) as archive:
        archive.comment = comment
        for name, content in zip(_NAMES, _CONTENTS, strict=True):
            with archive.open(name, "w", force_zip64=wide) as member:
                member.write(content)
    return out.getvalue()


class _Unseekable(io.RawIOBase):
    """A pipe: whoever writes an archive there puts the figures behind the bytes."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.parts.append(bytes(data))
        return len(data)


def _streamed() -> bytes:
    out = _Unseekable()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[call-overload]
        for name, content in zip(_NAMES, _CONTENTS, strict=True):
            archive.writestr(name, content)
    return b"".join(out.parts)


def _moved() -> bytes:
    """Something stands in front, and the directory does not know."""
    return b"#!/bin/sh\n" * 9 + _plain(zipfile.ZIP_STORED)


def _wide_end() -> bytes:
    """With the record of archives of more than 65,535 members."""
    plain = _plain(zipfile.ZIP_DEFLATED)
    place = plain.rfind(b"PK\5\6")
    count = struct.unpack_from("<H", plain, place + 10)[0]
    size, start = struct.unpack_from("<2L", plain, place + 12)
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, start)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, place, 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return plain[:place] + record + locator + end


@pytest.mark.parametrize(
    "make",
    [
        lambda: _plain(zipfile.ZIP_STORED),
        lambda: _plain(zipfile.ZIP_DEFLATED),
        lambda: _plain(zipfile.ZIP_DEFLATED, wide=True),
        lambda: _plain(zipfile.ZIP_STORED, comment=b"scanned by Ann " * 20),
        lambda: _plain(zipfile.ZIP_STORED, prefix=b"\xff\xd8 a picture before it"),
        _moved,
        _streamed,
        _wide_end,
    ],
    ids=["stored", "deflated", "zip64", "comment", "prefix", "moved", "streamed", "wide_end"],
)
def test_python_finds_the_same_members_at_the_same_places(tmp_path: Path, make: Callable[[], bytes]) -> None:
    path = tmp_path / "file.zip"
    path.write_bytes(make())
    _agree(path)


def test_an_archive_made_of_a_folder_is_read_alike(tmp_path: Path) -> None:
    for name, content in zip(_NAMES, _CONTENTS, strict=True):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(content)
    _agree(Path(shutil.make_archive(str(tmp_path / "made"), "zip", tmp_path / "in")))


def _agree(path: Path) -> None:
    with path.open("rb") as file, zipfile.ZipFile(path) as archive:
        ours = zips.members(Region(file.fileno(), 0, path.stat().st_size), 100)
        theirs = [info for info in archive.infolist() if not info.is_dir()]
        assert [each.trouble for each in ours] == [None] * len(_NAMES)
        told = [
            (
                info.filename,
                info.header_offset,
                info.compress_type,
                info.compress_size,
                info.file_size,
                info.CRC,
            )
            for info in theirs
        ]
        assert [
            (each.name.decode(), each.header, each.method, each.stored, each.size, each.crc) for each in ours
        ] == told
        for each, info in zip(ours, theirs, strict=True):
            with archive.open(info) as member:
                content = member.read()
            hop = Hop(each.offset, each.stored, each.size, each.method, each.crc)
            assert whole(file.fileno(), [hop]) == content
            assert each.method in (zipfile.ZIP_STORED, DEFLATED)
