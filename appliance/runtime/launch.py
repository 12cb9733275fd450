"""`vitrine up`: the order in which an instance comes to life."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from appliance.core.errors import VitrineError
from appliance.core.settings import Settings
from appliance.runtime import datadir, listen, privileges
from appliance.runtime.children import Child
from appliance.runtime.composition import GROUPS, Factories
from appliance.runtime.forked import Question
from appliance.runtime.ground import Ground, prepare
from appliance.runtime.offspring import prepare_question, worker
from appliance.runtime.pgwire import Answer
from appliance.runtime.postgres import PostgresServer
from appliance.runtime.standstill import Standstill
from appliance.runtime.supervisor import Stopped, Supervisor
from appliance.runtime.terminal import Waiting, say


CONTACT_EVERY = 1.0
TRIES = 30


def run(
    settings: Settings,
    compose: Callable[[], Factories],
    *,
    folders: list[bytes],
    pages: bool = True,
    guardian: int | None = None,
) -> int:
    """Bring the instance up, keep it alive, and end it in order; the exit status.

    Without pages it stands only for a `guardian`, with whose process it ends.
    """
    begun = time.monotonic()
    ground = prepare(settings, pages=pages)
    if guardian is not None:
        privileges.die_with_parent(signal.SIGTERM, guardian)
    supervisor = Supervisor(ground.settings, partial(prepare_question, ground, os.getpid()))
    supervisor.wishes.listen()
    try:
        _come_up(supervisor, ground, compose, folders, begun=begun)
        supervisor.keep_alive()
    except Stopped:
        pass
    finally:
        for listener in ground.sockets:
            listener.close()
        supervisor.stop()
    say("Stopped.")
    return 0


def _come_up(
    supervisor: Supervisor,
    ground: Ground,
    compose: Callable[[], Factories],
    folders: list[bytes],
    *,
    begun: float,
) -> None:
    privileges.adopt_orphans()
    _greet(ground)
    _start_servers(supervisor, ground)
    # Imports make a million objects and hardly any garbage: collecting it would cost a third of their time.
    gc.disable()
    factories = compose()  # takes longer than the servers' start
    supervisor.on_settle = partial(factories.settle, ground.settings)
    contact = _first_contact(supervisor, ground, factories)
    gc.freeze()
    gc.enable()
    if ground.sockets:
        _start_web(supervisor, ground, factories, str(contact.get("code") or ""), begun=begun)
    supervisor.note(database_url=ground.settings.database_url, redis_url=ground.settings.redis_url)
    _insist(supervisor, partial(factories.settle_host, ground.settings))
    for group in GROUPS:
        work = partial(factories.group, ground.settings, group)
        supervisor.launch(worker(ground, group, work))
    supervisor.note(ready=True)
    if sys.stdout.isatty():
        say("Ctrl-C stops it.")
    if folders:
        _add_folders(supervisor, partial(factories.add_folders, ground.settings, folders))


def _add_folders(supervisor: Supervisor, add: Callable[[], list[str]]) -> None:
    """A folder that cannot be added is no reason to take the pages away again."""
    try:
        for line in supervisor.ask(add, limit=60):
            say(f"  {line}")
    except VitrineError as refusal:
        say(f"The folders were not added: {refusal.line()}")


def _insist(supervisor: Supervisor, work: Callable[[], None]) -> None:
    """The database may go away at any moment, also between two steps of a start."""
    for _ in range(TRIES):
        try:
            supervisor.ask(work)
        except VitrineError:
            supervisor.rest(CONTACT_EVERY)
        else:
            return
    supervisor.ask(work)


def _greet(ground: Ground) -> None:
    who = f" as {ground.account.name}" if ground.account else ""
    say(f"Vitrine keeps its data in {ground.settings.data}{who}.")


def _start_servers(supervisor: Supervisor, ground: Ground) -> None:
    if ground.valkey is not None:
        valkey = ground.valkey
        supervisor.launch(Child("valkey", lambda: _pid(valkey.start()), 0.3, valkey.answers))
    if ground.postgres is not None:
        postgres = ground.postgres
        _create_cluster(ground, postgres)
        supervisor.launch(
            Child(
                "postgres",
                lambda: _pid(postgres.start()),
                first_delay=0.5,
                ready=partial(_takes_clients, postgres),
                explain=postgres.last_words,
                standstill=Standstill(postgres.answer),
            )
        )


def _create_cluster(ground: Ground, postgres: PostgresServer) -> None:
    """A110: a directory that has been in use never gets a new database in silence."""
    if ground.instance.database == "embedded" and not (postgres.data / "PG_VERSION").exists():
        raise VitrineError(
            f"The database in {postgres.data} is gone, but this data directory has been in use",
            "Restore it from a backup, or name a new directory with --data.",
        )
    if ground.instance.database == "external":
        raise VitrineError(
            "This data directory belongs to an external database", "Set VITRINE_DATABASE_URL as before."
        )
    if not (postgres.data / "PG_VERSION").exists():
        say("  Creating the database (some seconds, once) …")
    postgres.create()


def _first_contact(supervisor: Supervisor, ground: Ground, factories: Factories) -> dict[str, Any]:
    """Wait for the database, refuse a wrong one, and bring it to this version."""
    if ground.postgres is not None:
        waiting = Waiting("PostgreSQL is starting; after a crash it first recovers")
        supervisor.wait_for(lambda: all(server.answered for server in supervisor.servers), waiting)
    question = supervisor.begin(partial(factories.first_contact, ground.settings))
    factories.preload()  # meanwhile
    contact = _contact(supervisor, ground, factories, question)
    if not contact.get("current"):
        say("  Preparing the tables …")
        supervisor.ask(partial(factories.migrate, ground.settings), limit=3600)
        contact = _contact(supervisor, ground, factories)
    kind = "embedded" if ground.postgres else "external"
    if ground.instance.database != kind:
        datadir.remember(ground.settings.home, replace(ground.instance, database=kind))
    return contact


def _contact(
    supervisor: Supervisor, ground: Ground, factories: Factories, question: Question | None = None
) -> dict[str, Any]:
    waiting = Waiting("Waiting for the database", first=0.0)
    look = partial(factories.first_contact, ground.settings)
    while True:
        contact: dict[str, Any] = supervisor.answer(question or supervisor.begin(look))
        if contact["state"] != "down":
            return contact
        question = None
        waiting.tell(str(contact.get("why") or ""))
        supervisor.rest(CONTACT_EVERY)


def _start_web(
    supervisor: Supervisor, ground: Ground, factories: Factories, code: str, *, begun: float
) -> None:
    work = partial(factories.web, ground.settings, ground.sockets)
    supervisor.launch(worker(ground, "web", work))
    addresses = listen.urls(ground.settings.host, ground.settings.port)
    supervisor.note(urls=addresses)
    probe = listen.Probe(ground.settings.host, ground.settings.port)
    supervisor.wait_for(probe.answered, Waiting("The web pages are starting", first=10.0))
    say(f"Ready after {time.monotonic() - begun:.1f} s:")
    for address in addresses:
        say(f"  {address}")
    if code:
        say(f"Create your account: {addresses[-1]}/setup?code={code}")


def _takes_clients(postgres: PostgresServer) -> bool:
    return postgres.answer() is Answer.READY


def _pid(process: Any) -> int:
    """The supervisor reaps by itself: Popen must not wait for an id that may be somebody else's by then."""
    process.returncode = 0
    return int(process.pid)
