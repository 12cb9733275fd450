"""`vitrine migrate`: bring a database to this version without starting anything."""

from __future__ import annotations

from collections.abc import Callable

from appliance.cli.options import Parser, settings_from
from appliance.runtime.alone import external, step_down
from appliance.runtime.composition import Factories
from appliance.runtime.standing import standing
from appliance.runtime.terminal import say


def run(arguments: list[str], compose: Callable[[], Factories]) -> int:
    """Migrate; the embedded database is migrated by every start."""
    given = Parser("migrate", "Bring the database to this version.").with_data().parse_args(arguments)
    settings = settings_from(given)
    if not settings.database_url:
        with standing(settings, compose):
            say("The database is at this version.")
        return 0
    settings = external(settings)
    step_down(settings)
    factories = compose()
    factories.first_contact(settings)
    factories.migrate(settings)
    say("The database is at this version.")
    return 0
