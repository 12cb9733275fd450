"""Whatever comes in can be seen in a browser, the way it is or in a form that browsers show."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import cast

import pytest
from PIL import Image
from playwright.async_api import Browser

from tests.browser.conftest import Site, Visit, set_up, visit
from tests.browser.drawing import ingest, working
from tests.browser.test_viewer import shot
from tests.ingest.conftest import Ingest, folder
from tests.media import make, rawfile
from tests.media.test_playing import short
from tests.media_files import picture, put


__all__ = ["folder", "ingest", "working"]
CORPUS = os.environ.get("VITRINE_TEST_CORPUS")
SAMPLES = (
    "*.HEIC",
    "*.heif",
    "*.jxl",
    "*.mpeg",
    "*.webm",
    "*.jp2",
    "*.apng",
    "pillow/**/16_bit*.png",
    "*multipage*.tif*",
)
BIG = (320, 180)


@functools.cache
def films() -> dict[str, bytes]:
    return {
        "matroska.mkv": make.film("mkv", audio=True, count=30, size=BIG),
        "divx.avi": short("avi", "mpeg4", sound="libmp3lame", size=BIG, count=30),
        "dvd.mpeg": short("mpeg", "mpeg2video", sound="mp2", size=BIG, count=30),
        "web.webm": short("webm", "libvpx-vp9", size=BIG, count=30),
        "vp9.mkv": short("matroska", "libvpx-vp9", size=BIG, count=30),
        "deep.mkv": short("matroska", "libx264", pix_fmt="yuv420p10le", size=BIG, count=30),
        "deep.mp4": short("mp4", "libx264", pix_fmt="yuv420p10le", size=BIG, count=30),
        "stream.ts": short("mpegts", "libx264", sound="aac", size=BIG, count=30),
        "windows.wmv": short("asf", "wmv2", size=BIG, count=30),
        "flash.flv": short("flv", "flv", size=BIG, count=30),
        "phone.mov": make.film("mov", count=30, size=BIG),
        "plain.mp4": make.film("mp4", audio=True, count=30, size=BIG),
    }


def pictures() -> dict[str, bytes]:
    photo = picture(7, size=(1500, 1000))
    deep = Image.linear_gradient("L").convert("I").point(lambda v: v * 257).convert("I;16").resize(BIG)
    return {
        "photo.heic": make.saved(photo, "HEIF"),
        "photo.tiff": make.saved(photo, "TIFF"),
        "press.tiff": make.saved(Image.new("CMYK", BIG, (0, 200, 200, 0)), "TIFF"),
        "photo.jxl": make.saved(photo, "JXL"),
        "photo.jp2": make.saved(photo, "JPEG2000"),
        "photo.dng": rawfile.dng(orientation=6),
        "photo.bmp": make.saved(photo, "BMP"),
        "deep.png": make.saved(deep, "PNG"),
        "photo.avif": make.saved(photo, "AVIF"),
        "photo.webp": make.saved(photo, "WEBP"),
        "strip.tiff": make.saved(picture(8, size=(300, 17_000)), "TIFF"),
        "moving.gif": make.animated("GIF", [100] * 6),
        "moving.webp": make.animated("WEBP", [100] * 6),
        "moving.png": make.animated("PNG", [100] * 6),
    }


async def imported(ingest: Ingest, folder: Path, files: dict[str, bytes]) -> dict[str, int]:
    for name, content in files.items():
        put(folder, name, content)
    await ingest.scan(folder)
    rows = await ingest.rows("SELECT asset_id, path FROM provenance ORDER BY asset_id")
    found = {os.fsdecode(cast("bytes", r["path"])): int(str(r["asset_id"])) for r in rows}
    assert set(found) == set(files), await ingest.rows("SELECT path, reason, detail FROM root_entry")
    return found


async def looks(made: Visit, number: int) -> None:
    """The picture of an asset's page is there, and its full size can be decoded."""
    await made.page.goto(f"{made.site.url}/asset/{number}")
    await made.until(
        "[...document.querySelectorAll('#picture img.shown:not(.under)')]"
        ".some(i => i.complete && i.naturalWidth > 0)"
    )
    where = await made.page.evaluate("document.querySelector('[data-key=original]').getAttribute('href')")
    width = await made.page.evaluate(
        "async (src) => { const i = new Image(); i.src = src; await i.decode(); return i.naturalWidth; }",
        where,
    )
    expected = await made.page.evaluate(
        "Number(document.querySelector('#picture img.shown').getAttribute('width'))"
    )
    assert width == expected


async def plays(made: Visit, number: int) -> None:
    """The film of an asset's page plays, and its time goes on."""
    await made.page.goto(f"{made.site.url}/asset/{number}")
    film = "document.querySelector('#picture video:not([hidden])')"
    await made.until(f"{film}?.readyState >= 2")
    await made.page.evaluate(f"{film}.muted = true; {film}.play()")
    await made.until(f"{film}.currentTime > 0.4")
    assert await made.page.evaluate(f"{film}.videoWidth") > 0


@pytest.mark.usefixtures("working")
async def test_every_kind_of_picture_can_be_seen(
    browser: Browser, site: Site, ingest: Ingest, folder: Path
) -> None:
    found = await imported(ingest, folder, pictures())
    made = await visit(browser, site)
    await set_up(made, ingest.db)
    for name, number in found.items():
        await looks(made, number)
        await shot(made, f"seen-{name}")
    assert await made.troubles() == []


@pytest.mark.usefixtures("working")
async def test_every_kind_of_film_can_be_watched(
    browser: Browser, site: Site, ingest: Ingest, folder: Path
) -> None:
    found = await imported(ingest, folder, films())
    made = await visit(browser, site)
    await set_up(made, ingest.db)
    for name, number in found.items():
        await plays(made, number)
        await shot(made, f"seen-{name}")
    # Only what browsers cannot play was prepared.
    rows = await ingest.rows("SELECT asset_id FROM rendition WHERE name = 'play'")
    prepared = {r["asset_id"] for r in rows}
    assert prepared == {n for f, n in found.items() if f not in {"web.webm", "phone.mov", "plain.mp4"}}
    assert await made.troubles() == []


@pytest.mark.usefixtures("working")
async def test_a_film_is_prepared_and_watched_in_the_viewer(
    browser: Browser, site: Site, ingest: Ingest, folder: Path
) -> None:
    found = await imported(
        ingest, folder, {k: v for k, v in films().items() if k in {"divx.avi", "plain.mp4"}}
    )
    made = await visit(browser, site)
    await set_up(made, ingest.db)
    await made.page.click(f"#a{found['divx.avi']}")
    film = "document.querySelector('.pswp__item[aria-hidden=false] video:not([hidden])')"
    await made.until(f"{film}?.readyState >= 2")
    await made.page.evaluate(f"{film}.muted = true; {film}.play()")
    await made.until(f"{film}.currentTime > 0.4")
    await shot(made, "viewer-film")
    assert await made.troubles() == []


@pytest.mark.skipif(not CORPUS, reason="corpus: NOT RUN")
@pytest.mark.usefixtures("working")
async def test_samples_from_other_collections_can_be_seen(
    browser: Browser, site: Site, ingest: Ingest, folder: Path
) -> None:
    samples = [p for pattern in SAMPLES for p in sorted(Path(str(CORPUS)).rglob(pattern))][:14]
    for number, sample in enumerate(samples):
        put(folder, f"{number}-{sample.name}", sample.read_bytes())
    await ingest.scan(folder)
    rows = await ingest.rows("SELECT id, kind FROM asset ORDER BY id")
    assert len(rows) >= 6
    made = await visit(browser, site)
    await set_up(made, ingest.db)
    for row in rows:
        number = int(str(row["id"]))
        await (plays if row["kind"] == "video" else looks)(made, number)
        await shot(made, f"seen-corpus-{number}")
    assert await made.troubles() == []
