"""What a person may do to the queues: run now, cancel, pause and resume a lane."""

from __future__ import annotations

from dataclasses import dataclass

from appliance.core import db, log
from appliance.core.db import UnitOfWork
from appliance.core.errors import Conflict, NotFound
from appliance.core.settings import Settings
from queues.clock import queue
from queues.declare import REGISTER, Register, Task
from queues.doorbell import Doorbell, here
from queues.waiting import waiting


BY_ENVIRONMENT = "VITRINE_PAUSE"


@dataclass(frozen=True, slots=True)
class Started:
    """The answer to "run now": the row that waits, or why there is none."""

    task: str
    row: int | None
    refusal: str | None = None


async def start(bell: Doorbell, settings: Settings, name: str, *, asked_by: str) -> Started:
    """Run a task now; its row is written first, so that the wish survives everything."""
    return await _start(bell, bell.register, settings, name, asked_by)


async def ask(settings: Settings, name: str, *, asked_by: str) -> Started:
    """The same from a process that may have no bell: then the refill finds the wish within a minute."""
    return await _start(here(), REGISTER, settings, name, asked_by)


async def _start(
    bell: Doorbell | None, register: Register, settings: Settings, name: str, asked_by: str
) -> Started:
    task = _named(register, name)
    if not task.button:
        raise Conflict(f"{name} cannot be started by hand")
    async with db.unit_of_work() as uow:
        answer = await queue(uow, task, asked_by=asked_by, silence=settings.silence)
    if isinstance(answer, str):
        return Started(name, None, answer)
    if bell is not None:
        await bell.ring(answer.task, answer.row, force=True)
    return Started(name, answer.row)


async def cancel(run_id: int) -> bool:
    """Ask a recorded execution to end; True when it waited or ran."""
    async with db.unit_of_work() as uow:
        found = await uow.sql.fetchval(
            "UPDATE task_run SET cancel_asked_at = now(),"
            " status = CASE status WHEN 'pending' THEN 'cancelled' ELSE status END,"
            " finished_at = CASE status WHEN 'pending' THEN now() END"
            " WHERE id = $1 AND status IN ('pending', 'running') RETURNING id",
            run_id,
        )
    return found is not None


async def pause(register: Register, lane: str, *, by: str, reason: str | None = None) -> None:
    """Let a lane take nothing new; drains in it stop within seconds, runs end as they would."""
    _known(register, lane)
    async with db.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO lane_state (lane, paused_at, paused_by, reason) VALUES ($1, now(), $2, $3)"
            " ON CONFLICT (lane) DO UPDATE SET paused_at = now(), paused_by = $2, reason = $3",
            lane,
            by,
            reason,
        )


async def let_go_on(uow: UnitOfWork, register: Register, lane: str) -> None:
    """Let a lane go on; a caller without a bell records a fact for what waited meanwhile."""
    _known(register, lane)
    await uow.sql.execute("DELETE FROM lane_state WHERE lane = $1", lane)


async def resume(bell: Doorbell, lane: str) -> None:
    """Let a lane go on, and ring what waited meanwhile."""
    async with db.unit_of_work() as uow:
        await let_go_on(uow, bell.register, lane)
        tasks = [t for t in await waiting(uow.sql, bell.register) if t.lane.name == lane]
    for task in tasks:
        await bell.ring(task, force=True)


async def pause_by_environment(settings: Settings, register: Register) -> None:
    """Make the lanes of VITRINE_PAUSE start paused, and those that it no longer names go on."""
    known = {lane.name for lane in register.lanes}
    for lane in set(settings.pause) - known:
        # A slip in the environment must not keep the other lanes from working.
        log.get().error("unknown lane in VITRINE_PAUSE", lane=lane, lanes=sorted(known))
    async with db.unit_of_work() as uow:
        await uow.sql.execute(
            "DELETE FROM lane_state WHERE paused_by = $1 AND NOT (lane = ANY($2::text[]))",
            BY_ENVIRONMENT,
            list(settings.pause),
        )
        await uow.sql.execute(
            "INSERT INTO lane_state (lane, paused_at, paused_by)"
            " SELECT lane, now(), $1 FROM unnest($2::text[]) lane"
            " ON CONFLICT (lane) DO NOTHING",
            BY_ENVIRONMENT,
            [p for p in settings.pause if p in known],
        )


def _named(register: Register, name: str) -> Task:
    task = register.find(name)
    if task is None:
        raise NotFound(f"There is no task {name}")
    return task


def _known(register: Register, lane: str) -> None:
    names = [each.name for each in register.lanes]
    if lane not in names:
        raise NotFound(f"There is no lane {lane}", f"Lanes: {', '.join(names)}")
