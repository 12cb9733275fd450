"""Batches in words: what one is doing, how long it will take, and why it waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from appliance.core import room, settings
from appliance.ingest import progress, rates, throttle
from appliance.ingest.progress import Batch
from appliance.ingest.rates import STANDING, Needs, Rate
from appliance.ingest.throttle import Throttle
from appliance.web import words
from appliance.web.pulse import House, house
from queues import lanes
from queues import reads as queue_reads


if TYPE_CHECKING:
    from asyncpg import Connection


MODES = {
    "in_place": "stay where they are",
    "copy": "are copied into the library",
    "move": "are moved into the library",
}
LANES = (lanes.SCAN.name, lanes.IMPORT.name)
ENDS = {"done": ("ok", "Done"), "error": ("bad", "Broke off"), "cancelled": ("off", "Cancelled")}


class Standing(NamedTuple):
    """What holds imports back as a whole."""

    house: House
    paused: dict[str, str]
    """Paused lanes and by whom."""
    throttle: Throttle
    opens: str
    """The hour at which imports may go on, empty while they may."""

    @property
    def all_paused(self) -> bool:
        """Whether a person has stopped the reading of files."""
        return lanes.IMPORT.name in self.paused


async def standing(sql: Connection[Any]) -> Standing:
    """Pauses and hours as they are at this moment."""
    allowed = await throttle.read(sql)
    opens = allowed.opens(throttle.wall(settings.current().zone))
    return Standing(house(), await queue_reads.paused(sql), allowed, f"{opens:%H:%M}" if opens else "")


class Running(NamedTuple):
    """One batch that is not over, as the page shows it."""

    batch: Batch
    rate: Rate
    shape: str
    word: str
    why: str
    """What it waits for, as a sentence; empty while it moves."""
    left: str

    @property
    def may_be_cancelled(self) -> bool:
        """Uploads end by themselves; whoever sends them stops sending."""
        return self.batch.purpose != "uploads"


def running(batch: Batch, rate: Rate, now: Standing) -> Running:
    """A batch with its state in words."""
    shape, word, why = _held(batch, now) or _moving(batch)
    left = "" if why or batch.counting else about(rate.left(batch.waiting + batch.working))
    return Running(batch, rate, shape, word, why, left)


def _held(batch: Batch, now: Standing) -> tuple[str, str, str] | None:
    lane = lanes.IMPORT.name if batch.status == "importing" else lanes.SCAN.name
    if batch.root_status != "ready":
        return "warn", "Waits for its folder", f"The folder cannot be read: {_said(batch.root_reason)}"
    if now.house.imports_paused_reason:
        return "warn", "Waits for room", now.house.imports_paused_reason
    if lane in now.paused:
        by = now.paused[lane]
        return "off", "Paused", f"Paused by {by}. It goes on where it stopped." if by else "It is paused."
    if now.opens and not batch.interactive and batch.status == "importing":
        return "off", f"Waits until {now.opens}", "Imports run only within the hours below."
    return None


def _said(reason: str | None) -> str:
    text = (reason or "it is not connected").rstrip(".")
    return f"{text}. It goes on when a scan finds it again."


def _moving(batch: Batch) -> tuple[str, str, str]:
    if batch.status == "pending":
        return "run", "Waits its turn", ""
    if batch.purpose == "uploads" and batch.counting:
        return "run", "Receiving", ""
    return "run", "Looking for files" if batch.status == "walking" else "Running", ""


def about(seconds: float | None) -> str:
    """A time that nobody should set a clock by: about 26 min left."""
    if seconds is None:
        return ""
    if seconds < 60:
        return "less than a minute left"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"about {minutes} min left"
    hours = round(minutes / 60)
    return f"about {hours} h left" if hours < 48 else f"about {round(hours / 24)} days left"


async def one(sql: Connection[Any], batch: Batch, now: Standing) -> Running | None:
    """A batch with its state, None when it is over."""
    if not batch.active:
        return None
    return running(batch, (await rates.rates(sql)).get(batch.id, STANDING), now)


class Room(NamedTuple):
    """What running imports will still write, beside what is free."""

    needs: Needs
    free: int

    @property
    def short(self) -> bool:
        """Whether it will not fit."""
        return self.needs.all > self.free


async def active(sql: Connection[Any], now: Standing) -> tuple[list[Running], Room]:
    """Everything that runs, and the room that it takes."""
    batches = await progress.active(sql)
    speeds = await rates.rates(sql) if batches else {}
    needs = await rates.needs(sql, [(b.id, b.waiting, b.stored) for b in batches])
    found = [running(b, speeds.get(b.id, STANDING), now) for b in batches]
    return found, Room(needs, max(0, room.spare(settings.current())))


def outcome(batch: Batch) -> tuple[str, str]:
    """How a batch ended, as a shape and a word."""
    if batch.active:
        return "run", "Running"
    shape, word = ENDS.get(batch.status, ("ok", "Done"))
    if batch.failed and shape == "ok":
        return "warn", f"Done, {words.number(batch.failed)} failed"
    return shape, word
