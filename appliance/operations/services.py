"""Asking for bulk actions: written down first, done at once when few, by the lane when many."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import asyncpg
import msgspec

from appliance.core.db import UnitOfWork
from appliance.core.errors import Conflict, NotFound
from appliance.operations import carrying, kinds, listing, pairs, purging, verdicts
from appliance.operations.carrying import carry_out, unlink
from appliance.operations.facts import OperationQueued
from appliance.operations.gone import GONE, LEFT, LOST
from appliance.operations.kinds import FINAL, TAGGING, Kind
from appliance.operations.listing import UNDOABLE, materialise, postpone, write
from appliance.operations.naming import named_tags
from appliance.operations.purging import Doomed
from appliance.operations.stored import plain


if TYPE_CHECKING:
    from asyncpg import Connection


__all__ = [
    "Kind",
    "act",
    "act_on_found",
    "also",
    "ask_undo",
    "cancel",
    "carry_out",
    "expired",
    "settle",
    "unlink",
]

AT_ONCE = 500
"""So many are done inside the request; a person does not wait for more."""
KEPT_FOR = timedelta(days=30)
"""In the trash, and as long an action can be undone."""
CARELESS = 50
"""Deleting more than this for good asks for the number to be typed."""


class Asked(msgspec.Struct, frozen=True):
    """An operation as it stands after it was asked for; `doomed` is for `unlink` after the commit."""

    id: int
    kind: Kind
    status: str
    total: int
    changed: int
    notes: dict[str, int]
    ids: list[int]
    undoes: Kind | None = None
    doomed: Any = None


async def wish(uow: UnitOfWork, kind: Kind, form: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of a form, with tags looked up (and made, where they are to be assigned)."""
    read = kinds.arguments(kind, form)
    if kind in TAGGING:
        read |= await named_tags(uow, form.get("tags", ""), make=kind is Kind.TAG)
    return read


async def also(
    uow: UnitOfWork, first: int, kind: Kind, arguments: Mapping[str, Any], *, person: int | None
) -> Asked:
    """Do something else to exactly the assets of an action, whatever its search finds by now."""
    operation_id = await write(uow.sql, kind, arguments, person)
    same = "SELECT asset_id AS id FROM operation_item WHERE operation_id = $1"
    total = await materialise(uow.sql, operation_id, same, [first])
    return await settle(uow, operation_id, total)


async def act(
    uow: UnitOfWork, kind: Kind, ids: Sequence[int], arguments: Mapping[str, Any], *, person: int | None
) -> Asked:
    """Do something to assets that are named one by one; it stands in the history and can be undone."""
    await verdicts.in_turn(uow.sql, kind)
    operation_id = await write(uow.sql, kind, arguments, person)
    total = await materialise(uow.sql, operation_id, "SELECT unnest($1::bigint[]) AS id", [list(ids)])
    return await settle(uow, operation_id, total)


async def act_on_found(
    uow: UnitOfWork, kind: Kind, query: str, values: Sequence[Any], *, person: int | None
) -> Asked:
    """Do something to the assets that a statement of ours finds, however many."""
    operation_id = await write(uow.sql, kind, {}, person)
    return await settle(uow, operation_id, await materialise(uow.sql, operation_id, query, values))


async def ask_undo(uow: UnitOfWork, operation_id: int, *, person: int | None) -> Asked:
    """Take back what of an action no undo of it has given back: an action of its own.

    What was changed since stays, and may be asked for again once that change is taken back.
    """
    first = await uow.sql.fetchrow(
        f"SELECT kind, status, arguments, query, changed, {GONE} AS gone,"
        " finished_at < now() - $2::interval AS late FROM operation o WHERE id = $1",
        operation_id,
        KEPT_FOR,
    )
    if first is None:
        raise NotFound("This action is not in the history any more", "Actions are kept for 30 days.")
    _undoable(first)
    if first["kind"] == Kind.KEEP_ONE and first["gone"]:
        await pairs.refuse_undo(uow.sql, plain(first["arguments"]))
    made = await _write_undo(uow.sql, operation_id, first, person)
    left = await _left(uow.sql, operation_id, made)
    # What is gone does not count: few that are left are done at once, and have their ids by then.
    if left > listing.AT_ONCE:
        await postpone(uow.sql, made, operation_id)
        return await settle(uow, made, left)
    return await settle(uow, made, await materialise(uow.sql, made, UNDOABLE, [operation_id]))


async def _write_undo(
    sql: Connection[Any], operation_id: int, first: Mapping[str, Any], person: int | None
) -> int:
    arguments = {"of": first["kind"]}
    try:
        async with sql.transaction():
            return await write(sql, Kind.UNDO, arguments, person, query=first["query"], undoes=operation_id)
    except asyncpg.UniqueViolationError:
        raise Conflict("This is being undone already") from None


async def _left(sql: Connection[Any], operation_id: int, undo_id: int) -> int:
    """How many there are to give back, looked at when no other undo of the same can begin any more."""
    row = await sql.fetchrow(
        f"SELECT {LEFT} AS left, {LOST} AS lost FROM operation o WHERE id = $1", operation_id
    )
    if row is None or row["left"] <= 0:
        raise Conflict("This was undone already")
    if row["lost"]:
        notes = json.dumps({"gone": row["lost"]})
        await sql.execute("UPDATE operation SET notes = $2 WHERE id = $1", undo_id, notes)
    left: int = row["left"]
    return left


def _undoable(first: Mapping[str, Any]) -> None:
    if first["status"] in {"pending", "running"}:
        raise Conflict("This is still being done", "Stop it first; what was done by then can be undone.")
    if Kind(first["kind"]) in FINAL or not first["changed"]:
        raise Conflict("There is nothing in this that could be undone")
    if first["gone"] >= first["changed"]:
        raise Conflict("There is nothing left to undo", "All of it was deleted for good since.")
    if first["late"]:
        raise Conflict("This was too long ago", "Actions can be undone for 30 days.")


async def settle(uow: UnitOfWork, operation_id: int, total: int) -> Asked:
    """Do a small operation in this transaction; leave a large one to its task."""
    await uow.sql.execute("UPDATE operation SET total = $2 WHERE id = $1", operation_id, total)
    doomed = None
    if total <= AT_ONCE and await purging.is_small(uow.sql, operation_id):
        doomed = await _at_once(uow, operation_id)
    else:
        uow.record(OperationQueued())
    return await _asked(uow.sql, operation_id, doomed)


async def _at_once(uow: UnitOfWork, operation_id: int) -> Doomed:
    working = await carrying.load(uow.sql, operation_id)
    gone = Doomed()
    while True:
        taken, doomed = await carrying.chunk(uow, working)
        if doomed is not None:
            gone.files |= doomed.files
        if not taken:
            break
    await uow.sql.execute(
        "UPDATE operation SET status = 'done', finished_at = now() WHERE id = $1", operation_id
    )
    return gone


async def _asked(sql: Connection[Any], operation_id: int, doomed: Doomed | None) -> Asked:
    row = await sql.fetchrow(
        "SELECT o.id, o.kind, o.status, o.total, o.changed, o.notes, u.kind AS undone,"
        " CASE WHEN o.total <= $2 THEN"
        " ARRAY(SELECT asset_id FROM operation_item WHERE operation_id = o.id AND changed) END AS ids"
        " FROM operation o LEFT JOIN operation u ON u.id = o.undoes WHERE o.id = $1",
        operation_id,
        AT_ONCE,
    )
    assert row is not None  # noqa: S101 - this transaction wrote it
    return Asked(
        row["id"],
        Kind(row["kind"]),
        row["status"],
        row["total"],
        row["changed"],
        plain(row["notes"]),
        row["ids"] or [],
        Kind(row["undone"]) if row["undone"] else None,
        doomed,
    )


async def cancel(uow: UnitOfWork, operation_id: int) -> bool:
    """Stop an operation: at once when it waits, before its next thousand when it runs."""
    found = await uow.sql.fetchval(
        "UPDATE operation SET cancel_asked_at = now(),"
        " status = CASE status WHEN 'pending' THEN 'cancelled' ELSE status END,"
        " finished_at = CASE status WHEN 'pending' THEN now() END"
        " WHERE id = $1 AND status IN ('pending', 'running') RETURNING id",
        operation_id,
    )
    return found is not None


async def expired(uow: UnitOfWork) -> int:
    """Ask that what lay in the trash for its whole time be deleted; how many that is.

    Only what is not yet in a waiting deletion: a steward that runs twice asks once.
    """
    limit = await uow.sql.fetchval("SELECT now() - $1::interval", KEPT_FOR)
    due = await uow.sql.fetchval(
        "SELECT 1 FROM asset WHERE state = 'trashed' AND trashed_at < $1 ORDER BY trashed_at LIMIT 1", limit
    )
    busy = await uow.sql.fetchval(
        "SELECT 1 FROM operation WHERE status IN ('pending', 'running') AND kind = 'purge'"
        " AND arguments ? 'before'"
    )
    if due is None or busy is not None:
        return 0
    made = await write(uow.sql, Kind.PURGE, {"before": limit.isoformat()}, None, query="is:trashed")
    total = await materialise(
        uow.sql, made, "SELECT id FROM asset WHERE state = 'trashed' AND trashed_at < $1", [limit]
    )
    await uow.sql.execute("UPDATE operation SET total = $2 WHERE id = $1", made, total)
    uow.record(OperationQueued())
    return total
