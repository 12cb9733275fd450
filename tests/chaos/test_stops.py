"""Orderly ends in the middle of the work: quick, and free of charge for every file."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from tests.chaos import books, faults
from tests.chaos.conftest import begin
from tests.journeys.instance import PATIENCE, Instance
from tests.journeys.tree import Tree


pytestmark = pytest.mark.chaos

QUICK = 10.0


def _asked(number: signal.Signals) -> Callable[[Instance], float]:
    return lambda vitrine: vitrine.stop(number)


def _interrupted_at_the_keyboard(vitrine: Instance) -> float:
    """Ctrl-C reaches the whole foreground group at once."""
    assert vitrine.process is not None
    os.killpg(vitrine.process.pid, signal.SIGINT)
    return vitrine.stop(signal.SIGCONT)


ENDS = {
    "SIGTERM": _asked(signal.SIGTERM),
    "SIGINT": _asked(signal.SIGINT),
    "Ctrl-C": _interrupted_at_the_keyboard,
}


def test_stops_in_the_middle_of_an_import_are_quick_and_cost_no_file_anything(
    vitrine: Instance, middle: Tree
) -> None:
    vitrine.start()
    batch = begin(vitrine, middle.folder, mode="copy")
    for number, (name, end) in enumerate(ENDS.items()):
        faults.until_unfinished(vitrine, middle.files - 60 * (number + 1))
        assert books.unfinished(vitrine) >= 300
        took = end(vitrine)
        print(f"\n{name}: stopped after {took:.1f} s", end="")
        assert took < QUICK
        assert vitrine.everyone() == []
        vitrine.start()
        spent = books.troubles(vitrine)
        assert not any(spent.values()), (name, spent)
        assert (
            vitrine.value("SELECT count(*) FROM worker WHERE ended_at IS NULL AND settled_at IS NOT NULL")
            == 0
        )
    faults.until_over(vitrine, batch, limit=2 * PATIENCE)
    seen = books.read(vitrine, batch)
    assert seen.report() == middle.report()
    assert seen.counters == seen.recount
    assert books.disk_faults(vitrine) == []
    assert list(vitrine.home.tmp.iterdir()) == []
