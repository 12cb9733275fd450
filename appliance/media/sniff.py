"""What a file is, by its first bytes and never by its name."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from appliance.media import bmff, rawphoto


# Enough for a TIFF directory, an EBML header and the first pages of an Ogg file.
HEAD = 64 * 1024


class Family(StrEnum):
    """Which decoder is responsible."""

    STILL = "still"
    ANIMATION_OR_STILL = "animation_or_still"
    VIDEO = "video"
    ARCHIVE = "archive"
    UNSUPPORTED = "unsupported"
    NONE = "none"


class Sniffed(msgspec.Struct, frozen=True):
    """The kind of content: our word for it, its MIME type, its name for people, its decoder."""

    format: str
    mime: str
    name: str
    family: Family

    @property
    def extension(self) -> str:
        """Return the usual file name extension, without a dot."""
        return _EXTENSIONS.get(self.mime) or rawphoto.extension(self.mime) or self.format


_EXTENSIONS = {
    "image/jpeg": "jpg",
    "image/heic": "heic",
    "image/tiff": "tif",
    "image/jp2": "jp2",
    "video/mp4": "mp4",
    "video/quicktime": "mov",
    "video/3gpp": "3gp",
    "video/webm": "webm",
    "video/x-matroska": "mkv",
    "video/x-msvideo": "avi",
    "video/mp2t": "ts",
    "video/mpeg": "mpg",
    "video/x-ms-asf": "wmv",
    "video/x-flv": "flv",
    "video/ogg": "ogv",
    "application/zip": "zip",
}


def _still(format_: str, mime: str, name: str) -> Sniffed:
    return Sniffed(format_, mime, name, Family.STILL)


def _moving(format_: str, mime: str, name: str) -> Sniffed:
    return Sniffed(format_, mime, name, Family.ANIMATION_OR_STILL)


def _video(format_: str, mime: str, name: str) -> Sniffed:
    return Sniffed(format_, mime, name, Family.VIDEO)


def _refused(name: str) -> Sniffed:
    return Sniffed("", "application/octet-stream", name, Family.UNSUPPORTED)


def _none(name: str) -> Sniffed:
    return Sniffed("", "application/octet-stream", name, Family.NONE)


NOTHING = _none("not media")
PROGRAM = _none("program")
JPEG = _still("jpeg", "image/jpeg", "JPEG picture")
PNG = _moving("png", "image/png", "PNG picture")
GIF = _moving("gif", "image/gif", "GIF")
WEBP = _moving("webp", "image/webp", "WebP picture")
AVIF = _moving("avif", "image/avif", "AVIF picture")
HEIF = _still("heif", "image/heic", "HEIC picture")
JXL = _still("jxl", "image/jxl", "JPEG XL picture")
TIFF = _still("tiff", "image/tiff", "TIFF picture")
BMP = _still("bmp", "image/bmp", "BMP picture")
JP2 = _still("jpeg2000", "image/jp2", "JPEG 2000 picture")
MP4 = _video("mov", "video/mp4", "MP4 video")
QUICKTIME = _video("mov", "video/quicktime", "QuickTime video")
THREEGP = _video("mov", "video/3gpp", "3GP video")
WEBM = _video("matroska", "video/webm", "WebM video")
MATROSKA = _video("matroska", "video/x-matroska", "Matroska video")
AVI = _video("avi", "video/x-msvideo", "AVI video")
MPEGTS = _video("mpegts", "video/mp2t", "MPEG transport stream")
MPEGPS = _video("mpeg", "video/mpeg", "MPEG video")
MPEGES = _video("mpegvideo", "video/mpeg", "MPEG video")
ASF = _video("asf", "video/x-ms-asf", "Windows Media video")
FLV = _video("flv", "video/x-flv", "Flash video")
OGG = _video("ogg", "video/ogg", "Ogg video")
ZIP = Sniffed("zip", "application/zip", "ZIP archive", Family.ARCHIVE)

_PREFIXES: tuple[tuple[bytes, Sniffed], ...] = (
    (b"\xff\xd8\xff", JPEG),
    (b"\x89PNG\r\n\x1a\n", PNG),
    (b"GIF87a", GIF),
    (b"GIF89a", GIF),
    (b"\xff\x0a", JXL),
    (b"\0\0\0\x0cJXL \r\n\x87\n", JXL),
    (b"\0\0\0\x0cjP  \r\n\x87\n", JP2),
    (b"\xff\x4f\xff\x51", JP2),
    (b"\0\0\x01\xba", MPEGPS),
    (b"\0\0\x01\xb3", MPEGES),
    (b"0&\xb2u\x8ef\xcf\x11\xa6\xd9", ASF),
    (b"FLV\x01", FLV),
    (b"8BPS\0\x01", _refused("Photoshop document")),
    (b"8BPS\0\x02", _refused("Photoshop document (large)")),
    (b"gimp xcf ", _refused("GIMP document")),
    (b"%PDF-", _refused("PDF document")),
    (b"%!PS", _refused("PostScript drawing")),
    (b"\xc5\xd0\xd3\xc6", _refused("EPS drawing")),
    (b"qoif", _refused("QOI picture")),
    (b"DDS |\0\0\0", _refused("DDS texture")),
    (b"v/1\x01", _refused("OpenEXR picture")),
    (b"#?RADIANCE", _refused("Radiance HDR picture")),
    (b"#?RGBE", _refused("Radiance HDR picture")),
    (b"II\xbc\x01", _refused("JPEG XR picture")),
    (b"AT&TFORM", _refused("DjVu document")),
    (b"SIMPLE  =", _refused("FITS picture")),
    (b"\xd7\xcd\xc6\x9a", _refused("WMF drawing")),
    (b"icns", _refused("Apple icon")),
    (b"/* XPM */", _refused("XPM picture")),
    (b"id=ImageMagick", _refused("MIFF picture")),
    (b"KRITA", _refused("Krita document")),
    (b"DKIF\0\0", _refused("IVF video")),
    (b"YUV4MPEG2", _refused("Y4M video")),
    (b"\x06\x0e+4\x02\x05\x01\x01", _refused("MXF video")),
    (b".RMF", _refused("RealMedia video")),
    (b"ID3", _refused("MP3 audio")),
    (b"fLaC", _refused("FLAC audio")),
    (b"MThd", _refused("MIDI music")),
    (b"PK\x03\x04", ZIP),
    (b"MZ", PROGRAM),
    (b"\x7fELF", PROGRAM),
    (b"\xcf\xfa\xed\xfe", PROGRAM),
    (b"Cr24", PROGRAM),
    (b"Rar!\x1a\x07", _refused("RAR archive")),
    (b"7z\xbc\xaf\x27\x1c", _refused("7z archive")),
)

_AVIF_BRANDS = frozenset({b"avif", b"avis"})
_HEIF_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs"})
_HEIF_BRANDS |= {b"mif1", b"msf1", b"mif2", b"heif"}
_AUDIO = _refused("MPEG-4 audio")
_BRANDED = {
    b"crx ": _still("raw", rawphoto.mime(rawphoto.CR3), rawphoto.CR3),
    b"M4A ": _AUDIO,
    b"M4B ": _AUDIO,
    b"M4P ": _AUDIO,
    b"jp2 ": JP2,
    b"jpx ": JP2,
    b"jpm ": JP2,
    b"qt  ": QUICKTIME,
}


def sniff(head: bytes, size: int) -> Sniffed:
    """Name the content of a file from its first bytes (at most HEAD of them) and its length."""
    for prefix, found in _PREFIXES:
        if head.startswith(prefix):
            return found
    looks = (_riff, _iso, _tiff, _matroska, _ogg, _tar, _odd, _binary_extras, _text)
    answers = (look(head) for look in looks)
    sized = (look(head, size) for look in (_bmp, _transport))
    return next((answer for answer in (*sized, *answers) if answer is not None), NOTHING)


def _riff(head: bytes) -> Sniffed | None:
    if head[:4] not in (b"RIFF", b"RIFX"):
        return None
    known = {b"WEBP": WEBP, b"AVI ": AVI, b"WAVE": _refused("WAV audio")}
    return known.get(head[8:12], _refused("RIFF media"))


def _tar(head: bytes) -> Sniffed | None:
    # In every header since POSIX.1-1988, behind the name of the first member.
    return _refused("TAR archive") if head[257:262] == b"ustar" else None


def _iso(head: bytes) -> Sniffed | None:
    kind = head[4:8]
    if kind == b"ftyp":
        return _branded(head)
    # QuickTime files of the nineties start without ftyp.
    if kind in (b"moov", b"mdat", b"wide", b"pnot") and (head[8:12].strip(b"\0") or kind != b"moov"):
        return QUICKTIME
    return None


def _branded(head: bytes) -> Sniffed:
    major, every = bmff.brands(head)
    if major in _AVIF_BRANDS or (major in _HEIF_BRANDS and every & _AVIF_BRANDS):
        return AVIF
    if major in _HEIF_BRANDS:
        return HEIF
    return _BRANDED.get(major) or (THREEGP if major[:2] == b"3g" else MP4)


def _raw(name: str) -> Sniffed:
    return _still("raw", rawphoto.mime(name), name)


def _tiff(head: bytes) -> Sniffed | None:
    name = rawphoto.name(head)
    if name:
        return _raw(name)
    return TIFF if head[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+") else None


def _bmp(head: bytes, size: int) -> Sniffed | None:
    if head[:2] != b"BM" or len(head) < 18:
        return None
    known = int.from_bytes(head[14:18], "little") in (12, 16, 40, 52, 56, 64, 108, 124)
    # Two letters are weak: a text may begin with them, so the reserved words must be zero too.
    plausible = head[6:10] == b"\0\0\0\0" and 26 <= int.from_bytes(head[10:14], "little") <= size
    return BMP if known or plausible else None


def _matroska(head: bytes) -> Sniffed | None:
    if head[:4] != b"\x1aE\xdf\xa3":
        return None
    return WEBM if b"webm" in head[:4096] else MATROSKA


def _ogg(head: bytes) -> Sniffed | None:
    if head[:4] != b"OggS":
        return None
    pictures = (b"\x80theora", b"\x01video\0\0\0", b"BBCD\0", b"OVP80")
    return OGG if any(mark in head[:8192] for mark in pictures) else _refused("Ogg audio")


def _transport(head: bytes, size: int) -> Sniffed | None:
    # 188 bytes a packet; Blu-ray and AVCHD put four bytes of time in front of each.
    for step, first in ((188, 0), (192, 4)):
        marks = head[first : first + step * 5 : step]
        if len(marks) >= 3 and set(marks) == {0x47} and size >= step * 3:
            return MPEGTS
    return None


def _odd(head: bytes) -> Sniffed | None:
    if head[:3] in (b"FWS", b"CWS", b"ZWS") and b"\1" <= head[3:4] <= b"\x3c":
        return _refused("Flash (SWF)")
    if head[4:6] in (b"\x11\xaf", b"\x12\xaf") and len(head) > 16:
        return _refused("FLI animation")
    if head[:2] == b"\x01\xda" and head[2:3] in (b"\0", b"\x01") and head[3:4] in (b"\x01", b"\x02"):
        return _refused("SGI picture")
    if head[128:132] == b"DICM":
        return _refused("DICOM picture")
    if head[:4] == b"\x01\0\0\0" and head[40:44] == b" EMF":
        return _refused("EMF drawing")
    return None


def _binary_extras(head: bytes) -> Sniffed | None:
    icon = {b"\0\0\x01\0": "Windows icon", b"\0\0\x02\0": "Windows cursor"}.get(head[:4])
    if icon and 0 < int.from_bytes(head[4:6], "little") <= 256 and head[9:10] == b"\0":
        return _refused(icon)
    if head[:2] in (b"P1", b"P2", b"P3", b"P4", b"P5", b"P6", b"P7") and head[2:3] in (b"\n", b" ", b"\r"):
        return _refused("Netpbm picture")
    if head[:1] == b"\n" and head[1:2] in b"\0\2\3\4\5" and head[2:3] == b"\1" and head[3:4] in b"\1\2\4\x08":
        return _refused("PCX picture")
    if head[:2] in (b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"\xff\xf1", b"\xff\xf9"):
        return _refused("MPEG audio")
    return None


def _text(head: bytes) -> Sniffed | None:
    start = head[:4096].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if not start.startswith(b"<") or b"<html" in start:
        return None
    return _refused("SVG drawing") if b"<svg" in start else None
