"""Kill -9 of every part, twice each, in the middle of an import of 3,000 files."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.chaos import books, faults
from tests.chaos.asking import run_now
from tests.chaos.books import Books
from tests.chaos.conftest import SILENCE, begin
from tests.chaos.faults import ENOUGH, TARGETS, Struck
from tests.journeys.instance import Instance, instance, wait_for, workplace
from tests.journeys.tree import Tree


pytestmark = pytest.mark.chaos

ROUNDS = 2
LONG_ENOUGH = 120.0
ADDED = 60.0
INNOCENT = ("deliveries", "interruptions", "crashed", "recovered", "errors")


@dataclass
class Ended:
    """One import of the big tree, and the state of the house after it."""

    books: Books
    disk: list[str]
    cut_off: list[Path]
    struck: list[Struck]
    unswept: list[Path] = field(default_factory=list)


def imported(tree: Tree, strikes: list[str]) -> Ended:
    """Import the tree in an instance of its own, with faults spread over the run."""
    with workplace() as place, instance(place, pause="thumbnail", **SILENCE) as there:
        there.start()
        batch = begin(there, tree.folder, mode="copy")
        struck = []
        for number, target in enumerate(strikes):
            left = ENOUGH + (tree.files - ENOUGH) * (len(strikes) - number) // (len(strikes) + 1)
            faults.until_unfinished(there, left)
            struck.append(faults.kill(there, target))
        faults.until_over(there, batch)
        ended = Ended(books.read(there, batch), books.disk_faults(there), _cut_off(there), struck)
        ended.unswept = _after_the_sweeps(there) if ended.cut_off else []
        there.stop()
        assert there.everyone() == []
    return ended


def _cut_off(there: Instance) -> list[Path]:
    """Files that somebody was writing when it died."""
    return sorted([*there.home.tmp.iterdir(), *there.home.renditions.rglob("*.part")])


def _after_the_sweeps(there: Instance) -> list[Path]:
    """What is left once such files are older than an hour: one sweep runs at each start, one at night."""
    there.stop()
    for path in _cut_off(there):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    there.start()
    wait_for(lambda: not any(there.home.tmp.iterdir()), "the temporary files are swept")
    run_now(there, "upkeep.sweep_unnamed")
    return _cut_off(there)


@pytest.fixture(scope="module")
def undisturbed(big: Tree) -> Ended:
    """The measure of all others."""
    return imported(big, [])


@pytest.fixture(scope="module")
def disturbed(big: Tree, undisturbed: Ended) -> Ended:
    """The same under kills."""
    return imported(big, [*TARGETS] * ROUNDS)


def test_an_undisturbed_import_comes_to_what_was_generated(big: Tree, undisturbed: Ended) -> None:
    seen = undisturbed.books
    print(f"\nundisturbed: {seen.seconds:.1f} s, {seen.counters}, {seen.work}")
    assert seen.counters["files"] == big.files == 3000
    assert seen.seconds >= LONG_ENOUGH
    assert seen.report() == big.report()
    assert seen.counters == seen.recount
    assert not any(seen.work[name] for name in INNOCENT)
    assert (undisturbed.disk, undisturbed.cut_off) == ([], [])


def test_every_part_was_killed_twice_while_much_was_unfinished(disturbed: Ended) -> None:
    for strike in disturbed.struck:
        print(
            f"\n{strike.target:<10} {strike.unfinished:>5} unfinished, back after {strike.back_after:.1f} s",
            end="",
        )
    assert sorted(strike.target for strike in disturbed.struck) == sorted([*TARGETS] * ROUNDS)
    assert min(strike.unfinished for strike in disturbed.struck) >= ENOUGH


def test_kills_change_nothing_that_people_see(big: Tree, undisturbed: Ended, disturbed: Ended) -> None:
    assert books.differences(undisturbed.books, disturbed.books) == []
    assert disturbed.books.report() == big.report()
    assert disturbed.books.counters == disturbed.books.recount


def test_kills_double_no_asset(undisturbed: Ended, disturbed: Ended) -> None:
    assert disturbed.books.assets.most_common(1)[0][1] == 1
    assert disturbed.books.assets == undisturbed.books.assets


def test_a7_kills_leave_no_orphan_file_and_no_row_without_its_file(disturbed: Ended) -> None:
    print(f"\ncut off while they were written: {[path.name for path in disturbed.cut_off]}")
    assert [fault for fault in disturbed.disk if not fault.endswith(".part")] == []
    assert disturbed.unswept == []


def test_kills_make_no_innocent_file_fail(disturbed: Ended) -> None:
    assert disturbed.books.work["crashed"] == 0
    assert disturbed.books.work["errors"] == 0
    # Only the kills of a decode child may count against the file that it held.
    assert disturbed.books.work["deliveries"] <= ROUNDS


def test_kills_cost_at_most_a_minute_in_all(undisturbed: Ended, disturbed: Ended) -> None:
    added = disturbed.books.seconds - undisturbed.books.seconds
    print(f"\ndisturbed: {disturbed.books.seconds:.1f} s, {added:+.1f} s, {disturbed.books.work}")
    assert added <= ADDED
