"""Photos with a film: found wherever phones put it, and never taken for granted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.media import living, make
from tests.media.conftest import Import


FILM = make.film(count=12)


@pytest.mark.parametrize("way", [living.google, living.google_before, living.samsung, living.heic])
async def test_a_film_within_a_photo_is_found(decode: Import, way: Callable[[bytes], bytes]) -> None:
    data = way(FILM)
    decoded = await decode(data)
    found = decoded.facts["motion"]
    assert decoded.kind == "still"
    assert data[found["offset"] : found["offset"] + found["length"]] == FILM
    assert (found["mime"], found["video_codec"], found["seconds"]) == ("video/mp4", "h264", 1.2)


@pytest.mark.parametrize("way", [living.google, living.google_before, living.samsung, living.heic])
async def test_a_photo_whose_film_is_nonsense_is_a_photo(
    decode: Import, way: Callable[[bytes], bytes]
) -> None:
    for film in (b"\0" * 4000, FILM[: len(FILM) // 2], FILM[:40] + b"moov" + bytes(3000)):
        decoded = await decode(way(film))
        assert (decoded.kind, decoded.width) == ("still", 80)
        assert "motion" not in decoded.facts


async def test_lengths_that_lead_out_of_the_file_are_not_followed(decode: Import) -> None:
    for length in (0, 1, 10**9, 10**17):
        picture = living.photo(living._CONTAINER.format(length=length))
        assert "motion" not in (await decode(picture + FILM)).facts


async def test_what_a_camera_wrote_behind_the_film_is_no_part_of_it(decode: Import) -> None:
    trailer = b"\0\0\0\x40SEFsomething of the camera" + bytes(60)
    data = living.photo(living._MICRO.format(length=len(FILM) + len(trailer))) + FILM + trailer
    found = (await decode(data)).facts["motion"]
    assert data[found["offset"] :][: found["length"]] == FILM


@pytest.mark.parametrize("format_", ["JPEG", "HEIF"])
async def test_a_photo_and_its_film_bear_the_same_mark(decode: Import, format_: str) -> None:
    still = await decode(living.apple_still(format_=format_))
    film = await decode(living.apple_film())
    assert still.facts["live_id"] == film.facts["live_id"] == living.PAIR


async def test_damaged_notes_of_a_camera_bind_nothing(decode: Import) -> None:
    for pair in ("short", "with spaces in it, so no mark", "x" * 63):
        decoded = await decode(living.apple_still(pair))
        assert decoded.facts.get("live_id") in (None, "X" * 63)
    data = living.apple_still()
    for at in range(data.index(b"Apple iOS") + 10, data.index(b"Apple iOS") + 40):
        broken = data[:at] + b"\xff" + data[at + 1 :]
        assert (await decode(broken)).kind == "still"
