"""What a file and its sidecars say about a picture, in lines for people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from appliance.core import names
from appliance.ingest.words import Beside
from appliance.media.posts import address_of


_ELSEWHERE = frozenset(
    {
        "make",
        "model",
        "lens_make",
        "lens",
        "exposure",
        "f_number",
        "iso",
        "focal_length",
        "focal_length_35mm",
        "exposure_bias",
        "metering",
        "program",
        "latitude",
        "longitude",
        "altitude",
        "city",
        "state",
        "country",
        "bit_rate",
        "flash",
        "pixel_format",
        "container",
        "motion",
        "live_id",
        # Tags as well, which are shown above.
        "characters",
        "genre",
        "series",
        "tags",
        "teams",
        "turned",
        "sources",
        "category",
    }
)
_LABELS = {
    "video_codec": "Video",
    "audio_codec": "Sound",
    "frame_rate": "Frames per second",
    "hdr": "High dynamic range",
    "dolby_vision": "Dolby Vision",
    "artist": "By",
    "id": "Number there",
}
_KINDS = {"xmp": "XMP", "json": "Post", "txt": "Text"}


@dataclass(frozen=True, slots=True)
class BesideView:
    """One file beside a picture, as its page shows it."""

    kind: str
    path: str
    read_at: datetime
    title: str | None
    taken: datetime | None
    facts: list[tuple[str, str]]
    sources: list[str]
    notes: list[str]


def of_sidecar(beside: Beside) -> BesideView:
    """A sidecar in lines; addresses are those of the web only, however they came into the database."""
    said = beside.said
    sources = said.facts.get("sources", [])
    return BesideView(
        _fact(said.facts.get("category") or _KINDS[beside.kind]),
        names.display(beside.path),
        beside.read_at,
        said.title,
        said.taken_at,
        of_file(said.facts),
        [s for s in sources if address_of(s)] if isinstance(sources, list) else [],
        said.notes,
    )


def of_file(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """What is said about a picture: the camera first, the way it was set, the place, then the rest."""
    lines = [
        ("Camera", _named(facts, "make", "model")),
        ("Lens", _named(facts, "lens_make", "lens")),
        ("Set to", _exposure(facts)),
        ("Metering", _parts(facts, "metering", "program")),
        ("Place", _place(facts)),
        ("Data rate", _rate(facts.get("bit_rate"))),
    ]
    lines += [
        (_LABELS.get(k, k.replace("_", " ").capitalize()), _fact(v))
        for k, v in facts.items()
        if k not in _ELSEWHERE
    ]
    return [(label, text) for label, text in lines if text]


def _named(facts: dict[str, Any], maker: str, thing: str) -> str:
    make, model = _fact(facts.get(maker, "")), _fact(facts.get(thing, ""))
    return model if model.casefold().startswith(make.casefold()) else f"{make} {model}".strip()


def _parts(facts: dict[str, Any], *keys: str) -> str:
    return ", ".join(_fact(facts[k]) for k in keys if facts.get(k))


def _exposure(facts: dict[str, Any]) -> str:
    length = facts.get("focal_length_35mm") or facts.get("focal_length")
    bias = facts.get("exposure_bias")
    parts = (
        f"{_fact(length)} mm" if length else "",
        f"f/{_fact(facts['f_number'])}" if facts.get("f_number") else "",
        _fact(facts.get("exposure", "")),
        f"ISO {_fact(facts['iso'])}" if facts.get("iso") else "",
        f"{bias:+.3g} EV" if isinstance(bias, int | float) else "",
        "flash" if facts.get("flash") is True else "",
    )
    return ", ".join(p for p in parts if p)


def _place(facts: dict[str, Any]) -> str:
    height = facts.get("altitude")
    parts = (
        _parts(facts, "city", "state", "country"),
        _position(facts),
        f"{height:.0f} m" if isinstance(height, int | float) else "",
    )
    return ", ".join(p for p in parts if p)


def _rate(bits: Any) -> str:
    if not isinstance(bits, int | float) or bits <= 0:
        return ""
    return f"{bits / 1e6:.1f} Mbit/s" if bits >= 1e6 else f"{bits / 1e3:.0f} kbit/s"


def _position(facts: dict[str, Any]) -> str:
    latitude, longitude = facts.get("latitude"), facts.get("longitude")
    if not isinstance(latitude, int | float) or not isinstance(longitude, int | float):
        return ""
    north, east = ("N" if latitude >= 0 else "S"), ("E" if longitude >= 0 else "W")
    return f"{abs(latitude):.5f}° {north}, {abs(longitude):.5f}° {east}"


def _fact(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(_fact(v) for v in value)
    if isinstance(value, dict):
        return ", ".join(f"{k} {_fact(v)}" for k, v in value.items())
    return "yes" if value is True else "no" if value is False else str(value)
