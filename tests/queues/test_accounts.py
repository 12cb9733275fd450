"""What accounts no longer need is forgotten; what is in use stays."""

from __future__ import annotations

from appliance.accounts import services, sessions
from appliance.accounts.models import Role
from appliance.core.db import Database


async def test_only_unusable_sessions_are_forgotten(db: Database) -> None:
    async with db.unit_of_work() as uow:
        user = await services.add_person(uow, "anna", "correct horse battery", role=Role.ADMIN)
        tokens = [await sessions.start(uow.sql, user, address="", agent="") for _ in range(4)]
        for token, change in zip(
            tokens,
            ("revoked_at = now() - interval '2 days'", "seen_at = now() - interval '31 days'",
             "made_at = now() - interval '91 days'", "seen_at = now() - interval '29 days'"),
            strict=True,
        ):  # fmt: skip
            await uow.sql.execute(
                f"UPDATE session SET {change} WHERE token_sha256 = $1", sessions._digest(token)
            )

        assert await sessions.forget(uow.sql) == 3
        assert await sessions.look_up(uow.sql, tokens[3]) is not None


async def test_year_old_audit_entries_are_forgotten(db: Database) -> None:
    async with db.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO audit_entry (at, action) VALUES (now() - interval '400 days', 'x'), (now(), 'y')"
        )

        assert await services.forget_audit(uow.sql) == 1
