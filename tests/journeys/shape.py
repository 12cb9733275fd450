"""Checks JSON against the part of JSON Schema that our own schemas use; an unknown keyword is an error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from appliance.core.paths import PROJECT


Json = dict[str, Any]
TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda v: v is None,
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "string": lambda v: isinstance(v, str),
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}
TEXTS = frozenset({"$schema", "$id", "$defs", "title", "description"})


class Shape:
    """A schema file."""

    def __init__(self, path: Path) -> None:
        self.root: Json = json.loads(path.read_text("utf-8"))

    def faults(self, value: Any, part: str = "") -> list[str]:
        """What is wrong with a value; `part` names one of the definitions."""
        return self._check(value, self.root["$defs"][part] if part else self.root, part or "$")

    def _check(self, value: Any, schema: Json, where: str) -> list[str]:
        found: list[str] = []
        for keyword, wanted in schema.items():
            if keyword not in TEXTS:
                found += self._keyword(keyword, wanted, value, schema, where)
        return found

    def _keyword(self, keyword: str, wanted: Any, value: Any, schema: Json, where: str) -> list[str]:
        match keyword:
            case "$ref":
                return self._check(value, self.root["$defs"][wanted.rpartition("/")[2]], where)
            case "oneOf":
                fitting = [each for each in wanted if not self._check(value, each, where)]
                return [] if len(fitting) == 1 else [f"{where}: fits {len(fitting)} of {len(wanted)} forms"]
            case "properties" | "additionalProperties" | "propertyNames":
                return self._members(keyword, wanted, value, schema, where)
            case "items":
                each = enumerate(value if isinstance(value, list) else ())
                return [fault for n, item in each for fault in self._check(item, wanted, f"{where}[{n}]")]
        return [] if _holds(keyword, wanted, value) else [f"{where}: {value!r} breaks {keyword} {wanted!r}"]

    def _members(self, keyword: str, wanted: Any, value: Any, schema: Json, where: str) -> list[str]:
        if not isinstance(value, dict):
            return []
        if keyword == "propertyNames":
            return [fault for name in value for fault in self._check(name, wanted, f"{where}.{name}")]
        known = schema.get("properties", {})
        if keyword == "properties":
            pairs = [(name, part) for name, part in wanted.items() if name in value]
            return [f for name, part in pairs for f in self._check(value[name], part, f"{where}.{name}")]
        others = [name for name in value if name not in known]
        if wanted is False:
            return [f"{where}: {name} is not foreseen" for name in others]
        return [f for name in others for f in self._check(value[name], wanted, f"{where}.{name}")]


def _holds(keyword: str, wanted: Any, value: Any) -> bool:
    match keyword:
        case "type":
            return any(TYPES[name](value) for name in ([wanted] if isinstance(wanted, str) else wanted))
        case "enum":
            return value in wanted
        case "required":
            return not isinstance(value, dict) or all(name in value for name in wanted)
        case "minimum":
            return not TYPES["number"](value) or value >= wanted
        case "minLength":
            return not isinstance(value, str) or len(value) >= wanted
        case "pattern":
            return not isinstance(value, str) or re.search(wanted, value) is not None
    raise AssertionError(f"the schema uses {keyword}, which this check does not know")


IMPORT = Shape(PROJECT / "docs" / "import.schema.json")
