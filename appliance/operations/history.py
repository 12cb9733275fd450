"""Reads of bulk actions: for their toast, their progress and the history page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from appliance.core.errors import NotFound
from appliance.operations.gone import GONE, LEFT
from appliance.operations.kinds import FINAL, Kind
from appliance.operations.services import KEPT_FOR
from appliance.operations.stored import plain


if TYPE_CHECKING:
    from asyncpg import Connection


AT_HAND = timedelta(minutes=10)
"""So long one key takes an action back; after that it is done on the history page."""


class OperationView(msgspec.Struct, frozen=True):
    """One bulk action."""

    id: int
    kind: Kind
    arguments: dict[str, Any]
    query: str
    person: str | None
    status: str
    total: int
    done: int
    changed: int
    notes: dict[str, int]
    error: str | None
    queued_at: datetime
    finished_at: datetime | None
    cancel_asked: bool
    undoes: int | None
    undone: Kind | None
    """What an undo takes back."""
    taken_back: str | None
    """How far this one is undone; `in vain` where all of it had been changed since, `partly` where some."""
    fresh: bool
    """Young enough to be undone."""
    gone: int
    """How many of those that it changed were deleted for good since."""
    left: int
    """How many of them an undo may still give back."""
    asset_id: int | None
    """The one that it is about, where it is about one that still exists."""

    @property
    def live(self) -> bool:
        """Whether it waits or runs."""
        return self.status in {"pending", "running"}

    @property
    def undoable(self) -> bool:
        """Whether its undo may be asked for."""
        return (
            not self.live
            and self.kind not in FINAL
            and self.left > 0
            and self.fresh
            and self.taken_back != "running"
        )

    @property
    def percent(self) -> int:
        """How far it is."""
        return min(100, self.done * 100 // self.total) if self.total else 0


# A note may have ten thousand characters, postponed ids are many more: neither is shown.
_VIEW = f"""
SELECT o.id, o.kind, o.arguments - '{{note,later}}'::text[] AS arguments, o.query, u.name AS person,
       o.status, o.total, o.done, o.changed, o.notes, o.error, o.queued_at, o.finished_at,
       o.cancel_asked_at IS NOT NULL AS cancel_asked, o.undoes,
       first.kind AS undone,
       (SELECT CASE WHEN bool_or(b.status IN ('pending', 'running')) THEN 'running'
               WHEN sum(b.changed) > 0 THEN CASE WHEN {LEFT} > 0 THEN 'partly' ELSE 'done' END
               WHEN bool_or(b.status = 'done') THEN 'in vain' END
           FROM operation b WHERE b.undoes = o.id) AS taken_back,
       o.finished_at > now() - $1::interval AS fresh,
       CASE WHEN o.kind = 'undo' THEN 0 ELSE {GONE} END AS gone, {LEFT} AS left,
       CASE WHEN o.total = 1 THEN (SELECT a.id FROM operation_item i JOIN asset a ON a.id = i.asset_id
           WHERE i.operation_id = o.id LIMIT 1) END AS asset_id
FROM operation o LEFT JOIN "user" u ON u.id = o.user_id LEFT JOIN operation first ON first.id = o.undoes
"""


def _view(row: Any) -> OperationView:
    values = dict(row)
    values |= {
        "kind": Kind(row["kind"]),
        "arguments": plain(row["arguments"]),
        "notes": plain(row["notes"]),
        "undone": Kind(row["undone"]) if row["undone"] else None,
        "fresh": bool(row["fresh"]),
    }
    return OperationView(**values)


async def view(sql: Connection[Any], operation_id: int) -> OperationView:
    """One action by its number."""
    row = await sql.fetchrow(f"{_VIEW} WHERE o.id = $2", KEPT_FOR, operation_id)
    if row is None:
        raise NotFound("This action is not in the history any more", "Actions are kept for 30 days.")
    return _view(row)


async def latest(
    sql: Connection[Any], *, limit: int, before: int | None = None, kinds: Sequence[Kind] = ()
) -> list[OperationView]:
    """Actions newest first, from below a number on; those that found nothing to change are left out."""
    rows = await sql.fetch(
        f"{_VIEW} WHERE ($2::bigint IS NULL OR o.id < $2) AND (o.changed > 0 OR o.status <> 'done')"
        " AND (cardinality($3::text[]) = 0 OR o.kind = ANY($3::text[]))"
        " ORDER BY o.id DESC LIMIT $4",
        KEPT_FOR,
        before,
        [str(k) for k in kinds],
        limit,
    )
    return [_view(row) for row in rows]


class Last(NamedTuple):
    """What one key may take back."""

    id: int
    changed: int


async def last_undoable(sql: Connection[Any], person: int | None) -> Last | None:
    """The newest action of a person's last minutes that can still be undone.

    Pressed once too often, the key must not walk back into yesterday; nor does it stay with one whose
    undo was asked for before, or with keeping one of two of which one is gone: what is left of those is on
    the history page.
    """
    row = await sql.fetchrow(
        f"SELECT o.id, o.changed FROM operation o WHERE o.user_id = $1 AND {LEFT} > 0 AND"
        f" o.kind NOT IN ('purge', 'undo') AND (o.kind <> 'keep_one' OR {GONE} = 0)"
        " AND o.finished_at > now() - $2::interval"
        " AND NOT EXISTS (SELECT 1 FROM operation b"
        "     WHERE b.undoes = o.id AND b.status IN ('pending', 'running', 'done'))"
        " ORDER BY o.id DESC LIMIT 1",
        person,
        AT_HAND,
    )
    return row and Last(*row)


class Weight(msgspec.Struct, frozen=True):
    """What deleting for good would take: how many, and how much of it lies with us."""

    count: int
    bytes: int


async def weight(sql: Connection[Any], query: str, values: Sequence[Any]) -> Weight:
    """Count what of a selection lies in the trash, and the bytes that we keep of it."""
    row = await sql.fetchrow(
        "SELECT count(*) AS n, coalesce(sum((SELECT sum(f.size) FROM asset_file f"
        "  WHERE f.asset_id = a.id AND f.root_id IS NULL)), 0)::bigint AS bytes"
        f" FROM asset a WHERE a.state = 'trashed' AND a.id IN ({query})",
        *values,
    )
    assert row is not None  # noqa: S101 - an aggregate answers one row
    return Weight(row["n"], row["bytes"])
