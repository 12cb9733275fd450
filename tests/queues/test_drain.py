"""Drains: rows are claimed in batches, end once, and go back when they must."""

from __future__ import annotations

from typing import Any

from appliance.core.db import Database
from tests.queues.conftest import until
from tests.queues.tables import CrateCame, Yard


async def add(db: Database, count: int = 1) -> None:
    async with db.unit_of_work() as uow:
        await uow.sql.execute("INSERT INTO q_crate (shelf) SELECT 0 FROM generate_series(1, $1)", count)
        uow.record(CrateCame())


async def states(db: Database) -> dict[str, int]:
    async with db.unit_of_work() as uow:
        return dict(await uow.sql.fetch("SELECT status, count(*) FROM q_crate GROUP BY 1"))


async def test_a_fact_starts_the_drain_and_each_row_has_one_effect(store: Database, serve: Any) -> None:
    yard = Yard()
    await serve(yard)
    await add(store, 100)

    async def done() -> bool:
        return await states(store) == {"complete": 100}

    await until(done, "all stowed")
    async with store.unit_of_work() as uow:
        effects = await uow.sql.fetchval("SELECT max(effects) FROM q_crate")
        counts = await uow.sql.fetch("SELECT counts, status FROM task_run WHERE task = $1", yard.stow.name)

    assert effects == 1
    assert [(c["counts"], c["status"]) for c in counts if c["status"] != "running"] or counts
