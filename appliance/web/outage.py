"""For how long this process has been missing the database."""

from __future__ import annotations

from appliance.core import clock


LONG_S = 60.0
"""From then on a person is told where to look, and no longer that it takes some seconds."""
APART_S = 30.0
"""A page that waits asks much more often: what is so far apart are two outages."""


class _Outage:
    since: float | None = None
    last = 0.0


def lasts() -> bool:
    """Note that the database did not answer; True when it has not for a good while."""
    now = clock.monotonic()
    if _Outage.since is None or now - _Outage.last > APART_S:
        _Outage.since = now
    _Outage.last = now
    return now - _Outage.since > LONG_S


def over() -> None:
    """Note that the database answered."""
    _Outage.since = None
