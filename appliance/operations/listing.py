"""Writing an action down, and the ids that it concerns: by one statement, never as a list that travels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from appliance.core.errors import Conflict
from appliance.operations.kinds import Kind
from appliance.search import selections
from appliance.search.patience import patience
from appliance.search.selections import Selection
from appliance.search.services import Scope


if TYPE_CHECKING:
    from asyncpg import Connection


AT_ONCE = 20_000
"""More ids than this are written down by the task: a request answers within a second."""
EVERYTHING = Scope(admin=True)
UNDOABLE = (
    "SELECT i.asset_id AS id FROM operation_item i WHERE i.operation_id = $1 AND i.changed"
    " AND NOT EXISTS (SELECT 1 FROM operation b JOIN operation_item t ON t.operation_id = b.id"
    "     WHERE b.undoes = $1 AND t.asset_id = i.asset_id AND t.changed)"
)
"""What an action changed and no undo of it gave back: each asset is given back once."""


class MovedOn(Conflict):
    """The selection holds another number than the person was shown."""

    def __init__(self, count: int, expect: int) -> None:
        super().__init__(
            f"It is {count:,} now, not {expect:,}", "Nothing was changed. Look again, then do it again."
        )
        self.count = count


async def write(
    sql: Connection[Any],
    kind: Kind,
    arguments: Mapping[str, Any],
    person: int | None,
    *,
    query: str = "",
    undoes: int | None = None,
    notes: Mapping[str, int] | None = None,
) -> int:
    """The row of an action that has no ids yet."""
    made: int = await sql.fetchval(
        "INSERT INTO operation (kind, arguments, query, user_id, undoes, notes)"
        " VALUES ($1, $2, $3, $4, $5, $6) RETURNING id",
        str(kind),
        json.dumps(dict(arguments)),
        query,
        person,
        undoes,
        json.dumps(dict(notes or {})),
    )
    return made


async def materialise(sql: Connection[Any], operation_id: int, query: str, values: Sequence[Any]) -> int:
    """Write the ids that a statement finds down beside their action; how many there are."""
    done = await sql.execute(
        "INSERT INTO operation_item (operation_id, asset_id)"
        f" SELECT {int(operation_id)}, found.id FROM ({query}) found JOIN asset ON asset.id = found.id"
        " ON CONFLICT DO NOTHING",
        *values,
    )
    return int(done.rpartition(" ")[2])


async def ids_of(sql: Connection[Any], kind: Kind, selection: Selection) -> tuple[str, list[Any]]:
    """The statement that finds a selection's ids; deleting for good concerns only what lies in the trash."""
    query, values = await selections.ids_sql(sql, selection, EVERYTHING)
    if kind is Kind.PURGE:
        query = f"SELECT a.id FROM asset a WHERE a.state = 'trashed' AND a.id IN ({query})"
    return query, values


async def count(sql: Connection[Any], kind: Kind, selection: Selection) -> int:
    """How many assets an action would concern."""
    if kind is not Kind.PURGE:
        return await selections.count(sql, selection, EVERYTHING)
    async with patience(sql):
        query, values = await ids_of(sql, kind, selection)
        found: int = await sql.fetchval(f"SELECT count(*) FROM ({query}) s", *values)
    return found


def selected(selection: Selection) -> dict[str, Any]:
    """What the task needs to find the ids of a selection by itself."""
    return {
        "q": selection.q,
        "all": selection.everything,
        "ranges": selection.ranges,
        "ids": selection.ids,
        "without": selection.without,
    }


async def postpone(sql: Connection[Any], operation_id: int, later: Mapping[str, Any] | int) -> None:
    """Leave the ids to the task: those of a selection, or those that an action changed."""
    await sql.execute(
        "UPDATE operation SET arguments = arguments || jsonb_build_object('later', $2::jsonb) WHERE id = $1",
        operation_id,
        json.dumps(later),
    )


async def catch_up(sql: Connection[Any], operation_id: int, kind: Kind, later: Any, *, expect: int) -> None:
    """Write the postponed ids down; refused when they are not as many as were counted.

    An undo takes what is left of what it takes back: assets may have been deleted since.
    """
    if isinstance(later, int):
        total = await materialise(sql, operation_id, UNDOABLE, [later])
    else:
        query, values = await ids_of(sql, kind, selections.read(json.dumps(later)))
        total = await materialise(sql, operation_id, query, values)
        if total != expect:
            raise MovedOn(total, expect)
    await sql.execute(
        "UPDATE operation SET arguments = arguments - 'later', total = $2 WHERE id = $1", operation_id, total
    )
