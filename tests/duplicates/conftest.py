"""Libraries of real pictures, imported from real files; looking for duplicates without a queue between."""

from __future__ import annotations

import io
import math
import random
from collections import Counter
from collections.abc import Sequence

import pytest
from PIL import Image, ImageDraw

from appliance.duplicates import hashing, matching
from appliance.duplicates.matching import Found
from tests.ingest.conftest import Ingest, folder, ingest  # noqa: F401 - fixtures
from tests.media import make
from tests.operations.conftest import Library, library  # noqa: F401 - fixtures
from tests.web.conftest import account, client, forgetful, stranger  # noqa: F401 - fixtures


def scene(seed: int, size: tuple[int, int] = (640, 480)) -> Image.Image:
    """A picture with large and small things in it; no two seeds look alike."""
    rng = random.Random(seed)
    image = Image.new("RGB", (640, 480), tuple(rng.randrange(256) for _ in range(3)))
    draw = ImageDraw.Draw(image)
    for _ in range(24):
        x, y = rng.randrange(640), rng.randrange(480)
        reach = 8 + round(180 * math.exp(-3 * rng.random()))
        draw.ellipse(
            (x - reach, y - reach, x + reach, y + reach), fill=tuple(rng.randrange(256) for _ in range(3))
        )
    return image.resize(size, Image.Resampling.LANCZOS)


def jpeg(image: Image.Image, quality: int = 92, *, taken: str | None = None) -> bytes:
    """A JPEG of a picture, with a moment of its camera when one is given."""
    out = io.BytesIO()
    exif = Image.Exif()
    if taken is not None:
        exif.get_ifd(0x8769)[0x9003] = taken
    image.save(out, "JPEG", quality=quality, exif=exif)
    return out.getvalue()


def png(image: Image.Image) -> bytes:
    """The same without any loss."""
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def film(seeds: Sequence[int], size: tuple[int, int] = (320, 240), *, crf: int = 20, gop: int = 12) -> bytes:
    """Scenes of a second each."""
    return make.film(size=size, gop=gop, crf=crf, shown=[scene(s, size) for s in seeds for _ in range(10)])


async def _rested(_sql: object) -> bool:
    return True


class Doubles:
    """Duplicates of one library."""

    def __init__(self, lib: Library, imports: Ingest) -> None:
        self.lib = lib
        self.imports = imports

    async def search(self) -> Found:
        """Compare everything that was not compared yet."""
        total = Found(0, 0, 0)
        while True:
            async with self.lib.db.unit_of_work() as uow:
                found = await matching.find(uow)
            if not found.searched:
                return total
            total = Found(
                total.searched + found.searched, total.pairs + found.pairs, total.crowds + found.crowds
            )

    async def hash_films(self) -> Counter[str]:
        """Hash what waits for it, as the drain does when imports rest."""
        outcomes: Counter[str] = Counter()
        while True:
            async with self.lib.db.unit_of_work() as uow:
                taken = await hashing.claim_when(_rested)(uow.sql, 1, 8)
            if not taken:
                return outcomes
            for claimed in taken:
                async with self.imports.pool.child() as child:
                    outcomes[await hashing.hash_one(self.imports.settings, self.lib.db, claimed, child)] += 1

    async def shown(self) -> list[tuple[int, int]]:
        """The pairs that wait for a decision."""
        rows = await self.lib.rows("SELECT a_id, b_id FROM duplicate_pair WHERE shown ORDER BY a_id, b_id")
        return [(row["a_id"], row["b_id"]) for row in rows]

    async def ids(self, *names: str) -> list[int]:
        """Assets by the names of their files."""
        found = {
            bytes(row["path"]).decode(): int(row["asset_id"])
            for row in await self.lib.rows("SELECT path, asset_id FROM provenance")
        }
        return [found[name] for name in names]

    async def pair(self, *names: str) -> tuple[int, ...]:
        """The same two, as pairs name them."""
        return tuple(sorted(await self.ids(*names)))


@pytest.fixture
def doubles(library: Library, ingest: Ingest) -> Doubles:  # noqa: F811 - fixtures
    return Doubles(library, ingest)
