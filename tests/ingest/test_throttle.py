"""Cores and hours: what a person allowed is heeded, and nobody waits who should not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.core.errors import Invalid
from appliance.core.settings import Settings
from appliance.ingest import claims, throttle
from appliance.ingest.throttle import ANY, Throttle
from queues import ingest as bodies
from queues import library as pictures
from tests.ingest.conftest import Ingest
from tests.media_files import jpeg, put


@pytest.fixture(autouse=True)
def _forgetful() -> Iterator[None]:
    throttle.forget()
    yield
    throttle.forget()


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 12, 1, hour, minute, tzinfo=UTC)


def test_window_may_cross_midnight() -> None:
    night = Throttle(begins=22, ends=7)
    assert [h for h in range(24) if not night.resting(at(h))] == [0, 1, 2, 3, 4, 5, 6, 22, 23]
    assert night.opens(at(7)) == at(22)
    assert night.opens(at(23)) is None
    day = Throttle(begins=9, ends=17)
    assert [h for h in range(24) if not day.resting(at(h))] == list(range(9, 17))
    assert day.opens(at(18)) == at(9).replace(day=2)
    assert not any(ANY.resting(at(h)) for h in range(24))


def test_cores_bound_what_is_worked_on_at_once(settings: Settings) -> None:
    eight = settings.with_(decode_children=8)
    assert ANY.places(eight) == 10
    assert Throttle(cores=8).places(eight) == 10
    assert Throttle(cores=3).places(eight) == 3
    assert Throttle(cores=1).places(eight) == 1


async def test_nonsense_is_refused_and_stores_nothing(ingest: Ingest) -> None:
    for wrong in (Throttle(cores=0), Throttle(cores=99), Throttle(begins=3), Throttle(begins=3, ends=24)):
        with pytest.raises(Invalid):
            async with ingest.db.unit_of_work() as uow:
                await throttle.write(uow, wrong, ingest.settings)
    async with ingest.db.unit_of_work() as uow:
        assert await throttle.read(uow.sql) == ANY


async def test_outside_the_hours_only_what_somebody_waits_for_comes_in(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1))
    batch_id = await ingest.queue(folder)
    await ingest.walk(await ingest.claim_walk(batch_id))
    async with ingest.db.unit_of_work() as uow:
        assert await claims.claim(uow.sql, 1, 4, only_interactive=True) == []
        await uow.sql.execute("UPDATE import_batch SET interactive = true")
    async with ingest.db.unit_of_work() as uow:
        assert len(await claims.claim(uow.sql, 1, 4, only_interactive=True)) == 1


async def test_drain_heeds_a_change_at_its_next_claim(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1))
    batch_id = await ingest.queue(folder)
    await ingest.walk(await ingest.claim_walk(batch_id))
    hour = throttle.wall(ingest.settings.zone).hour
    later = Throttle(cores=1, begins=(hour + 2) % 24, ends=(hour + 3) % 24)
    async with ingest.db.unit_of_work() as uow:
        await throttle.write(uow, later, ingest.settings)
    async with ingest.db.unit_of_work() as uow:
        assert await bodies.claim_in_hours(uow.sql, 1, 4) == []
    assert bodies.FILES.parallel(ingest.settings) == 1

    async with ingest.db.unit_of_work() as uow:
        await throttle.write(uow, ANY, ingest.settings)
    async with ingest.db.unit_of_work() as uow:
        assert len(await bodies.claim_in_hours(uow.sql, 1, 4)) == 1
    assert bodies.FILES.parallel(ingest.settings) == ingest.settings.decoders + 2


async def test_background_pictures_keep_to_the_hours_and_cores_too(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1))
    await ingest.scan(folder)
    hour = throttle.wall(ingest.settings.zone).hour
    later = Throttle(cores=1, begins=(hour + 2) % 24, ends=(hour + 3) % 24)
    async with ingest.db.unit_of_work() as uow:
        await throttle.write(uow, later, ingest.settings)
    async with ingest.db.unit_of_work() as uow:
        assert await pictures.MISSING.claim(uow.sql, 1, 4) == []
        # What somebody looks at is made at any hour.
        await uow.sql.execute("UPDATE rendition SET priority = 0 WHERE status = 'pending'")
        assert len(await pictures.MISSING.claim(uow.sql, 1, 4)) == 1
    assert pictures.MISSING.parallel(ingest.settings) == 1
