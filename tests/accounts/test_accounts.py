"""Accounts: one first administrator, passwords that are not kept, waits that end, sessions that end."""

from __future__ import annotations

import asyncio

import pytest

from appliance.accounts import passwords, services, sessions, throttle
from appliance.accounts.errors import BadName, NoMatch, SetUpAlready, TooManyTries, WeakPassword, WrongCode
from appliance.accounts.models import Role
from appliance.accounts.services import Caller
from appliance.core import clock
from appliance.core.db import Database
from appliance.core.errors import NotFound


HERE, THERE = Caller("192.168.1.5", "tests"), Caller("203.0.113.9", "tests")
PASSWORD = "four words make one"  # noqa: S105


@pytest.fixture(autouse=True)
def forgetful() -> None:
    services.forget_set_up()
    sessions._cache.clear()


async def issue(db: Database) -> str:
    async with db.unit_of_work() as uow:
        code = await services.issue_setup_code(uow)
    assert code
    return code


async def add(db: Database, name: str = "Anna") -> int:
    async with db.unit_of_work() as uow:
        return await services.add_person(uow, name, PASSWORD, role=Role.ADMIN)


async def person(db: Database, token: str) -> sessions.Person | None:
    async with db.unit_of_work() as uow:
        return await sessions.look_up(uow.sql, token)


async def test_of_two_set_ups_at_once_one_wins(db: Database) -> None:
    code = await issue(db)
    tries = [services.set_up(code, name=f"admin{n}", password=PASSWORD, caller=HERE) for n in range(2)]
    answers = await asyncio.gather(*tries, return_exceptions=True)
    assert sorted(type(a).__name__ for a in answers) == ["SetUpAlready", "str"]
    async with db.unit_of_work() as uow:
        assert await uow.sql.fetchval('SELECT count(*) FROM "user"') == 1
        assert await services.issue_setup_code(uow) is None


async def test_only_the_latest_code_works_and_only_once(db: Database) -> None:
    old, new = await issue(db), await issue(db)
    with pytest.raises(WrongCode):
        await services.set_up(old, name="anna", password=PASSWORD, caller=HERE)
    await services.set_up(f" {new.lower().replace('-', ' ')} ", name="anna", password=PASSWORD, caller=HERE)
    with pytest.raises(SetUpAlready):
        await services.set_up(new, name="eve", password=PASSWORD, caller=HERE)


async def test_the_code_is_stored_only_as_a_digest(db: Database) -> None:
    code = await issue(db)
    async with db.unit_of_work() as uow:
        stored = str(await uow.sql.fetchval("SELECT value FROM setting WHERE name = 'setup_code'"))
    assert code not in stored
    assert code.replace("-", "") not in stored


async def test_guessing_the_code_has_to_wait(db: Database) -> None:
    await issue(db)
    for _ in range(throttle.FREE):
        with pytest.raises(WrongCode):
            await services.set_up("WRONG", name="anna", password=PASSWORD, caller=HERE)
    with pytest.raises(TooManyTries):
        for _ in range(3):
            with pytest.raises(WrongCode):
                await services.set_up("WRONG", name="anna", password=PASSWORD, caller=HERE)


async def test_names_differ_by_more_than_case_and_form(db: Database) -> None:
    await add(db, "Zoë")
    assert await services.sign_in("ZOE\N{COMBINING DIAERESIS}", PASSWORD, caller=HERE)


@pytest.mark.parametrize("name", ["", "   ", "x" * 65, "a\nb", "a\u202eb"])
async def test_names_that_nobody_could_type_are_refused(db: Database, name: str) -> None:
    with pytest.raises(BadName):
        await add(db, name)


@pytest.mark.parametrize(
    "password",
    [
        "short",
        "aaaaaaaaaaaaaaaa",
        "123456789012",
        "Password1234",
        "qwertyuiop12",
        "anna-the-first",
        "x" * 257,
    ],
)
def test_passwords_that_are_tried_first_are_refused(password: str) -> None:
    with pytest.raises(WeakPassword):
        passwords.check_strength(password, name="anna-the-first")


@pytest.mark.parametrize("password", ["four words make one", "пароль из четырёх слов"])
async def test_a_few_plain_words_are_a_good_password(db: Database, password: str) -> None:
    async with db.unit_of_work() as uow:
        assert await services.add_person(uow, "anna", password, role=Role.ADMIN) > 0


async def test_a_hash_is_argon2id_and_never_the_password(db: Database) -> None:
    await add(db)
    async with db.unit_of_work() as uow:
        stored = await uow.sql.fetchval('SELECT password_hash FROM "user"')
    assert stored.startswith("$argon2id$v=19$m=65536,")
    assert await passwords.matches(stored, PASSWORD)
    assert not await passwords.matches(stored, PASSWORD + " ")
    assert not await passwords.matches("damaged", PASSWORD)


async def test_an_unknown_name_costs_a_whole_verification(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified: list[str] = []
    real = passwords._verify
    monkeypatch.setattr(
        passwords, "_verify", lambda stored, given: verified.append(stored) or real(stored, given)
    )
    with pytest.raises(NoMatch):
        await services.sign_in("nobody", PASSWORD, caller=HERE)
    assert verified == [passwords._NOBODY]
    await passwords.make_hash("x")
    assert passwords._hasher.check_needs_rehash(passwords._NOBODY) is False


async def test_wrong_guesses_wait_longer_each_time_and_the_wait_ends(db: Database) -> None:
    waits = []
    async with db.unit_of_work() as uow:
        for _ in range(throttle.FREE + 4):
            try:
                await throttle.count_try(uow.sql, "name:anna", cap=60)
            except TooManyTries as refused:
                waits.append(refused.seconds)
                await uow.sql.execute("UPDATE login_throttle SET last_at = last_at - interval '61 s'")
                await throttle.count_try(uow.sql, "name:anna", cap=60)
        assert waits == sorted(waits)
        assert len(set(waits)) > 1
        await uow.sql.execute("UPDATE login_throttle SET failures = 60, last_at = clock_timestamp()")
        with pytest.raises(TooManyTries) as capped:
            await throttle.count_try(uow.sql, "name:anna", cap=60)
    assert capped.value.seconds <= 60


async def test_a_burst_of_parallel_guesses_is_one_burst(db: Database) -> None:
    await add(db)
    guesses = [services.sign_in("anna", f"guess number {n}", caller=THERE) for n in range(20)]
    answers = await asyncio.gather(*guesses, return_exceptions=True)
    tried = [a for a in answers if isinstance(a, NoMatch)]
    assert len(tried) <= throttle.FREE + 1
    assert sum(isinstance(a, TooManyTries) for a in answers) == 20 - len(tried)


async def test_a_stranger_cannot_lock_the_owner_out(db: Database) -> None:
    await add(db)
    await services.sign_in("anna", PASSWORD, caller=HERE)
    for _ in range(throttle.FREE):
        with pytest.raises(NoMatch):
            await services.sign_in("anna", "a wrong password", caller=THERE)
    with pytest.raises(TooManyTries):
        await services.sign_in("anna", PASSWORD, caller=THERE)
    assert await services.sign_in("anna", PASSWORD, caller=HERE)


async def test_success_forgets_the_failures(db: Database) -> None:
    await add(db)
    for _ in range(throttle.FREE - 1):
        with pytest.raises(NoMatch):
            await services.sign_in("anna", "a wrong password", caller=HERE)
    await services.sign_in("anna", PASSWORD, caller=HERE)
    async with db.unit_of_work() as uow:
        assert await uow.sql.fetchval("SELECT count(*) FROM login_throttle") == 0
        await uow.sql.execute(
            "INSERT INTO login_throttle (key, last_at) VALUES ('old', now() - interval '2 days')"
        )
        assert await throttle.sweep(uow.sql) == 1


async def test_a_session_is_stored_as_a_digest_and_ends_by_age_idleness_and_revocation(db: Database) -> None:
    await add(db)
    token = await services.sign_in("anna", PASSWORD, caller=HERE)
    found = await person(db, token)
    assert found is not None
    assert found.name == "Anna"
    async with db.unit_of_work() as uow:
        assert token.encode() not in bytes(await uow.sql.fetchval("SELECT token_sha256 FROM session"))
    for column, days in (("made_at", sessions.ABSOLUTE_DAYS), ("seen_at", sessions.IDLE_DAYS)):
        async with db.unit_of_work() as uow:
            await uow.sql.execute(f"UPDATE session SET {column} = now() - interval '{days} days 1 minute'")
        assert await person(db, token) is None
        async with db.unit_of_work() as uow:
            await uow.sql.execute(f"UPDATE session SET {column} = now()")
        assert await person(db, token) is not None
    async with db.unit_of_work() as uow:
        await uow.sql.execute('UPDATE "user" SET disabled_at = now()')
    assert await person(db, token) is None


async def test_a_session_that_is_used_stays_alive(db: Database) -> None:
    await add(db)
    token = await services.sign_in("anna", PASSWORD, caller=HERE)
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE session SET seen_at = now() - interval '29 days'")
    assert await person(db, token) is not None
    async with db.unit_of_work() as uow:
        assert await uow.sql.fetchval("SELECT now() - seen_at < interval '1 minute' FROM session")


async def test_a_remembered_session_is_believed_for_seconds_only(db: Database) -> None:
    await add(db)
    token = await services.sign_in("anna", PASSWORD, caller=HERE)
    await person(db, token)
    assert sessions.remembered(token) is not None

    class Later(clock.Clock):
        def monotonic(self) -> float:
            return super().monotonic() + sessions.CACHED_FOR + 0.1

    restore = clock.use(Later())
    try:
        assert sessions.remembered(token) is None
    finally:
        restore()


async def test_signing_out_is_believed_at_once(db: Database) -> None:
    await add(db)
    token = await services.sign_in("anna", PASSWORD, caller=HERE)
    await person(db, token)
    await services.sign_out(token, caller=HERE)
    assert sessions.remembered(token) is None
    assert await person(db, token) is None


async def test_a_new_password_ends_every_session(db: Database) -> None:
    await add(db)
    token = await services.sign_in("anna", PASSWORD, caller=HERE)
    async with db.unit_of_work() as uow:
        await services.set_password(uow, "ANNA", "another four words")
    assert await person(db, token) is None
    with pytest.raises(NoMatch):
        await services.sign_in("anna", PASSWORD, caller=HERE)
    with pytest.raises(NotFound):
        async with db.unit_of_work() as uow:
            await services.set_password(uow, "nobody", "another four words")


async def test_the_audit_log_names_what_matters_and_no_secret(db: Database) -> None:
    await add(db)
    with pytest.raises(NoMatch):
        await services.sign_in("anna", "a wrong password", caller=THERE)
    token = await services.sign_in("anna", PASSWORD, caller=HERE)
    await services.sign_out(token, caller=HERE)
    async with db.unit_of_work() as uow:
        rows = await uow.sql.fetch(
            "SELECT action, address, subject, facts::text FROM audit_entry ORDER BY id"
        )
    assert [(r["action"], r["address"]) for r in rows] == [
        ("sign-in refused", THERE.address),
        ("signed in", HERE.address),
        ("signed out", HERE.address),
    ]
    assert PASSWORD not in str(rows)
    assert token not in str(rows)
