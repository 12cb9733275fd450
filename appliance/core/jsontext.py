"""JSON as PostgreSQL takes it."""

from __future__ import annotations

import re
from typing import Any

import msgspec


# An even number of backslashes before it: the escape itself, not text that spells one.
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def json_text(value: Any) -> str:
    """JSON for the driver, which takes jsonb as text; PostgreSQL refuses NUL in it."""
    return _NUL.sub(r"\1", msgspec.json.encode(value).decode())
