"""Setting up, signing in and out."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import unicodedata
from typing import TYPE_CHECKING, Any, NamedTuple

from appliance.accounts import passwords, sessions, throttle
from appliance.accounts.errors import BadName, NameTaken, NoMatch, SetUpAlready, WrongCode, WrongPassword
from appliance.accounts.models import Role
from appliance.core import db
from appliance.core.db import UnitOfWork
from appliance.core.errors import NotFound


if TYPE_CHECKING:
    from asyncpg import Connection


CODE_SETTING = "setup_code"
# Without 0 O 1 I L: it is read from one screen and typed on another. 12 of 31 are 59 bits, tried slowly.
CODE_LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
_FIRST_ADMIN_LOCK = 0x5654524E0001
_set_up = False


class Caller(NamedTuple):
    """From where a request came, for throttles and the audit log."""

    address: str
    agent: str


def name_key(name: str) -> str:
    """Anna, anna and a decomposed form of both are one account."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name.strip()).casefold())


def checked_name(name: str) -> str:
    """The name as it is shown; refuses what could not be typed again."""
    shown = unicodedata.normalize("NFC", name.strip())
    if not 1 <= len(shown) <= 64:
        raise BadName("The name must have 1 to 64 characters")
    if any(unicodedata.category(c)[0] == "C" for c in shown):
        raise BadName("The name contains a character that cannot be seen")
    return shown


def _code_digest(code: str) -> str:
    plain = "".join(c for c in code.upper() if c.isalnum())
    return hashlib.sha256(plain.encode()).hexdigest()


async def is_set_up(sql: Connection[Any]) -> bool:
    """Whether an account exists; once it does, this stays true and costs nothing."""
    global _set_up  # noqa: PLW0603 - remembers a fact that never becomes false again
    if not _set_up:
        _set_up = bool(await sql.fetchval('SELECT EXISTS (SELECT 1 FROM "user")'))
    return _set_up


def known_set_up() -> bool:
    """Whether this process has already seen an account."""
    return _set_up


def forget_set_up() -> None:
    """Look again: the database was replaced."""
    global _set_up  # noqa: PLW0603
    _set_up = False


async def issue_setup_code(uow: UnitOfWork) -> str | None:
    """A fresh one-time code that replaces the former one; None once there is an account."""
    if await uow.sql.fetchval('SELECT EXISTS (SELECT 1 FROM "user")'):
        return None
    letters = "".join(secrets.choice(CODE_LETTERS) for _ in range(12))
    code = "-".join((letters[:4], letters[4:8], letters[8:]))
    await uow.sql.execute(
        "INSERT INTO setting (name, value) VALUES ($1, $2::jsonb) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value, changed_at = now()",
        CODE_SETTING,
        json.dumps({"sha256": _code_digest(code)}),
    )
    return code


async def set_up(code: str, *, name: str, password: str, caller: Caller) -> str:
    """Make the first administrator and sign them in; of two at once, one wins."""
    shown = checked_name(name)
    async with db.unit_of_work() as uow:
        await throttle.count_try(uow.sql, f"setup:{caller.address}", cap=throttle.ADDRESS_CAP)
        await uow.commit()
        await _check_code(uow.sql, code)
    passwords.check_strength(password, name=shown)
    hashed = await passwords.make_hash(password)
    async with db.unit_of_work() as uow:
        # Two set-ups at once: the second waits here and then finds an account.
        await uow.sql.execute("SELECT pg_advisory_xact_lock($1)", _FIRST_ADMIN_LOCK)
        await _check_code(uow.sql, code)
        user_id = await insert_user(uow.sql, shown, Role.ADMIN, hashed)
        await uow.sql.execute("DELETE FROM setting WHERE name = $1", CODE_SETTING)
        await throttle.forget(uow.sql, f"setup:{caller.address}")
        await audit(uow.sql, "set up", user_id=user_id, caller=caller)
        return await sessions.start(uow.sql, user_id, address=caller.address, agent=caller.agent)


async def _check_code(sql: Connection[Any], code: str) -> None:
    if await sql.fetchval('SELECT EXISTS (SELECT 1 FROM "user")'):
        raise SetUpAlready
    stored = await sql.fetchval("SELECT value->>'sha256' FROM setting WHERE name = $1", CODE_SETTING)
    if stored is None or not hmac.compare_digest(stored, _code_digest(code)):
        raise WrongCode


async def insert_user(sql: Connection[Any], name: str, role: Role, hashed: str) -> int:
    """A row for a person whose name and password were checked; of two with one name, the first has it."""
    user_id: int | None = await sql.fetchval(
        'INSERT INTO "user" (name, name_key, role, password_hash) VALUES ($1, $2, $3, $4) '
        "ON CONFLICT (name_key) DO NOTHING RETURNING id",
        name,
        name_key(name),
        str(role),
        hashed,
    )
    if user_id is None:
        raise NameTaken(name)
    return user_id


async def sign_in(name: str, password: str, *, caller: Caller) -> str:
    """A new session's token, or a refusal that does not tell which half was wrong."""
    key = name_key(name)[:64]
    by_address = f"address:{caller.address}"
    async with db.unit_of_work() as uow:
        by_name = await _account_key(uow.sql, key, caller.address)
        await throttle.count_try(uow.sql, by_address, cap=throttle.ADDRESS_CAP)
        await throttle.count_try(uow.sql, by_name, cap=throttle.NAME_CAP)
        user = await uow.sql.fetchrow(
            'SELECT id, password_hash FROM "user" WHERE name_key = $1 AND disabled_at IS NULL', key
        )
    right = await passwords.matches(user["password_hash"] if user else None, password)
    async with db.unit_of_work() as uow:
        if user is None or not right:
            await audit(uow.sql, "sign-in refused", subject=key, caller=caller)
            await uow.commit()
            raise NoMatch
        await throttle.forget(uow.sql, by_address, by_name)
        await audit(uow.sql, "signed in", user_id=user["id"], caller=caller)
        return await sessions.start(uow.sql, user["id"], address=caller.address, agent=caller.agent)


async def _account_key(sql: Connection[Any], key: str, address: str) -> str:
    # From an address where this person has signed in before, a stranger's guesses elsewhere do not count.
    known = await sql.fetchval(
        'SELECT EXISTS (SELECT 1 FROM session s JOIN "user" u ON u.id = s.user_id '
        "WHERE u.name_key = $1 AND s.address = $2)",
        key,
        address,
    )
    return f"name:{key}@{address}" if known else f"name:{key}"


async def sign_out(token: str, *, caller: Caller) -> None:
    """End the session behind the token."""
    async with db.unit_of_work() as uow:
        user_id = await sessions.end(uow.sql, token)
        if user_id is not None:
            await audit(uow.sql, "signed out", user_id=user_id, caller=caller)


async def add_person(uow: UnitOfWork, name: str, password: str, *, role: Role) -> int:
    """An account made on the server's own command line; the set-up page is closed from then on."""
    shown = checked_name(name)
    passwords.check_strength(password, name=shown)
    user_id = await insert_user(uow.sql, shown, role, await passwords.make_hash(password))
    await uow.sql.execute("DELETE FROM setting WHERE name = $1", CODE_SETTING)
    return user_id


async def set_password(uow: UnitOfWork, name: str, password: str) -> None:
    """Replace a password; every session of that person ends."""
    passwords.check_strength(password, name=name)
    hashed = await passwords.make_hash(password)
    user_id = await uow.sql.fetchval(
        'UPDATE "user" SET password_hash = $2 WHERE name_key = $1 RETURNING id', name_key(name), hashed
    )
    if user_id is None:
        raise NotFound(f"There is no account “{name}”")
    await sessions.end_all(uow.sql, user_id)
    # Whoever was told a new password shall not wait for the guesses that came before.
    await throttle.forget_name(uow.sql, f"name:{name_key(name)}")
    await audit(uow.sql, "password replaced", user_id=user_id)


async def change_password(user_id: int, session_id: int, *, old: str, new: str, caller: Caller) -> None:
    """Replace one's own password by knowing it; every other session of that person ends."""
    key = f"password:{user_id}"
    async with db.unit_of_work() as uow:
        await throttle.count_try(uow.sql, key, cap=throttle.NAME_CAP)
        await uow.commit()
        found = await uow.sql.fetchrow('SELECT name, password_hash FROM "user" WHERE id = $1', user_id)
    if found is None or not await passwords.matches(found["password_hash"], old):
        raise WrongPassword
    passwords.check_strength(new, name=found["name"])
    hashed = await passwords.make_hash(new)
    async with db.unit_of_work() as uow:
        # Two changes at once: the second has proven a password that is no longer the present one.
        done = await uow.sql.execute(
            'UPDATE "user" SET password_hash = $2 WHERE id = $1 AND password_hash = $3',
            user_id,
            hashed,
            found["password_hash"],
        )
        if done != "UPDATE 1":
            raise WrongPassword
        await throttle.forget(uow.sql, key)
        await sessions.end_all(uow.sql, user_id, but=session_id)
        await audit(uow.sql, "password changed", user_id=user_id, caller=caller)


async def audit(
    sql: Connection[Any],
    action: str,
    *,
    user_id: int | None = None,
    subject: str | None = None,
    caller: Caller | None = None,
) -> None:
    """Write one line of the audit log."""
    await sql.execute(
        "INSERT INTO audit_entry (user_id, action, subject, address) VALUES ($1, $2, $3, $4)",
        user_id,
        action,
        subject,
        caller.address if caller else None,
    )


async def forget_audit(sql: Connection[Any]) -> int:
    """Drop audit entries that are older than a year."""
    gone = await sql.execute("DELETE FROM audit_entry WHERE at < now() - interval '1 year'")
    return int(gone.rpartition(" ")[2])
