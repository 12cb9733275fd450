"""The wait between failed sign-ins: it grows, and it always ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from appliance.accounts.errors import TooManyTries


if TYPE_CHECKING:
    from asyncpg import Connection


FREE = 5
"""Tries before the first wait."""
NAME_CAP, ADDRESS_CAP = 60, 900
"""Longest waits in seconds: an account must not be lockable by a stranger, an address may wait longer."""

# A try is counted before the password is looked at, and only when its wait is over: a burst of
# parallel guesses gets one answer for each wait, not one for each connection.
_COUNT = """
INSERT INTO login_throttle AS t (key, failures, last_at) VALUES ($1, 1, clock_timestamp())
ON CONFLICT (key) DO UPDATE SET
    failures = CASE WHEN t.last_at < clock_timestamp() - interval '1 day' THEN 1
                    ELSE least(t.failures, 60) + 1 END,
    last_at = clock_timestamp()
WHERE t.failures < $2 OR t.last_at + make_interval(secs => least($3, 2.0 ^ least(t.failures - $2, 20)))
      <= clock_timestamp()
RETURNING failures
"""
_WAIT = """
SELECT greatest(1, ceil(extract(epoch FROM
    last_at + make_interval(secs => least($3, 2.0 ^ least(failures - $2, 20))) - clock_timestamp())))::int
FROM login_throttle WHERE key = $1
"""


async def count_try(sql: Connection[Any], key: str, *, cap: int) -> None:
    """Count one try under this key, or refuse it because the wait is not over."""
    if await sql.fetchval(_COUNT, key, FREE, float(cap)) is None:
        raise TooManyTries(await sql.fetchval(_WAIT, key, FREE, float(cap)) or 1)


async def forget(sql: Connection[Any], *keys: str) -> None:
    """A success ends the waits that led to it."""
    await sql.execute("DELETE FROM login_throttle WHERE key = ANY($1::text[])", list(keys))


async def forget_name(sql: Connection[Any], key: str) -> None:
    """End the waits of an account, from wherever its name was tried."""
    await sql.execute("DELETE FROM login_throttle WHERE key = $1 OR starts_with(key, $1 || '@')", key)


async def sweep(sql: Connection[Any]) -> int:
    """Drop what nobody waits for any more."""
    gone = await sql.execute("DELETE FROM login_throttle WHERE last_at < now() - interval '1 day'")
    return int(gone.rpartition(" ")[2])
