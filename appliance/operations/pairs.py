"""Decisions about two pictures that look alike, remembered exactly enough to be taken back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.core.db import UnitOfWork
from appliance.core.errors import Conflict
from appliance.duplicates import services as duplicates
from appliance.duplicates.services import Verdict
from appliance.ingest import following
from appliance.operations import changes, verdicts
from appliance.operations.kinds import Kind
from appliance.operations.stored import plain
from appliance.tagging import services as tagging
from appliance.tagging.services import Moment, Removed


if TYPE_CHECKING:
    from asyncpg import Connection


class Gained(msgspec.Struct, frozen=True):
    """What the one that stays got from the other: each value as it was before, and as it was set."""

    was: dict[str, Any]
    set: dict[str, Any]
    tags: list[tuple[int, datetime]]
    """Tags that it did not have from a person, and the moments that their rows carry."""
    origins: list[int]
    replaced: list[Removed] = []
    """What files or models said of it in their place."""


async def decide(
    uow: UnitOfWork, kind: Kind, ids: Sequence[int], arguments: dict[str, Any], user: int | None
) -> dict[int, str]:
    """Carry a decision out; what each of the two was before, as JSON."""
    one, other = arguments["pair"]
    if kind is Kind.KEEP_ONE:
        return await _keep(uow, one, other, user)
    before = await duplicates.decide(uow.sql, Verdict(str(kind)), one, other, person=user)
    return dict.fromkeys(ids, verdicts.remembered(before))


async def _keep(uow: UnitOfWork, keep: int, drop: int, user: int | None) -> dict[int, str]:
    """The one goes to the trash; what people said about it stays with the other."""
    # Tags first, then assets: the order in which everybody holds them.
    tags = await tagging.hold_all(uow.sql, drop)
    await duplicates.decidable(uow.sql, keep, drop)
    rows = await uow.sql.fetch(
        "SELECT id, missing_since IS NOT NULL AS missing FROM asset WHERE id = ANY($1::bigint[])",
        [keep, drop],
    )
    missing = {row["id"] for row in rows if row["missing"]}
    if keep in missing and drop not in missing:
        called = await duplicates.known_as(uow.sql, [keep], unnamed="the one that you keep")
        raise Conflict(
            f"The file of {called[keep]} is missing",
            "Keep the other one, or bring this file back first. Nothing was changed.",
        )
    dropped = await changes.change(uow.sql, Kind.TRASH, [drop], {})
    was, now = await _words(uow, keep, drop)
    got = await tagging.give(uow, drop, keep, tags, user_id=user)
    gained = Gained(was, now, got.tags, await _origins(uow, keep, drop), got.replaced)
    return dropped | {keep: msgspec.json.encode(gained).decode()}


_TAKEN = """
WITH merged AS (
    SELECT k.id, k.rating, k.favourite, k.title, k.note, greatest(k.rating, d.rating) AS new_rating,
           k.favourite OR d.favourite AS new_favourite,
           CASE WHEN coalesce(k.title, '') = '' THEN d.title ELSE k.title END AS new_title,
           CASE WHEN coalesce(k.note, '') = '' THEN d.note ELSE k.note END AS new_note
    FROM asset k, asset d WHERE k.id = $1 AND d.id = $2
), written AS (
    UPDATE asset a SET rating = merged.new_rating, favourite = merged.new_favourite, title = merged.new_title,
           note = merged.new_note
    FROM merged WHERE a.id = merged.id
      AND (a.rating, a.favourite, a.title, a.note)
          IS DISTINCT FROM (merged.new_rating, merged.new_favourite, merged.new_title, merged.new_note)
)
SELECT jsonb_build_object('rating', rating, 'favourite', favourite, 'title', title, 'note', note) AS was,
       jsonb_build_object('rating', new_rating, 'favourite', new_favourite, 'title', new_title,
                          'note', new_note) AS now
FROM merged
"""


async def _words(uow: UnitOfWork, keep: int, drop: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The better rating, a favourite of either, and words where there were none; only what changes."""
    row = await uow.sql.fetchrow(_TAKEN, keep, drop)
    assert row is not None  # noqa: S101 - both are locked
    was, now = plain(row["was"]), plain(row["now"])
    changed = [name for name in now if was[name] != now[name]]
    return {n: was[n] for n in changed}, {n: now[n] for n in changed}


async def _origins(uow: UnitOfWork, keep: int, drop: int) -> list[int]:
    rows = await uow.sql.fetch(
        "INSERT INTO provenance (asset_id, how, root_id, batch_id, path, seen_at)"
        " SELECT $1, how, root_id, batch_id, path, seen_at FROM provenance WHERE asset_id = $2 ORDER BY id"
        " RETURNING id",
        keep,
        drop,
    )
    return [row["id"] for row in rows]


async def take_back(
    uow: UnitOfWork, kind: Kind, operation_id: int, ids: Sequence[int], arguments: dict[str, Any]
) -> dict[int, bool]:
    """Undo a decision: the assets that changed, and whether all of it could be taken back."""
    one, other = arguments["pair"]
    if kind is Kind.KEEP_ONE:
        return await _give_back(uow, operation_id, ids, one, other)
    if set(ids) != {one, other}:
        return {}
    return dict.fromkeys(ids, True) if await verdicts.take_back(uow.sql, operation_id) else {}


async def _give_back(
    uow: UnitOfWork, operation_id: int, ids: Sequence[int], keep: int, drop: int
) -> dict[int, bool]:
    back: dict[int, bool] = {}
    memory = await _remembered(uow, operation_id, keep) if keep in ids else None
    gained = None if memory is None else msgspec.convert(memory, Gained)
    if gained is not None:
        # Tags first, as everywhere.
        await tagging.current(uow.sql, [t for t, _ in gained.tags])
    there = await uow.sql.fetch(
        "SELECT id FROM asset WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE", [keep, drop]
    )
    if drop not in {row["id"] for row in there}:
        # What was said about it is with the one that stays, and nowhere else any more.
        return {}
    if drop in ids:
        back |= dict.fromkeys(await changes.change_back(uow.sql, Kind.TRASH, operation_id, [drop], {}), True)
    if gained is not None:
        back[keep] = await _strip(uow, keep, await _bequeath(uow, operation_id, keep, gained))
    return back


# What is kept for the same one by other decisions that stand.
_OTHERS = """
SELECT o.id, i.before FROM operation_item i JOIN operation o ON o.id = i.operation_id
WHERE i.asset_id = $2 AND i.changed AND i.before ? 'was' AND o.kind = 'keep_one' AND o.id <> $1
  AND NOT EXISTS (SELECT FROM operation b JOIN operation_item t ON t.operation_id = b.id
                  WHERE b.undoes = o.id AND t.asset_id = $2 AND t.changed)
ORDER BY o.id
"""


async def _bequeath(uow: UnitOfWork, operation_id: int, keep: int, gained: Gained) -> Gained:
    """Let a decision that found what this one had set find what there was before; what is left to take off.

    So that undoing that other one later does not bring back what is taken back now.
    """
    was, given = dict(gained.was), dict(gained.set)
    for row in await uow.sql.fetch(_OTHERS, operation_id, keep):
        theirs = msgspec.convert(plain(row["before"]), Gained)
        found = {name: was[name] for name in was if name in theirs.was and theirs.was[name] == given[name]}
        if not found:
            continue
        await _remember(uow, row["id"], keep, msgspec.structs.replace(theirs, was=theirs.was | found))
        for name in found:
            del was[name], given[name]
    return msgspec.structs.replace(gained, was=was, set=given)


async def _remember(uow: UnitOfWork, operation_id: int, keep: int, gained: Gained) -> None:
    await uow.sql.execute(
        "UPDATE operation_item SET before = $3::text::jsonb WHERE operation_id = $1 AND asset_id = $2",
        operation_id,
        keep,
        msgspec.json.encode(gained).decode(),
    )


async def _strip(uow: UnitOfWork, keep: int, gained: Gained) -> bool:
    """Take off what was got, where it still is that; whether all of it was."""
    made = [Moment(keep, tag_id, at) for tag_id, at in gained.tags]
    off = await tagging.take_back(uow, made, [], gained.replaced, said=following.said)
    await uow.sql.execute("DELETE FROM provenance WHERE id = ANY($1::bigint[])", gained.origins)
    left = await uow.sql.fetchval(_UNSET, keep, json.dumps(gained.was), json.dumps(gained.set))
    return len(off) == len(made) and left == 0


# Value by value: what somebody changed since stays. The answer is how many did.
_UNSET = """
WITH now AS (
    SELECT id, rating, favourite, title, note, $2::jsonb AS was, jsonb_strip_nulls(jsonb_build_object(
        'rating', rating, 'favourite', favourite, 'title', title, 'note', note)) AS has
    FROM asset WHERE id = $1
), same AS (
    SELECT id, has, was, ARRAY(
        SELECT k.key FROM jsonb_each($3::jsonb) k
        WHERE coalesce(has->k.key, 'null'::jsonb) = k.value) AS names FROM now
), written AS (
    UPDATE asset a SET
        rating = CASE WHEN 'rating' = ANY(names) THEN (was->>'rating')::smallint ELSE a.rating END,
        favourite = CASE WHEN 'favourite' = ANY(names) THEN (was->>'favourite')::boolean ELSE a.favourite END,
        title = CASE WHEN 'title' = ANY(names) THEN was->>'title' ELSE a.title END,
        note = CASE WHEN 'note' = ANY(names) THEN was->>'note' ELSE a.note END
    FROM same WHERE a.id = same.id AND cardinality(names) > 0
)
SELECT (SELECT count(*) FROM jsonb_each($3::jsonb)) - cardinality(names) FROM same
"""


async def refuse_undo(sql: Connection[Any], arguments: dict[str, Any]) -> None:
    """Keeping one of two is not taken back once the other one is gone."""
    _, drop = arguments["pair"]
    there = await sql.fetchval("SELECT count(*) FROM asset WHERE id = $1", drop)
    if not there:
        raise Conflict(
            "There is nothing left to undo",
            "The other one was deleted for good since; what was said about it stays with the one that"
            " you kept.",
        )


async def _remembered(uow: UnitOfWork, operation_id: int, asset_id: int) -> Any:
    return plain(
        await uow.sql.fetchval(
            "SELECT before FROM operation_item WHERE operation_id = $1 AND asset_id = $2 AND changed",
            operation_id,
            asset_id,
        )
    )
