"""Task bodies of volumes."""

from __future__ import annotations

from functools import partial

from appliance.core import db, settings
from appliance.core.drains import Claimed, Drain, Interrupted
from appliance.ingest import away
from appliance.ingest.facts import ImportsRested
from appliance.library import unpacking
from appliance.library.facts import PagesWanted
from appliance.library.volume_models import Volume
from appliance.media.decoder import DecoderUnavailable
from queues import lanes
from queues.declare import minutes, task
from queues.decoders import pool
from queues.library import calm


VOLUMES = Drain(
    name="volumes",
    model=Volume,
    claim=unpacking.claim_when(calm),
    fail=unpacking.fail,
    terminal=("complete", "failed"),
    # One after the other: the pages of one that is read are not behind those of ten others.
    hand=lambda _settings: 1,
)


@task(
    lane=lanes.THUMBNAIL,
    limit=minutes(9),
    cron="* * * * *",
    on=[ImportsRested, PagesWanted],
    drain=VOLUMES,
)
async def unpack_volumes(claimed: Claimed) -> str:
    """Make the pages of volumes pictures of their own, those of the volume that someone reads first."""
    lend = partial(pool().child, fresh=claimed.alone, urgent=claimed.row.urgent)
    try:
        return await unpacking.unpack(settings.current(), db.current(), claimed, lend, away.went)
    except DecoderUnavailable as error:
        raise Interrupted from error
