"""Addresses of the gallery: one form for a query and a place in its order."""

from __future__ import annotations

from urllib.parse import urlencode

from appliance.core import names
from appliance.search.lexer import written


def at(path: str, q: str = "", **place: str) -> str:
    """An address below the gallery; what is empty is left out."""
    said = {"q": q} | place
    query = urlencode({k: v for k, v in said.items() if v})
    return f"{path}?{query}" if query else path


def gallery(q: str = "", **place: str) -> str:
    """The gallery of a query, at a place."""
    return at("/", q, **place)


def folder_query(path: bytes) -> str:
    """The search for everything in a folder."""
    return f"folder:{written(names.display(path))}"
