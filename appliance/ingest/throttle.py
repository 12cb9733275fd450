"""How much of the machine imports may use, and at which hours: one row of settings, known to every worker."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import msgspec

from appliance.core import clock
from appliance.core.errors import Invalid
from appliance.core.settings import Settings


if TYPE_CHECKING:
    from asyncpg import Connection

    from appliance.core.db import UnitOfWork


NAME = "import_throttle"
FRESH_S = 15.0
"""A pass that claims looks again after this long: a change is heeded well within a minute."""


class Throttle(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person allowed. No cores means all of them, no hours means at any time."""

    cores: int | None = None
    begins: int | None = None
    ends: int | None = None

    def places(self, settings: Settings) -> int:
        """How many files may be worked on at once."""
        if self.cores is None or self.cores >= settings.decoders:
            # Two more than decoders: while one file's rows are written, its decoder has the next one.
            return settings.decoders + 2
        return max(1, self.cores)

    def resting(self, now: datetime) -> bool:
        """Whether this wall-clock moment lies outside the hours; a window may cross midnight."""
        if self.begins is None or self.ends is None or self.begins == self.ends:
            return False
        if self.begins < self.ends:
            return not self.begins <= now.hour < self.ends
        return self.ends <= now.hour < self.begins

    def opens(self, now: datetime) -> datetime | None:
        """When imports may go on; None while they may."""
        if not self.resting(now) or self.begins is None:
            return None
        today = now.replace(hour=self.begins, minute=0, second=0, microsecond=0)
        return today if today > now else today + timedelta(days=1)


ANY = Throttle()
_known = ANY
_read_at = float("-inf")


def known() -> Throttle:
    """What this process read last."""
    return _known


def forget() -> None:
    """Read it again at the next occasion."""
    global _known, _read_at
    _known, _read_at = ANY, float("-inf")


async def refresh(sql: Connection[Any]) -> Throttle:
    """The throttle as it stands, read again when what is remembered is not fresh."""
    global _known, _read_at
    if clock.monotonic() - _read_at > FRESH_S:
        _known, _read_at = await read(sql), clock.monotonic()
    return _known


async def read(sql: Connection[Any]) -> Throttle:
    """The throttle as it is stored."""
    text = await sql.fetchval("SELECT value::text FROM setting WHERE name = $1", NAME)
    return msgspec.json.decode(text, type=Throttle) if text else ANY


async def write(uow: UnitOfWork, throttle: Throttle, settings: Settings) -> None:
    """Store it; nonsense is refused by name."""
    _check(throttle, settings)
    await uow.sql.execute(
        "INSERT INTO setting (name, value) VALUES ($1, $2)"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value, changed_at = now()",
        NAME,
        msgspec.json.encode(throttle).decode(),
    )
    forget()


def _check(throttle: Throttle, settings: Settings) -> None:
    if throttle.cores is not None and not 1 <= throttle.cores <= settings.decoders:
        raise Invalid("That many cores do not exist here", f"1 to {settings.decoders}.")
    if (throttle.begins is None) != (throttle.ends is None):
        raise Invalid("An hour is missing", "Give both: when imports begin and when they end.")
    for hour in (throttle.begins, throttle.ends):
        if hour is not None and not 0 <= hour <= 23:
            raise Invalid("That is not an hour of the day", "0 to 23.")


def wall(zone: ZoneInfo) -> datetime:
    """The moment on the wall clock of the installation."""
    return clock.now().astimezone(zone)
