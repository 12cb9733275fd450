"""Tables and a register for the tests of the machinery: one drain, one ledger, nothing of the domain."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Index, MetaData, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from appliance.core.columns import ALONE, Base, ItemColumns, Keyed, RunColumns
from appliance.core.db import UnitOfWork
from appliance.core.drains import Claimed, Drain
from appliance.core.facts import Fact
from queues.declare import Ledger, Register, minutes, seconds
from queues.runs import Run


class TestBase(DeclarativeBase):
    __test__ = False
    metadata = MetaData()
    type_annotation_map = Base.type_annotation_map


class Crate(Keyed, ItemColumns, TestBase):
    __tablename__ = "q_crate"
    __table_args__ = (
        Index("ix_q_crate_pending", "shelf", "id", postgresql_where=text("status = 'pending'")),
        Index("ix_q_crate_processing", "worker_id", postgresql_where=text("status = 'processing'")),
    )
    shelf: Mapped[int] = mapped_column(server_default=text("0"))
    status: Mapped[str] = mapped_column(server_default=text("'pending'"))
    reason: Mapped[str | None]
    effects: Mapped[int] = mapped_column(server_default=text("0"))


class Voyage(Keyed, RunColumns, TestBase):
    __tablename__ = "q_voyage"
    status: Mapped[str] = mapped_column(server_default=text("'pending'"))
    interruptions: Mapped[int] = mapped_column(server_default=text("0"))
    effects: Mapped[int] = mapped_column(server_default=text("0"))


class CrateCame(Fact):
    pass


class VoyageAsked(Fact):
    pass


async def claim(sql: Any, worker_id: int, n: int) -> Sequence[Claimed]:
    rows = await sql.fetch(
        "UPDATE q_crate SET status = 'processing', claim = gen_random_uuid(),"
        " worker_id = $1, claimed_at = now()"
        " WHERE id = ANY(ARRAY(SELECT id FROM q_crate WHERE status = 'pending' ORDER BY shelf, id LIMIT $2"
        f" FOR UPDATE SKIP LOCKED)) RETURNING id, claim, {ALONE} AS alone",
        worker_id,
        n,
    )
    return [Claimed(r["id"], r["claim"], r["alone"], None) for r in rows]


async def fail(sql: Any, item: Claimed, reason: str, detail: str) -> bool:
    return await _end(sql, item, "failed", reason)


async def _end(sql: Any, item: Claimed, status: str, reason: str | None) -> bool:
    done = await sql.fetchval(
        "UPDATE q_crate SET status = $3, reason = $4, finished_at = now(), claim = NULL, worker_id = NULL,"
        " effects = effects + 1 WHERE id = $1 AND claim = $2 RETURNING id",
        item.id,
        item.claim,
        status,
        reason,
    )
    return done is not None


class Yard:
    """A register whose bodies do what the test says, and what they saw."""

    def __init__(
        self, *, parallel: int = 2, hand: int | None = None, limit: float = 30, **drain: Any
    ) -> None:
        self.register = Register()
        self.lane = self.register.lane("yard", group="quick", slots=2, ceiling=minutes(10), purpose="test")
        self.drain = Drain(
            "crates",
            Crate,
            claim,
            fail,
            parallel=lambda _s: parallel,
            hand=None if hand is None else lambda _s: hand,
            terminal=("complete", "failed"),
            keep=timedelta(days=7),
            **drain,
        )
        self.seen: list[int] = []
        self.gate: asyncio.Event | None = None
        self.raises: Exception | None = None
        self.meets: Callable[[UnitOfWork], Awaitable[None]] | None = None
        """Happens once, in the transaction of a body."""
        self.at_once = 0
        self.most_at_once = 0
        self._declare(seconds(limit))

    def _declare(self, limit: timedelta) -> None:
        task = self.register.task

        @task(lane=self.lane, limit=limit, on=[CrateCame], cron="* * * * *", drain=self.drain)
        async def stow(item: Claimed) -> str:
            """Stow one crate."""
            return await self._stow(item)

        @task(
            lane=self.lane,
            limit=limit,
            ledger=Ledger(
                Voyage, live={"sailing"}, keep=timedelta(days=1), stalled="pending", asked=[VoyageAsked]
            ),
        )
        async def sail(run: Run) -> None:
            """Sail once."""
            await self._sail(run)

        @task(lane=self.lane, limit=limit, button=True, cron="15 3 * * *")
        async def scrub(run: Run) -> None:
            """Scrub the deck."""
            self.seen.append(run.row)
            if self.gate:
                await self.gate.wait()
            if self.raises:
                raise self.raises
            run.counts["planks"] += 1

        self.stow, self.sail, self.scrub = stow, sail, scrub

    async def _stow(self, item: Claimed) -> str:
        from appliance.core import db

        self.seen.append(item.id)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.gate:
                await self.gate.wait()
            if self.raises:
                raise self.raises
            async with db.unit_of_work() as uow:
                await self._meet(uow)
                return "stowed" if await _end(uow.sql, item, "complete", None) else "stale"
        finally:
            self.at_once -= 1

    async def _sail(self, run: Run) -> None:
        from appliance.core import db

        self.seen.append(run.row)
        if self.gate:
            await self.gate.wait()
        if self.raises:
            raise self.raises
        async with db.unit_of_work() as uow:
            await self._meet(uow)
            await run.finish(uow, "done", effects=1)

    async def _meet(self, uow: UnitOfWork) -> None:
        meets, self.meets = self.meets, None
        if meets:
            await meets(uow)
