"""Task bodies of the library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from appliance.core import db, settings
from appliance.core.drains import Claimed, Delivered, Drain, Interrupted
from appliance.ingest import throttle
from appliance.ingest.facts import ImportsRested
from appliance.ingest.services import imports_idle
from appliance.library import renditions
from appliance.library.facts import PreviewWanted
from appliance.library.rendition_models import Rendition
from appliance.media.decoder import ChildDied, DecoderUnavailable
from appliance.media.reasons import Reason
from queues import lanes
from queues.declare import seconds, task
from queues.decoders import pool


if TYPE_CHECKING:
    from asyncpg import Connection


async def calm(sql: Connection[Any]) -> bool:
    """Whether background pictures may be made: imports rest, and a person allows work at this hour."""
    allowed = await throttle.refresh(sql)
    return not allowed.resting(throttle.wall(settings.current().zone)) and await imports_idle(sql)


MISSING = Drain(
    name="renditions",
    model=Rendition,
    claim=renditions.claim_when(calm),
    fail=renditions.fail,
    terminal=("complete", "failed"),
    parallel=lambda s: min(s.decoders, throttle.known().places(s)),
    # Held one for each decoder, so that a picture someone waits for is behind one item at most.
    hand=lambda s: s.decoders,
)


@task(
    lane=lanes.THUMBNAIL,
    limit=seconds(120),
    cron="* * * * *",
    # Not after each asset: while imports work, nobody but a visitor gets a picture made.
    on=[ImportsRested, PreviewWanted],
    drain=MISSING,
)
async def render_pictures(claimed: Claimed) -> str:
    """Render the pictures that assets still lack, the ones someone looks at first."""
    try:
        async with pool().child(fresh=claimed.alone, urgent=claimed.row.urgent) as child:
            return await renditions.render(settings.current(), db.current(), claimed, child)
    except DecoderUnavailable as error:
        raise Interrupted from error
    except ChildDied as death:
        return await died(claimed, death)


async def died(claimed: Claimed, death: ChildDied) -> str:
    """A crash is counted and tried again; what a limit ended would only meet it again."""
    if death.reason is Reason.CRASHED:
        raise Delivered(death.detail) from death
    async with db.unit_of_work() as uow:
        await renditions.fail(uow.sql, claimed, death.reason, death.detail)
    return "failed"
