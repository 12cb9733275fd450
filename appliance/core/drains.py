"""What a drain is: rows of one table that wait, are claimed in batches and end one by one."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from appliance.core.columns import Base


if TYPE_CHECKING:
    from asyncpg import Connection


@dataclass(frozen=True, slots=True)
class Claimed:
    """One row in hand; `row` is what the claiming statement returned, for the body."""

    id: int
    claim: uuid.UUID
    alone: bool
    row: Any


Claim = Callable[["Connection[Any]", int, int], Awaitable[Sequence[Claimed]]]
"""(connection, worker id, how many) -> rows now in the `live` state, each with a fresh fence.

A row whose deliveries or interruptions ask for isolation comes alone, with `alone` set.
"""


Condemn = Callable[["Connection[Any]", Sequence[int]], Awaitable[None]]
"""(connection, row ids) -> those rows end as `failed (crashed)`, counters moved with them."""


@dataclass(frozen=True, slots=True)
class Drain:
    """How the register finds, takes, gives back and settles the rows of one table.

    `ready`, `live` and `terminal` are state literals of `model.status`. `crashed` ends rows
    that were delivered MAX_DELIVERIES times. `keep` is how long terminal rows stay, None where
    the row is itself the lasting record.
    """

    name: str
    model: type[Base]
    claim: Claim
    crashed: Condemn
    ready: str = "pending"
    live: str = "processing"
    terminal: tuple[str, ...] = ("complete", "skipped", "failed")
    keep: timedelta | None = None
    blocked: Callable[[], str | None] = lambda: None
    """A reason why nothing may be claimed at this moment (a full disk), or None."""

    @property
    def table(self) -> str:
        """Name of the table, for composed SQL."""
        return str(self.model.__tablename__)
