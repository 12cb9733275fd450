"""Two transactions that stood in each other's way: what was undone is done again, and nobody is blamed."""

from __future__ import annotations

from typing import Any

from appliance.core.db import Database, UnitOfWork
from queues import runs
from queues.outage import Outages, surely
from tests.collisions import Rival
from tests.queues.tables import Yard
from tests.queues.test_drain import add, crates, runner
from tests.queues.test_runs import ask, enrolled, recorded, voyage


async def test_a_row_that_met_another_transaction_is_done_again(store: Database, make_process: Any) -> None:
    yard, rival = Yard(), Rival(store)
    yard.meets = rival.meet
    _, drain = await runner(make_process, yard)
    await add(store)

    await drain.wake()
    await rival.leave()

    (crate,) = await crates(store)
    assert rival.met == 1
    assert (crate["status"], crate["reason"], crate["deliveries"]) == ("complete", None, 0)


async def test_a_run_that_met_another_transaction_begins_again(store: Database, make_process: Any) -> None:
    yard, rival = Yard(), Rival(store)
    yard.meets = rival.meet
    process = await enrolled(make_process, yard)
    (row,) = await ask(store)

    await runs.execute(process, yard.sail, row)
    waiting = await voyage(store, row)
    await rival.leave()
    await runs.execute(process, yard.sail, row)

    assert (waiting["status"], waiting["error"]) == ("pending", None)
    assert (await voyage(store, row))["status"] == "done"
    assert [r["status"] for r in await recorded(store)] == ["recovered", "done"]


async def test_the_queues_own_statements_are_done_again_and_it_is_no_outage(store: Database) -> None:
    rival, before = Rival(store), Outages.count

    async def work() -> str:
        async with store.unit_of_work() as uow:
            await _once(rival, uow)
            return "worked"

    assert await surely(work) == "worked"
    await rival.leave()
    assert (rival.met, Outages.count) == (1, before)


async def _once(rival: Rival, uow: UnitOfWork) -> None:
    if not rival.met:
        await rival.meet(uow)
