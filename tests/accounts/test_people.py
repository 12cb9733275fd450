"""People: one administrator is always left, and whoever is shut out is out at once."""

from __future__ import annotations

import asyncio

import pytest

from appliance.accounts import people, services, sessions
from appliance.accounts.errors import LastAdmin, NameTaken, NoMatch, TooManyTries, WeakPassword, WrongPassword
from appliance.accounts.models import Role
from appliance.accounts.people import Doer
from appliance.accounts.services import Caller
from appliance.core.db import Database
from appliance.core.errors import NotFound
from tests.people import a_person


HERE = Caller("192.168.1.5", "tests")
PASSWORD, NEXT = "four words make one", "another four words here"


@pytest.fixture(autouse=True)
def forgetful() -> None:
    services.forget_set_up()
    sessions._cache.clear()


@pytest.fixture
async def anna(db: Database) -> Doer:
    async with db.unit_of_work() as uow:
        return Doer(await a_person(uow, "Anna", PASSWORD, role=Role.ADMIN), HERE)


async def signed_in(db: Database, token: str) -> sessions.Person | None:
    async with db.unit_of_work() as uow:
        return await sessions.look_up(uow.sql, token)


async def names(db: Database) -> list[tuple[str, str]]:
    async with db.unit_of_work() as uow:
        return [(p.name, p.role) for p in await people.everybody(uow.sql)]


async def test_an_added_viewer_signs_in_and_is_listed(db: Database, anna: Doer) -> None:
    await people.add(" Bo ", PASSWORD, role=Role.VIEWER, by=anna)
    token = await services.sign_in("bo", PASSWORD, caller=HERE)
    found = await signed_in(db, token)
    assert found is not None
    assert not found.admin
    assert await names(db) == [("Anna", "admin"), ("Bo", "viewer")]


async def test_a_name_in_other_capitals_is_taken(db: Database, anna: Doer) -> None:
    with pytest.raises(NameTaken):
        await people.add("ANNA", PASSWORD, role=Role.VIEWER, by=anna)
    with pytest.raises(WeakPassword):
        await people.add("Bo", "short", role=Role.VIEWER, by=anna)
    assert await names(db) == [("Anna", "admin")]


async def test_the_last_administrator_stays(db: Database, anna: Doer) -> None:
    bo = await people.add("Bo", PASSWORD, role=Role.ADMIN, by=anna)
    await people.disable(bo, by=anna)
    for attempt in (
        people.set_role(anna.user_id, Role.VIEWER, by=anna),
        people.disable(anna.user_id, by=anna),
        people.remove(anna.user_id, by=anna),
    ):
        with pytest.raises(LastAdmin):
            await attempt
    assert ("Anna", "admin") in await names(db)


async def test_of_two_administrators_who_demote_each_other_at_once_one_stays(
    db: Database, anna: Doer
) -> None:
    bo = await people.add("Bo", PASSWORD, role=Role.ADMIN, by=anna)
    for _ in range(5):
        answers = await asyncio.gather(
            people.set_role(anna.user_id, Role.VIEWER, by=Doer(bo, HERE)),
            people.disable(bo, by=anna),
            people.remove(anna.user_id, by=Doer(bo, HERE)),
            return_exceptions=True,
        )
        async with db.unit_of_work() as uow:
            left = await uow.sql.fetchval(
                "SELECT count(*) FROM \"user\" WHERE role = 'admin' AND disabled_at IS NULL"
            )
        assert left >= 1, answers
        everyone = {p for p, _ in await names(db)}
        if "Anna" not in everyone:
            break
        await people.enable(bo, by=anna)
        await people.set_role(anna.user_id, Role.ADMIN, by=anna)
    assert any(isinstance(a, LastAdmin | NotFound) for a in answers)


async def test_who_is_shut_out_is_out_at_once_and_may_come_back(db: Database, anna: Doer) -> None:
    bo = await people.add("Bo", PASSWORD, role=Role.VIEWER, by=anna)
    token = await services.sign_in("bo", PASSWORD, caller=HERE)
    assert await signed_in(db, token)
    await people.disable(bo, by=anna)
    assert sessions.remembered(token) is None
    assert await signed_in(db, token) is None
    with pytest.raises(NoMatch):
        await services.sign_in("bo", PASSWORD, caller=HERE)
    await people.enable(bo, by=anna)
    assert await signed_in(db, token) is None
    assert await services.sign_in("bo", PASSWORD, caller=HERE)


async def test_a_role_counts_with_the_next_request(db: Database, anna: Doer) -> None:
    bo = await people.add("Bo", PASSWORD, role=Role.ADMIN, by=anna)
    token = await services.sign_in("bo", PASSWORD, caller=HERE)
    assert (await signed_in(db, token)).admin  # type: ignore[union-attr]
    await people.set_role(bo, Role.VIEWER, by=anna)
    assert sessions.remembered(token) is None
    assert not (await signed_in(db, token)).admin  # type: ignore[union-attr]


async def test_a_new_password_is_told_once_and_ends_sessions(db: Database, anna: Doer) -> None:
    bo = await people.add("Bo", PASSWORD, role=Role.VIEWER, by=anna)
    token = await services.sign_in("bo", PASSWORD, caller=HERE)
    made = await people.renew_password(bo, by=anna)
    assert await signed_in(db, token) is None
    assert await services.sign_in("bo", made, caller=HERE)
    async with db.unit_of_work() as uow:
        assert made not in str(await uow.sql.fetch("SELECT * FROM audit_entry"))


async def test_what_administrators_did_stands_in_the_log(db: Database, anna: Doer) -> None:
    bo = await people.add("Bo", PASSWORD, role=Role.VIEWER, by=anna)
    await people.end_sessions(bo, by=anna)
    await people.remove(bo, by=anna)
    async with db.unit_of_work() as uow:
        lines = await people.log(uow.sql, before=None, limit=3)
        older = await people.log(uow.sql, before=lines[-1].id, limit=3)
    assert [(x.who, x.action, x.subject) for x in lines] == [
        ("Anna", "removed", "Bo"),
        ("Anna", "signed out everywhere", "Bo"),
        ("Anna", "added as viewer", "Bo"),
    ]
    assert all(x.id < lines[-1].id for x in older)
    with pytest.raises(NotFound):
        await people.remove(bo, by=anna)


async def test_the_own_password_needs_the_present_one_and_ends_other_sessions(
    db: Database, anna: Doer
) -> None:
    mine = await services.sign_in("anna", PASSWORD, caller=HERE)
    other = await services.sign_in("anna", PASSWORD, caller=HERE)
    me = await signed_in(db, mine)
    assert me is not None
    with pytest.raises(WrongPassword):
        await services.change_password(me.id, me.session_id, old="wrong", new=NEXT, caller=HERE)
    with pytest.raises(WeakPassword):
        await services.change_password(me.id, me.session_id, old=PASSWORD, new="short", caller=HERE)
    await services.change_password(me.id, me.session_id, old=PASSWORD, new=NEXT, caller=HERE)
    assert await signed_in(db, mine)
    assert await signed_in(db, other) is None
    with pytest.raises(NoMatch):
        await services.sign_in("anna", PASSWORD, caller=HERE)


async def test_guesses_at_the_present_password_have_to_wait(db: Database, anna: Doer) -> None:
    async def guess() -> None:
        await services.change_password(anna.user_id, 0, old="wrong", new=NEXT, caller=HERE)

    for _ in range(5):
        with pytest.raises(WrongPassword):
            await guess()
    with pytest.raises(TooManyTries):
        for _ in range(2):
            with pytest.raises(WrongPassword):
                await guess()


async def test_a_session_is_ended_by_its_owner_only(db: Database, anna: Doer) -> None:
    bo = await people.add("Bo", PASSWORD, role=Role.VIEWER, by=anna)
    token = await services.sign_in("bo", PASSWORD, caller=HERE)
    async with db.unit_of_work() as uow:
        (session,) = await sessions.of_person(uow.sql, bo)
        assert not await sessions.end_one(uow.sql, anna.user_id, session.id)
        assert await sessions.end_one(uow.sql, bo, session.id)
        assert await sessions.of_person(uow.sql, bo) == []
    assert await signed_in(db, token) is None
