"""What a person may do: run now, cancel, pause, resume."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from appliance.core.db import Database
from appliance.core.errors import Conflict, NotFound
from appliance.core.settings import Settings
from queues import control
from tests.queues.conftest import until
from tests.queues.tables import Yard
from tests.queues.test_doorbell import belled
from tests.queues.test_drain import add, states
from tests.queues.test_runs import recorded


async def test_run_now_writes_its_row_first_and_survives_a_missing_doorbell(
    store: Database, quick: Settings, tmp_path: Any
) -> None:
    yard = Yard()
    bell = belled(f"unix://{tmp_path}/nobody.sock", yard)

    answer = await control.start(bell, quick, yard.scrub.name, asked_by="mara")
    again = await control.start(bell, quick, yard.scrub.name, asked_by="mara")

    (run,) = await recorded(store)
    assert (run["id"], run["status"], run["asked_by"]) == (answer.row, "pending", "mara")
    assert answer.refusal is again.refusal is None
    await bell.close()


async def test_run_now_says_why_not_while_the_task_runs(store: Database, serve: Any, quick: Settings) -> None:
    yard = Yard()
    yard.gate = asyncio.Event()
    process = await serve(yard)
    await until(lambda: process.worker_id, "enrolled")
    await control.start(process.bell, quick, yard.scrub.name, asked_by="mara")
    await until(lambda: yard.seen, "begun")

    answer = await control.start(process.bell, quick, yard.scrub.name, asked_by="ben")
    yard.gate.set()

    assert answer.row is None
    assert "running since" in (answer.refusal or "")


async def test_only_tasks_with_a_button_can_be_started_by_hand(
    store: Database, redis_url: str, quick: Settings
) -> None:
    yard = Yard()
    bell = belled(redis_url, yard)

    with pytest.raises(Conflict):
        await control.start(bell, quick, yard.stow.name, asked_by="mara")
    with pytest.raises(NotFound):
        await control.start(bell, quick, "yard.swim", asked_by="mara")
    await bell.close()


async def test_cancel_ends_a_running_body_within_seconds(
    store: Database, serve: Any, quick: Settings
) -> None:
    yard = Yard()
    yard.gate = asyncio.Event()
    process = await serve(yard)
    await until(lambda: process.worker_id, "enrolled")
    answer = await control.start(process.bell, quick, yard.scrub.name, asked_by="mara")
    await until(lambda: yard.seen, "begun")

    assert answer.row is not None
    assert await control.cancel(answer.row)

    async def cancelled() -> bool:
        return [r["status"] for r in await recorded(store)] == ["cancelled"]

    await until(cancelled, "cancelled", 5)


async def test_cancel_of_a_waiting_run_is_immediate_and_of_a_finished_one_refused(store: Database) -> None:
    async with store.unit_of_work() as uow:
        row = await uow.sql.fetchval(
            "INSERT INTO task_run (task, lane, kind) VALUES ('a.b', 'yard', 'run') RETURNING id"
        )

    assert await control.cancel(row)
    assert not await control.cancel(row)
    assert [r["status"] for r in await recorded(store)] == ["cancelled"]


async def test_resume_rings_what_waited(store: Database, serve: Any) -> None:
    yard = Yard()
    process = await serve(yard)
    await until(lambda: process.worker_id, "enrolled")
    await control.pause(yard.register, "yard", by="mara", reason="quiet please")
    await add(store, 3)
    await until(lambda: not process.active, "the wake came and found the lane paused")
    assert await states(store) == {"pending": 3}

    await control.resume(process.bell, "yard")

    async def done() -> bool:
        return await states(store) == {"complete": 3}

    await until(done, "went on")


async def test_lanes_of_the_environment_start_paused_and_go_on_without_it(
    store: Database, quick: Settings
) -> None:
    yard = Yard()
    await control.pause_by_environment(quick.with_(pause=("yard",)), yard.register)
    async with store.unit_of_work() as uow:
        paused = await uow.sql.fetch("SELECT lane, paused_by FROM lane_state")
    await control.pause_by_environment(quick, yard.register)
    async with store.unit_of_work() as uow:
        left = await uow.sql.fetch("SELECT lane FROM lane_state")

    assert [tuple(r) for r in paused] == [("yard", "VITRINE_PAUSE")]
    assert left == []


async def test_an_unknown_lane_in_the_environment_does_not_stop_the_others(
    store: Database, quick: Settings
) -> None:
    await control.pause_by_environment(quick.with_(pause=("moon", "yard")), Yard().register)

    async with store.unit_of_work() as uow:
        assert [r[0] for r in await uow.sql.fetch("SELECT lane FROM lane_state")] == ["yard"]
    with pytest.raises(NotFound, match="moon"):
        await control.pause(Yard().register, "moon", by="mara")
