"""Archives as programs pack them: by other methods, within others, with words beside the pictures."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from appliance.media import archives, hops, reading
from appliance.media.decoder import DecodePool
from appliance.media.limits import MIB, Limits
from appliance.media.nested import Nested
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import OpenRequest
from tests.media.conftest import Import, Refuse
from tests.media.zips import comic, zipped
from tests.media_files import jpeg


def by(method: int, members: dict[str, bytes]) -> bytes:
    """An archive packed by one method of those that Python knows."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def called(content: bytes, method: int) -> bytes:
    """The same archive, whose members are said to be packed by another method."""
    data = bytearray(content)
    for mark, place in ((b"PK\3\4", 8), (b"PK\1\2", 10)):
        at = data.find(mark)
        while at >= 0:
            data[at + place : at + place + 2] = method.to_bytes(2, "little")
            at = data.find(mark, at + 4)
    return bytes(data)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (by(zipfile.ZIP_BZIP2, {"1.jpg": jpeg(1)}), "bzip2"),
        (by(zipfile.ZIP_LZMA, {"1.jpg": jpeg(1)}), "LZMA"),
        (called(comic(2, packed=True), 9), "Deflate64"),
        (called(comic(2, packed=True), 93), "Zstandard"),
        (called(comic(2, packed=True), 77), "method 77"),
    ],
    ids=["bzip2", "lzma", "deflate64", "zstd", "unknown"],
)
async def test_what_is_packed_by_another_method_is_sound_and_says_so(
    refuse: Refuse, content: bytes, name: str
) -> None:
    failure = await refuse(content)
    assert failure.reason is Reason.UNSUPPORTED
    assert failure.detail == f"ZIP archive packed with {name}; pack it anew with Deflate"


async def test_words_beside_pictures_make_no_other_archive_of_them(decode: Import) -> None:
    words = {f"{n}.jpg.{kind}": b"{}" for n in range(3) for kind in ("json", "txt")}
    found = await decode(zipped(words | {f"{n}.jpg": jpeg(n) for n in range(3)} | {"info.json": b"{}"}))
    assert (found.kind, found.frames) == ("volume", 3)


async def test_pictures_among_very_many_texts_are_no_pages(refuse: Refuse) -> None:
    texts = {f"{n}.html": b"<html>" for n in range(20)}
    failure = await refuse(zipped(texts | {"logo.jpg": jpeg(1)}))
    assert (failure.reason, failure.detail) == (Reason.NOT_MEDIA, "ZIP archive of other files")


def open_file(path: Path, content: bytes) -> reading.Source:
    path.write_bytes(content)
    return reading.open_source(bytes(path), None)


def test_members_of_inner_archives_count_together_and_name_the_one_that_is_too_much(tmp_path: Path) -> None:
    content = zipped({"a.zip": comic(30), "b/c.zip": comic(30), "1.jpg": jpeg(1)})
    source = open_file(tmp_path / "file", content)
    with pytest.raises(MediaFailure) as caught:
        archives.listing(source, Limits(volume_members=50))
    source.close()
    assert caught.value.reason is Reason.TOO_LARGE
    assert caught.value.detail == "63 members > 50, with b/c.zip"


def test_an_archive_is_listed_once_also_when_it_is_copied(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(comic(3))
    seen = []

    def look(source: reading.Source) -> None:
        seen.append(archives.listing(source, Limits()))

    copy = bytes(tmp_path / "copy")
    source, _ = reading.read(OpenRequest(bytes(tmp_path / "file"), None, True, copy), look)
    assert archives.listing(source, Limits()) is seen[0]
    source.close()


def test_a_large_packed_archive_within_another_is_refused_with_the_way_out(tmp_path: Path) -> None:
    source = open_file(tmp_path / "file", zipped({"in.zip": comic(3)}, packed=True))
    with pytest.raises(MediaFailure, match="put it in unpacked") as caught:
        archives.listing(source, Limits(nested_bytes=1000))
    source.close()
    assert caught.value.reason is Reason.TOO_LARGE


def bytes_of(page: reading.Source) -> bytes:
    content = page.at(0, page.size)
    page.close()
    return content


def test_pages_of_an_inner_archive_come_from_what_was_unpacked_for_the_first(tmp_path: Path) -> None:
    path = tmp_path / "file"
    content = zipped({"in.zip": comic(3, packed=True)}, packed=True)
    archive = open_file(path, content)
    first, second, third = (page.hops for page in archives.listing(archive, Limits()).pages)
    nested = Nested(MIB)
    assert bytes_of(nested.page(archive, first)) == jpeg(0)

    # The bytes on the disk are not asked again for another page, unless the file is another one.
    with path.open("r+b") as file:
        file.write(bytes(len(content)))
    os.utime(path, ns=(archive.seen.st_mtime_ns, archive.seen.st_mtime_ns))
    assert bytes_of(nested.page(archive, second)) == jpeg(1)

    os.utime(path, ns=(1, 1))
    later = reading.open_source(bytes(path), None)
    with pytest.raises(MediaFailure, match="damaged within its archive"):
        nested.page(later, third)
    nested.drop()
    archive.close()
    later.close()


def test_a_page_before_the_damage_of_its_inner_archive_is_read(tmp_path: Path) -> None:
    content = bytearray(zipped({"in.zip": comic(3), "out.jpg": jpeg(7)}, packed=True))
    archive = open_file(tmp_path / "whole", bytes(content))
    ways = [page.hops for page in archives.listing(archive, Limits()).pages]
    archive.close()
    hop = ways[0][0]
    content[hop.offset + hop.stored - 20] ^= 0xFF
    archive, nested = open_file(tmp_path / "torn", bytes(content)), Nested(MIB)
    assert bytes_of(nested.page(archive, ways[0])) == jpeg(0)
    assert bytes_of(nested.page(archive, ways[3])) == jpeg(7)
    assert isinstance(ways[0][0], hops.Hop)
    nested.drop()
    archive.close()


async def test_what_a_child_keeps_unpacked_is_one_page_and_the_archive_around_it(
    pool: DecodePool, tmp_path: Path
) -> None:
    inner = comic(3, packed=True)
    (tmp_path / "file").write_bytes(zipped({"in.zip": inner}, packed=True))
    (tmp_path / "next").write_bytes(jpeg(5))
    async with pool.child() as child:
        await child.read(bytes(tmp_path / "file"))
        pages = (await child.decode([])).pages
        for page in pages:
            await child.read(bytes(tmp_path / "file"), member=page.hops)
            assert held(child.pid) == [pages[0].hops[0].size, page.hops[-1].size]
        await child.read(bytes(tmp_path / "next"))
        assert held(child.pid) == []


def held(pid: int | None) -> list[int]:
    """The sizes of the files in memory that a process has open."""
    opened = Path(f"/proc/{pid}/fd").iterdir()
    return [each.stat().st_size for each in opened if str(each.readlink()).startswith("/memfd:page")]
