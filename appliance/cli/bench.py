"""`vitrine bench NAME`: measure this machine against the budgets; never part of the tests."""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, cast

import msgspec

from appliance.cli.benches.frame import Frame, machine, table
from appliance.cli.benches.stage import ASSETS, Stage, default_cache
from appliance.cli.options import Parser
from appliance.runtime.composition import Factories
from appliance.runtime.terminal import say


BENCHES = {
    "boot": "appliance.cli.benches.boot",
    "gallery": "appliance.cli.benches.gallery",
    "import": "appliance.cli.benches.import_",
    "memory": "appliance.cli.benches.memory",
}
# A real disk everywhere, which /tmp often is not; the names inside are drawn at random.
WORK = "/var/tmp"  # noqa: S108


class Bench(Protocol):
    """What a module of a bench offers."""

    def measure(self, stage: Stage, frame: Frame) -> None:
        """Do it and put figures and checks into the frame."""


def run(arguments: list[str], compose: Callable[[], Factories]) -> int:  # noqa: ARG001 - a verb's signature
    """Run one bench; the exit status is 1 when a budget does not hold."""
    given = _parser().parse_args(arguments)
    bench = cast("Bench", importlib.import_module(BENCHES[given.bench]))
    frame = Frame(given.bench, machine())
    with tempfile.TemporaryDirectory(prefix="vitrine-bench-", dir=given.work) as work:
        # Servers may run as an account of their own, which must reach its directory inside.
        Path(work).chmod(0o755)
        stage = Stage(
            Path(work),
            Path(given.cache),
            quick=given.quick,
            only=frozenset(given.only),
            assets=given.assets,
        )
        bench.measure(stage, frame)
        # Before what was made is removed, which takes minutes on some disks.
        _show(frame, as_json=given.json)
    return frame.status


def _show(frame: Frame, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(msgspec.json.encode(frame.plain()).decode() + "\n")
        sys.stdout.flush()
    else:
        say(table(frame))


def _parser() -> Parser:
    parser = Parser("bench", "Measure this machine against the budgets.")
    parser.add_argument("bench", choices=sorted(BENCHES), metavar="NAME", help=", ".join(sorted(BENCHES)))
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and shorter waits, for developers")
    parser.add_argument("--assets", type=int, default=ASSETS, metavar="N", help="gallery: how many assets")
    parser.add_argument("--only", action="append", default=[], metavar="PART", help="only this part (repeat)")
    parser.add_argument("--work", metavar="DIR", default=WORK, help="where the instances live meanwhile")
    parser.add_argument("--cache", metavar="DIR", default=default_cache(), help="where test pictures stay")
    return parser
