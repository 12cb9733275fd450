"""`vitrine reset-password NAME`: the way back in for whoever forgot, from the server's own command line."""

from __future__ import annotations

from collections.abc import Callable

from appliance.accounts import services
from appliance.cli import asking
from appliance.cli.options import settings_from
from appliance.core.db import UnitOfWork
from appliance.runtime.composition import Factories


def run(arguments: list[str], compose: Callable[[], Factories]) -> int:
    """Replace the password; every session of that person ends."""
    parser = asking.parser("reset-password", "Give an account a new password.")
    given = parser.parse_args(arguments)
    settings = settings_from(given)
    secret, made = asking.password(given.name, from_stdin=given.stdin, generate=given.generate)

    async def replace(uow: UnitOfWork) -> None:
        await services.set_password(uow, given.name, secret)

    asking.carry_out(settings, compose, replace, found=True)
    asking.tell(f"{given.name} has a new password, and all sessions ended.", secret, made=made)
    return 0
