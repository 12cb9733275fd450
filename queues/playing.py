"""Task bodies of videos: made playable for whoever waits, let go when nobody looked for long."""

from __future__ import annotations

from functools import cache

from appliance.core import db, settings
from appliance.core.drains import Claimed, Delivered, Drain, Interrupted
from appliance.library import converting, ondemand
from appliance.library.facts import PlayWanted
from appliance.library.rendition_models import Conversion
from appliance.media.decoder import ChildDied, DecodePool, DecoderUnavailable
from appliance.media.limits import Limits
from appliance.media.reasons import Reason
from queues import lanes
from queues.declare import days, hours, minutes, seconds, task
from queues.runs import Run


LIMIT = hours(2)
# Below the task's limit, so that the film fails with its own words.
ENCODE_S = (LIMIT - minutes(1)).total_seconds()
FILMS = Drain(
    name="conversions",
    model=Conversion,
    claim=converting.claim,
    fail=converting.fail,
    terminal=("complete", "failed"),
    keep=days(7),
    # Held one by one: whoever gives up while waiting must not be begun.
    hand=lambda _settings: 1,
)


@cache
def pool() -> DecodePool:
    """A child of its own, behind all others for the processor: it never takes a place from an import."""
    # Four threads for the whole time; pictures need less memory than a film at work.
    return DecodePool(1, Limits(cpu_s=4 * int(LIMIT.total_seconds()), nice=15, idle_s=5.0))


@task(lane=lanes.PLAY, limit=LIMIT, cron="* * * * *", on=[PlayWanted], drain=FILMS)
async def make_playable(claimed: Claimed) -> str:
    """Make a video playable for browsers while somebody waits for it."""
    try:
        async with pool().child(fresh=claimed.alone) as child:
            return await converting.convert(
                settings.current(), db.current(), claimed, child, limit_s=ENCODE_S
            )
    except DecoderUnavailable as error:
        raise Interrupted from error
    except ChildDied as death:
        if death.reason is Reason.CRASHED:
            raise Delivered(death.detail) from death
        async with db.unit_of_work() as uow:
            await converting.fail(uow.sql, claimed, death.reason, death.detail)
        return "failed"


@task(lane=lanes.MAINTENANCE, limit=seconds(120), cron="25 * * * *", button=True, quiet=True)
async def sweep_on_demand(run: Run) -> None:
    """Remove full sizes and playable videos that nobody looked at for 14 days, or that take too much room."""
    run.counts["removed"] = await ondemand.sweep(db.current(), run.settings.home)
