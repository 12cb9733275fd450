"""A look into the database of the instance under measurement, over a connection of the bench's own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import asyncpg

from appliance.cli.benches.instance import BenchBroke
from appliance.core.settings import Settings


if TYPE_CHECKING:
    from asyncpg import Connection

Found = TypeVar("Found")
# Rare enough to take nothing from what is measured; moments come from the rows themselves.
LOOK_S = 0.25


class Look:
    """Statements, one after the other."""

    def __init__(self, runner: asyncio.Runner, connection: Connection[Any]) -> None:
        self._runner = runner
        self._connection = connection

    def value(self, statement: str, *arguments: Any) -> Any:
        """The one value that a statement answers."""
        return self._runner.run(self._connection.fetchval(statement, *arguments))

    def row(self, statement: str, *arguments: Any) -> dict[str, Any]:
        """The one row that a statement answers."""
        found = self._runner.run(self._connection.fetchrow(statement, *arguments))
        if found is None:
            raise BenchBroke("The database has no answer", statement[:80])
        return dict(found)

    def change(self, statement: str, *arguments: Any) -> None:
        """A change that sets the scene."""
        self._runner.run(self._connection.execute(statement, *arguments))

    def do(self, work: Callable[..., Coroutine[Any, Any, Found]], *arguments: Any) -> Found:
        """The answer of something that takes the connection itself."""
        return self._runner.run(work(self._connection, *arguments))

    def until(self, statement: str, *arguments: Any, limit: float) -> None:
        """Wait until a statement answers true."""
        deadline = time.monotonic() + limit
        while not self.value(statement, *arguments):
            if time.monotonic() > deadline:
                raise BenchBroke(f"Still not so after {limit:g} s", statement[:200])
            time.sleep(LOOK_S)


@contextmanager
def looking(settings: Settings) -> Iterator[Look]:
    """Connect for the length of the block; `settings` are those of the running instance."""
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(settings.database_url))
        try:
            yield Look(runner, connection)
        finally:
            runner.run(connection.close())
