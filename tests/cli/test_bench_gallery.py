"""The library that the gallery bench measures is one that the program could have made itself."""

from __future__ import annotations

import asyncpg

from appliance.cli.benches import places
from appliance.cli.benches.seeding import Seed, names, seed
from appliance.core import keyset
from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.library.models import VISIBLE
from tests.servers import Servers


_WRONG_USES = f"""
SELECT count(*) FROM tag t WHERE uses <> (
    SELECT count(*) FROM asset_tag x JOIN asset a ON a.id = x.asset_id WHERE x.tag_id = t.id AND {VISIBLE})
"""
_WRONG_MONTHS = f"""
SELECT count(*) FROM (SELECT date_trunc('month', effective_at)::date AS month, count(*) AS n
                      FROM asset WHERE {VISIBLE} GROUP BY 1) t
FULL JOIN month_count c USING (month) WHERE t.n IS DISTINCT FROM c.assets
"""


async def test_a_seeded_library_counts_right_and_has_places(
    db: Database, settings: Settings, servers: Servers
) -> None:
    sql = await asyncpg.connect(servers.database_url)
    try:
        await seed(sql, Seed(assets=400, tags=15_500, used=15_000, each=12))
        # Drawn by chance: once in thousands an asset gets one tag fewer.
        assert 400 * 12 - 8 <= await sql.fetchval("SELECT count(*) FROM asset_tag") <= 400 * 12
        assert await sql.fetchval(_WRONG_USES) == 0
        assert await sql.fetchval(_WRONG_MONTHS) == 0
        assert await sql.fetchval("SELECT to_regclass('ix_asset_tag_timeline') IS NOT NULL")
        assert await sql.fetchval("SELECT max(uses) > 150 AND min(uses) < 2 FROM tag")
        found = {s.name: s for s in await places.spots(sql, 400)}
    finally:
        await sql.close()
    everything = found["everything"]
    assert everything.finds == 400
    for spot in found.values():
        for token in (*spot.shallow, *spot.deep):
            assert keyset.parse(token).text() == token
    assert everything.address(everything.deep[0]).startswith("/items?before=")
    assert found["random"].page("5_7") == "/?q=sort%3Arandom%3A123456789&at=5_7"


def test_names_of_tags_are_always_the_same_and_never_twice() -> None:
    made = names(3000)
    assert made == names(3000)
    assert len(set(made)) == 3000
