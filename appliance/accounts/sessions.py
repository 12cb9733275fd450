"""Sessions: a random token in a cookie, its SHA-256 in the database."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from appliance.core import clock


if TYPE_CHECKING:
    from asyncpg import Connection


ABSOLUTE_DAYS, IDLE_DAYS = 90, 30
CACHED_FOR = 5.0
"""Seconds for which a revoked session may still be believed by another process."""
CACHE_LIMIT = 2048


class Person(NamedTuple):
    """Somebody who is signed in."""

    id: int
    name: str
    role: str
    session_id: int

    @property
    def admin(self) -> bool:
        """Whether this person may change things and see what is private."""
        return self.role == "admin"


_LOOK_UP = f"""
SELECT u.id, u.name, u.role, s.id AS session_id, s.seen_at < now() - interval '5 minutes' AS stale
FROM session s JOIN "user" u ON u.id = s.user_id
WHERE s.token_sha256 = $1 AND s.revoked_at IS NULL AND u.disabled_at IS NULL
  AND s.made_at > now() - interval '{ABSOLUTE_DAYS} days' AND s.seen_at > now() - interval '{IDLE_DAYS} days'
"""

_cache: dict[bytes, tuple[float, Person]] = {}


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def remembered(token: str) -> Person | None:
    """The person behind a token, if that was looked up within the last seconds."""
    found = _cache.get(_digest(token))
    if found is None or found[0] < clock.monotonic():
        return None
    return found[1]


async def look_up(sql: Connection[Any], token: str) -> Person | None:
    """The person behind a token, if the session still holds."""
    digest = _digest(token)
    row = await sql.fetchrow(_LOOK_UP, digest)
    if row is None:
        _cache.pop(digest, None)
        return None
    if row["stale"]:
        await sql.execute("UPDATE session SET seen_at = now() WHERE id = $1", row["session_id"])
    person = Person(row["id"], row["name"], row["role"], row["session_id"])
    if len(_cache) >= CACHE_LIMIT:
        _cache.clear()
    _cache[digest] = (clock.monotonic() + CACHED_FOR, person)
    return person


async def start(sql: Connection[Any], user_id: int, *, address: str, agent: str) -> str:
    """A new session with a new token; the token is told once and not kept."""
    token = secrets.token_urlsafe(32)
    await sql.execute(
        "INSERT INTO session (token_sha256, user_id, address, agent) VALUES ($1, $2, $3, $4)",
        _digest(token),
        user_id,
        address,
        agent[:200],
    )
    return token


async def end(sql: Connection[Any], token: str) -> int | None:
    """Revoke the session of a token; the answer is whose it was."""
    _cache.pop(_digest(token), None)
    found: int | None = await sql.fetchval(
        "UPDATE session SET revoked_at = now() "
        "WHERE token_sha256 = $1 AND revoked_at IS NULL RETURNING user_id",
        _digest(token),
    )
    return found


async def end_all(sql: Connection[Any], user_id: int, *, but: int | None = None) -> int:
    """Revoke the sessions of a person, as a new password does; how many ended."""
    gone = await sql.execute(
        "UPDATE session SET revoked_at = now() "
        "WHERE user_id = $1 AND revoked_at IS NULL AND id IS DISTINCT FROM $2",
        user_id,
        but,
    )
    _cache.clear()
    return int(gone.rpartition(" ")[2])


async def end_one(sql: Connection[Any], user_id: int, session_id: int) -> bool:
    """Revoke one session of this person; False when it had ended or is somebody else's."""
    gone = await sql.execute(
        "UPDATE session SET revoked_at = now() WHERE user_id = $1 AND id = $2 AND revoked_at IS NULL",
        user_id,
        session_id,
    )
    _cache.clear()
    return bool(gone == "UPDATE 1")


def forget_remembered() -> None:
    """Ask the database again about everybody: a role was changed, or somebody shut out."""
    _cache.clear()


class SessionView(NamedTuple):
    """One signed-in browser as its owner sees it."""

    id: int
    address: str | None
    agent: str
    made_at: datetime
    seen_at: datetime


_LIVE = f"""revoked_at IS NULL AND made_at > now() - interval '{ABSOLUTE_DAYS} days'
    AND seen_at > now() - interval '{IDLE_DAYS} days'"""


async def of_person(sql: Connection[Any], user_id: int) -> list[SessionView]:
    """The sessions that still hold, the last used one first."""
    rows = await sql.fetch(
        "SELECT id, address, coalesce(agent, '') AS agent, made_at, seen_at FROM session "
        f"WHERE user_id = $1 AND {_LIVE} ORDER BY seen_at DESC, id DESC LIMIT 100",
        user_id,
    )
    return [SessionView(*row) for row in rows]


async def forget(sql: Connection[Any]) -> int:
    """Drop sessions that can no longer be used: signed out, idle for too long, or too old."""
    gone = await sql.execute(
        "DELETE FROM session WHERE revoked_at < now() - interval '1 day'"
        f" OR made_at < now() - interval '{ABSOLUTE_DAYS} days'"
        f" OR seen_at < now() - interval '{IDLE_DAYS} days'"
    )
    return int(gone.rpartition(" ")[2])
