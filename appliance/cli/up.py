"""`vitrine up [FOLDER…]`: start everything, or add folders to the instance that already runs."""

from __future__ import annotations

from collections.abc import Callable

from appliance.cli.options import Parser, folder_from, settings_from
from appliance.core.errors import VitrineError
from appliance.core.settings import Settings
from appliance.runtime import launch
from appliance.runtime.composition import Factories
from appliance.runtime.datadir import AlreadyRunning
from appliance.runtime.standing import running
from appliance.runtime.terminal import say


def run(arguments: list[str], compose: Callable[[], Factories]) -> int:
    """Start, or join the running instance with new folders."""
    parser = Parser("up", "Start Vitrine. Folders are read where they are and never changed.")
    parser.with_data().with_address().add_argument("folders", nargs="*", metavar="FOLDER")
    given = parser.parse_args(arguments)
    settings = settings_from(given)
    folders = [folder_from(text) for text in given.folders]
    try:
        return launch.run(settings, compose, folders=folders)
    except AlreadyRunning as busy:
        return _join(settings, compose, folders, busy)


def _join(
    settings: Settings, compose: Callable[[], Factories], folders: list[bytes], busy: AlreadyRunning
) -> int:
    there = running(settings)
    if there is None:
        raise VitrineError(busy.title, "It is starting or stopping at this moment: try again soon.")
    where = there.urls[0] if there.urls else "another terminal"
    if not folders:
        raise VitrineError(busy.title, f"Open {where}")
    for line in compose().add_folders(there.settings, folders):
        say(line)
    say(f"Vitrine is running: {where}")
    return 0
