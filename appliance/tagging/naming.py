"""Making tags, and changing what they are called and what they speak of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from appliance.core.db import UnitOfWork
from appliance.core.errors import NotFound
from appliance.tagging import holding
from appliance.tagging.errors import BadKind, InUse, NoTag, Taken
from appliance.tagging.models import TagKind
from appliance.tagging.names import WITH_FANDOM, clean, kind_of, name_key


if TYPE_CHECKING:
    from asyncpg import Connection, Record


_SAME = "name_key = $1 AND kind = $2 AND fandom_id IS NOT DISTINCT FROM $3"
_KNOWN = f"""
SELECT id FROM tag WHERE {_SAME} UNION ALL SELECT tag_id FROM tag_alias WHERE {_SAME} LIMIT 1
"""


async def make(uow: UnitOfWork, name: str, kind: str, *, fandom_id: int | None = None) -> int:
    """The tag of this name, made if it does not exist; another name of a tag is that tag."""
    shown, kind = clean(name), kind_of(kind)
    await _check_fandom(uow.sql, kind, fandom_id)
    known: int | None = await uow.sql.fetchval(_KNOWN, name_key(shown), kind, fandom_id)
    if known is not None:
        return known
    await holding.names(uow.sql)
    # Whoever held the lock may have made it.
    known = await uow.sql.fetchval(_KNOWN, name_key(shown), kind, fandom_id)
    return known if known is not None else await _insert(uow.sql, shown, kind, fandom_id)


async def _insert(sql: Connection[Any], shown: str, kind: str, fandom_id: int | None) -> int:
    made: int = await sql.fetchval(
        "INSERT INTO tag (name, name_key, kind, fandom_id) VALUES ($1, $2, $3, $4) RETURNING id",
        shown,
        name_key(shown),
        kind,
        fandom_id,
    )
    return made


async def _check_fandom(sql: Connection[Any], kind: str, fandom_id: int | None) -> None:
    if fandom_id is None:
        return
    if kind not in WITH_FANDOM:
        raise BadKind("Only characters and series belong to a fandom")
    if await sql.fetchval("SELECT kind FROM tag WHERE id = $1", fandom_id) != TagKind.FANDOM:
        raise BadKind("This is no fandom", "Choose a tag of the kind fandom.")


async def rename(uow: UnitOfWork, tag_id: int, name: str) -> None:
    """Give a tag another name; the former one stays as another name of it.

    Refused as `Taken` when another tag has the name: the two can be merged.
    """
    shown = clean(name)
    tag = await _changing(uow.sql, tag_id)
    if name_key(shown) != tag["name_key"]:
        await _claim_name(uow.sql, tag_id, shown, kind=tag["kind"], fandom_id=tag["fandom_id"])
        await _leave_alias(uow.sql, tag)
    await uow.sql.execute(
        "UPDATE tag SET name = $2, name_key = $3 WHERE id = $1", tag_id, shown, name_key(shown)
    )


async def recast(uow: UnitOfWork, tag_id: int, kind: str, *, fandom_id: int | None = None) -> None:
    """Change what a tag speaks of; its other names go with it."""
    kind = kind_of(kind)
    tag = await _changing(uow.sql, tag_id)
    if (tag["kind"], tag["fandom_id"]) == (kind, fandom_id):
        return
    await _check_fandom(uow.sql, kind, fandom_id)
    await _check_children(uow.sql, tag, kind)
    await _claim_name(uow.sql, tag_id, tag["name"], kind=kind, fandom_id=fandom_id)
    await uow.sql.execute("UPDATE tag SET kind = $2, fandom_id = $3 WHERE id = $1", tag_id, kind, fandom_id)
    await _recast_aliases(uow.sql, tag_id, kind, fandom_id)


async def _recast_aliases(sql: Connection[Any], tag_id: int, kind: str, fandom_id: int | None) -> None:
    # Among the new kind a name may belong to somebody else already: then it is theirs.
    await sql.execute(
        "DELETE FROM tag_alias o WHERE o.tag_id = $1 AND ("
        " EXISTS (SELECT 1 FROM tag t WHERE t.name_key = o.name_key AND t.kind = $2"
        "         AND t.fandom_id IS NOT DISTINCT FROM $3)"
        " OR EXISTS (SELECT 1 FROM tag_alias p WHERE p.id <> o.id AND p.name_key = o.name_key"
        "            AND (p.tag_id <> o.tag_id OR p.id < o.id) AND p.kind = $2"
        "            AND p.fandom_id IS NOT DISTINCT FROM $3))",
        tag_id,
        kind,
        fandom_id,
    )
    await sql.execute(
        "UPDATE tag_alias SET kind = $2, fandom_id = $3 WHERE tag_id = $1", tag_id, kind, fandom_id
    )


async def _changing(sql: Connection[Any], tag_id: int) -> Record:
    await holding.names(sql)
    tag: Record | None = await sql.fetchrow(
        "SELECT id, name, name_key, kind, fandom_id FROM tag WHERE id = $1 FOR UPDATE", tag_id
    )
    if tag is None:
        raise NoTag
    return tag


async def _claim_name(
    sql: Connection[Any], tag_id: int, shown: str, *, kind: str, fandom_id: int | None
) -> None:
    """Make the name free for this tag, or refuse; its own other name gives way."""
    await sql.execute(
        f"DELETE FROM tag_alias WHERE {_SAME} AND tag_id = $4", name_key(shown), kind, fandom_id, tag_id
    )
    other: int | None = await sql.fetchval(
        f"SELECT id FROM ({_KNOWN}) other WHERE id <> $4", name_key(shown), kind, fandom_id, tag_id
    )
    if other is not None:
        raise Taken(shown, other)


async def _leave_alias(sql: Connection[Any], tag: Record) -> None:
    await sql.execute(
        "INSERT INTO tag_alias (name, name_key, kind, fandom_id, tag_id) VALUES ($1, $2, $3, $4, $5)"
        " ON CONFLICT (name_key, kind, fandom_id)"
        " DO UPDATE SET tag_id = excluded.tag_id, name = excluded.name",
        tag["name"],
        tag["name_key"],
        tag["kind"],
        tag["fandom_id"],
        tag["id"],
    )


async def _check_children(sql: Connection[Any], tag: Record, kind: str) -> None:
    if tag["kind"] != TagKind.FANDOM or kind == TagKind.FANDOM:
        return
    children = await sql.fetchval("SELECT count(*) FROM tag WHERE fandom_id = $1", tag["id"])
    if children:
        raise InUse("This fandom has characters or series of its own", "Give them another fandom first.")


async def add_alias(uow: UnitOfWork, tag_id: int, name: str) -> None:
    """Let another name mean this tag; refused as `Taken` when it means another one."""
    shown = clean(name)
    tag = await _changing(uow.sql, tag_id)
    if name_key(shown) == tag["name_key"]:
        raise Taken(shown, tag_id)
    await _claim_name(uow.sql, tag_id, shown, kind=tag["kind"], fandom_id=tag["fandom_id"])
    await uow.sql.execute(
        "INSERT INTO tag_alias (name, name_key, kind, fandom_id, tag_id) VALUES ($1, $2, $3, $4, $5)",
        shown,
        name_key(shown),
        tag["kind"],
        tag["fandom_id"],
        tag_id,
    )


async def remove_alias(uow: UnitOfWork, tag_id: int, alias_id: int) -> str:
    """Let a name mean nothing again; the answer is the name."""
    await holding.names(uow.sql)
    name: str | None = await uow.sql.fetchval(
        "DELETE FROM tag_alias WHERE id = $1 AND tag_id = $2 RETURNING name", alias_id, tag_id
    )
    if name is None:
        raise NotFound("This name is gone already")
    return name


async def delete(uow: UnitOfWork, tag_id: int) -> str:
    """Delete a tag that nothing carries, archive and trash included; the answer is its name."""
    tag = await _changing(uow.sql, tag_id)
    if await uow.sql.fetchval("SELECT EXISTS (SELECT 1 FROM asset_tag WHERE tag_id = $1)", tag_id):
        raise InUse("This tag is in use", "Take it off what carries it, or merge it into another.")
    await _check_children(uow.sql, tag, "")
    await uow.sql.execute("DELETE FROM tag WHERE id = $1", tag_id)
    name: str = tag["name"]
    return name
