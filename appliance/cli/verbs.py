"""The table of verbs. Each is a module with `run(arguments, compose)`, loaded only when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Protocol, cast

from appliance.core.errors import VitrineError
from appliance.runtime.composition import Factories


class Verb(Protocol):
    """What a module of a verb offers."""

    def run(self, arguments: list[str], compose: Callable[[], Factories]) -> int:
        """Do it; the answer is the exit status."""


VERBS = {
    "up": ("appliance.cli.up", "start Vitrine; folders that are named are read into it"),
    "import": ("appliance.cli.import_", "read a folder or a file and say what became of it"),
    "scan": ("appliance.cli.scan", "look again at the folders that Vitrine reads"),
    "queues": ("appliance.cli.queues", "show lanes and tasks"),
    "web": ("appliance.cli.web", "run only the web pages, beside external servers"),
    "worker": ("appliance.cli.worker", "run only workers, beside external servers"),
    "migrate": ("appliance.cli.migrate", "bring an external database to this version"),
    "create-admin": ("appliance.cli.create_admin", "make an administrator"),
    "reset-password": ("appliance.cli.reset_password", "give an account a new password"),
    "doctor": ("appliance.cli.doctor", "say what is wrong with this installation and how to mend it"),
    "bench": ("appliance.cli.bench", "measure this machine against the budgets"),
}
# The bootstrap script carries these out; they stand here for the help.
SCRIPTED = {"test": "lint, types and tests; further words go to pytest"}


class UnknownVerb(VitrineError):
    """A word that is no verb."""


def find(name: str) -> Verb:
    """The verb's module."""
    if name not in VERBS:
        raise UnknownVerb(f"There is no verb {name!r}", f"Verbs: {', '.join(sorted({*VERBS, *SCRIPTED}))}.")
    return cast("Verb", importlib.import_module(VERBS[name][0]))


def overview() -> str:
    """One line for each verb."""
    lines = [*((name, text) for name, (_, text) in VERBS.items()), *SCRIPTED.items()]
    return "\n".join(f"  {name:<14} {text}" for name, text in lines)
