"""What must become of every file of the corpus, and what independent tools have to say about that.

`expected.toml` is what is right, value by value, with the one who says so; `readings.toml` is what the
tools said. Where a tool contradicts the right value, the value says why.
"""

from __future__ import annotations

import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any


HERE = Path(__file__).parent
TOOLS = ("libvips", "ffprobe", "exiftool")
VALUES = ("class", "kind", "size", "frames", "duration", "taken_at", "date_source")
FILMS = "ffprobe"
_PICTURES_IN_FFMPEG = ("gif", "apng")
_PAGED = {"gifload", "webpload", "tiffload"}

Table = dict[str, dict[str, Any]]


def expected() -> dict[str, Table]:
    """The oracle: for each file its values."""
    return tomllib.loads((HERE / "expected.toml").read_text(encoding="utf-8"))


def readings() -> dict[str, Table]:
    """What the tools said."""
    return tomllib.loads((HERE / "readings.toml").read_text(encoding="utf-8"))


def opinions(said: Table) -> dict[tuple[str, str], Any]:
    """What each tool's words mean for our values: only what it is good at counts."""
    held = _of_libvips(said.get("libvips", {}), said) | _of_ffprobe(said.get("ffprobe", {}))
    return held | _of_exiftool(said.get("exiftool", {}), is_film=("ffprobe", "film") in held)


def _of_libvips(said: dict[str, Any], all_said: Table) -> dict[tuple[str, str], Any]:
    if said["reads"] == "no":
        return {}
    held: dict[str, Any] = {"size": said["size"], "class": said["reads"]}
    pages, loader = said.get("pages", 1), said["loader"]
    if loader in {"gifload", "webpload"}:
        held["kind"] = "animation" if pages > 1 else "still"
    elif all_said.get("ffprobe", {}).get("format") != "apng":
        held["kind"] = "still"
    # The pages of JPEG 2000 are its resolutions, those of PDF and HEIF are not read here.
    if loader in _PAGED and pages > 1:
        held["frames"] = pages
    if "duration" in said:
        held["duration"] = said["duration"]
    return {("libvips", value): is_ for value, is_ in held.items()}


def _of_ffprobe(said: dict[str, Any]) -> dict[tuple[str, str], Any]:
    if "size" not in said or "image" in said["codec"]:
        return {}
    held: dict[str, Any] = {"size": said["size"]}
    if said["format"] in _PICTURES_IN_FFMPEG:
        held["kind"] = "animation" if said["frames"] > 1 else "still"
    elif said["codec"] not in {"av1", "hevc"} or said["frames"] > 1:
        # A picture in AVIF or HEIC is a film of one frame to FFmpeg.
        held |= {"kind": "video", "film": True}
    else:
        return {}
    if said["frames"] > 1:
        held |= {"frames": said["frames"], "duration": said["duration"]}
    return {("ffprobe", value): is_ for value, is_ in held.items()}


def _of_exiftool(said: dict[str, Any], *, is_film: bool) -> dict[tuple[str, str], Any]:
    standards = ("container",) if is_film else ("exif", "xmp", "iptc")
    found = next((each for each in standards if each in said), None)
    if found is None:
        return {("exiftool", "taken_at"): None, ("exiftool", "date_source"): "mtime"}
    # The words of XMP and IPTC stand inside the picture as well: one source to a person.
    source = "container" if found == "container" else "exif"
    return {("exiftool", "taken_at"): _wall(said[found]), ("exiftool", "date_source"): source}


def _wall(moment: datetime) -> datetime:
    return moment.replace(tzinfo=None, microsecond=0)


def contradictions(values: Table, said: Table) -> list[str]:
    """Where a tool disagrees and nobody says why, and where a value leans on a tool that never said it."""
    held = opinions(said)
    faults = [
        f"{value} is {entry['is']!r} by {entry['by']}, which says {held.get((entry['by'], value))!r}"
        for value, entry in values.items()
        if entry["by"] in TOOLS and not _same(value, entry["is"], held.get((entry["by"], value)), values)
    ]
    for (tool, value), opinion in held.items():
        if not _agrees(tool, value, opinion, values):
            faults.append(f"{tool} says {value} {opinion!r}, and nothing says why that is wrong")
    return faults


def _agrees(tool: str, value: str, opinion: Any, values: Table) -> bool:
    entry = values.get(value)
    if "class" in values:
        # Whoever reads a file whole that we refuse needs an answer; everything else is beside the point.
        return tool != "libvips" or value != "class" or opinion != "whole" or "why" in values["class"]
    if value == "class":
        # The other way round: an asset that libvips cannot read whole.
        return opinion == "whole" or "why" in values["kind"]
    if entry is None:
        return value == "film" or opinion is None or (value == "duration" and values["kind"]["is"] == "still")
    return "why" in entry or _same(value, entry["is"], opinion, values)


def _same(value: str, one: Any, other: Any, values: Table) -> bool:
    if value == "duration" and other is not None:
        # Within a frame, as players differ on how long the last one stays.
        frames = values.get("frames", {}).get("is", 1)
        return bool(abs(one - other) <= max(0.02, other / max(1, frames)))
    return bool(one == other)


def differences(values: Table, became: dict[str, Any]) -> list[str]:
    """Where what became of a file is not what is right."""
    if "class" in values or "class" in became:
        right = values.get("class", {}).get("is")
        return [] if right == became.get("class") else [f"class {became.get('class')!r}, right is {right!r}"]
    return [
        f"{value} {became[value]!r}, right is {_right(values, value)!r}"
        for value in VALUES[1:]
        if not _is_right(value, values, became[value])
    ]


def _right(values: Table, value: str) -> Any:
    return values.get(value, {}).get("is")


def _is_right(value: str, values: Table, became: Any) -> bool:
    right = _right(values, value)
    if value == "frames" and not values.get("frames", {}).get("counted", True):
        return became is None
    if value == "frames" and right is None:
        return became in (None, 1)
    if right is None or became is None:
        return bool(right == became)
    return _same(value, right, became, values)
