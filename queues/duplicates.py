"""Task bodies that hash what waits for it, and find what looks alike."""

from __future__ import annotations

from appliance.core import clock, db, settings
from appliance.core.drains import Claimed, Delivered, Drain, Interrupted
from appliance.duplicates import backfilling
from appliance.duplicates import services as duplicates
from appliance.duplicates.models import Fingerprint
from appliance.ingest.facts import ImportsRested
from appliance.ingest.services import imports_idle
from appliance.media.decoder import ChildDied, DecoderUnavailable
from appliance.media.reasons import Reason
from queues import lanes
from queues.declare import minutes, seconds, task
from queues.decoders import pool
from queues.library import calm
from queues.runs import Run


UNHASHED = Drain(
    name="fingerprints",
    model=Fingerprint,
    claim=duplicates.claim_when(calm),
    fail=duplicates.fail,
    terminal=("complete", "failed"),
)


@task(lane=lanes.ML, limit=seconds(150), cron="* * * * *", on=[ImportsRested], drain=UNHASHED)
async def hash_pictures(claimed: Claimed) -> str:
    """Hash films by their frames, and pictures from before there were hashes."""
    try:
        async with pool().child(fresh=claimed.alone) as child:
            return await duplicates.hash_one(settings.current(), db.current(), claimed, child)
    except DecoderUnavailable as error:
        raise Interrupted from error
    except ChildDied as death:
        if death.reason is Reason.CRASHED:
            raise Delivered(death.detail) from death
        async with db.unit_of_work() as uow:
            await duplicates.fail(uow.sql, claimed, death.reason, death.detail)
        return "failed"


@task(lane=lanes.MAINTENANCE, limit=minutes(9), wrap_up=minutes(1), cron="50 3 * * *", button=True)
async def backfill_phash(run: Run) -> None:
    """Have assets hashed that came in before there were hashes, or whose hashes are of an older version."""
    async with db.unit_of_work() as uow:
        after = await backfilling.begin(uow.sql)
    while not run.wrap_up.is_set() and run.counts["to_hash"] < backfilling.MOST:
        async with db.unit_of_work() as uow:
            found = await backfilling.step(uow.sql, after)
            run.counts["assets"] += found.assets
            run.counts["to_hash"] += found.wanted
            await run.tell(uow)
        after = found.position
        if not after:
            return


PASS_S = 50.0
"""The next minute goes on; others get the slot."""
_BESIDE_IMPORTS = 2
"""While files come in, so many chunks a minute: they need the processor more."""


@task(lane=lanes.MAINTENANCE, limit=minutes(5), cron="* * * * *", quiet=True)
async def find_duplicates(run: Run) -> None:
    """Compare what came in with everything that is there, and write down what looks alike."""
    until, chunks = clock.monotonic() + PASS_S, 0
    while not run.cancelled and clock.monotonic() < until:
        async with db.unit_of_work() as uow:
            if chunks >= _BESIDE_IMPORTS and not await imports_idle(uow.sql):
                return
            found = await duplicates.find(uow)
        if not found.searched:
            return
        chunks += 1
        run.counts["compared"] += found.searched
        run.counts["pairs"] += found.pairs
        run.counts["crowds"] += found.crowds
