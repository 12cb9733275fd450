"""`vitrine create-admin NAME`: an administrator made on the server's own command line."""

from __future__ import annotations

from collections.abc import Callable

from appliance.accounts import services
from appliance.accounts.models import Role
from appliance.cli import asking
from appliance.cli.options import settings_from
from appliance.core.db import UnitOfWork
from appliance.runtime.composition import Factories


def run(arguments: list[str], compose: Callable[[], Factories]) -> int:
    """Add the account; where there was none, set-up is over."""
    parser = asking.parser("create-admin", "Make an administrator.")
    given = parser.parse_args(arguments)
    settings = settings_from(given)
    shown = services.checked_name(given.name)
    secret, made = asking.password(shown, from_stdin=given.stdin, generate=given.generate)

    async def add(uow: UnitOfWork) -> None:
        await services.add_person(uow, shown, secret, role=Role.ADMIN)
        await services.audit(uow.sql, "added as admin", subject=shown)

    asking.carry_out(settings, compose, add, found=False)
    asking.tell(f"{shown} is an administrator.", secret, made=made)
    return 0
