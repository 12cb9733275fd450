"""JSON columns, whichever way the driver's connection hands them over."""

from __future__ import annotations

import json
from typing import Any


def plain(value: Any) -> Any:
    """A JSON value as Python has it: connections differ in whether they decode it themselves."""
    return json.loads(value) if isinstance(value, str) else value
