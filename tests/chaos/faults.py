"""Faults: each is struck while much is unfinished, is seen to have hit, and is waited out."""

from __future__ import annotations

import os
import random
import signal
import time
from dataclasses import dataclass

from appliance.runtime import proc
from tests.chaos import books
from tests.journeys.instance import GROUPS, Instance, NotYet, wait_for
from tests.journeys.processes import command_of


ENOUGH = 500
"""A fault that hits when little is left to do proves little."""
WALK = "appliance.ingest.walk"
SUPERVISOR, DECODER = "supervisor", "decoder"
TARGETS = ("postgres", "valkey", "web", *GROUPS, DECODER, SUPERVISOR)


@dataclass(frozen=True)
class Struck:
    """What one fault cost."""

    target: str
    unfinished: int
    back_after: float


def kill(instance: Instance, target: str, *, enough: int = ENOUGH) -> Struck:
    """Kill -9 one part in the middle of the work; returns when it is back and the pages answer."""
    left = books.unfinished(instance)
    assert left >= enough, f"only {left} files are unfinished: the tree is too small for this machine"
    victim = wait_for(lambda: _victim(instance, target), f"{target} runs")
    begun = proc.started(victim)
    struck = time.monotonic()
    if target == SUPERVISOR:
        instance.kill()
        instance.start()
    else:
        os.kill(victim, signal.SIGKILL)
    wait_for(lambda: not proc.is_alive(victim, begun), f"{target} is gone")
    wait_for(lambda: _victim(instance, target) not in {0, victim}, f"{target} is back")
    wait_for(instance.web_answers, f"the pages answer after the end of {target}")
    return Struck(target, left, time.monotonic() - struck)


def kill_walk(instance: Instance) -> None:
    """Kill -9 the child that walks a folder."""
    heavy = instance.pid("heavy")
    walks = [pid for pid in proc.children_of(heavy) if WALK in command_of(pid)]
    assert walks, "no folder is walked at the moment"
    os.kill(walks[0], signal.SIGKILL)


def _victim(instance: Instance, target: str) -> int:
    if target == SUPERVISOR:
        return instance.process.pid if instance.process else 0
    if target == DECODER:
        children = instance.decoders()
        return random.choice(children) if children else 0
    return instance.pid(target)


def until_unfinished(instance: Instance, below: int, *, limit: float = 300) -> None:
    """Wait for the moment at which so few files are left."""

    def there() -> bool:
        left = books.unfinished(instance)
        states = instance.patient_value("SELECT array_agg(status) FROM import_batch")
        assert not {"error", "cancelled"} & set(states), instance.last_lines()
        if not {"importing", "done"}.issuperset(states):
            raise NotYet
        return left < below

    wait_for(there, f"fewer than {below} files are unfinished", limit=limit, every=0.2)


def until_over(instance: Instance, batch: int, *, limit: float = 420) -> None:
    """Wait for the end of an import, through whatever happens to it."""
    statement = "SELECT status FROM import_batch WHERE id = $1"
    ended = {"done", "error", "cancelled"}
    wait_for(
        lambda: instance.patient_value(statement, batch) in ended,
        "the import is over",
        limit=limit,
        every=0.3,
    )
    assert instance.patient_value(statement, batch) == "done"
