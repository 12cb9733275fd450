"""Who may come in: adding people, what they may do, shutting them out and letting them back."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from appliance.accounts import passwords, sessions
from appliance.accounts.errors import LastAdmin
from appliance.accounts.models import Role
from appliance.accounts.services import Caller, audit, checked_name, insert_user
from appliance.accounts.sessions import ABSOLUTE_DAYS, IDLE_DAYS
from appliance.core import db
from appliance.core.errors import NotFound


if TYPE_CHECKING:
    from asyncpg import Connection


class PersonView(NamedTuple):
    """A person as administrators see them."""

    id: int
    name: str
    role: str
    made_at: datetime
    disabled_at: datetime | None
    seen_at: datetime | None
    sessions: int

    @property
    def admin(self) -> bool:
        """Whether this person may change things."""
        return self.role == Role.ADMIN


class Doer(NamedTuple):
    """Which administrator does something, and from where."""

    user_id: int
    caller: Caller


_PEOPLE = f"""
SELECT u.id, u.name, u.role, u.made_at, u.disabled_at, s.seen_at, coalesce(s.live, 0)::int AS sessions
FROM "user" u LEFT JOIN LATERAL (
    SELECT max(seen_at) AS seen_at,
           count(*) FILTER (WHERE revoked_at IS NULL AND made_at > now() - interval '{ABSOLUTE_DAYS} days'
                            AND seen_at > now() - interval '{IDLE_DAYS} days') AS live
    FROM session WHERE user_id = u.id
) s ON true
"""


async def everybody(sql: Connection[Any]) -> list[PersonView]:
    """All people, administrators first, those who are shut out last."""
    order = "ORDER BY u.disabled_at IS NOT NULL, u.role <> 'admin', u.name_key, u.id"
    return [PersonView(*row) for row in await sql.fetch(f"{_PEOPLE} {order}")]


async def one(sql: Connection[Any], user_id: int) -> PersonView:
    """One person."""
    row = await sql.fetchrow(f"{_PEOPLE} WHERE u.id = $1", user_id)
    if row is None:
        raise NotFound("There is no such person", "Somebody may have removed the account.")
    return PersonView(*row)


async def add(name: str, password: str, *, role: Role, by: Doer) -> int:
    """A new account."""
    shown = checked_name(name)
    passwords.check_strength(password, name=shown)
    hashed = await passwords.make_hash(password)
    async with db.unit_of_work() as uow:
        user_id = await insert_user(uow.sql, shown, role, hashed)
        await _note(uow.sql, f"added as {role}", shown, by)
    return user_id


async def set_role(user_id: int, role: Role, *, by: Doer) -> None:
    """Make somebody an administrator or a viewer."""
    async with db.unit_of_work() as uow:
        name = await _name_of(uow.sql, user_id)
        if role is not Role.ADMIN:
            await _keep_one_admin(uow.sql, user_id)
        changed = 'UPDATE "user" SET role = $2 WHERE id = $1 AND role <> $2'
        if await uow.sql.execute(changed, user_id, str(role)) == "UPDATE 1":
            await _note(uow.sql, f"made {role}", name, by)
    sessions.forget_remembered()


async def disable(user_id: int, *, by: Doer) -> None:
    """Shut somebody out: sessions end, the account stays."""
    async with db.unit_of_work() as uow:
        name = await _name_of(uow.sql, user_id)
        await _keep_one_admin(uow.sql, user_id)
        shut = 'UPDATE "user" SET disabled_at = now() WHERE id = $1 AND disabled_at IS NULL'
        if await uow.sql.execute(shut, user_id) == "UPDATE 1":
            await _note(uow.sql, "shut out", name, by)
        await sessions.end_all(uow.sql, user_id)


async def enable(user_id: int, *, by: Doer) -> None:
    """Let somebody back in, with the password that they had."""
    async with db.unit_of_work() as uow:
        name = await _name_of(uow.sql, user_id)
        back = 'UPDATE "user" SET disabled_at = NULL WHERE id = $1 AND disabled_at IS NOT NULL'
        if await uow.sql.execute(back, user_id) == "UPDATE 1":
            await _note(uow.sql, "let back in", name, by)


async def end_sessions(user_id: int, *, by: Doer) -> int:
    """Sign somebody out everywhere."""
    async with db.unit_of_work() as uow:
        name = await _name_of(uow.sql, user_id)
        ended = await sessions.end_all(uow.sql, user_id)
        await _note(uow.sql, "signed out everywhere", name, by)
    return ended


async def renew_password(user_id: int, *, by: Doer) -> str:
    """A new password for somebody who forgot theirs; it is told once, and their sessions end."""
    made = passwords.generate()
    hashed = await passwords.make_hash(made)
    async with db.unit_of_work() as uow:
        name = await _name_of(uow.sql, user_id)
        await uow.sql.execute('UPDATE "user" SET password_hash = $2 WHERE id = $1', user_id, hashed)
        await sessions.end_all(uow.sql, user_id)
        await _note(uow.sql, "given a new password", name, by)
    return made


async def remove(user_id: int, *, by: Doer) -> str:
    """Delete an account for good; what the person did stays. The answer is the name."""
    async with db.unit_of_work() as uow:
        name = await _name_of(uow.sql, user_id)
        await _keep_one_admin(uow.sql, user_id)
        await uow.sql.execute('DELETE FROM "user" WHERE id = $1', user_id)
        await _note(uow.sql, "removed", name, by)
    sessions.forget_remembered()
    return name


async def _keep_one_admin(sql: Connection[Any], user_id: int) -> None:
    # Two administrators who demote each other at once: the second waits for these locks and then counts
    # only who is left.
    rows = await sql.fetch(
        "SELECT id FROM \"user\" WHERE role = 'admin' AND disabled_at IS NULL ORDER BY id FOR UPDATE"
    )
    if [row["id"] for row in rows] == [user_id]:
        raise LastAdmin


async def _name_of(sql: Connection[Any], user_id: int) -> str:
    name: str | None = await sql.fetchval('SELECT name FROM "user" WHERE id = $1', user_id)
    if name is None:
        raise NotFound("There is no such person", "Somebody may have removed the account.")
    return name


async def _note(sql: Connection[Any], action: str, name: str, by: Doer) -> None:
    await audit(sql, action, user_id=by.user_id, subject=name, caller=by.caller)


class AuditLine(NamedTuple):
    """One line of the audit log."""

    id: int
    at: datetime
    who: str | None
    action: str
    subject: str | None
    address: str | None


async def log(sql: Connection[Any], *, before: int | None, limit: int) -> list[AuditLine]:
    """What mattered for safety, newest first."""
    rows = await sql.fetch(
        "SELECT a.id, a.at, u.name AS who, a.action, a.subject, a.address "
        'FROM audit_entry a LEFT JOIN "user" u ON u.id = a.user_id '
        "WHERE $1::bigint IS NULL OR a.id < $1 ORDER BY a.id DESC LIMIT $2",
        before,
        limit,
    )
    return [AuditLine(*row) for row in rows]
