"""What a drain is: rows of one table that wait, are claimed in batches and end one by one."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from appliance.core.settings import Settings


if TYPE_CHECKING:
    from asyncpg import Connection

    from appliance.core.db import UnitOfWork


@dataclass(frozen=True, slots=True)
class Claimed:
    """One row in hand; `row` is what the claiming statement returned, for the body."""

    id: int
    claim: uuid.UUID
    alone: bool
    row: Any


class Interrupted(Exception):
    """The body could not finish for a reason that is not the row's; it goes back uncounted."""


class Delivered(Exception):
    """The decode child died while it held this row: counted, and after three times the row fails."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail)
        self.detail = detail


CRASHED = "crashed"
"""Reason of a row whose decode child died MAX_DELIVERIES times."""
TIMEOUT = "timeout"
"""Reason of a row whose body outlived the limit of its task."""
UNEXPECTED = "unexpected"
"""Reason of a row whose body raised something that nobody foresaw."""


Claim = Callable[["Connection[Any]", int, int], Awaitable[Sequence[Claimed]]]
"""(connection, worker id, how many) -> rows now in the `live` state.

One UPDATE that sets `status`, `claim = gen_random_uuid()`, `worker_id` and `claimed_at = now()`, and
returns `columns.ALONE` as `Claimed.alone`. Such a row may come among others: the runner works on it
while nothing else of the drain runs.
"""

Fail = Callable[["Connection[Any]", Claimed, str, str], Awaitable[bool]]
"""(connection, row in hand, reason, detail) -> True when the row was still ours and now has failed.

One statement, fenced by `claim`, that moves the counters with the state.
"""


def _one(_settings: Settings) -> int:
    return 1


def _never() -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Drain:
    """How the register finds, takes, gives back and settles the rows of one table.

    `ready`, `live` and `terminal` are state literals of `model.status`; the model has a partial index
    `WHERE status = '<ready>'` whose order is the order of claiming. `keep` is how long terminal rows
    stay, None where the row is itself the lasting record.
    """

    name: str
    model: type[Any]
    claim: Claim
    fail: Fail
    parallel: Callable[[Settings], int] = _one
    """How many rows are worked on at once."""
    hand: Callable[[Settings], int] | None = None
    """How many rows are held at once, waiting ones included; four times `parallel` when None."""
    ready: str = "pending"
    live: str = "processing"
    terminal: tuple[str, ...] = ("complete", "skipped", "failed")
    keep: timedelta | None = None
    blocked: Callable[[], str | None] = _never
    """A reason why nothing may be claimed at this moment (a full disk), or None."""
    later: Callable[[Connection[Any]], Awaitable[float | None]] | None = None
    """In how many seconds the next row becomes ready; a pass waits for it when that is soon."""
    afterwards: Callable[[UnitOfWork], Awaitable[object]] | None = None
    """What follows from a pass that has ended (a batch may be over now); it may be lost with a worker."""

    @property
    def table(self) -> str:
        """Name of the table, for composed SQL."""
        return str(self.model.__tablename__)

    def held(self, settings: Settings) -> int:
        """The most rows that one pass holds."""
        return self.hand(settings) if self.hand else 4 * self.parallel(settings)
