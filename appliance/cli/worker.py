"""`vitrine worker`: only workers, on as many hosts as wanted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from appliance.cli.options import Parser, settings_from
from appliance.core import log
from appliance.core.errors import Invalid
from appliance.runtime.alone import await_database, external, side_by_side, step_down
from appliance.runtime.composition import GROUPS, Factories


def run(arguments: list[str], compose: Callable[[], Factories]) -> int:
    """Work until a signal comes."""
    parser = Parser("worker", "Run only workers.").with_data()
    parser.add_argument(
        "--lanes", required=True, metavar="GROUP[,GROUP]", help=f"groups of lanes: {', '.join(GROUPS)}"
    )
    given = parser.parse_args(arguments)
    groups = _groups(given.lanes)
    settings = external(settings_from(given))
    step_down(settings)
    log.configure(settings, process="worker")
    factories = compose()
    await_database(factories, settings)
    factories.preload()
    return side_by_side({group: partial(factories.group, settings, group) for group in groups})


def _groups(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in GROUPS:
            raise Invalid(f"{name!r} is no group of lanes", f"Choose from: {', '.join(GROUPS)}.")
    return list(dict.fromkeys(names))
