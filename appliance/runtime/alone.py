"""Single parts beside external servers: web or workers on hosts of their own."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping

from appliance.core.errors import SettingsError, VitrineError
from appliance.core.settings import Settings
from appliance.runtime import children, datadir, forked, privileges
from appliance.runtime.account import service_account
from appliance.runtime.composition import Factories
from appliance.runtime.terminal import Waiting, say
from appliance.runtime.wishes import Wishes


LOOK_EVERY = 1.0
GRACE = 6.0


def external(settings: Settings) -> Settings:
    """The same settings, refused unless both servers are named."""
    for name in ("database_url", "redis_url"):
        if not getattr(settings, name):
            raise SettingsError(
                f"VITRINE_{name.upper()} is not set",
                "Parts that run alone need external servers; `up` brings its own.",
            )
    return settings


def step_down(settings: Settings) -> None:
    """Check the shared data directory and leave root behind, but for the right to read roots."""
    account = service_account(settings.data)
    known = datadir.examine(settings.home, account)
    if known is None:
        raise datadir.DataRefused(
            f"{settings.data} holds no Vitrine yet",
            "Start `up` once, and share its data directory with this host.",
        )
    privileges.become(account, read_all=True)


def await_database(factories: Factories, settings: Settings) -> None:
    """Wait until the database answers; one that is not at this version is refused."""
    waiting = Waiting("Waiting for the database", first=0.0)
    while (contact := factories.first_contact(settings))["state"] == "down":
        waiting.tell(str(contact.get("why") or ""))
        time.sleep(LOOK_EVERY)
    if not contact["current"]:
        raise VitrineError("The database is not at this version", "Run `up` or `migrate` on one host first.")


def side_by_side(works: Mapping[str, Callable[[], None]]) -> int:
    """Run several parts in processes of their own until a signal comes or one of them ends."""
    parent = os.getpid()
    wishes = Wishes()
    wishes.listen()
    prepare = lambda: privileges.die_with_parent(signal.SIGTERM, parent)  # noqa: E731
    running = {forked.fork(work, prepare): name for name, work in works.items()}
    failed = _wait(running, wishes)
    for pid in running:
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    while running and time.monotonic() < deadline:
        wishes.wait(0.2)
        _forget(running)
    for pid in running:
        os.kill(pid, signal.SIGKILL)
    return 1 if failed else 0


def _wait(running: dict[int, str], wishes: Wishes) -> bool:
    """True when a part ended by itself: whoever started us decides about another try."""
    while not wishes.stops:
        wishes.wait(10)
        for name, how in _forget(running):
            say(f"{name} {how}; the others are stopped too.")
            return True
    return False


def _forget(running: dict[int, str]) -> list[tuple[str, str]]:
    ended = [(running.pop(e.pid), e.status) for e in children.reap() if e.pid in running]
    return [(name, children.describe_exit(status)) for name, status in ended]
