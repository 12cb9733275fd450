"""Tags by the names that files and their sidecars use: a hundred at once, and made where there are none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from appliance.core.db import UnitOfWork
from appliance.tagging import holding
from appliance.tagging.errors import BadName
from appliance.tagging.names import KINDS, clean, name_key, split


if TYPE_CHECKING:
    from asyncpg import Connection


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One name as it is looked up; the kind is empty where none was said."""

    kind: str
    key: str
    shown: str


# Names and other names of tags, with what decides between several of one name.
_FOUND = """
SELECT w.n, t.id, t.kind = 'general', t.fandom_id IS NULL, t.uses
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS w(key, kind, n)
CROSS JOIN LATERAL (
    SELECT id FROM tag WHERE name_key = w.key AND (w.kind = '' OR kind = w.kind)
    UNION
    SELECT tag_id FROM tag_alias WHERE name_key = w.key AND (w.kind = '' OR kind = w.kind)
) m JOIN tag t ON t.id = m.id
"""
_MAKE = """
INSERT INTO tag (name, name_key, kind)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[])
"""


async def named(uow: UnitOfWork, pairs: Iterable[Sequence[str]]) -> list[int]:
    """The tags of these kinds and names, made where there are none; what can be no name is left out.

    A name without a kind may say one itself (`artist:anna`), else any tag of that name will do: the plain one
    first, then the one that is used most.
    """
    wanted = _read(pairs)
    found = await _find(uow.sql, wanted)
    if len(found) < len(wanted):
        await holding.names(uow.sql)
        # Whoever held the lock may have made some.
        found = await _find(uow.sql, wanted)
        await _make(uow.sql, [w for w in wanted if w not in found])
        found = await _find(uow.sql, wanted)
    return sorted(set(found.values()))


def _read(pairs: Iterable[Sequence[str]]) -> list[_Wanted]:
    read: dict[_Wanted, None] = {}
    for said, text in pairs:
        kind, name = (said, text) if said in KINDS else split(text)
        try:
            shown = clean(name)
        except BadName:
            continue
        read[_Wanted(kind or "", name_key(shown), shown)] = None
    return list(read)


async def _find(sql: Connection[Any], wanted: list[_Wanted]) -> dict[_Wanted, int]:
    rows = await sql.fetch(_FOUND, [w.key for w in wanted], [w.kind for w in wanted])
    best: dict[int, Any] = {}
    for number, tag_id, plain, alone, uses in rows:
        place = (plain, alone, uses, -tag_id)
        best[number] = max(best.get(number, place), place)
    return {wanted[number - 1]: -place[3] for number, place in best.items()}


async def _make(sql: Connection[Any], missing: list[_Wanted]) -> None:
    # Two spellings of one name are one tag, called as it was met first.
    new: dict[tuple[str, str], str] = {}
    for each in missing:
        new.setdefault((each.key, each.kind or "general"), each.shown)
    keys, kinds = [key for key, _ in new], [kind for _, kind in new]
    await sql.execute(_MAKE, list(new.values()), keys, kinds)
