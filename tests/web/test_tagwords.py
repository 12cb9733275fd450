"""The link of a tag finds that tag, whatever it is called."""

from __future__ import annotations

import pytest

from appliance.search.grammar import parse
from appliance.search.tree import Tag
from appliance.tagging.names import KINDS, name_key
from appliance.tagging.services import TagView
from appliance.web import tagwords


NAMES = [
    "snow",
    "long hair",
    "-_-",
    ":3",
    'say "lazy"',
    "\\m/",
    ";)",
    "re:zero",
    "or",
    "(x)",
    "a*",
    "type:image",
    "straße",
    "4",
    ">3",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_link_reads_back_as_the_tag(name: str, kind: str) -> None:
    query = parse(tagwords.written(TagView(1, name, kind, None, None, 0)))
    assert isinstance(query.node, Tag)
    assert query.node.name == name_key(name)
    assert query.node.kind in {kind, None}
    assert not query.node.prefix
