"""Archives of pages: what is taken from them, and what no hostile one achieves."""

from __future__ import annotations

import io
import json
import stat
import struct
import time
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from appliance.media import hops
from appliance.media.decoder import DecodePool
from appliance.media.limits import MIB, Limits
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import Decoded
from tests.media.conftest import Import, Refuse
from tests.media.make import corner, saved
from tests.media.zips import comic, zipped
from tests.media_files import jpeg


COMIC_INFO = b"""<?xml version="1.0"?><ComicInfo xmlns:x="http://x/">
<Title>The Lighthouse</Title><Series>Shores</Series><Number>3</Number><Writer>Ann, Bo</Writer>
<Genre>Sea; Storm</Genre><Characters>Kim</Characters><LanguageISO>en</LanguageISO>
<Manga>YesAndRightToLeft</Manga><Pages><Page Image="0" Type="FrontCover"/></Pages></ComicInfo>"""


def names(found: Decoded) -> list[str]:
    return [page.name.decode() for page in found.pages]


async def test_volume_lists_its_pages_in_natural_order(decode: Import) -> None:
    shuffled = ["10.jpg", "9.jpg", "第10話/1.jpg", "第2話/1.jpg", "b/1.jpg", "1.jpg", "\uff12.jpg"]
    found = await decode(zipped({name: jpeg(i) for i, name in enumerate(shuffled)}))

    assert names(found) == [
        "1.jpg",
        "\uff12.jpg",
        "9.jpg",
        "10.jpg",
        "b/1.jpg",
        "第2話/1.jpg",
        "第10話/1.jpg",
    ]
    assert (found.kind, found.frames, found.mime) == ("volume", 7, "application/vnd.comicbook+zip")


async def test_cover_is_the_first_page_that_can_be_read(decode: Import, tmp_path: Path) -> None:
    broken = jpeg(1)[:300]
    found = await decode(zipped({"1.jpg": broken, "2.jpg": jpeg(2, size=(300, 200)), "3.jpg": jpeg(3)}))

    assert (found.width, found.height) == (300, 200)
    assert (tmp_path / "grid-240.webp").exists()


@pytest.mark.parametrize("packed", [False, True])
async def test_every_page_is_found_by_its_way(decode: Import, tmp_path: Path, packed: bool) -> None:
    inner = comic(3, seed=1, packed=packed)
    deeper = zipped({"in.zip": comic(2, seed=2)}, packed=packed)
    content = zipped({"a.zip": inner, "b.zip": deeper, "c.jpg": jpeg(9)}, packed=packed)
    found = await decode(content, "file")

    assert names(found) == ["a.zip/1.jpg", "a.zip/2.jpg", "a.zip/3.jpg", "b.zip/in.zip/1.jpg",
                            "b.zip/in.zip/2.jpg", "c.jpg"]  # fmt: skip
    wanted = [jpeg(1000), jpeg(1001), jpeg(1002), jpeg(2000), jpeg(2001), jpeg(9)]
    with (tmp_path / "file").open("rb") as file:
        assert [hops.whole(file.fileno(), page.hops) for page in found.pages] == wanted


async def test_a_child_opens_one_page_as_a_file(decode: Import, pool: DecodePool, tmp_path: Path) -> None:
    found = await decode(comic(3, packed=True), "file")
    async with pool.child() as child:
        read = await child.read(bytes(tmp_path / "file"), member=found.pages[1].hops)
        page = await child.decode([])

    assert read.size == len(jpeg(1))
    assert (page.kind, page.mime, page.width) == ("still", "image/jpeg", 64)


async def test_archives_deeper_than_three_are_passed_over(decode: Import) -> None:
    content = comic(1, seed=4)
    for level in range(3):
        content = zipped({"in.zip": content, f"p{level}.jpg": jpeg(level)})
    found = await decode(content)

    assert found.frames == 3
    assert found.notes == [
        "Passed over in the archive, archives too deep within others: in.zip/in.zip/in.zip"
    ]


async def test_hostile_names_are_never_pages(decode: Import) -> None:
    content = zipped(
        {
            "../../etc/cron.d/x.jpg": jpeg(1),
            "/absolute.jpg": jpeg(2),
            "..\\..\\windows.jpg": jpeg(3),
            "C:\\x.jpg": jpeg(4),
            "__MACOSX/._1.jpg": jpeg(5),
            "Thumbs.db": b"x" * 99,
            "folder\\kept.jpg": jpeg(6),
        }
    )
    found = await decode(content)

    assert names(found) == ["folder/kept.jpg"]
    (note,) = found.notes
    assert note.startswith("Passed over in the archive, named as if outside of it: ../../etc/cron.d/x.jpg")
    assert note.endswith("/absolute.jpg, ../../windows.jpg and 1 more")


async def test_links_encrypted_and_repeated_members_are_passed_over(decode: Import) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        link = zipfile.ZipInfo("link.jpg")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, b"/etc/passwd")
        archive.writestr("secret.jpg", jpeg(1))
        archive.writestr("1.jpg", jpeg(2))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("1.jpg", jpeg(3))
    content = bytearray(out.getvalue())
    for at in (content.find(b"secret.jpg") - 30 + 6, content.rfind(b"secret.jpg") - 46 + 8):
        content[at] |= 1
    found = await decode(bytes(content))

    assert names(found) == ["1.jpg"]
    assert sorted(found.notes) == [
        "Passed over in the archive, a link: link.jpg",
        "Passed over in the archive, encrypted: secret.jpg",
        "Passed over in the archive, named twice: 1.jpg",
    ]


async def test_members_that_are_no_pictures_in_spite_of_their_names_are_told(decode: Import) -> None:
    members = {"1.jpg": jpeg(1), "2.jpg": b"", "a/3.png": b"words", "4.jpg": jpeg(4), "notes.txt": b"words"}
    found = await decode(zipped(members, packed=True))

    assert names(found) == ["1.jpg", "4.jpg"]
    assert sorted(found.notes) == [
        "Passed over in the archive, empty: 2.jpg",
        "Passed over in the archive, not a picture: a/3.png",
    ]


async def test_archive_with_a_password_says_so(refuse: Refuse) -> None:
    content = bytearray(comic(1))
    for at in (content.find(b"1.jpg") - 30 + 6, content.rfind(b"1.jpg") - 46 + 8):
        content[at] |= 1
    failure = await refuse(bytes(content))

    assert (failure.reason, failure.detail) == (Reason.UNSUPPORTED, "ZIP archive with a password")


async def test_page_with_a_bad_checksum_costs_only_itself(
    decode: Import, pool: DecodePool, tmp_path: Path
) -> None:
    content = bytearray(comic(3))
    content[content.find(jpeg(1)) + 200] ^= 0xFF
    found = await decode(bytes(content), "file")

    assert found.frames == 3
    async with pool.child() as child:
        with pytest.raises(MediaFailure, match="the checksum does not fit"):
            await child.read(bytes(tmp_path / "file"), member=found.pages[1].hops)
        assert await child.read(bytes(tmp_path / "file"), member=found.pages[2].hops)


async def test_bomb_is_refused_with_its_figures(refuse: Refuse) -> None:
    picture = saved(corner((20, 20)), "BMP")
    content = zipped({f"{n}.bmp": picture + bytes(60 * MIB) for n in range(6)}, packed=True)
    assert len(content) < MIB
    began = time.monotonic()
    failure = await refuse(content)

    assert failure.reason is Reason.TOO_LARGE
    assert "unpack to more than 200 times as much" in failure.detail
    assert time.monotonic() - began < 20


async def test_member_that_unpacks_to_more_than_it_says_is_cut_off(
    decode: Import, pool: DecodePool, tmp_path: Path
) -> None:
    body = jpeg(1) + bytes(40 * MIB)
    content = bytearray(zipped({"1.jpg": body, "2.jpg": jpeg(2)}, packed=True))
    announced = struct.pack("<L", len(jpeg(1)))
    content = bytearray(bytes(content).replace(struct.pack("<L", len(body)), announced))
    found = await decode(bytes(content), "file")

    assert [page.hops[-1].size for page in found.pages] == [len(jpeg(1)), len(jpeg(2))]
    async with pool.child() as child:
        with pytest.raises(MediaFailure, match="the checksum does not fit"):
            await child.read(bytes(tmp_path / "file"), member=found.pages[0].hops)


async def test_members_that_share_bytes_are_passed_over(decode: Import) -> None:
    content = bytearray(comic(3))
    # The directory's third entry leads to the first one's bytes, as in an archive that feeds on itself.
    third = content.rfind(b"3.jpg") - 46
    local = content.find(b"3.jpg") - 30
    inside = local - 8
    content[third + 42 : third + 46] = struct.pack("<L", inside)
    found = await decode(bytes(content))

    assert names(found) == ["1.jpg", "2.jpg"]


async def test_large_archive_figures_are_read(decode: Import, tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive, archive.open("1.jpg", "w", force_zip64=True) as member:
        member.write(jpeg(1))
    plain = out.getvalue()
    place = plain.rfind(b"PK\5\6")
    size, start = struct.unpack_from("<2L", plain, place + 12)
    wide = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, size, start)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, place, 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    found = await decode(plain[:place] + wide + locator + end, "file")

    with (tmp_path / "file").open("rb") as file:
        assert hops.whole(file.fileno(), found.pages[0].hops) == jpeg(1)


async def test_cut_archive_is_truncated(refuse: Refuse) -> None:
    failure = await refuse(comic(5)[:-200])
    assert failure.reason is Reason.TRUNCATED


@pytest.mark.parametrize("before", [b"\1" * 400, b"PK00", b"#!/bin/sh\nexit\n" * 30])
async def test_archive_behind_something_else_is_an_archive(
    decode: Import, tmp_path: Path, before: bytes
) -> None:
    found = await decode(before + comic(3, packed=True), "file")

    assert (found.kind, names(found)) == ("volume", ["1.jpg", "2.jpg", "3.jpg"])
    with (tmp_path / "file").open("rb") as file:
        assert [hops.whole(file.fileno(), page.hops) for page in found.pages] == [jpeg(n) for n in range(3)]


async def test_program_that_unpacks_itself_says_what_to_do(refuse: Refuse) -> None:
    failure = await refuse(b"MZ\x90\0" + bytes(400) + comic(3))
    assert failure.reason is Reason.NOT_MEDIA
    assert failure.detail == "program with a ZIP archive in it; unpack it and pack its pictures anew"


@pytest.mark.parametrize("after", [bytes(1024), b"and more"])
async def test_archive_within_a_larger_file_is_no_archive(refuse: Refuse, after: bytes) -> None:
    failure = await refuse(b"\1" * 512 + comic(3) + after)
    assert failure.reason is Reason.NOT_MEDIA


async def test_archive_with_a_torn_directory_is_corrupt(refuse: Refuse) -> None:
    content = bytearray(comic(5))
    at = content.find(b"PK\1\2")
    content[at : at + 4] = b"XXXX"
    assert (await refuse(bytes(content))).reason is Reason.CORRUPT


@pytest.mark.parametrize(
    ("members", "detail"),
    [
        ({"a.txt": b"x", "b.txt": b"y"}, "ZIP archive of other files"),
        ({"[Content_Types].xml": b"<x/>", "word/media/1.jpg": jpeg(1)}, "Office document"),
        ({"mimetype": b"application/epub+zip", "META-INF/container.xml": b"<x/>", "1.jpg": jpeg(1)},
         "OpenDocument file"),
        ({"page.html": b"<html><script>1</script>", "logo.svg": b"<svg onload='x'/>"},
         "ZIP archive of other files"),
    ],
)  # fmt: skip
async def test_archives_of_something_else_are_not_media(
    refuse: Refuse, members: dict[str, bytes], detail: str
) -> None:
    failure = await refuse(zipped(members))
    assert (failure.reason, failure.detail) == (Reason.NOT_MEDIA, detail)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"Rar!\x1a\x07\x01\x00", "RAR archive"),
        (b"7z\xbc\xaf\x27\x1c", "7z archive"),
        (b"01.jpg".ljust(257, b"\0") + b"ustar  \0", "TAR archive"),
    ],
)
async def test_other_archives_are_unsupported_by_name(refuse: Refuse, head: bytes, name: str) -> None:
    failure = await refuse(head + bytes(100))
    assert (failure.reason, failure.detail) == (Reason.UNSUPPORTED, name)


async def test_a88_documents_within_an_archive_are_no_pages(decode: Import) -> None:
    drawing, document = b"<svg><script>1</script></svg>", b"<html><script>1</script>"
    found = await decode(zipped({"1.jpg": jpeg(1), "2.jpg": jpeg(2), "2.svg": drawing, "3.jpg": document}))
    assert names(found) == ["1.jpg", "2.jpg"]


async def test_too_many_members_are_refused_before_they_are_read(tmp_path: Path) -> None:
    pool = DecodePool(1, Limits(volume_members=50))
    (tmp_path / "file").write_bytes(comic(51))
    try:
        async with pool.child() as child:
            with pytest.raises(MediaFailure, match="51 members > 50"):
                await child.read(bytes(tmp_path / "file"))
    finally:
        await pool.close()


async def test_comicinfo_gives_title_facts_tags_and_direction(decode: Import) -> None:
    found = await decode(comic(2, ComicInfo__xml=COMIC_INFO))

    assert found.title == "The Lighthouse"
    assert found.facts["right_to_left"] is True
    assert (found.facts["series"], found.facts["writer"]) == ("Shores", ["Ann", "Bo"])
    assert set(found.tags) == {
        ("artist", "Ann"), ("artist", "Bo"), ("general", "Sea"), ("general", "Storm"),
        ("character", "Kim"), ("series", "Shores"),
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><ComicInfo><Title>&b;</Title></ComicInfo>',
        b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><ComicInfo><Title>x</Title></ComicInfo>',
        b"<ComicInfo><Title>un",
        b"\xff\xfe\x00",
        b"<other/>",
        b"<ComicInfo>" + b"<a>" * 1000,
        b'<?xml version="1.0" encoding="utf-7"?><ComicInfo/>',
    ],
)
async def test_hostile_comicinfo_is_a_note_and_the_volume_stands(decode: Import, text: bytes) -> None:
    found = await decode(comic(2, ComicInfo__xml=text))

    assert found.frames == 2
    assert found.title is None
    assert found.notes[0].startswith("ComicInfo.xml is broken")


async def test_ugoira_is_an_animation_with_its_own_times(decode: Import) -> None:
    delays = [100, 50, 1250]
    plan = {"ugokuIllustData": {"frames": [{"file": f"{i}.jpg", "delay": d} for i, d in enumerate(delays)]}}
    pictures = {f"{i}.jpg": jpeg(i, size=(120, 80)) for i in range(3)}
    found = await decode(zipped(pictures | {"animation.json": json.dumps(plan).encode()}))

    assert (found.kind, found.mime) == ("animation", "application/vnd.ugoira+zip")
    assert (found.frames, found.duration_s, found.width) == (3, 1.4, 120)
    assert found.pages == []


async def test_ugoira_is_shown_as_an_animation_with_the_same_times(decode: Import, tmp_path: Path) -> None:
    delays = [40, 500, 70, 910]
    plan = [{"file": f"{i}.jpg", "delay": d} for i, d in enumerate(delays)]
    pictures = {f"{i}.jpg": jpeg(i, size=(121, 80)) for i in range(4)}
    content = zipped(pictures | {"animation.json": json.dumps({"frames": plan}).encode()})
    found = await decode(content, wanted=("full", "grid-240"))

    assert [(made.name, made.mime) for made in found.renditions] == [
        ("grid-240", "image/webp"), ("full", "image/webp")
    ]  # fmt: skip
    with Image.open(tmp_path / "full.webp") as moving:
        assert (moving.size, moving.n_frames) == ((121, 80), 4)  # type: ignore[attr-defined]
        assert moving.info["loop"] == 0
        times = []
        for at in range(4):
            moving.seek(at)
            moving.load()
            times.append(moving.info["duration"])
    assert times == delays


async def test_cover_of_an_ugoira_is_its_first_frame_that_shows_something(
    decode: Import, tmp_path: Path
) -> None:
    black = saved(Image.new("RGB", (64, 48)), "PNG")
    plan = [{"file": name, "delay": 50} for name in ("0.png", "1.png", "2.jpg")]
    pictures = {"0.png": black, "1.png": black + b"\0", "2.jpg": jpeg(5)}
    await decode(zipped(pictures | {"animation.json": json.dumps(plan).encode()}))

    with Image.open(tmp_path / "grid-240.webp") as cover:
        assert max(high for _, high in cover.convert("RGB").getextrema()) > 100  # type: ignore[misc]


async def test_ugoira_without_a_frame_is_corrupt(refuse: Refuse) -> None:
    plan = json.dumps([{"file": "0.jpg", "delay": 10}, {"file": "1.jpg", "delay": 10}]).encode()
    failure = await refuse(zipped({"0.jpg": jpeg(0), "animation.json": plan}))
    assert failure.reason is Reason.CORRUPT
    assert "1 of 2 frames" in failure.detail


async def test_thousand_pages_are_listed_quickly(decode: Import) -> None:
    content = zipped({f"{number}.jpg": jpeg(number % 7) for number in range(1000)})
    began = time.monotonic()
    found = await decode(content)

    assert found.frames == 1000
    assert time.monotonic() - began < 30


async def test_no_byte_of_an_archive_brings_the_decoder_down(pool: DecodePool, tmp_path: Path) -> None:
    sound = comic(3, packed=True, ComicInfo__xml=COMIC_INFO)
    directory = sound.find(b"PK\1\2")
    path = tmp_path / "file"
    async with pool.child() as child:
        pid = (await child.tier()) and child.pid
        for at in [*range(directory, len(sound), 3), *range(0, directory, 97)]:
            torn = bytearray(sound)
            torn[at] ^= 0xFF
            path.write_bytes(torn)
            try:
                await child.read(bytes(path))
                await child.decode([])
            except MediaFailure as failure:
                assert failure.reason in set(Reason)
        assert child.pid == pid
