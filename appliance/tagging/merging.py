"""Making two tags one: everything moves, the name left behind means the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from appliance.core.db import UnitOfWork
from appliance.core.errors import Conflict, Invalid
from appliance.tagging import holding
from appliance.tagging.errors import NoTag
from appliance.tagging.facts import MergeAsked
from appliance.tagging.models import TagKind


if TYPE_CHECKING:
    from asyncpg import Connection, Record


class Overlap(msgspec.Struct, frozen=True):
    """What a merge would do, counted before it: assets with the one, the other, and both."""

    source: int
    target: int
    both: int


class Merged(msgspec.Struct, frozen=True):
    """What a merge did; `moved` assets were new to the target."""

    source_id: int
    target_id: int
    moved: int
    both: int


async def overlap(sql: Connection[Any], source_id: int, target_id: int) -> Overlap:
    """How many assets carry each of two tags and both, archive and trash included."""
    row = await sql.fetchrow(
        "SELECT (SELECT count(*) FROM asset_tag WHERE tag_id = $1),"
        " (SELECT count(*) FROM asset_tag WHERE tag_id = $2),"
        " (SELECT count(*) FROM asset_tag s JOIN asset_tag t USING (asset_id)"
        "  WHERE s.tag_id = $1 AND t.tag_id = $2)",
        source_id,
        target_id,
    )
    return Overlap(*row)  # type: ignore[misc]  # one row always


AT_ONCE = 5_000
"""So many assets are moved inside a request; above that the merge is a task."""


class Asked(msgspec.Struct, frozen=True):
    """A merge that was asked for as a task, as it stands."""

    source_id: int
    target_id: int
    user_id: int | None
    status: str
    error: str | None


async def ask(
    uow: UnitOfWork, source_id: int, target_id: int, *, user_id: int | None = None
) -> Merged | None:
    """Merge at once when few assets move; None when it became a task, which is only ever asked once."""
    count: int = await uow.sql.fetchval(
        "SELECT count(*) FROM (SELECT FROM asset_tag WHERE tag_id = $1 LIMIT $2) c", source_id, AT_ONCE + 1
    )
    if count <= AT_ONCE:
        return await merge(uow, source_id, target_id)
    source, target = await _pair(uow.sql, source_id, await _now(uow.sql, target_id))
    _check(source, target, has_children=await _is_parent(uow.sql, source_id))
    await uow.sql.execute(
        "INSERT INTO tag_merge (source_id, target_id, user_id) VALUES ($1, $2, $3)"
        " ON CONFLICT (source_id) WHERE status IN ('pending', 'running') DO NOTHING",
        source_id,
        target["id"],
        user_id,
    )
    uow.record(MergeAsked())
    return None


async def asked(sql: Connection[Any], merge_id: int) -> Asked:
    """What a row of the ledger asks for."""
    row = await sql.fetchrow(f"SELECT {_ASKED} FROM tag_merge WHERE id = $1", merge_id)
    if row is None:
        raise NoTag
    return Asked(*row)


async def last_asked(sql: Connection[Any], source_id: int) -> Asked | None:
    """The last merge of a tag that became a task, while it is live or failed today."""
    row = await sql.fetchrow(
        f"SELECT {_ASKED} FROM tag_merge WHERE source_id = $1 AND (status IN ('pending', 'running')"
        " OR status = 'error' AND finished_at > now() - interval '1 day') ORDER BY id DESC LIMIT 1",
        source_id,
    )
    return None if row is None else Asked(*row)


_ASKED = "source_id, target_id, user_id, status, error"


async def merge(uow: UnitOfWork, source_id: int, target_id: int) -> Merged:
    """Turn one tag into another; of several merges at once each sees what the former one left.

    Its names become names of the target, its id goes on meaning it, and whoever assigns it meanwhile
    waits and then assigns the target. Of two assignments on one asset a person's own is kept.
    """
    await holding.names(uow.sql)
    target_id = await _now(uow.sql, target_id)
    if await _now(uow.sql, source_id) == target_id and source_id != target_id:
        return Merged(source_id, target_id, 0, 0)
    source, target = await _pair(uow.sql, source_id, target_id)
    children = await _colliding(uow.sql, source_id, target_id)
    sources, targets = [source_id, *(c[0] for c in children)], [target_id, *(c[1] for c in children)]
    _check(source, target, has_children=await _is_parent(uow.sql, source_id))
    await holding.alone(uow.sql, [*sources, *targets])
    moved, gone = await _move(uow.sql, sources, targets)
    await _repoint(uow.sql, sources, targets)
    await _adopt(uow.sql, source_id, target_id)
    await uow.sql.execute("DELETE FROM tag WHERE id = ANY($1::bigint[])", sources)
    return Merged(source_id, target_id, moved, gone - moved)


async def _now(sql: Connection[Any], tag_id: int) -> int:
    became: int | None = await sql.fetchval("SELECT tag_id FROM tag_former WHERE former_id = $1", tag_id)
    return tag_id if became is None else became


async def _pair(sql: Connection[Any], source_id: int, target_id: int) -> tuple[Record, Record]:
    if source_id == target_id:
        raise Invalid("A tag cannot be merged into itself")
    rows = await sql.fetch(
        "SELECT id, kind, fandom_id FROM tag WHERE id = ANY($1::bigint[])", [source_id, target_id]
    )
    found = {r["id"]: r for r in rows}
    if len(found) < 2 and await _now(sql, source_id) != source_id:
        raise Conflict("This tag was merged into another one meanwhile", "Look at that one first.")
    if len(found) < 2:
        raise NoTag
    return found[source_id], found[target_id]


def _check(source: Record, target: Record, *, has_children: bool) -> None:
    if target["fandom_id"] == source["id"]:
        raise Invalid("A fandom cannot become one of its own characters or series")
    if has_children and target["kind"] != TagKind.FANDOM:
        raise Conflict(
            "This fandom has characters or series of its own", "It can only be merged into another fandom."
        )


async def _is_parent(sql: Connection[Any], tag_id: int) -> bool:
    found: bool = await sql.fetchval("SELECT EXISTS (SELECT 1 FROM tag WHERE fandom_id = $1)", tag_id)
    return found


async def _colliding(sql: Connection[Any], source_id: int, target_id: int) -> list[tuple[int, int]]:
    """Characters and series that both fandoms have: they become one as well."""
    rows = await sql.fetch(
        "SELECT s.id, coalesce(t.id, o.tag_id) FROM tag s"
        " LEFT JOIN tag t ON t.fandom_id = $2 AND t.kind = s.kind AND t.name_key = s.name_key"
        " LEFT JOIN tag_alias o ON o.fandom_id = $2 AND o.kind = s.kind AND o.name_key = s.name_key"
        " WHERE s.fandom_id = $1 AND coalesce(t.id, o.tag_id) IS NOT NULL ORDER BY s.id",
        source_id,
        target_id,
    )
    return [(r[0], r[1]) for r in rows]


_ASSETS = """
SELECT 1 FROM asset WHERE id IN (SELECT asset_id FROM asset_tag WHERE tag_id = ANY($1::bigint[]))
ORDER BY id FOR SHARE
"""
_COPY = """
WITH best AS (
    SELECT DISTINCT ON (s.asset_id, p.target) s.*, p.target FROM asset_tag s
    JOIN unnest($1::bigint[], $2::bigint[]) AS p(source, target) ON p.source = s.tag_id
    ORDER BY s.asset_id, p.target, s.by = 'human' DESC, s.added_at
), put AS (
    INSERT INTO asset_tag (asset_id, tag_id, effective_at, by, model_id, score, user_id, added_at)
    SELECT a.id, b.target, a.effective_at, b.by, b.model_id, b.score, b.user_id, b.added_at
    FROM best b JOIN asset a ON a.id = b.asset_id
    WHERE b.by = 'human' OR NOT EXISTS (
        SELECT 1 FROM tag_rejection r WHERE r.asset_id = b.asset_id AND r.tag_id = b.target)
    ON CONFLICT (asset_id, tag_id) DO UPDATE SET by = excluded.by, model_id = excluded.model_id,
        score = excluded.score, user_id = excluded.user_id, added_at = excluded.added_at
        WHERE asset_tag.by <> 'human' AND excluded.by = 'human'
    RETURNING (xmax = 0) AS fresh
) SELECT count(*) FILTER (WHERE fresh) FROM put
"""


async def _move(sql: Connection[Any], sources: list[int], targets: list[int]) -> tuple[int, int]:
    """How many assignments the targets gained, and how many the sources had."""
    await sql.execute(_ASSETS, sources)
    moved: int = await sql.fetchval(_COPY, sources, targets)
    done = await sql.execute("DELETE FROM asset_tag WHERE tag_id = ANY($1::bigint[])", sources)
    return moved, int(done.rpartition(" ")[2])


_PAIRS = "unnest($1::bigint[], $2::bigint[]) AS p(source, target)"
_LEAVE_ALIASES = f"""
INSERT INTO tag_alias (name, name_key, kind, fandom_id, tag_id)
SELECT t.name, t.name_key, t.kind, t.fandom_id, p.target FROM tag t JOIN {_PAIRS} ON p.source = t.id
ON CONFLICT (name_key, kind, fandom_id) DO UPDATE SET tag_id = excluded.tag_id
"""
# What both tags mean is rejected as well, unless the asset carries the one that stays.
_KEEP_REJECTED = f"""
INSERT INTO tag_rejection (asset_id, tag_id, user_id, rejected_at)
SELECT r.asset_id, p.target, r.user_id, r.rejected_at
FROM tag_rejection r JOIN {_PAIRS} ON p.source = r.tag_id
WHERE NOT EXISTS (SELECT 1 FROM asset_tag x WHERE x.asset_id = r.asset_id AND x.tag_id = p.target)
ON CONFLICT DO NOTHING
"""
_REMEMBER_USE = f"""
INSERT INTO tag_recent (user_id, tag_id, used_at) SELECT user_id, p.target, max(used_at)
FROM tag_recent JOIN {_PAIRS} ON p.source = tag_id GROUP BY user_id, p.target
ON CONFLICT (user_id, tag_id) DO UPDATE SET used_at = greatest(tag_recent.used_at, excluded.used_at)
"""


async def _repoint(sql: Connection[Any], sources: list[int], targets: list[int]) -> None:
    """Everything that named a source names its target: other names, former ids, last use, rejections."""
    for statement in (
        f"UPDATE tag_alias SET tag_id = p.target FROM {_PAIRS} WHERE tag_id = p.source",
        f"UPDATE tag_former SET tag_id = p.target FROM {_PAIRS} WHERE tag_id = p.source",
        f"INSERT INTO tag_former (former_id, tag_id) SELECT p.source, p.target FROM {_PAIRS}",
        _LEAVE_ALIASES,
        _REMEMBER_USE,
        _KEEP_REJECTED,
    ):
        await sql.execute(statement, sources, targets)


async def _adopt(sql: Connection[Any], source_id: int, target_id: int) -> None:
    """What belonged to a fandom that goes belongs to the other one; the alias of a twin is one too many."""
    await sql.execute(
        "UPDATE tag SET fandom_id = $2 WHERE fandom_id = $1 AND NOT EXISTS (SELECT 1 FROM tag_former WHERE"
        " former_id = tag.id)",
        source_id,
        target_id,
    )
    await sql.execute(
        "DELETE FROM tag_alias o WHERE fandom_id = $1 AND ("
        " EXISTS (SELECT 1 FROM tag t WHERE t.fandom_id = $2 AND t.kind = o.kind AND t.name_key = o.name_key)"
        " OR EXISTS (SELECT 1 FROM tag_alias p WHERE p.fandom_id = $2 AND p.kind = o.kind"
        "            AND p.name_key = o.name_key))",
        source_id,
        target_id,
    )
    await sql.execute("UPDATE tag_alias SET fandom_id = $2 WHERE fandom_id = $1", source_id, target_id)
