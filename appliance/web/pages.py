"""The one Jinja environment: strict, escaping, loaded whole before the first request."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined, select_autoescape
from markupsafe import Markup

from appliance.core import names
from appliance.core.paths import TEMPLATES
from appliance.web import datewords, tagwords, words
from appliance.web.assets import assets


def icon(name: str, extra: str = "") -> Markup:
    """One icon of the sprite; it always stands beside a word or in a labelled control."""
    kind = f"i {extra}" if extra else "i"
    return Markup('<svg class="{}" aria-hidden="true"><use href="{}#{}"/></svg>').format(
        kind, assets().url("icons.svg"), name
    )


@cache
def environment() -> Environment:
    """Templates are kept in memory: a web process without access to the clone can still show them."""
    sources = {p.relative_to(TEMPLATES).as_posix(): p.read_text("utf-8") for p in TEMPLATES.rglob("*.html")}
    env = Environment(
        loader=DictLoader(sources),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        cache_size=-1,
    )
    env.globals.update(
        icon=icon, asset_url=assets().url, words=words, tag_words=tagwords, date_words=datewords
    )
    env.filters.update(
        n=words.number,
        size=words.size,
        ago=words.ago,
        full=words.full,
        wall=words.wall,
        duration=words.duration,
        name=names.display,
    )
    for name in sources:
        env.get_template(name)
    return env


def render(template: str, **values: Any) -> str:
    """The text of one template."""
    return environment().get_template(template).render(**values)
