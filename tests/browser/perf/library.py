"""The library that is measured: many rows, two thousand different pictures, tags as people use them."""

from __future__ import annotations

import random
from datetime import timedelta

from PIL import Image, ImageDraw

from appliance.core.db import Database
from appliance.core.paths import Home
from tests.seed import Look, look, seed


SHAPES = ((640, 480), (480, 640), (640, 360), (500, 500), (700, 300), (360, 540))
PICTURES = 2000
# 200,000 assets are fifteen years: with a longer past the months alone would be most of a page.
APART = timedelta(minutes=40)
# Zipf over the ranks: the first tag is on seven assets of ten, the last ones on a handful.
_TAGS = """
INSERT INTO tag (name, name_key, kind)
SELECT 'word ' || n, 'word_' || n,
       (ARRAY['general', 'general', 'general', 'artist', 'character', 'series', 'meta'])[1 + n % 7]
FROM generate_series(1, $1::int) AS n
"""
_CARRIED = """
INSERT INTO asset_tag (asset_id, tag_id, effective_at)
SELECT DISTINCT a.id, 1 + floor(exp(random() * ln($1::float)))::int % $1::int, a.effective_at
FROM asset a, generate_series(1, 12)
ON CONFLICT DO NOTHING
"""


def painted(count: int) -> list[Look]:
    """Distinct pictures with some detail; sizes as photos come."""
    rng = random.Random(7)
    made = []
    for _ in range(count):
        width, height = rng.choice(SHAPES)
        image = Image.effect_noise((width, height), 24).convert("RGB")
        draw = ImageDraw.Draw(image, "RGBA")
        for _ in range(12):
            x, y, r = rng.randrange(width), rng.randrange(height), rng.randrange(20, 160)
            colour = tuple(rng.randrange(256) for _ in range(3))
            draw.ellipse((x - r, y - r, x + r, y + r), fill=(*colour, 150))
        made.append(look(image))
    return made


async def build(db: Database, home: Home, *, assets: int, stored: int, tags: int) -> list[int]:
    """Assets, the first `stored` of them with files to look at, and 12 tags each."""
    ids = await seed(db, home, assets, apart=APART, pictures=painted(PICTURES), stored=stored)
    async with db.unit_of_work() as uow:
        await uow.sql.execute(_TAGS, tags)
        await uow.sql.execute(_CARRIED, tags, timeout=600)
        await uow.sql.execute(
            "UPDATE tag SET uses = n FROM (SELECT tag_id, count(*) AS n FROM asset_tag GROUP BY 1) c"
            " WHERE c.tag_id = tag.id"
        )
        await uow.sql.execute("DELETE FROM tag_delta")
        await uow.sql.execute("INSERT INTO month_count SELECT month, sum(assets) FROM month_delta GROUP BY 1")
        await uow.sql.execute("DELETE FROM month_delta")
    async with db.one_statement() as sql:
        await sql.execute("VACUUM ANALYZE", timeout=600)
    return ids
