"""Names, cursors, redaction: small promises that everything leans on."""

from __future__ import annotations

import json
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.core import keyset, names
from appliance.core.errors import Invalid
from appliance.core.jsontext import json_text
from appliance.core.keyset import Position
from appliance.core.log import redact


@given(st.binary(max_size=300))
def test_every_name_can_be_shown_in_one_printable_line(name: bytes) -> None:
    shown = names.display(name)

    assert shown.encode("utf-8").decode("utf-8") == shown
    assert "\n" not in shown
    assert "\0" not in shown


def test_foreign_bytes_and_direction_overrides_are_escaped() -> None:
    assert names.display(b"dr\xe9.jpg") == "dr\\xe9.jpg"
    assert names.display("a\u202egpj.exe".encode()) == "a\\u202egpj.exe"
    assert names.display("Büro 【夏】.png".encode()) == "Büro 【夏】.png"


@given(st.datetimes(), st.integers(min_value=0, max_value=2**63 - 1))
def test_position_survives_the_url(moment: datetime, number: int) -> None:
    place = Position(moment, number)

    assert keyset.parse(place.text()) == place


@given(st.text(max_size=60))
def test_any_other_text_is_refused_not_crashed_on(text: str) -> None:
    try:
        assert isinstance(keyset.parse(text), Position)
    except Invalid as refused:
        assert refused.status == 422


@pytest.mark.parametrize(
    "text",
    ["postgresql://user:hunter2@db/x failed", "Authorization: Bearer hunter2", "redis://:hunter2@h:1/0"],
)
def test_secrets_do_not_reach_the_log(text: str) -> None:
    assert "hunter2" not in redact(text)


@given(st.text(alphabet="\\u0\0a", max_size=12))
def test_json_loses_its_nuls_and_nothing_that_only_spells_one(text: str) -> None:
    assert json.loads(json_text({"it": text})) == {"it": text.replace("\0", "")}
