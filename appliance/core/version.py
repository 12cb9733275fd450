"""The version: the first heading of the changelog that names one."""

from __future__ import annotations

import functools
import re

from appliance.core.paths import PROJECT


_HEADING = re.compile(r"^## \[?v?(\d[\w.]*)", re.MULTILINE)


@functools.cache
def current() -> str:
    """The version of this program."""
    try:
        found = _HEADING.search((PROJECT / "CHANGELOG.md").read_text(encoding="utf-8"))
    except OSError:
        found = None
    return found.group(1) if found else "0"
