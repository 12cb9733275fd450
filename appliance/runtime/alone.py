"""Single parts beside external servers: web or workers on hosts of their own."""

from __future__ import annotations

from appliance.core.errors import SettingsError
from appliance.core.settings import Settings
from appliance.runtime import datadir, privileges
from appliance.runtime.account import service_account


def external(settings: Settings) -> Settings:
    """The same settings, refused unless both servers are named."""
    for name in ("database_url", "redis_url"):
        if not getattr(settings, name):
            raise SettingsError(
                f"VITRINE_{name.upper()} is not set",
                "Parts that run alone need external servers; `up` brings its own.",
            )
    return settings


def step_down(settings: Settings) -> None:
    """Check the shared data directory and leave root behind, but for the right to read roots."""
    account = service_account(settings.data)
    known = datadir.examine(settings.home, account)
    if known is None:
        raise datadir.DataRefused(
            f"{settings.data} holds no Vitrine yet",
            "Start `up` once, and share its data directory with this host.",
        )
    privileges.become(account, read_all=True)
