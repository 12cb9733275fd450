"""Tags in words and addresses: who put one somewhere, and the search that finds it."""

from __future__ import annotations

from urllib.parse import quote

from appliance.search.query import show_leaf
from appliance.search.tree import Tag
from appliance.tagging.services import KINDS, AssetTagView, TagView, name_key
from appliance.web import words


FROM = {"model": "a model", "rule": "a rule", "source": "its source", "sidecar": "its file or one beside it"}


def written(tag: TagView) -> str:
    """The search for a tag, as a person would type it."""
    # `rating:` in a search asks for stars, so a tag of that kind goes by its name alone.
    kind = None if tag.kind in {"general", "rating"} else tag.kind
    return show_leaf(Tag(name_key(tag.name), kind=kind))


def href(tag: TagView) -> str:
    """The gallery of what carries a tag."""
    return f"/?q={quote(written(tag), safe='')}"


def put_by(tag: AssetTagView) -> str:
    """Who put a tag there, and when."""
    who = tag.person or ("somebody" if tag.by == "human" else FROM[tag.by])
    score = "" if tag.score is None else f", {tag.score:.2f} sure"
    return f"Put there by {who}{score}, {words.full(tag.added_at)}"


__all__ = ["KINDS", "href", "put_by", "written"]
