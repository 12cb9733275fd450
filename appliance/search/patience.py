"""A limit on searches: none can hold the server, and each is planned for the values that it has."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import asyncpg

from appliance.search.errors import TooSlow


if TYPE_CHECKING:
    from asyncpg import Connection


LIMIT_MS = 2000
# A generic plan would not know whether a tag is on three assets or on most of them; parallel workers
# would let one search take all cores from everybody else.
_TAKE = """
SELECT current_setting('statement_timeout'), current_setting('plan_cache_mode'),
       current_setting('max_parallel_workers_per_gather'), current_setting('jit'),
       set_config('statement_timeout', $1, true), set_config('plan_cache_mode', 'force_custom_plan', true),
       set_config('max_parallel_workers_per_gather', '0', true), set_config('jit', 'off', true)
"""
_GIVE = """
SELECT set_config('statement_timeout', $1, true), set_config('plan_cache_mode', $2, true),
       set_config('max_parallel_workers_per_gather', $3, true), set_config('jit', $4, true)
"""
_held: ContextVar[object] = ContextVar("_held", default=None)


@asynccontextmanager
async def patience(sql: Connection[Any], limit_ms: int = LIMIT_MS) -> AsyncIterator[None]:
    """Limit every statement inside; one around several searches costs two statements for all of them."""
    if _held.get() is sql:
        yield
        return
    async with AsyncExitStack() as stack:
        if not sql.is_in_transaction():
            await stack.enter_async_context(sql.transaction())
        before = await sql.fetchrow(_TAKE, str(limit_ms))
        assert before is not None  # noqa: S101 - a query without FROM answers one row
        token = _held.set(sql)
        try:
            yield
        except asyncpg.QueryCanceledError as error:
            raise TooSlow from error
        finally:
            _held.reset(token)
        await sql.execute(_GIVE, *before[:4])


async def within(sql: Connection[Any], limit_ms: int, statement: str, *values: object) -> list[Any] | None:
    """The rows of a statement, or None where it takes longer; the transaction goes on in either case."""
    try:
        async with sql.transaction():
            await sql.fetchval("SELECT set_config('statement_timeout', $1, true)", str(limit_ms))
            rows = await sql.fetch(statement, *values)
            await sql.fetchval("SELECT set_config('statement_timeout', $1, true)", str(LIMIT_MS))
            return list(rows)
    except asyncpg.QueryCanceledError:
        return None
