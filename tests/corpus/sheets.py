"""Contact sheets of a corpus, to be looked at: `python -m tests.corpus.sheets CORPUS OUT [DATA]`.

Shows the grid pictures that an import has made in the data directory DATA; without one, each file goes
through a decode child here. Transparent parts stand on a checkered ground.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from appliance.core.paths import Home
from appliance.media.decoder import DecodePool
from appliance.media.reasons import MediaFailure
from appliance.media.wire import GRID_480, Wanted
from tests.corpus.readings import files_of
from tests.journeys.witness import digest


CELL, LABEL, COLUMNS, ROWS, SQUARE = 220, 34, 8, 6, 8
_LINE = 36


async def drawn(corpus: Path, place: Path) -> dict[str, Path]:
    """The grid picture of every file that has one, made here."""
    pool, found = DecodePool(1), {}
    for number, name in enumerate(files_of(corpus)):
        target = place / f"{number}.webp"
        async with pool.child() as child:
            try:
                await child.read(bytes(corpus / name))
                await child.decode([Wanted.named(GRID_480, bytes(target))])
            except MediaFailure:
                continue
        found[name] = target
    await pool.close()
    return found


def kept(corpus: Path, data: Path) -> dict[str, Path]:
    """The grid pictures that an instance has of these files."""
    home = Home(data)
    made = {
        name: home.rendition(bytes.fromhex(digest(os.fsencode(corpus / name))), GRID_480)
        for name in files_of(corpus)
    }
    return {name: path for name, path in made.items() if path.exists()}


def sheets(pictures: dict[str, Path]) -> Iterator[Image.Image]:
    """Pages of pictures in the order of their names."""
    names = sorted(pictures)
    for start in range(0, len(names), COLUMNS * ROWS):
        page = Image.new("RGB", (COLUMNS * CELL, ROWS * (CELL + LABEL)), "white")
        for place, name in enumerate(names[start : start + COLUMNS * ROWS]):
            _show(page, place, name, pictures[name])
        yield page


def _show(page: Image.Image, place: int, name: str, path: Path) -> None:
    left, top = place % COLUMNS * CELL, place // COLUMNS * (CELL + LABEL)
    with Image.open(path) as picture:
        picture.thumbnail((CELL - 4, CELL - 4))
        ground = _checkered(picture.size)
        ground.paste(picture, mask=picture.convert("RGBA").getchannel("A"))
    page.paste(ground, (left + 2, top + 2))
    words = "\n".join(name[at : at + _LINE] for at in range(0, len(name), _LINE)[:3])
    ImageDraw.Draw(page).text((left + 2, top + CELL), words, "black", ImageFont.load_default(10))


def _checkered(size: tuple[int, int]) -> Image.Image:
    ground = Image.new("RGB", size, (200, 200, 200))
    for y in range(0, size[1], SQUARE):
        for x in range(y // SQUARE % 2 * SQUARE, size[0], 2 * SQUARE):
            ground.paste((150, 150, 150), (x, y, x + SQUARE, y + SQUARE))
    return ground


def main() -> None:
    """Draw the sheets that the command line asks for."""
    corpus, out, *data = map(Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        pictures = kept(corpus, data[0]) if data else asyncio.run(drawn(corpus, Path(place)))
        for number, sheet in enumerate(sheets(pictures), start=1):
            sheet.save(out / f"sheet-{number}.png")


if __name__ == "__main__":
    main()
