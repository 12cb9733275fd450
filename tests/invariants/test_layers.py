"""Who may import whom: the house stays as it was drawn."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from appliance.core.paths import PROJECT


DOMAINS = {
    "library", "ingest", "tagging", "vectors", "search", "duplicates", "gpu", "subscriptions", "transcripts",
    "upkeep", "accounts", "operations",
}  # fmt: skip
RANK = {"core": 0, "media": 1, **dict.fromkeys(DOMAINS, 2), "queues": 3, "web": 4, "runtime": 4, "cli": 4}
PRIVATE = {"models", "queries"}


def sources() -> Iterator[Path]:
    for top in ("appliance", "queues", "agent"):
        yield from sorted((PROJECT / top).rglob("*.py"))


def part(module: str) -> str | None:
    """The layer that a module belongs to; None for what is not ours."""
    names = module.split(".")
    if names[0] in ("queues", "agent"):
        return names[0]
    if names[0] == "appliance" and len(names) > 1:
        return names[1]
    return None


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PROJECT).with_suffix("").parts)


def broken_rules() -> Iterator[str]:
    for path in sources():
        here = part(module_of(path))
        for imported in imports(path):
            there = part(imported)
            if here is None or there is None or here == there:
                continue
            if imported.startswith("appliance.main"):
                yield f"{path.name} imports the entry"
            if here == "main":
                continue
            if here == "agent" or (there == "agent" and not imported.startswith("agent.wire")):
                yield f"{path}: only agent/wire.py is shared"
            elif here in RANK and there in RANK:
                yield from judge(path, here, there, imported)


def judge(path: Path, here: str, there: str, imported: str) -> Iterator[str]:
    if RANK[there] > RANK[here]:
        yield f"{path}: {here} may not know {there}"
    if {here, there} <= DOMAINS and there != "library" and imported.rsplit(".", maxsplit=1)[-1] in PRIVATE:
        yield f"{path}: {here} reaches into {imported}; use its services or facts"
    if here in ("web", "runtime", "cli") and there in ("web", "runtime", "cli") and here != "cli":
        yield f"{path}: {here} may not know {there}"


def test_imports_follow_the_layers() -> None:
    assert sorted(set(broken_rules())) == []


def test_the_guard_itself_sees_a_broken_rule() -> None:
    assert list(judge(Path("x.py"), "core", "ingest", "appliance.ingest.services"))
    assert list(judge(Path("x.py"), "library", "ingest", "appliance.ingest.models"))
    assert not list(judge(Path("x.py"), "ingest", "library", "appliance.library.models"))


def test_files_and_functions_stay_readable() -> None:
    long: list[str] = []
    for path in sources():
        text = path.read_text(encoding="utf-8")
        if text.count("\n") > 500:
            long.append(f"{path}: over 500 lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = (node.end_lineno or 0) - node.lineno + 1
                if size > 60:
                    long.append(f"{path}:{node.name} has {size} lines")
    assert long == []
