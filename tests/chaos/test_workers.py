"""Workers and decode children that die, hang or sleep: who counts as dead, and what it costs a file."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import media_files
from tests.chaos import books, faults
from tests.chaos.asking import run_now
from tests.chaos.conftest import HEARTBEAT_S, SILENCE_S, begin
from tests.journeys.instance import Instance, wait_for
from tests.journeys.tree import Shares, Tree, encoded, grow


pytestmark = pytest.mark.chaos

DELIVERIES = 3


class Poison:
    """Kills every decode child that has one certain file open, as a file would that crashes its decoder.

    No honest file is known that crashes the decoders which we ship; the product sees no difference.
    """

    def __init__(self, instance: Instance, file: Path) -> None:
        self.instance = instance
        self.file = str(file)
        self.killed: set[int] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @contextlib.contextmanager
    def at_work(self) -> Iterator[Poison]:
        """Kill until the block ends."""
        self._thread.start()
        try:
            yield self
        finally:
            self._over.set()
            self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.01):
            for pid in self.instance.decoders():
                if _has_open(pid, self.file):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                        self.killed.add(pid)


def _has_open(pid: int, file: str) -> bool:
    try:
        return any(os.readlink(entry.path) == file for entry in os.scandir(f"/proc/{pid}/fd"))
    except OSError:
        return False


def test_a_file_that_kills_its_decoder_fails_alone_after_three_deliveries_and_is_not_tried_again(
    vitrine: Instance, place: Path
) -> None:
    tree = grow(place / "pictures", Shares(small=160, webp=40), seed=4)
    canvas = media_files.picture(4, size=(7000, 5000))
    poison = media_files.put(tree.folder, "2006/02/poison.png", encoded(canvas, "PNG", compress_level=1))
    tree.expect("failed", "crashed")
    vitrine.start()
    with Poison(vitrine, poison).at_work() as killer:
        batch = begin(vitrine, tree.folder)
        faults.until_over(vitrine, batch)
        first = books.read(vitrine, batch)
        again = begin(vitrine, tree.folder)
        faults.until_over(vitrine, again)
    rows = vitrine.rows(
        "SELECT e.path, t.outcome, t.reason, t.deliveries, t.detail"
        " FROM import_task t JOIN root_entry e ON e.id = t.entry_id"
        " WHERE t.deliveries > 0 OR t.outcome <> 'imported'"
    )
    assert [tuple(row[:4]) for row in rows] == [(b"2006/02/poison.png", "failed", "crashed", DELIVERIES)], (
        rows
    )
    assert len(killer.killed) == DELIVERIES
    assert first.report() == tree.report()
    second = books.read(vitrine, again)
    assert (second.counters["failed"], second.work["hashed"]) == (1, 0)


def test_a_hung_worker_changes_nothing_when_it_wakes_after_its_death(vitrine: Instance, middle: Tree) -> None:
    vitrine.start()
    batch = begin(vitrine, middle.folder)
    heavy = wait_for(lambda: vitrine.pid("heavy"), "the heavy group runs")
    first = vitrine.value(f"{_WORKER} AND settled_at IS NULL", heavy)
    wait_for(lambda: _held_in_a_decoder(vitrine, first), "files are in hand", every=0.01)
    os.kill(heavy, signal.SIGSTOP)
    held = _held(vitrine, first)
    assert held
    assert books.unfinished(vitrine) >= 100
    second = _another_heavy_group(vitrine)
    try:
        wait_for(lambda: vitrine.value(_SILENT, first, SILENCE_S), "it counts as dead", limit=SILENCE_S + 30)
        run_now(vitrine, "steward.sweep")
        faults.until_over(vitrine, batch)
        assert vitrine.value("SELECT settled_at IS NOT NULL FROM worker WHERE id = $1", first)
        before = _everything(vitrine)
        os.kill(heavy, signal.SIGCONT)
        reborn = wait_for(lambda: vitrine.rows(f"{_WORKER} AND id > $2", heavy, first), "it began anew")[0][0]
        wait_for(lambda: vitrine.value(_BEATS, reborn, HEARTBEAT_S), "it lives on", limit=120)
    finally:
        second.terminate()
        second.wait(timeout=30)
    assert vitrine.pid("heavy") == heavy
    assert _everything(vitrine) == before
    seen = books.read(vitrine, batch)
    assert seen.report() == middle.report()
    assert seen.counters == seen.recount
    assert seen.work["crashed"] == 0
    finishers = {row[0] for row in vitrine.rows("SELECT worker_id FROM import_task WHERE id = ANY($1)", held)}
    assert first not in finishers


_WORKER = "SELECT id FROM worker WHERE pid = $1"
_SILENT = "SELECT heartbeat_at < now() - make_interval(secs => $2) FROM worker WHERE id = $1"
_BEATS = "SELECT heartbeat_at - started_at > make_interval(secs => $2) FROM worker WHERE id = $1"


def _held(vitrine: Instance, worker: int) -> list[int]:
    statement = "SELECT id FROM import_task WHERE status = 'processing' AND worker_id = $1"
    return [row[0] for row in vitrine.rows(statement, worker)]


def _held_in_a_decoder(vitrine: Instance, worker: int) -> bool:
    statement = "SELECT count(*) FROM import_task WHERE status = 'complete' AND worker_id = $1"
    return bool(_held(vitrine, worker)) and vitrine.value(statement, worker) > 20


def _another_heavy_group(vitrine: Instance) -> Any:
    return vitrine.launch(
        ["worker", "--lanes", "heavy"],
        VITRINE_DATABASE_URL=vitrine.database_url,
        VITRINE_REDIS_URL=vitrine.redis_url,
    )


def _everything(vitrine: Instance) -> dict[str, list[Any]]:
    """All that a late finish could change."""
    return {
        table: [tuple(row) for row in vitrine.rows(f"SELECT * FROM {table} ORDER BY id")]
        for table in ("import_task", "import_batch", "root_entry", "asset", "asset_file", "rendition")
    }


def test_a_suspend_of_the_whole_machine_recovers_nothing_that_is_alive(
    vitrine: Instance, middle: Tree
) -> None:
    vitrine.start()
    batch = begin(vitrine, middle.folder)
    faults.until_unfinished(vitrine, 500)
    everyone = vitrine.everyone()
    workers = [vitrine.pid(name) for name in ("web", "quick", "heavy", "long", "postgres", "valkey")]
    for pid in everyone:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(SILENCE_S + 5)
    for pid in reversed(everyone):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    # At once: a sweep that trusted silence now would bury everybody.
    run_now(vitrine, "steward.sweep")
    faults.until_over(vitrine, batch)
    run_now(vitrine, "steward.sweep")
    seen = books.read(vitrine, batch)
    assert seen.report() == middle.report()
    assert not any(seen.work[name] for name in ("deliveries", "interruptions", "crashed", "recovered"))
    assert vitrine.value("SELECT count(*) FROM worker WHERE settled_at IS NOT NULL") == 0
    assert workers == [vitrine.pid(name) for name in ("web", "quick", "heavy", "long", "postgres", "valkey")]
