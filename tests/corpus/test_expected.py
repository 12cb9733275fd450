"""The oracle itself: complete, reviewed, and never against a tool without a reason."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from appliance.media.reasons import Reason
from tests.corpus import oracle, readings


EXPECTED = oracle.expected()
READINGS = oracle.readings()


def test_every_file_has_an_outcome_and_readings() -> None:
    assert EXPECTED.keys() == READINGS.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_an_outcome_is_a_class_or_an_asset_with_all_its_values(name: str) -> None:
    values = EXPECTED[name]
    assert all(entry["by"] in (*oracle.TOOLS, "hand") for entry in values.values())
    if "class" in values:
        assert values.keys() == {"class"}
        assert values["class"]["is"] in set(Reason)
        return
    assert values.keys() >= {"kind", "size", "date_source"}
    assert values.keys() <= set(oracle.VALUES)
    moves = values["kind"]["is"] != "still"
    assert ("duration" in values) == moves
    assert ("frames" in values) or not moves
    assert ("taken_at" in values) == (values["date_source"]["is"] in {"exif", "container"})
    assert "taken_at" not in values or isinstance(values["taken_at"]["is"], datetime)


@pytest.mark.parametrize("name", EXPECTED)
def test_no_value_stands_against_a_tool_without_a_reason(name: str) -> None:
    assert oracle.contradictions(EXPECTED[name], READINGS[name]) == []


def test_a_wrong_value_a_missing_reason_and_a_made_up_witness_are_noticed() -> None:
    values = EXPECTED["hydrus/muh_mp4.mp4"]
    wrong = values | {"frames": {"is": 57, "by": "ffprobe"}}
    assert len(oracle.contradictions(wrong, READINGS["hydrus/muh_mp4.mp4"])) == 2
    silent = {"class": {"is": "unsupported", "by": "hand"}}
    assert oracle.contradictions(silent, READINGS["libvips/logo.svg"])
    made_up = EXPECTED["libvips/rgba.png"] | {"duration": {"is": 2.0, "by": "ffprobe"}}
    assert oracle.contradictions(made_up, READINGS["libvips/rgba.png"])


def test_a_different_outcome_is_noticed_value_by_value() -> None:
    values = EXPECTED["hydrus/muh_mp4.mp4"]
    became: dict[str, Any] = {name: values.get(name, {}).get("is") for name in oracle.VALUES[1:]}
    assert oracle.differences(values, became) == []
    # A frame of this film takes 80 ms.
    assert oracle.differences(values, became | {"duration": became["duration"] + 0.07}) == []
    assert len(oracle.differences(values, became | {"duration": became["duration"] + 0.2})) == 1
    assert len(oracle.differences(values, became | {"size": [1, 1], "kind": "still"})) == 2
    assert oracle.differences(values, {"class": "corrupt"}) == ["class 'corrupt', right is None"]
    refused = EXPECTED["libvips/17000x17000.avif"]
    assert oracle.differences(refused, {"class": "too_large"}) == []
    assert oracle.differences(refused, became)


def test_readings_are_written_as_they_are_read(tmp_path: Path) -> None:
    text = readings.written(READINGS)
    assert text == readings.READINGS.read_text(encoding="utf-8")


def test_only_words_that_tools_can_be_trusted_with_are_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answers = {
        "exiftool": b'[{"ExifIFD:DateTimeOriginal": "0000:00:00 00:00:00", "IPTC:DateCreated": "2012:08:05",'
        b' "IPTC:TimeCreated": "11:39:59+00:00", "IFD0:Orientation": 6, "File:FileType": "JPEG"}]'
    }

    def run(command: Sequence[str], **_options: Any) -> subprocess.CompletedProcess[bytes]:
        return subprocess.CompletedProcess(command, 0, answers[command[0]])

    monkeypatch.setattr(subprocess, "run", run)
    said = readings.exiftool(tmp_path / "a.jpg")
    assert "exif" not in said
    assert said["iptc"].isoformat() == "2012-08-05T11:39:59+00:00"
    assert (said["type"], said["orientation"]) == ("JPEG", 6)
