"""What every verb says when the database does not answer it: one line and the way out."""

from __future__ import annotations

import socket

from appliance.core.db import causes
from appliance.core.errors import Unavailable, VitrineError
from queues.outage import is_outage


# The driver gives up after a while, and a name may lead nowhere.
_IN_VAIN = (TimeoutError, socket.gaierror)


def refusal(error: BaseException) -> VitrineError | None:
    """The refusal that this error is, if all it says is that the database is away."""
    if not is_outage(error) and not any(isinstance(one, _IN_VAIN) for one in causes(error)):
        return None
    return Unavailable(
        "The database does not answer",
        "Try again soon: one that Vitrine brought comes back by itself. `vitrine doctor` says what is wrong.",
    )
