"""Small JSON files that other processes read while we write them."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from pathlib import Path
from typing import Any


def write_json(path: Path, value: object, *, mode: int = 0o600, durable: bool = False) -> None:
    """Replace the file as a whole; a reader sees the old or the new text and never half of one."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    # Exclusive and not through links: the directory belongs to an account that root must not trust.
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump(value, out)
            if durable:
                out.flush()
                os.fsync(out.fileno())
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def read_json(path: Path) -> dict[str, Any]:
    """The object in the file; empty when it is missing or no JSON object."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
