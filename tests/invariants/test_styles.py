"""Style sheets name only what some page can show."""

from __future__ import annotations

import re

import pytest

from appliance.core.paths import PROJECT, STATIC, TEMPLATES


# Written together where they are used: kinds, colours, bar lengths, angles, sizes.
FAMILIES = re.compile(r"k-|turned-|fit-|d\d|l\d|pswp|htmx-")
_WORD = re.compile(r"[A-Za-z][\w-]*")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SELECTOR = re.compile(r"([^{}]+)\{")
_CLASS = re.compile(r"\.([A-Za-z_][\w-]*)")


def words() -> set[str]:
    files = [*TEMPLATES.rglob("*.html"), *STATIC.rglob("*.js"), *(PROJECT / "appliance/web").rglob("*.py")]
    return {word for file in files for word in _WORD.findall(file.read_text("utf-8"))}


def classes(sheet: str) -> set[str]:
    text = _COMMENT.sub("", sheet)
    return {name for selector in _SELECTOR.findall(text) for name in _CLASS.findall(selector)}


@pytest.mark.parametrize("name", sorted(p.name for p in STATIC.glob("*.css")))
def test_every_class_of_a_sheet_is_used(name: str) -> None:
    found = classes((STATIC / name).read_text("utf-8"))
    unused = {c for c in found - words() if not FAMILIES.match(c)}
    assert unused == set()


def test_classes_are_read_from_selectors_alone() -> None:
    text = "/* .gone */ .a:not(.b) > .c-1 { color: red; } @media (x) { .d, e.f { width: 1.5rem } }"
    assert classes(text) == {"a", "b", "c-1", "d", "f"}
