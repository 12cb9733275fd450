"""What each kind writes into assets, how it was before, and the way back: one statement for a chunk."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from appliance.operations.kinds import Kind


if TYPE_CHECKING:
    from collections.abc import Sequence

    from asyncpg import Connection


class Change(NamedTuple):
    """SQL of one kind. `a` is the asset, `$2` the arguments as JSON, `b` what an item remembers.

    `needs` says which assets it changes at all, `sets` what is written, `before` what the item keeps;
    `still` whether an asset is as the action left it, `back` what the undo writes.
    """

    needs: str
    sets: str
    before: str
    still: str
    back: str


def _flag(column: str, *, on: bool) -> Change:
    word = "true" if on else "false"
    return Change(
        f"a.{column} IS NOT {word}",
        f"{column} = {word}",
        f"jsonb_build_object('{column}', a.{column})",
        f"a.{column} IS {word}",
        f"{column} = (w.b->>'{column}')::boolean",
    )


def _words(column: str) -> Change:
    given = f"($2::jsonb->>'{column}')"
    return Change(
        f"a.{column} IS DISTINCT FROM {given}",
        f"{column} = {given}",
        f"jsonb_build_object('{column}', a.{column})",
        f"a.{column} IS NOT DISTINCT FROM {given}",
        f"{column} = w.b->>'{column}'",
    )


def _state(state: str, sources: str) -> Change:
    return Change(
        f"a.state IN ({sources})",
        f"state = '{state}'",
        "jsonb_build_object('state', a.state)",
        f"a.state = '{state}'",
        "state = w.b->>'state'",
    )


_MOVED = (
    "CASE WHEN $2::jsonb ? 'to' THEN ($2::jsonb->>'to')::timestamp"
    " ELSE a.effective_at + make_interval(secs => coalesce($2::jsonb->>'shift', '0')::float8) END"
)

_BY = "($2::jsonb->>'by')::int"
_SIDES = (
    f"width = CASE WHEN {_BY} = 180 THEN a.width ELSE a.height END,"
    f" height = CASE WHEN {_BY} = 180 THEN a.height ELSE a.width END"
)

CHANGES: dict[Kind, Change] = {
    Kind.RATE: Change(
        "a.rating <> ($2::jsonb->>'rating')::int",
        "rating = ($2::jsonb->>'rating')::int",
        "jsonb_build_object('rating', a.rating)",
        "a.rating = ($2::jsonb->>'rating')::int",
        "rating = (w.b->>'rating')::int",
    ),
    Kind.FAVOURITE: _flag("favourite", on=True),
    Kind.UNFAVOURITE: _flag("favourite", on=False),
    Kind.PRIVATE: _flag("private", on=True),
    Kind.PUBLIC: _flag("private", on=False),
    Kind.ARCHIVE: _state("archived", "'inbox', 'kept'"),
    Kind.KEEP: _state("kept", "'inbox', 'archived'"),
    # The moment is remembered: what was restored and thrown away again since is not this action's any more.
    Kind.TRASH: Change(
        "a.state <> 'trashed'",
        "state = 'trashed', trashed_at = now(), trashed_from = a.state",
        "jsonb_build_object('state', a.state, 'at', now())",
        "a.state = 'trashed' AND a.trashed_at = (b->>'at')::timestamptz",
        "state = w.b->>'state', trashed_at = NULL, trashed_from = NULL",
    ),
    # Put back into the trash it has its full time there again: nobody expects it to go the next night.
    Kind.RESTORE: Change(
        "a.state = 'trashed'",
        "state = coalesce(a.trashed_from, 'kept'), trashed_at = NULL, trashed_from = NULL",
        "jsonb_build_object('state', coalesce(a.trashed_from, 'kept'))",
        "a.state = b->>'state'",
        "state = 'trashed', trashed_at = now(), trashed_from = w.b->>'state'",
    ),
    Kind.DATE: Change(
        f"{_MOVED} <> a.effective_at AND {_MOVED} BETWEEN '0001-01-01' AND '9999-12-31'",
        f"effective_at = {_MOVED}, taken_at = {_MOVED}, date_source = 'human'",
        "jsonb_build_object('effective_at', a.effective_at, 'taken_at', a.taken_at,"
        f" 'date_source', a.date_source, 'set', {_MOVED})",
        "a.effective_at = (b->>'set')::timestamp AND a.date_source = 'human'",
        "effective_at = (w.b->>'effective_at')::timestamp, taken_at = (w.b->>'taken_at')::timestamp,"
        " date_source = w.b->>'date_source'",
    ),
    # The way back is a date set by hand again: the database keeps the file's own beside it by itself.
    Kind.OWN_DATE: Change(
        "a.own_date IS NOT NULL",
        "effective_at = (a.own_date->>'effective_at')::timestamp,"
        " taken_at = (a.own_date->>'taken_at')::timestamp, date_source = a.own_date->>'source'",
        "jsonb_build_object('effective_at', a.effective_at, 'taken_at', a.taken_at,"
        " 'date_source', a.date_source, 'set', a.own_date)",
        "a.effective_at = (b->'set'->>'effective_at')::timestamp AND a.date_source = b->'set'->>'source'",
        "effective_at = (w.b->>'effective_at')::timestamp, taken_at = (w.b->>'taken_at')::timestamp,"
        " date_source = w.b->>'date_source'",
    ),
    Kind.TITLE: _words("title"),
    Kind.NOTE: _words("note"),
    Kind.TURN: Change(
        "true",
        f"turn = (a.turn + {_BY}) % 360, {_SIDES}",
        f"jsonb_build_object('turn', a.turn, 'set', (a.turn + {_BY}) % 360)",
        "a.turn = (b->>'set')::int",
        f"turn = (w.b->>'turn')::int, {_SIDES}",
    ),
}


async def change(
    sql: Connection[Any], kind: Kind, ids: Sequence[int], arguments: dict[str, Any]
) -> dict[int, str]:
    """Change those of the assets that are not yet so; what each was before, as JSON."""
    rows = await sql.fetch(_change_sql(CHANGES[kind]), ids, json.dumps(arguments))
    return {row["id"]: row["before"] for row in rows}


async def change_back(
    sql: Connection[Any], kind: Kind, operation_id: int, ids: Sequence[int], arguments: dict[str, Any]
) -> set[int]:
    """Give back what an operation changed, where that still is what it left; the ids given back."""
    rows = await sql.fetch(_back_sql(CHANGES[kind]), ids, json.dumps(arguments), operation_id)
    return {row["id"] for row in rows}


def _change_sql(one: Change) -> str:
    # Locked in the order of ids: two actions on overlapping selections never deadlock.
    return (
        "WITH given AS (SELECT $2::jsonb), w AS ("
        f" SELECT a.id, ({one.before})::text AS before FROM asset a"
        f" WHERE a.id = ANY($1::bigint[]) AND {one.needs} ORDER BY a.id FOR UPDATE"
        f"), written AS (UPDATE asset a SET {one.sets} FROM w WHERE a.id = w.id)"
        " SELECT id, before FROM w"
    )


def _back_sql(one: Change) -> str:
    return (
        "WITH given AS (SELECT $2::jsonb), w AS ("
        " SELECT a.id, i.before AS b FROM asset a"
        " JOIN (SELECT asset_id, before, before AS b FROM operation_item"
        "       WHERE operation_id = $3 AND asset_id = ANY($1::bigint[]) AND changed) i ON i.asset_id = a.id"
        f" WHERE {one.still} ORDER BY a.id FOR UPDATE OF a"
        f"), written AS (UPDATE asset a SET {one.back} FROM w WHERE a.id = w.id)"
        " SELECT id FROM w"
    )
