"""What verbs about accounts share: a password from the person, and the database wherever it is."""

from __future__ import annotations

import asyncio
import getpass
import sys
from collections.abc import Awaitable, Callable

from appliance.accounts import passwords
from appliance.cli.options import Parser
from appliance.core import db
from appliance.core.db import UnitOfWork
from appliance.core.errors import Invalid, VitrineError
from appliance.core.settings import Settings
from appliance.runtime.alone import step_down
from appliance.runtime.composition import Factories
from appliance.runtime.datadir import DataRefused
from appliance.runtime.standing import running, standing
from appliance.runtime.terminal import say


Step = Callable[[UnitOfWork], Awaitable[None]]


def parser(verb: str, about: str) -> Parser:
    """The words that both verbs take."""
    made = Parser(verb, about).with_data()
    made.add_argument("name", metavar="NAME", help="the account")
    made.add_argument("--stdin", action="store_true", help="read the password from the first line of stdin")
    made.add_argument("--generate", action="store_true", help="make a password instead of asking")
    return made


def password(name: str, *, from_stdin: bool, generate: bool) -> tuple[str, bool]:
    """A password that is strong enough, and whether it was made here and has to be told."""
    if from_stdin:
        given = sys.stdin.readline().rstrip("\r\n")
    elif generate or not sys.stdin.isatty():
        return passwords.generate(), True
    else:
        given = getpass.getpass(f"New password for {name} (empty: one is made): ")
        if not given:
            return passwords.generate(), True
        if getpass.getpass("Once more: ") != given:
            raise Invalid("The two passwords differ", "Nothing was changed.")
    passwords.check_strength(given, name=name)
    return given, False


def tell(line: str, secret: str, *, made: bool) -> None:
    """Say what was done, and the password if nobody knows it yet."""
    say(f"{line} Password: {secret}" if made else line)


def carry_out(settings: Settings, compose: Callable[[], Factories], step: Step, *, found: bool) -> None:
    """Do it in the running instance's database, else in one that stands for as long as it takes.

    With `found` the data directory must hold an installation already.
    """
    if running(settings) is None and settings.database_url:
        _look_outside(settings, compose())
        asyncio.run(_with_database(settings, step))
        return
    if found and not settings.home.instance.exists():
        raise DataRefused(f"{settings.data} holds no Vitrine", "Name its data directory with --data.")
    with standing(settings, compose) as there:
        asyncio.run(_with_database(there.settings, step))


def _look_outside(settings: Settings, factories: Factories) -> None:
    step_down(settings)
    contact = factories.first_contact(settings)
    if contact["state"] == "down":
        raise VitrineError("The database does not answer", str(contact.get("why") or "Nothing was changed."))
    if not contact["current"]:
        raise VitrineError("The database is not at this version", "Run `up` or `migrate` on one host first.")


async def _with_database(settings: Settings, step: Step) -> None:
    database = db.open_database(settings.database_url, pool=1, application="vitrine accounts")
    try:
        async with database.unit_of_work() as uow:
            await step(uow)
    finally:
        await database.close()
