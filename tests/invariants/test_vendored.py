"""Vendored files are the ones that the table names, byte for byte."""

from __future__ import annotations

import hashlib
import re

from appliance.core.paths import STATIC


ROW = re.compile(r"^\| (?P<file>\S+) \|.*\| (?P<sha>[0-9a-f]{64}) \|", re.MULTILINE)


def table() -> dict[str, str]:
    text = (STATIC / "vendor" / "VENDORED.md").read_text(encoding="utf-8")
    return {m["file"]: m["sha"] for m in ROW.finditer(text)}


def test_vendored_files_have_the_recorded_hashes() -> None:
    rows = table()
    assert rows
    for name, sha in rows.items():
        assert hashlib.sha256((STATIC / name).read_bytes()).hexdigest() == sha, name


def test_every_vendored_script_is_in_the_table() -> None:
    scripts = {p.relative_to(STATIC).as_posix() for p in (STATIC / "vendor").rglob("*.js")}
    assert scripts
    assert scripts <= set(table())


def test_fonts_are_in_the_table() -> None:
    fonts = {p.relative_to(STATIC).as_posix() for p in (STATIC / "fonts").glob("*.woff2")}
    assert len(fonts) == 2
    assert fonts <= set(table())
