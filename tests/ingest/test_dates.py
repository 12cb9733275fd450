"""When something was taken: the first source that says something possible, at the hour that it says."""

# ruff: noqa: DTZ001 -- taken dates are wall time, without a zone by design.

from __future__ import annotations

import json
import os
import time
from collections.abc import AsyncIterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.library import months, queries
from appliance.library.models import DateSource
from appliance.media.decoder import DecodePool
from appliance.web import datewords
from tests.ingest.conftest import Ingest
from tests.media import make
from tests.media_files import put


IMPOSSIBLE = (
    "0000:00:00 00:00:00",
    "2023:13:45 00:00:00",
    "9999:01:01 00:00:00",
    "1904:01:01 00:00:00",
    "2023:07:09 24:00:00",
)


def picture(text: str, format_: str = "JPEG", **more: Any) -> bytes:
    return make.saved(make.corner(), format_, exif=make.exif(original=text, **more))


async def only(ingest: Ingest) -> dict[str, Any]:
    (row,) = await ingest.rows("SELECT id, date_source, taken_at, taken_offset, effective_at FROM asset")
    return row


@pytest.mark.parametrize("text", IMPOSSIBLE)
async def test_a43_an_impossible_date_gives_way_to_the_name(ingest: Ingest, folder: Path, text: str) -> None:
    put(folder, "IMG_20190704_101112.jpg", picture(text))
    await ingest.scan(folder)
    found = await only(ingest)
    assert (found["date_source"], found["effective_at"]) == ("name", datetime(2019, 7, 4, 10, 11, 12))


@pytest.mark.parametrize("text", IMPOSSIBLE)
async def test_a43_and_to_a_sidecar_before_that(ingest: Ingest, folder: Path, text: str) -> None:
    put(folder, "IMG_20190704_101112.jpg", picture(text))
    put(folder, "IMG_20190704_101112.json", json.dumps({"date": "2018-01-02 03:04:05"}).encode())
    await ingest.scan(folder)
    found = await only(ingest)
    assert (found["date_source"], found["effective_at"]) == ("sidecar", datetime(2018, 1, 2, 3, 4, 5))


@pytest.mark.parametrize("text", IMPOSSIBLE)
async def test_a43_then_to_the_last_change_and_never_to_the_future(
    ingest: Ingest, folder: Path, text: str
) -> None:
    path = put(folder, "a.jpg", picture(text))
    os.utime(path, (1_600_000_000, 1_600_000_000))
    await ingest.scan(folder)
    found = await only(ingest)
    assert (found["date_source"], found["effective_at"].year) == ("mtime", 2020)


async def test_a43_a_clock_that_ran_ahead_counts_for_nothing(ingest: Ingest, folder: Path) -> None:
    path = put(folder, "a.jpg", picture(IMPOSSIBLE[2]))
    ahead = time.time() + 400 * 86_400
    os.utime(path, (ahead, ahead))
    await ingest.scan(folder)
    found = await only(ingest)
    assert found["date_source"] == "import"
    assert found["effective_at"].timestamp() < time.time() + 86_400


@pytest.mark.parametrize(
    "text",
    [
        "0000-00-00 00:00:00",
        "2023-13-45 00:00:00",
        "9999-01-01 00:00:00",
        "1904-01-01",
        "2023-07-09 24:00:00",
    ],
)
async def test_a43_an_impossible_date_in_a_sidecar_is_none(ingest: Ingest, folder: Path, text: str) -> None:
    put(folder, "IMG_20190704_101112.jpg", make.saved(make.corner(), "JPEG"))
    put(folder, "IMG_20190704_101112.json", json.dumps({"date": text}).encode())
    await ingest.scan(folder)
    assert (await only(ingest))["date_source"] == "name"


@pytest.fixture(params=["Asia/Taipei", "UTC", "America/Los_Angeles"])
async def abroad(request: pytest.FixtureRequest, db: Database, settings: Settings) -> AsyncIterator[Ingest]:
    """The pipeline of an installation in another zone."""
    pool = DecodePool(1)
    yield Ingest(db, msgspec.structs.replace(settings, tz=request.param), pool)
    await pool.close()


@pytest.mark.parametrize("format_", ["JPEG", "HEIF"])
async def test_a44_a_time_without_a_zone_is_shown_as_it_is_written(
    abroad: Ingest, folder: Path, format_: str
) -> None:
    put(folder, "a", picture("2023:07:09 23:04:00", format_))
    await abroad.scan(folder)
    found = await only(abroad)
    assert (found["effective_at"], found["taken_offset"]) == (datetime(2023, 7, 9, 23, 4), None)
    async with abroad.db.unit_of_work() as uow:
        asset = await queries.asset(uow.sql, found["id"])
    assert datewords.taken(asset) == ("9 Jul 2023, 23:04", f"{datewords.SOURCES['exif']}, no time zone")


async def test_a46_an_evening_far_away_stands_in_its_own_day_and_month(abroad: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", picture("2025:05:31 22:30:00", offset="-08:00"))
    await abroad.scan(folder)
    found = await only(abroad)
    assert (found["effective_at"], found["taken_offset"]) == (datetime(2025, 5, 31, 22, 30), -480)
    async with abroad.db.unit_of_work() as uow:
        await months.fold(uow.sql)
    assert await abroad.rows("SELECT month, assets FROM month_count") == [
        {"month": date(2025, 5, 1), "assets": 1}
    ]


def test_every_source_of_a_date_has_its_words() -> None:
    assert set(datewords.SOURCES) == {s.value for s in DateSource}
