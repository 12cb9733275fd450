"""EXIF, read field by field so that one bad field never costs the others."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any

from PIL import ExifTags, Image

from appliance.media import dates, exifblock
from appliance.media.reading import Source
from appliance.media.said import LONGEST_TITLE, Said, as_text, line, number, position, stars, stars_of_percent


_Base, _Gps = ExifTags.Base, ExifTags.GPS


class Exif(Said, kw_only=True):
    """What EXIF says; `changed` is the date that it was last written, by a camera or by a program."""

    orientation: int = 1
    changed_at: datetime | None = None
    changed_offset: int | None = None


def read(source: Source, image: Image.Image) -> Exif:
    """Read orientation, dates, words and camera facts of an opened picture."""
    found = Exif()
    main, detail, gps = _directories(image, found)
    found.orientation = _orientation(source, image, main)
    _read_dates(found, main, detail)
    for name, (directory, tag, reader) in _FIELDS.items():
        _read_field(found, name, (main, detail, gps)[directory].get(tag), reader)
    _read_words(found, main, detail)
    _read_place(found, gps)
    return found


def _directories(image: Image.Image, found: Exif) -> tuple[dict[int, Any], dict[int, Any], dict[int, Any]]:
    read: list[dict[int, Any]] = []
    block = _block(image, found)
    for pointer in (None, ExifTags.IFD.Exif, ExifTags.IFD.GPSInfo):
        try:
            exif = image.getexif() if block is None else _loaded(block)
            # Not dict(exif): a damaged value raises when it is looked at, and only it shall be lost.
            read.append(_values(exif if pointer is None else exif.get_ifd(pointer), found))
        except Exception as error:  # noqa: BLE001
            # Hostile EXIF raises whatever its bytes lead to: struct.error, SyntaxError, TypeError, …
            found.note(f"EXIF is damaged ({type(error).__name__})")
            read.append({})
    return read[0], read[1], read[2]


def _block(image: Image.Image, found: Exif) -> bytes | None:
    raw = image.info.get("exif")
    if not isinstance(raw, bytes):
        return None
    block, lost = exifblock.mended(raw)
    if lost:
        found.note(f"{lost} EXIF {'field points' if lost == 1 else 'fields point'} outside of the block")
    return block


def _loaded(block: bytes) -> Image.Exif:
    exif = Image.Exif()
    exif.load(block)
    return exif


def _values(directory: Any, found: Exif) -> dict[int, Any]:
    values: dict[int, Any] = {}
    for tag in list(directory):
        try:
            values[tag] = directory[tag]
        except Exception as error:  # noqa: BLE001
            found.note(f"EXIF field {tag} is damaged ({type(error).__name__})")
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


def _read_dates(found: Exif, main: dict[int, Any], detail: dict[int, Any]) -> None:
    for value, offset_tag, fraction_tag in (
        (detail.get(_Base.DateTimeOriginal), _Base.OffsetTimeOriginal, _Base.SubsecTimeOriginal),
        (detail.get(_Base.DateTimeDigitized), _Base.OffsetTimeDigitized, _Base.SubsecTimeDigitized),
    ):
        moment = _moment(found, value, detail.get(offset_tag), detail.get(fraction_tag))
        if moment is not None:
            found.taken_at, found.taken_offset = moment
            return
    moment = _moment(
        found, main.get(_Base.DateTime), detail.get(_Base.OffsetTime), detail.get(_Base.SubsecTime)
    )
    if moment is not None:
        found.changed_at, found.changed_offset = moment


def _moment(found: Exif, value: Any, offset: Any, fraction: Any) -> tuple[datetime, int | None] | None:
    written = as_text(value) if value else ""
    if not written.strip(" :0"):
        return None
    parsed = dates.parse(written)
    if parsed is None:
        found.note(f"the date “{written[:40]}” is impossible")
        return None
    told = parsed[1] if parsed[1] is not None else dates.offset(as_text(offset or ""))
    return _with_fraction(parsed[0], as_text(fraction or "")), told


def _with_fraction(moment: datetime, text: str) -> datetime:
    digits = text.strip()
    if moment.microsecond or not digits.isascii() or not digits.isdigit():
        return moment
    return moment.replace(microsecond=int(digits[:6].ljust(6, "0")))


def _read_field(found: Exif, name: str, value: Any, read: Callable[[Any], Any]) -> None:
    if value is None or value in ("", b""):
        return
    try:
        fact = read(value)
    except Exception as error:  # noqa: BLE001
        # Values of the wrong type are as varied as cameras; the field is lost, the file is not.
        found.note(f"{name} is unusable ({type(error).__name__})")
        return
    if fact in (None, ""):
        return
    if isinstance(value, str | bytes) and _has_nul(value):
        found.note(f"{name} held a zero byte")
    found.facts[name] = fact


def _has_nul(value: str | bytes) -> bool:
    raw = value if isinstance(value, bytes) else value.encode("utf-8", "replace")
    return b"\0" in raw.rstrip(b"\0 ")


def _whole(value: Any) -> int | None:
    found = number(value)
    return None if found is None or not 0 < found < 2**31 else int(found)


def _positive(value: Any) -> float | None:
    found = number(value)
    return None if found is None or found <= 0 else round(found, 4)


def _exposure(value: Any) -> str | None:
    seconds = number(value)
    if seconds is None or not 1e-7 < seconds < 1e6:
        return None
    return f"1/{round(1 / seconds)} s" if seconds < 0.3 else f"{seconds:g} s"


_METERING = {1: "average", 2: "centre-weighted", 3: "spot", 4: "several spots", 5: "matrix", 6: "partial"}
_PROGRAMS = {
    1: "manual",
    2: "automatic",
    3: "aperture priority",
    4: "shutter priority",
    5: "creative",
    6: "action",
    7: "portrait",
    8: "landscape",
}
_FIELDS: dict[str, tuple[int, int, Callable[[Any], Any]]] = {
    "make": (0, _Base.Make, as_text),
    "model": (0, _Base.Model, as_text),
    "software": (0, _Base.Software, as_text),
    "description": (0, _Base.ImageDescription, as_text),
    "artist": (0, _Base.Artist, as_text),
    "copyright": (0, _Base.Copyright, as_text),
    "lens_make": (1, _Base.LensMake, as_text),
    "lens": (1, _Base.LensModel, as_text),
    "exposure": (1, _Base.ExposureTime, _exposure),
    "f_number": (1, _Base.FNumber, _positive),
    "iso": (1, _Base.ISOSpeedRatings, _whole),
    "focal_length": (1, _Base.FocalLength, _positive),
    "focal_length_35mm": (1, _Base.FocalLengthIn35mmFilm, _whole),
    "flash": (1, _Base.Flash, lambda value: bool(int(number(value) or 0) & 1)),
    "exposure_bias": (1, _Base.ExposureBiasValue, lambda value: _within(value, 20)),
    "metering": (1, _Base.MeteringMode, lambda value: _METERING.get(_whole(value) or 0)),
    "program": (1, _Base.ExposureProgram, lambda value: _PROGRAMS.get(_whole(value) or 0)),
}


def _within(value: Any, limit: float) -> float | None:
    found = number(value)
    return None if found is None or found == 0 or abs(found) > limit else round(found, 2)


def _read_words(found: Exif, main: dict[int, Any], detail: dict[int, Any]) -> None:
    """Words that Windows and editing programs leave in EXIF."""
    found.title = line(_wide(main.get(_Base.XPTitle)), LONGEST_TITLE) or None
    found.rating = stars(main.get(_Base.Rating)) or stars_of_percent(main.get(_Base.RatingPercent))
    found.tag(_wide(main.get(_Base.XPKeywords)).split(";"))
    spare = {
        "description": _wide(main.get(_Base.XPComment)) or _comment(detail.get(_Base.UserComment)),
        "artist": _wide(main.get(_Base.XPAuthor)),
    }
    for name, text in spare.items():
        if text:
            found.facts.setdefault(name, text)


def _wide(value: Any) -> str:
    """Read the UTF-16 that Windows writes, which arrives as bytes or as a row of numbers."""
    try:
        raw = bytes(value) if isinstance(value, bytes | tuple | list) else b""
    except (TypeError, ValueError):
        return ""
    return as_text(raw[:8000].decode("utf-16-le", "replace"))


def _comment(value: Any) -> str:
    """Read a comment behind its eight letters of encoding; cameras fill unused ones with blanks."""
    if not isinstance(value, bytes):
        return ""
    code, text = value[:8], value[8:8000]
    if code.startswith(b"UNICODE"):
        return as_text(text.decode("utf-16", "replace"))
    return as_text(text) if code.startswith(b"ASCII") else ""


def _read_place(found: Exif, gps: dict[int, Any]) -> None:
    if _Gps.GPSLatitude not in gps or _Gps.GPSLongitude not in gps:
        return
    try:
        latitude = _degrees(gps[_Gps.GPSLatitude], gps.get(_Gps.GPSLatitudeRef), "S")
        longitude = _degrees(gps[_Gps.GPSLongitude], gps.get(_Gps.GPSLongitudeRef), "W")
    except Exception as error:  # noqa: BLE001
        # Empty strings, single numbers and 0/0 all occur where three fractions should stand.
        found.note(f"the GPS position is unusable ({type(error).__name__})")
        return
    found.facts |= position(latitude, longitude) or {}
    below = gps.get(_Gps.GPSAltitudeRef) in (1, b"\x01")
    _read_field(found, "altitude", gps.get(_Gps.GPSAltitude), lambda value: _altitude(value, below=below))


def _altitude(value: Any, *, below: bool) -> float | None:
    """Metres above the sea, or less than none below it."""
    height = _within(value, 100_000)
    return -abs(height) if below and height is not None else height


def _degrees(value: Any, reference: Any, negative: str) -> float:
    degrees, minutes, seconds = (float(part) for part in value)
    total = degrees + minutes / 60 + seconds / 3600
    if not math.isfinite(total):
        raise ValueError("not finite")
    return round(-total if as_text(reference or "").upper().startswith(negative) else total, 7)
