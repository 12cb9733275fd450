"""Kills that the big run leaves out: of a plain user's instance, and while previews are drawn."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos import books, faults
from tests.chaos.conftest import SILENCE, begin
from tests.chaos.faults import DECODER, TARGETS
from tests.journeys.instance import Instance, instance, wait_for, workplace
from tests.journeys.tree import Shares, Tree, grow


pytestmark = pytest.mark.chaos

PLAIN = "nobody" if os.geteuid() == 0 else ""


@pytest.fixture
def plain() -> Iterator[Instance]:
    """An instance of a user without rights."""
    with workplace(user=PLAIN) as made, instance(made, user=PLAIN, pause="thumbnail", **SILENCE) as there:
        yield there


def test_a_plain_users_instance_survives_the_kill_of_every_part(plain: Instance, middle: Tree) -> None:
    plain.start()
    batch = begin(plain, middle.folder)
    struck = []
    for number, target in enumerate(TARGETS):
        faults.until_unfinished(plain, middle.files - 40 * (number + 1))
        struck.append(faults.kill(plain, target, enough=100))
    faults.until_over(plain, batch)
    assert [strike.target for strike in struck] == list(TARGETS)
    seen = books.read(plain, batch)
    assert seen.report() == middle.report()
    assert seen.counters == seen.recount
    assert seen.work["crashed"] == 0
    assert books.disk_faults(plain) == []


def test_previews_are_all_drawn_although_their_hands_are_killed(place: Path) -> None:
    tree = grow(place / "pictures", Shares(small=20, webp=40, jpeg=30), seed=8)
    with instance(place, **SILENCE) as there:
        there.start()
        faults.until_over(there, begin(there, tree.folder))
        for target in (DECODER, "heavy", "postgres", DECODER):
            _some_more(there, tree.outcomes["imported"])
            faults.kill(there, target, enough=0)
        wait_for(lambda: _drawn(there) == tree.outcomes["imported"], "every preview is drawn", limit=180)
        assert there.value("SELECT count(*) FROM rendition WHERE status <> 'complete'") == 0
        assert books.disk_faults(there) == []


def _some_more(there: Instance, most: int) -> None:
    aim = min(_drawn(there) + 4, most)
    wait_for(lambda: _drawn(there) >= aim, "previews are drawn")


def _drawn(there: Instance) -> int:
    statement = "SELECT count(*)::int FROM rendition WHERE name = 'preview' AND status = 'complete'"
    found: int = there.patient_value(statement)
    return found
