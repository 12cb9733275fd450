"""Carrying an operation out: chunk by chunk, each one transaction that its fence guards."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from appliance.core import settings
from appliance.core.db import Database, UnitOfWork
from appliance.core.errors import VitrineError
from appliance.library import editing
from appliance.operations import changes, gone, listing, pairs, purging, tags
from appliance.operations.kinds import Kind
from appliance.operations.purging import Doomed
from appliance.operations.stored import plain


if TYPE_CHECKING:
    from asyncpg import Connection


CHUNK = 1000


class LostOperation(VitrineError):
    """The operation was given to someone else in the meantime; this hand changes nothing more."""


@dataclass(frozen=True, slots=True)
class Working:
    """One operation in hand."""

    id: int
    kind: Kind
    arguments: dict[str, Any]
    user_id: int | None
    undoes: int | None
    queued_at: datetime
    total: int
    later: Any = None
    """Where the ids come from, while they are not written down yet."""
    cancelled: bool = False


@dataclass(slots=True)
class Done:
    """What one chunk did: what each changed asset was before, and what else is worth a word."""

    before: dict[int, str | None] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)
    doomed: Doomed | None = None


async def carry_out(
    database: Database, operation_id: int, claim: uuid.UUID, *, stop: Callable[[], bool]
) -> str:
    """Go on until nothing waits; the state that the operation is in then.

    `pending` when it was asked to stop, to go on later exactly where it stood.
    """
    while True:
        if stop():
            return "pending"
        async with database.unit_of_work() as uow:
            working = await _fenced(uow.sql, operation_id, claim)
            if working.cancelled:
                return "cancelled"
            if working.later is not None:
                await listing.catch_up(uow.sql, working.id, working.kind, working.later, expect=working.total)
                continue
            taken, doomed = await chunk(uow, working)
        await unlink(doomed)
        if not taken:
            return "done"


async def _fenced(sql: Connection[Any], operation_id: int, claim: uuid.UUID) -> Working:
    # Weaker than FOR UPDATE: a deletion that holds assets of this chunk writes down beside this row how
    # many of them are gone, and must not wait for it.
    row = await sql.fetchrow(
        f"{_WORKING} AND claim = $2 AND status = 'running' FOR NO KEY UPDATE", operation_id, claim
    )
    if row is None:
        raise LostOperation("The action was taken over")
    return _working(row)


_WORKING = (
    "SELECT id, kind, arguments, user_id, undoes, queued_at, total, cancel_asked_at IS NOT NULL AS cancelled"
    " FROM operation WHERE id = $1"
)


def _working(row: Any) -> Working:
    arguments = plain(row["arguments"])
    return Working(
        row["id"],
        Kind(row["kind"]),
        arguments,
        row["user_id"],
        row["undoes"],
        row["queued_at"],
        row["total"],
        arguments.pop("later", None),
        row["cancelled"],
    )


async def load(sql: Connection[Any], operation_id: int) -> Working:
    """An operation that its own transaction has just written down: nobody else can hold it."""
    row = await sql.fetchrow(_WORKING, operation_id)
    if row is None:
        raise LostOperation("There is no such action")
    return _working(row)


async def chunk(uow: UnitOfWork, working: Working) -> tuple[int, Doomed | None]:
    """Do the next assets: what they are, what they were and the counters move in this transaction."""
    if working.kind is Kind.PURGE:
        ids = await purging.next_ids(uow.sql, working.id)
    else:
        ids = await _next(uow.sql, working.id)
    if not ids:
        return 0, None
    done = await _do(uow, working, ids)
    await _write_down(uow.sql, working.id, ids, done)
    return len(ids), done.doomed


async def _next(sql: Connection[Any], operation_id: int) -> list[int]:
    rows = await sql.fetch(
        "SELECT asset_id FROM operation_item WHERE operation_id = $1 AND changed IS NULL"
        " ORDER BY asset_id LIMIT $2",
        operation_id,
        CHUNK,
    )
    return [row["asset_id"] for row in rows]


async def _do(uow: UnitOfWork, working: Working, ids: Sequence[int]) -> Done:
    match working.kind:
        case Kind.TAG:
            return Done({**await tags.tag(uow, ids, working.arguments, working.user_id)})
        case Kind.UNTAG:
            return Done({**await tags.untag(uow, ids, working.arguments, working.user_id)})
        case Kind.KEEP_ONE | Kind.ALTERNATE | Kind.DIFFERENT:
            return Done({**await pairs.decide(uow, working.kind, ids, working.arguments, working.user_id)})
        case Kind.PURGE:
            return await _purge(uow, working, ids)
        case Kind.UNDO:
            return await _undo(uow, working, ids)
        case kind:
            before = await changes.change(uow.sql, kind, ids, working.arguments)
            await _follow(uow, kind, before)
            return Done({**before})


async def _follow(uow: UnitOfWork, kind: Kind, changed: Collection[int]) -> None:
    if kind is Kind.TURN:
        await editing.redraw(uow, sorted(changed))


async def _purge(uow: UnitOfWork, working: Working, ids: Sequence[int]) -> Done:
    until = working.arguments.get("before")
    # Restored and thrown away again since the action was asked for: that is another decision.
    limit = datetime.fromisoformat(until) if until else working.queued_at
    before, doomed = await purging.delete(
        uow.sql, settings.current().home, ids, before=limit, person=working.user_id
    )
    await gone.count_in(uow.sql, working.id, list(before))
    await gone.forget_words(uow.sql, list(before))
    return Done({**before}, doomed.notes, doomed)


async def _undo(uow: UnitOfWork, working: Working, ids: Sequence[int]) -> Done:
    assert working.undoes is not None  # noqa: S101 - an undo names what it undoes
    first = await load(uow.sql, working.undoes)
    match first.kind:
        case Kind.TAG:
            back = await tags.take_back(uow, first.id, ids)
        case Kind.UNTAG:
            back = await tags.put_back(uow, first.id, ids)
        case Kind.KEEP_ONE | Kind.ALTERNATE | Kind.DIFFERENT:
            back = await pairs.take_back(uow, first.kind, first.id, ids, first.arguments)
        case kind:
            done = await changes.change_back(uow.sql, kind, first.id, ids, first.arguments)
            await _follow(uow, kind, done)
            back = dict.fromkeys(done, True)
    # Whoever was given something back is held by this transaction: only others can have gone.
    there = await uow.sql.fetchval("SELECT count(*) FROM asset WHERE id = ANY($1::bigint[])", ids)
    return Done(
        dict.fromkeys(back), Counter({"changed_since": there - sum(back.values()), "gone": len(ids) - there})
    )


async def _write_down(sql: Connection[Any], operation_id: int, ids: Sequence[int], done: Done) -> None:
    await sql.execute(
        "UPDATE operation_item i SET changed = t.changed, before = t.before::jsonb"
        " FROM unnest($2::bigint[], $3::boolean[], $4::text[]) AS t(id, changed, before)"
        " WHERE i.operation_id = $1 AND i.asset_id = t.id",
        operation_id,
        ids,
        [i in done.before for i in ids],
        [done.before.get(i) for i in ids],
    )
    notes: Counter[str] = Counter(
        plain(await sql.fetchval("SELECT notes FROM operation WHERE id = $1", operation_id))
    )
    notes.update({name: n for name, n in done.notes.items() if n})
    await sql.execute(
        "UPDATE operation SET done = done + $2, changed = changed + $3, notes = $4 WHERE id = $1",
        operation_id,
        len(ids),
        len(done.before),
        json.dumps(notes),
    )


async def unlink(doomed: Doomed | None) -> None:
    """Remove what a chunk left behind on the disk, once its transaction stands."""
    if doomed is not None:
        await asyncio.to_thread(purging.unlink, settings.current().home, doomed)
