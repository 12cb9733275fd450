"""Accounts for tests that are not about making them: one password is hashed once in a run."""

from __future__ import annotations

from appliance.accounts import passwords, services
from appliance.accounts.models import Role
from appliance.core.db import UnitOfWork


PASSWORD = "four words make one"  # noqa: S105
_hashes: dict[str, str] = {}


async def a_person(uow: UnitOfWork, name: str, password: str = PASSWORD, *, role: Role = Role.ADMIN) -> int:
    """The account that `add_person` would make; hashing a password takes longer than most tests."""
    if password not in _hashes:
        _hashes[password] = await passwords.make_hash(password)
    return await services.insert_user(uow.sql, name, role, _hashes[password])
