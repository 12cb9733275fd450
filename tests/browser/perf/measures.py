"""What a person would feel, measured in the page."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Sequence
from typing import Any

from playwright.async_api import Browser, BrowserContext, Error, Page, ViewportSize


WIDE: ViewportSize = {"width": 1440, "height": 900}
# Collected from the first moment on; the page's own policy allows no script of ours later than this.
WATCH = """
window.felt = { lcp: 0, cls: 0, events: [] };
new PerformanceObserver((l) => { for (const e of l.getEntries()) felt.lcp = e.startTime; })
  .observe({ type: "largest-contentful-paint", buffered: true });
const shifted = (l) => { for (const e of l.getEntries()) if (!e.hadRecentInput) felt.cls += e.value; };
new PerformanceObserver(shifted)
  .observe({ type: "layout-shift", buffered: true });
new PerformanceObserver((l) => { for (const e of l.getEntries()) felt.events.push([e.name, e.duration]); })
  .observe({ type: "event", durationThreshold: 16, buffered: true });
"""
SEEN = """(() => {
  const inside = [...document.querySelectorAll('.tile img')].filter((i) => {
    const b = i.getBoundingClientRect(); return b.bottom > 0 && b.top < innerHeight; });
  return inside.length > 5 && inside.every((i) => i.complete && i.naturalWidth > 0);
})()"""
LOADED = """(() => {
  const n = performance.getEntriesByType('navigation')[0];
  const fcp = performance.getEntriesByName('first-contentful-paint')[0];
  const own = performance.getEntriesByType('resource').filter((r) => !r.name.includes('/media/'));
  const size = (kind) => own.filter((r) => r.name.endsWith(kind)).reduce((s, r) => s + r.encodedBodySize, 0);
  return { ttfb: n.responseStart, fcp: fcp ? fcp.startTime : 0, lcp: felt.lcp, cls: felt.cls,
    html: n.encodedBodySize, raw: n.decodedBodySize, js: size('.js'), css: size('.css'),
    requests: own.length };
})()"""
# Elements there are, and pictures passed: as many in each chunk as in those that are filled.
COUNTED = """(() => {
  const all = document.querySelectorAll('.chunk').length;
  const filled = document.querySelectorAll('.chunk:not([data-empty])').length || 1;
  const tiles = document.querySelectorAll('.tile').length;
  return [document.querySelectorAll('*').length, all * tiles / filled];
})()"""
FRAMES = """(() => {
  window.frames_ms = []; let last = performance.now();
  const tick = (now) => {
    frames_ms.push(now - last); last = now;
    if (window.frames_on) requestAnimationFrame(tick);
  };
  window.frames_on = true; requestAnimationFrame(tick);
})()"""


def part(values: Sequence[float], share: float) -> float:
    """A percentile by rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


async def window(browser: Browser, state: Any) -> tuple[BrowserContext, Page]:
    """A fresh window of somebody who is signed in; nothing is cached in it."""
    context = await browser.new_context(viewport=WIDE, storage_state=state)
    await context.add_init_script(WATCH)
    return context, await context.new_page()


async def until(page: Page, expression: str, *, limit_ms: int = 20_000) -> float:
    """Poll in the page; the answer is the page's clock at that moment."""
    for _ in range(limit_ms // 10):
        # A page that is just being left answers nothing; the one that follows is asked.
        with contextlib.suppress(Error):
            if await page.evaluate(expression):
                return float(await page.evaluate("performance.now()"))
        await page.wait_for_timeout(10)
    raise AssertionError(f"not within {limit_ms} ms: {expression}")


async def loading(browser: Browser, base: str, state: Any, *, rounds: int) -> dict[str, float]:
    """The first page in fresh windows: cold caches each time."""
    runs = []
    for _ in range(rounds):
        context, page = await window(browser, state)
        await page.goto(base + "/", wait_until="commit")
        pictures = await until(page, SEEN)
        await page.wait_for_timeout(300)
        runs.append(await page.evaluate(LOADED) | {"pictures": pictures})
        await context.close()
    found = {f"{k}_median": statistics.median(r[k] for r in runs) for k in runs[0]}
    return found | {
        "ttfb_p95": part([r["ttfb"] for r in runs], 0.95),
        "cls_worst": max(r["cls"] for r in runs),
    }


async def walking(browser: Browser, base: str, state: Any, *, items: int, pause: int) -> dict[str, float]:
    """Down a wall of pictures with the wheel, 700 px each time, with a pause in ms between."""
    context, page = await window(browser, state)
    chunks: list[float] = []
    page.on(
        "requestfinished", lambda r: chunks.append(r.timing["responseStart"]) if "/items?" in r.url else None
    )
    await page.goto(base + "/")
    await until(page, SEEN)
    await page.mouse.move(700, 500)
    await page.evaluate(FRAMES)
    live, passed = 0, 0
    while passed < items:
        for _ in range(8):
            await page.mouse.wheel(0, 700)
            await page.wait_for_timeout(pause)
        counted = await page.evaluate(COUNTED)
        live, passed = max(live, counted[0]), counted[1]
    frames = await page.evaluate("(window.frames_on = false, frames_ms)")
    cls = await page.evaluate("felt.cls")
    inspector = await context.new_cdp_session(page)
    await inspector.send("HeapProfiler.collectGarbage")
    await inspector.send("Performance.enable")
    told = {m["name"]: m["value"] for m in (await inspector.send("Performance.getMetrics"))["metrics"]}
    await context.close()
    return {
        "live_elements_most": live,
        "nodes": told["Nodes"],
        "heap_mb": told["JSHeapUsedSize"] / 1e6,
        "frame_p50": part(frames, 0.5),
        "frame_p95": part(frames, 0.95),
        "frame_worst": max(frames),
        "cls": cls,
        "chunk_p50": part(chunks, 0.5),
        "chunk_p95": part(chunks, 0.95),
        "chunks": len(chunks),
    }


async def returning(browser: Browser, base: str, state: Any, *, rounds: int) -> dict[str, float]:
    """Down the wall, open a picture, have it as a page of its own, and Back."""
    times, offs = [], []
    for turn in range(rounds):
        context, page = await window(browser, state)
        await page.goto(f"{base}/?at=2026-0{5 + turn % 4}")
        await until(page, SEEN)
        await page.mouse.move(700, 500)
        for _ in range(10):
            await page.mouse.wheel(0, 500)
            await page.wait_for_timeout(60)
        await page.wait_for_timeout(600)
        tile = await page.evaluate(
            "(() => { const t = [...document.querySelectorAll('.tile > a')]"
            ".find((a) => a.getBoundingClientRect().top > 250);"
            " return [t.id, t.getBoundingClientRect().top]; })()"
        )
        await page.click(f"#{tile[0]}")
        await until(page, "location.pathname.startsWith('/asset/')")
        await page.reload()
        begun = time.perf_counter()
        await page.go_back(wait_until="commit")
        await until(page, f"document.getElementById('{tile[0]}') !== null && {SEEN}")
        there = (time.perf_counter() - begun) * 1000
        await page.wait_for_timeout(300)
        top = await page.evaluate(f"document.getElementById('{tile[0]}').getBoundingClientRect().top")
        times.append(there)
        offs.append(abs(top - tile[1]))
        await context.close()
    return {"back_ms": statistics.median(times), "back_off_px": max(offs)}


async def touching(browser: Browser, base: str, state: Any) -> dict[str, float]:
    """Select, open the viewer, go on, and type in the search box: from the key to the next picture."""
    context, page = await window(browser, state)
    await page.goto(base + "/")
    await until(page, SEEN)
    await page.focus(".tile > a")
    await page.evaluate("felt.events.length = 0")
    for _ in range(10):
        await page.keyboard.press("x")
        await page.keyboard.press("ArrowRight")
        await page.wait_for_timeout(80)
    selecting = [e[1] for e in await page.evaluate("felt.events.splice(0)")]
    await page.keyboard.press("Escape")
    await page.focus(".search input:not([type=hidden])")
    suggested = []
    for letter in "word":
        begun = await page.evaluate("performance.now()")
        await page.keyboard.press(letter)
        suggested.append(await until(page, "document.querySelector('[role=option]') !== null") - begun)
    typing = [e[1] for e in await page.evaluate("felt.events.splice(0)")]
    await page.goto(base + "/")
    await until(page, SEEN)
    opening, stepping = await _viewer(page)
    events = [e[1] for e in await page.evaluate("felt.events.splice(0)")]
    await context.close()
    return {
        "select_p98": part(selecting or [0], 0.98),
        "typing_p98": part(typing or [0], 0.98),
        "suggestions_ms": statistics.median(suggested),
        "viewer_open_ms": opening,
        "viewer_next_ms": stepping,
        "viewer_events_p98": part(events or [0], 0.98),
    }


STANDS = """(() => {
  const shown = [...document.querySelectorAll('.pswp__item:not([aria-hidden=true]) img')];
  return shown.some((i) => i.complete && i.naturalWidth > 0);
})()"""


async def _viewer(page: Page) -> tuple[float, float]:
    begun = await page.evaluate("performance.now()")
    await page.click(".tile > a >> nth=3")
    opened = await until(page, STANDS) - begun
    steps = []
    for _ in range(6):
        await page.wait_for_timeout(700)
        before = await page.evaluate("location.pathname")
        begun = await page.evaluate("performance.now()")
        await page.keyboard.press("ArrowRight")
        steps.append(await until(page, f"location.pathname !== '{before}' && {STANDS}") - begun)
    return opened, statistics.median(steps)
