"""What became of sent files: one line for each, with the asset that it is or the reason why it is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from appliance.core.errors import NotFound
from appliance.media.reasons import Reason


if TYPE_CHECKING:
    from asyncpg import Connection


PAGE = 200


@dataclass(frozen=True, slots=True)
class Result:
    """One sent file as it stands."""

    id: int
    token: str
    name: str
    size: int
    received: int
    status: str
    outcome: str | None
    reason: str | None
    detail: str | None
    asset_id: int | None
    asset_state: str | None
    pictured: bool

    @property
    def plain(self) -> str:
        """What happened and what the person can do."""
        known = {str(r): r for r in Reason}
        return known[self.reason].plain if self.reason in known else ""

    @property
    def settled(self) -> bool:
        """Nothing about it changes by itself any more."""
        return self.status == "abandoned" or (self.status == "received" and self.outcome != "pending")


@dataclass(frozen=True, slots=True)
class Session:
    """One session of sending."""

    id: int
    title: str
    queued_at: datetime
    finished_at: datetime | None
    status: str
    sent: int
    receiving: int
    imported: int
    duplicate: int
    failed: int
    skipped: int

    @property
    def settled(self) -> bool:
        """Every file that was sent has its outcome, and none is on its way."""
        ended = self.imported + self.duplicate + self.failed + self.skipped
        return not self.receiving and ended >= self.sent


_RESULT = """
SELECT u.id, u.token, u.name, u.size, u.received, u.status, e.outcome, e.reason, e.detail,
       a.id AS asset_id, a.state AS asset_state,
       EXISTS (SELECT 1 FROM rendition r WHERE r.asset_id = a.id AND r.name = 'grid-240'
               AND r.status = 'complete') AS pictured
FROM upload u LEFT JOIN root_entry e ON e.id = u.entry_id LEFT JOIN asset a ON a.id = e.asset_id
"""


async def page(sql: Connection[Any], batch_id: int, *, after: int = 0, limit: int = PAGE) -> list[Result]:
    """Files of a session in the order in which they were announced."""
    rows = await sql.fetch(
        f"{_RESULT} WHERE u.batch_id = $1 AND u.id > $2 ORDER BY u.id LIMIT $3", batch_id, after, limit
    )
    return [Result(*r) for r in rows]


async def of(sql: Connection[Any], tokens: Sequence[str]) -> list[Result]:
    """Certain files, wherever they belong: a session that was closed went on under another number."""
    rows = await sql.fetch(f"{_RESULT} WHERE u.token = ANY($1::text[]) ORDER BY u.id", list(tokens)[:PAGE])
    return [Result(*r) for r in rows]


_SESSION = """
SELECT b.id, coalesce(b.title, 'Upload'), b.queued_at, b.finished_at, b.status, b.files,
       (SELECT count(*) FROM upload u WHERE u.batch_id = b.id AND u.status = 'receiving'),
       b.imported, b.duplicate + b.unchanged + b.moved + b.returned, b.failed, b.skipped
FROM import_batch b
"""


async def session(sql: Connection[Any], batch_id: int) -> Session:
    """One session by its number."""
    row = await sql.fetchrow(f"{_SESSION} WHERE b.id = $1 AND b.cause = 'upload'", batch_id)
    if row is None:
        raise NotFound("There is no such upload", "Sessions are kept for 30 days.")
    return Session(*row)


async def latest(sql: Connection[Any], *, limit: int = 8) -> list[Session]:
    """The last sessions, newest first."""
    rows = await sql.fetch(
        f"{_SESSION} JOIN root r ON r.id = b.root_id AND r.purpose = 'uploads'"
        " WHERE b.cause = 'upload' ORDER BY b.id DESC LIMIT $1",
        limit,
    )
    return [Session(*r) for r in rows]
