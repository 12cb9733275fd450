"""Templates hold nothing that the policy blocks or that htmx could only run with eval; both fail silently."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jinja2 import StrictUndefined

from appliance.core.paths import STATIC, TEMPLATES
from appliance.web.app import bare_app, handlers
from appliance.web.pages import environment


FILES = sorted(TEMPLATES.rglob("*.html"))
BANNED = {
    "an inline style": r"\sstyle\s*=",
    "a style element": r"<style\b",
    "an event attribute": r"\son[a-z]+\s*=",
    "hx-on": r"\bhx-on\b",
    "hx-live": r"\bhx-live\b",
    "js: or javascript:": r"(?<![\w.])(js|javascript):",
    "a trigger filter": r'hx-trigger(:\w+)?="[^"]*\[',
    "hx-vals that need eval": r'hx-(vals|headers)(:\w+)?="\s*js',
    "an unescaped value": r"\|\s*safe\b",
    "a switched-off escape": r"autoescape\s+false",
    "a foreign address": r'(?:src|href|action)="(?:https?:)?//',
    "hx-browser-indicator": r"hx-browser-indicator",
}


def name(path: Path) -> str:
    return path.relative_to(TEMPLATES).as_posix()


@pytest.mark.parametrize("path", FILES, ids=name)
def test_a_template_holds_nothing_that_needs_eval_or_is_inline(path: Path) -> None:
    text = path.read_text("utf-8")
    for what, pattern in BANNED.items():
        assert not re.search(pattern, text, re.IGNORECASE), f"{name(path)} holds {what}"
    for script in re.findall(r"<script\b[^>]*>", text):
        assert "src=" in script, f"{name(path)} holds an inline script"


@pytest.mark.parametrize("path", FILES, ids=name)
def test_inherited_attributes_say_so(path: Path) -> None:
    """Nothing is inherited in htmx 4 unless asked: a bare hx-target on a container would do nothing."""
    for tag in re.findall(r"<\w+[^>]*\bhx-[^>]*>", path.read_text("utf-8")):
        if re.search(r"\bhx-(target|swap|sync|include)=", tag) and not tag.startswith("<hx-partial"):
            assert re.search(r"\bhx-(get|post|put|patch|delete)=", tag), f"{name(path)}: {tag[:120]}"


def test_undefined_names_are_errors_and_everything_is_escaped() -> None:
    made = environment()
    assert made.undefined is StrictUndefined
    assert made.from_string("{{ x }}").render(x="<b>") == "&lt;b&gt;"


def test_every_icon_is_in_the_sprite() -> None:
    sprite = set(re.findall(r'<symbol id="([^"]+)"', (STATIC / "icons.svg").read_text("utf-8")))
    used = {icon for path in FILES for icon in re.findall(r'icon\("([^"]+)"', path.read_text("utf-8"))}
    assert used
    assert used <= sprite


def test_scripts_build_no_code_from_text() -> None:
    own = list(STATIC.glob("*.js"))
    assert own
    for path in own:
        assert not re.search(
            r"\beval\(|new Function|setTimeout\(\s*[\"'`]|document\.write", path.read_text("utf-8")
        ), path


def test_links_lead_to_routes_that_exist(settings: object) -> None:
    known = {route.path for route in bare_app(settings).routes}  # type: ignore[arg-type]
    assert handlers()
    for path in FILES:
        for link in re.findall(
            r'(?:href|action|hx-get|hx-post)="(/[a-z/]*)(?=["?#{])', path.read_text("utf-8")
        ):
            stem = link.rstrip("/") or "/"
            assert any(k == stem or k.startswith(f"{stem}/") for k in known), f"{name(path)}: {link}"
