"""The wish for a video that browsers can play: renewed while somebody waits, and what they are told."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from appliance.core.db import UnitOfWork
from appliance.library.facts import PlayWanted


if TYPE_CHECKING:
    from asyncpg import Connection

LEASE_S = 15
"""A page renews its wish every few seconds; one that was closed without a word is noticed after this."""
PARTING_S = 4
"""What is left of a wish after a page said that it leaves: others who wait renew theirs meanwhile."""


@dataclass(frozen=True, slots=True)
class Playing:
    """Where the playable form of a video stands: `ready`, `waits`, `making` or `failed`."""

    state: str
    share: float = 0.0
    made_s: float = 0.0
    took_s: float = 0.0
    reason: str | None = None
    detail: str | None = None
    part: str | None = None
    """Name of the file that grows meanwhile."""

    @property
    def left_s(self) -> float | None:
        """Seconds until it is done, once that can be told."""
        if self.state != "making" or self.took_s < 2 or self.share <= 0:
            return None
        return self.took_s * (1 - self.share) / self.share


# A failure stays until a person asks again; a film whose result was let go begins anew.
_WANT = f"""
INSERT INTO conversion (asset_id, wanted_until) VALUES ($1, now() + interval '{LEASE_S} seconds')
ON CONFLICT (asset_id) DO UPDATE SET
    wanted_until = GREATEST(conversion.wanted_until, EXCLUDED.wanted_until),
    status = CASE WHEN {{anew}} THEN 'pending' ELSE conversion.status END,
    queued_at = CASE WHEN {{anew}} THEN now() ELSE conversion.queued_at END,
    share = CASE WHEN {{anew}} THEN 0 ELSE conversion.share END,
    made_s = CASE WHEN {{anew}} THEN 0 ELSE conversion.made_s END,
    took_s = CASE WHEN {{anew}} THEN 0 ELSE conversion.took_s END,
    finished_at = CASE WHEN {{anew}} THEN NULL ELSE conversion.finished_at END,
    deliveries = CASE WHEN {{anew}} THEN 0 ELSE conversion.deliveries END,
    interruptions = CASE WHEN {{anew}} THEN 0 ELSE conversion.interruptions END
RETURNING status, share, made_s, took_s, reason, detail, claim
""".format(anew="(conversion.status = 'complete' OR conversion.status = 'failed' AND $2)")


async def want(uow: UnitOfWork, asset_id: int, *, again: bool = False) -> Playing:
    """Wish for the playable form of a video, or renew the wish; `again` also after a failure."""
    if await _is_ready(uow.sql, asset_id):
        return Playing("ready", 1.0)
    row = await uow.sql.fetchrow(_WANT, asset_id, again)
    assert row is not None  # noqa: S101 - an upsert always answers its row
    if row["status"] == "pending":
        uow.record(PlayWanted())
    return _playing(row)


async def _is_ready(sql: Connection[Any], asset_id: int) -> bool:
    status: str | None = await sql.fetchval(
        "SELECT status FROM rendition WHERE asset_id = $1 AND name = 'play'", asset_id
    )
    return status == "complete"


def _playing(row: Any) -> Playing:
    state = {"pending": "waits", "processing": "making", "complete": "ready", "failed": "failed"}[
        row["status"]
    ]
    part = part_name(row["claim"]) if state == "making" and row["claim"] else None
    return Playing(state, row["share"], row["made_s"], row["took_s"], row["reason"], row["detail"], part)


async def state(sql: Connection[Any], asset_id: int) -> Playing | None:
    """Where it stands, without wishing for it; None when nobody asked."""
    if await _is_ready(sql, asset_id):
        return Playing("ready", 1.0)
    row = await sql.fetchrow(
        "SELECT status, share, made_s, took_s, reason, detail, claim FROM conversion WHERE asset_id = $1",
        asset_id,
    )
    return _playing(row) if row is not None and row["status"] != "complete" else None


async def leave(uow: UnitOfWork, asset_id: int) -> None:
    """One who waited goes away; the wish lapses unless somebody else renews it."""
    await uow.sql.execute(
        "UPDATE conversion SET wanted_until = LEAST(wanted_until, now() + make_interval(secs => $2))"
        " WHERE asset_id = $1 AND status IN ('pending', 'processing')",
        asset_id,
        PARTING_S,
    )


async def lost(uow: UnitOfWork, asset_id: int) -> None:
    """The file is gone, deleted by hand or with the power: it is made again with the next wish."""
    await uow.sql.execute("DELETE FROM rendition WHERE asset_id = $1 AND name = 'play'", asset_id)


def part_name(claim: uuid.UUID) -> str:
    """The growing file: named by its fence, so that one who was declared dead never writes into another's."""
    return f"play.{claim.hex}.part"
