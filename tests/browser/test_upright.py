"""A picture stands in the gallery as the browser shows it in full size."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.browser.conftest import Site, set_up, visit
from tests.browser.drawing import ingest, working
from tests.browser.test_seen import imported
from tests.ingest.conftest import Ingest, folder
from tests.media import make


__all__ = ["folder", "ingest", "working"]
# All of these are sent as they lie there, but a WebP that is turned: Chromium ignores what its EXIF says.
SHOWN = {name: format_ for name, format_ in make.FORMATS.items() if name in {"jpg", "png", "webp", "avif"}}
# Size of a picture and which of its corners are red, clockwise from the upper left, as it is drawn.
LOOK = """async (src) => {
  const picture = new Image();
  picture.src = src;
  await picture.decode();
  const canvas = document.createElement("canvas");
  const [w, h] = [canvas.width, canvas.height] = [picture.naturalWidth, picture.naturalHeight];
  const ground = canvas.getContext("2d");
  ground.drawImage(picture, 0, 0);
  const red = (x, y) => { const [r, , b] = ground.getImageData(x, y, 1, 1).data; return r > 150 && b < 110; };
  return [w, h, [red(3, 3), red(w - 4, 3), red(w - 4, h - 4), red(3, h - 4)]];
}"""


@pytest.mark.usefixtures("working")
async def test_a25_every_orientation_is_that_of_the_browser(
    browser: Browser, site: Site, ingest: Ingest, folder: Path
) -> None:
    picture = make.corner((80, 40))
    files = {
        f"{turn}.{name}": make.saved(picture, format_, exif=make.exif(orientation=turn))
        for name, format_ in SHOWN.items()
        for turn in range(1, 9)
    }
    found = await imported(ingest, folder, files)
    made = await visit(browser, site)
    await set_up(made, ingest.db)
    for name, number in found.items():
        whole, drawn = await asyncio.gather(
            *(made.page.evaluate(LOOK, f"/media/{number}/{which}") for which in ("full", "grid-240"))
        )
        assert drawn == whole, name
        assert sum(whole[2]) == 1, name
        rows = await ingest.rows("SELECT width, height FROM asset WHERE id = $1", number)
        assert [rows[0]["width"], rows[0]["height"]] == whole[:2], name
