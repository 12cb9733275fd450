"""What a picture says about itself, read field by field so that one bad field never costs the others."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
from PIL import ExifTags, Image

from appliance.media import dates
from appliance.media.reading import Source


MAX_TEXT = 2000
_MAX_NOTES = 20
_Base, _Gps = ExifTags.Base, ExifTags.GPS


class Metadata(msgspec.Struct, kw_only=True):
    """The facts of one picture: safe for JSON and for PostgreSQL whatever the file held."""

    orientation: int = 1
    taken_at: datetime | None = None
    taken_offset: int | None = None
    facts: dict[str, Any] = {}
    notes: list[str] = []


def of_picture(source: Source, image: Image.Image) -> Metadata:
    """Read orientation, taken date and camera facts of an opened picture."""
    found = Metadata()
    main, detail, gps = _directories(image, found)
    found.orientation = _orientation(source, image, main)
    _read_date(found, main, detail)
    for name, (directory, tag, read) in _FIELDS.items():
        _read_field(found, name, (main, detail, gps)[directory].get(tag), read)
    _read_place(found, gps)
    return found


def _directories(
    image: Image.Image, found: Metadata
) -> tuple[dict[int, Any], dict[int, Any], dict[int, Any]]:
    read: list[dict[int, Any]] = []
    for pointer in (None, ExifTags.IFD.Exif, ExifTags.IFD.GPSInfo):
        try:
            exif = image.getexif()
            # Not dict(exif): a damaged value raises when it is looked at, and only it shall be lost.
            read.append(_values(exif if pointer is None else exif.get_ifd(pointer), found))
        except Exception as error:  # noqa: BLE001
            # Hostile EXIF raises whatever its bytes lead to: struct.error, SyntaxError, TypeError, …
            _note(found, f"EXIF is damaged ({type(error).__name__})")
            read.append({})
    return read[0], read[1], read[2]


def _values(directory: Any, found: Metadata) -> dict[int, Any]:
    values: dict[int, Any] = {}
    for tag in list(directory):
        try:
            values[tag] = directory[tag]
        except Exception as error:  # noqa: BLE001
            _note(found, f"EXIF field {tag} is damaged ({type(error).__name__})")
    return values


def _orientation(source: Source, image: Image.Image, main: dict[int, Any]) -> int:
    """Return the turn that is still to be done: some decoders have done it, browsers ignore XMP's."""
    done_by_decoder = source.sniffed.format in ("tiff", "heif")
    if source.sniffed.format == "jxl":
        # The codestream's own orientation counts and is applied; only a rebuilt JPEG is not turned yet.
        done_by_decoder = not getattr(image, "jpeg", False)
    if done_by_decoder or "exif" not in image.info:
        return 1
    value = main.get(_Base.Orientation)
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def _read_date(found: Metadata, main: dict[int, Any], detail: dict[int, Any]) -> None:
    choices = (
        (detail.get(_Base.DateTimeOriginal), _Base.OffsetTimeOriginal, _Base.SubsecTimeOriginal),
        (detail.get(_Base.DateTimeDigitized), _Base.OffsetTimeDigitized, _Base.SubsecTimeDigitized),
        (main.get(_Base.DateTime), _Base.OffsetTime, _Base.SubsecTime),
    )
    for value, offset_tag, fraction_tag in choices:
        written = as_text(value) if value else ""
        if not written.strip(" :0"):
            continue
        parsed = dates.parse(written)
        if parsed is None:
            _note(found, f"the date “{written[:40]}” is impossible")
            continue
        offset = parsed[1] if parsed[1] is not None else dates.offset(as_text(detail.get(offset_tag) or ""))
        found.taken_at = _with_fraction(parsed[0], as_text(detail.get(fraction_tag) or ""))
        found.taken_offset = offset
        return


def _with_fraction(moment: datetime, text: str) -> datetime:
    digits = text.strip()
    if moment.microsecond or not digits.isascii() or not digits.isdigit():
        return moment
    return moment.replace(microsecond=int(digits[:6].ljust(6, "0")))


def _read_field(found: Metadata, name: str, value: Any, read: Callable[[Any], Any]) -> None:
    if value is None or value in ("", b""):
        return
    try:
        fact = read(value)
    except Exception as error:  # noqa: BLE001
        # Values of the wrong type are as varied as cameras; the field is lost, the file is not.
        _note(found, f"{name} is unusable ({type(error).__name__})")
        return
    if fact in (None, ""):
        return
    if isinstance(value, str | bytes) and _has_nul(value):
        _note(found, f"{name} held a zero byte")
    found.facts[name] = fact


def _has_nul(value: str | bytes) -> bool:
    raw = value if isinstance(value, bytes) else value.encode("utf-8", "replace")
    return b"\0" in raw.rstrip(b"\0 ")


def as_text(value: Any) -> str:
    """Return text without zero bytes, lone surrogates and excess, from whatever a field held."""
    if isinstance(value, tuple | list):
        value = value[0] if value else ""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    clean = str(value).replace("\0", "").encode("utf-8", "replace").decode("utf-8")
    return "".join(sign for sign in clean if sign.isprintable() or sign in "\n\t").strip()[:MAX_TEXT]


def _number(value: Any) -> float | None:
    if isinstance(value, tuple | list):
        value = value[0]
    number = float(value)
    return number if math.isfinite(number) and abs(number) < 1e12 else None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None or not 0 < number < 2**31 else int(number)


def _positive(value: Any) -> float | None:
    number = _number(value)
    return None if number is None or number <= 0 else round(number, 4)


def _exposure(value: Any) -> str | None:
    seconds = _number(value)
    if seconds is None or not 1e-7 < seconds < 1e6:
        return None
    return f"1/{round(1 / seconds)} s" if seconds < 0.3 else f"{seconds:g} s"


_FIELDS: dict[str, tuple[int, int, Callable[[Any], Any]]] = {
    "make": (0, _Base.Make, as_text),
    "model": (0, _Base.Model, as_text),
    "software": (0, _Base.Software, as_text),
    "description": (0, _Base.ImageDescription, as_text),
    "artist": (0, _Base.Artist, as_text),
    "copyright": (0, _Base.Copyright, as_text),
    "lens": (1, _Base.LensModel, as_text),
    "exposure": (1, _Base.ExposureTime, _exposure),
    "f_number": (1, _Base.FNumber, _positive),
    "iso": (1, _Base.ISOSpeedRatings, _whole),
    "focal_length": (1, _Base.FocalLength, _positive),
    "focal_length_35mm": (1, _Base.FocalLengthIn35mmFilm, _whole),
    "flash": (1, _Base.Flash, lambda value: bool(int(_number(value) or 0) & 1)),
}


def _read_place(found: Metadata, gps: dict[int, Any]) -> None:
    if _Gps.GPSLatitude not in gps or _Gps.GPSLongitude not in gps:
        return
    try:
        latitude = _degrees(gps[_Gps.GPSLatitude], gps.get(_Gps.GPSLatitudeRef), "S")
        longitude = _degrees(gps[_Gps.GPSLongitude], gps.get(_Gps.GPSLongitudeRef), "W")
    except Exception as error:  # noqa: BLE001
        # Empty strings, single numbers and 0/0 all occur where three fractions should stand.
        _note(found, f"the GPS position is unusable ({type(error).__name__})")
        return
    # Cameras without a fix write exactly zero, a place in the sea.
    if (latitude, longitude) != (0.0, 0.0) and abs(latitude) <= 90 and abs(longitude) <= 180:
        found.facts["latitude"], found.facts["longitude"] = latitude, longitude


def _degrees(value: Any, reference: Any, negative: str) -> float:
    degrees, minutes, seconds = (float(part) for part in value)
    total = degrees + minutes / 60 + seconds / 3600
    if not math.isfinite(total):
        raise ValueError("not finite")
    return round(-total if as_text(reference or "").upper().startswith(negative) else total, 7)


def _note(found: Metadata, text: str) -> None:
    if text not in found.notes and len(found.notes) < _MAX_NOTES:
        found.notes.append(text)
