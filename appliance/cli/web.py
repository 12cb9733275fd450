"""`vitrine web`: only the pages, for installations whose servers run elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from appliance.cli.options import Parser, settings_from
from appliance.core import log
from appliance.runtime import listen
from appliance.runtime.alone import await_database, external, step_down
from appliance.runtime.composition import Factories


def run(arguments: list[str], compose: Callable[[], Factories]) -> int:
    """Serve pages until a signal comes."""
    given = Parser("web", "Run only the web pages.").with_data().with_address().parse_args(arguments)
    settings = external(settings_from(given))
    sockets = listen.bind(settings.host, settings.port)
    step_down(settings)
    log.configure(settings, process="web")
    factories = compose()
    await_database(factories, settings)
    factories.web(settings, sockets)
    return 0
