"""`vitrine worker`: only workers, on as many hosts as wanted."""

from __future__ import annotations

from collections.abc import Callable

from appliance.cli.options import Parser, settings_from
from appliance.core import log
from appliance.core.errors import Invalid
from appliance.runtime.alone import external, step_down
from appliance.runtime.composition import GROUPS, Factories


def run(arguments: list[str], compose: Callable[[], Factories]) -> int:
    """Work until a signal comes."""
    parser = Parser("worker", "Run only workers.").with_data()
    parser.add_argument("--lanes", required=True, metavar="GROUP", help=f"one of: {', '.join(GROUPS)}")
    given = parser.parse_args(arguments)
    if given.lanes not in GROUPS:
        raise Invalid(f"{given.lanes!r} is no group of lanes", f"Choose one of: {', '.join(GROUPS)}.")
    settings = external(settings_from(given))
    step_down(settings)
    log.configure(settings, process=given.lanes)
    factories = compose()
    factories.first_contact(settings)
    factories.group(settings, given.lanes)
    return 0
