"""The gallery over HTTP, however large the library: pages at any depth, of any search, and their weight."""

from __future__ import annotations

import gzip
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from appliance.cli.benches import places, processes, seeding
from appliance.cli.benches.database import looking
from appliance.cli.benches.frame import Check, Frame, at_least, at_most
from appliance.cli.benches.instance import Instance, instance
from appliance.cli.benches.places import Spot
from appliance.cli.benches.reader import Reader
from appliance.cli.benches.stage import Stage, median, percentile


CHUNK_MS, COMPLETE_MS, FIRST_KB, JS_KB, WEB_MB, PAGES_S, DEPTH_RATIO = (
    60.0,
    30.0,
    20.0,
    30.0,
    250.0,
    20.0,
    1.5,
)
ROUNDS, QUICK_ROUNDS = 40, 8
CLIENTS, SECONDS, QUICK_SECONDS = 8, 15.0, 3.0
WORDS = (
    "a",
    "ka",
    "be",
    "mo",
    "sa",
    "tar",
    "ren",
    "lus",
    "bina",
    "gor",
    "hen",
    "dasu",
    "-ka",
    "artist:be",
    "fo ba",
)
PARTS = ("chunks", "clients", "completion", "weight")
_SCRIPT = re.compile(r'<script src="([^"]+)"')
_AT = re.compile(r'data-at="([^"]+)"')


def measure(stage: Stage, frame: Frame) -> None:
    """Seed a library, then measure what a visitor waits for."""
    chosen = stage.chosen(PARTS)
    with instance(stage.work, "gallery") as subject:
        subject.start()
        settings = subject.ready()
        reader = subject.set_up()
        stage.tell(f"seeds {stage.assets:,} assets")
        begun = time.monotonic()
        with looking(settings) as look:
            look.do(seeding.seed, seeding.Seed(assets=stage.assets))
            frame.add({"assets": stage.assets, "seeding_s": round(time.monotonic() - begun, 1)})
            spots = look.do(places.spots, stage.assets)
        parts: dict[str, Callable[[], tuple[dict[str, Any], list[Check]]]] = {
            "chunks": lambda: chunks(stage, reader, spots),
            "clients": lambda: clients(stage, subject, reader, spots[0]),
            "completion": lambda: completion(stage, reader),
            "weight": lambda: weight(subject, reader),
        }
        for part in chosen:
            stage.tell(part)
            frame.add(*parts[part]())


def chunks(stage: Stage, reader: Reader, spots: list[Spot]) -> tuple[dict[str, Any], list[Check]]:
    """Chunks of every search near its top and near its end, taken in turns so that noise meets both."""
    rounds = QUICK_ROUNDS if stage.quick else ROUNDS
    figures: dict[str, Any] = {}
    checks: list[Check] = []
    for spot in spots:
        times: dict[str, list[float]] = {"shallow": [], "deep": []}
        for number in range(rounds + 1):
            for depth, found in (("shallow", spot.shallow), ("deep", spot.deep)):
                taken = _timed(reader.part, spot.address(found[number % len(found)]))
                # The first one fills caches that any visitor before would have filled.
                times[depth] += [taken] if number else []
        everything = times["shallow"] + times["deep"]
        ratio = median(times["deep"]) / median(times["shallow"])
        figures[spot.name] = {
            "finds": spot.finds,
            "p50_ms": percentile(everything, 0.5),
            "p95_ms": percentile(everything, 0.95),
            "shallow_p95_ms": percentile(times["shallow"], 0.95),
            "deep_p95_ms": percentile(times["deep"], 0.95),
            "depth_ratio": round(ratio, 2),
        }
        checks.append(at_most(f"chunk of {spot.name}, p95 ms", percentile(everything, 0.95), CHUNK_MS))
        if spot.name == "everything":
            checks.append(at_most("chunk at the deep end, ratio of medians", round(ratio, 2), DEPTH_RATIO))
    return {"chunks": figures}, checks


def _timed(ask: Callable[[str], bytes], path: str) -> float:
    begun = time.perf_counter()
    ask(path)
    return (time.perf_counter() - begun) * 1000


def clients(
    stage: Stage, subject: Instance, reader: Reader, spot: Spot
) -> tuple[dict[str, Any], list[Check]]:
    """Whole pages at places all over the library, asked for by several visitors at once."""
    addresses = [spot.page(token) for token in spot.shallow + spot.deep]
    alone = [_timed(reader.get, address) for address in addresses[:20]]
    end = time.monotonic() + (QUICK_SECONDS if stage.quick else SECONDS)
    times: list[float] = []
    lock = threading.Lock()

    def visit(number: int) -> None:
        own = reader.same()
        at = number
        while time.monotonic() < end:
            taken = _timed(own.get, addresses[at % len(addresses)])
            at += CLIENTS
            with lock:
                times.append(taken)
        own.close()

    before = processes.cpu(subject.processes())
    begun = time.monotonic()
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(visit, range(CLIENTS)))
    rate = round(len(times) / (time.monotonic() - begun), 1)
    spent = processes.cpu(subject.processes())
    figures = {
        "pages_s": rate,
        # By processor time, which other work on the machine changes least.
        "cpu_ms": {n: round((spent[n] - before.get(n, 0)) * 1000 / len(times), 2) for n in spent},
        "p50_ms": percentile(times, 0.5),
        "p95_ms": percentile(times, 0.95),
        "alone_p50_ms": percentile(alone, 0.5),
        "alone_p95_ms": percentile(alone, 0.95),
    }
    return {"clients": figures}, [at_least(f"pages a second with {CLIENTS} visitors", rate, PAGES_S)]


def completion(stage: Stage, reader: Reader) -> tuple[dict[str, Any], list[Check]]:
    """Suggestions while a word grows, with as many tags as the seed has."""
    times = [
        _timed(reader.part, places.completing(word, number))
        for number in range(QUICK_ROUNDS if stage.quick else ROUNDS)
        for word in WORDS
    ][len(WORDS) :]
    p95 = percentile(times, 0.95)
    figures = {"p50_ms": percentile(times, 0.5), "p95_ms": p95, "tags": seeding.Seed().tags}
    return {"completion": figures}, [at_most("suggestions, p95 ms", p95, COMPLETE_MS)]


def weight(subject: Instance, reader: Reader) -> tuple[dict[str, Any], list[Check]]:
    """What the first page weighs on the wire, and what the web process holds after all of this."""
    page = reader.get("/")
    scripts = [reader.get(address) for address in _SCRIPT.findall(page.decode())]
    first = round(len(gzip.compress(page, 6)) / 1000, 1)
    js = round(sum(len(gzip.compress(body, 6)) for body in scripts) / 1000, 1)
    web = processes.memory({p: n for p, n in subject.processes().items() if n == "web"}).get("web", 0.0)
    figures = {
        "first_page_kb": round(len(page) / 1000, 1),
        "first_page_gz_kb": first,
        "first_page_rows": len(_AT.findall(page.decode())),
        "js_gz_kb": js,
        "web_mb": web,
    }
    return {"weight": figures}, [
        at_most("first page, KB compressed", first, FIRST_KB),
        at_most("scripts of the gallery, KB compressed", js, JS_KB),
        at_most("web process, MB", web, WEB_MB),
    ]
