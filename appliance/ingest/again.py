"""Files that are tried once more: one batch for each root."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from appliance.ingest.facts import FilesFound


if TYPE_CHECKING:
    from asyncpg import Connection

    from appliance.core.db import UnitOfWork


AT_ONCE = 100
"""So few files are what a person waits for; more take their turn among other batches."""

# The reason stays on the entry until there is an outcome: whoever gives up before that finds it again.
_QUEUE = """
WITH chosen AS MATERIALIZED (
    SELECT e.id, e.root_id FROM root_entry e WHERE {meant} ORDER BY e.id FOR UPDATE
), made AS (
    INSERT INTO import_batch (root_id, mode, cause, status, interactive, walked_at, files)
    SELECT r.id, r.mode, 'retry', 'importing', c.files <= {at_once}, now(), c.files
    FROM (SELECT root_id, count(*) AS files FROM chosen GROUP BY root_id) c JOIN root r ON r.id = c.root_id
    RETURNING id, root_id
), again AS (
    UPDATE root_entry e SET outcome = 'pending' FROM chosen WHERE e.id = chosen.id
), queued AS (
    INSERT INTO import_task (batch_id, root_id, entry_id)
    SELECT made.id, made.root_id, chosen.id FROM chosen JOIN made ON made.root_id = chosen.root_id
    ORDER BY chosen.id
    ON CONFLICT (entry_id) WHERE status IN ('pending', 'processing') DO NOTHING
    RETURNING root_id
)
SELECT root_id, count(*) AS files FROM queued GROUP BY root_id
"""


async def hold_walks(sql: Connection[Any]) -> None:
    """Wait for the chunks that walks write at this moment, and let the next ones wait for us.

    Both change many entries, in orders of their own; without this they could lock each other out.
    """
    await sql.fetch("SELECT id FROM import_batch WHERE status = 'walking' ORDER BY id FOR UPDATE")


async def queue(uow: UnitOfWork, meant: str, *arguments: Any) -> dict[int, int]:
    """Queue the entries that a condition of SQL on `e` means, while no walk writes; how many by root."""
    rows = await uow.sql.fetch(_QUEUE.format(meant=meant, at_once=AT_ONCE), *arguments)
    uow.record(FilesFound())
    return {row["root_id"]: row["files"] for row in rows}
