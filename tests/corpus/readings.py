"""What Debian's own tools say about every file of the corpus: `python -m tests.corpus.readings CORPUS`.

libvips, FFmpeg's ffprobe and ExifTool read the files by other code than Vitrine does. Their words are
written to `readings.toml` beside this module, which the oracle (`expected.toml`) is checked against; with
`--check` nothing is written, and the status says whether the words are still the same.

Needs: apt-get install --no-install-recommends libvips-tools ffmpeg libimage-exiftool-perl
"""

from __future__ import annotations

import concurrent.futures
import datetime as dt
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any


HERE = Path(__file__).parent
READINGS = HERE / "readings.toml"
LIMIT_S = 120
_TURNED = 5
# ffprobe guesses a format for anything that has a name; only these hold frames and times.
_TIMED = {
    "gif",
    "apng",
    "mov,mp4,m4a,3gp,3g2,mj2",
    "matroska,webm",
    "mpeg",
    "avi",
    "mpegts",
    "asf",
    "flv",
    "ogg",
}
_MOMENT = re.compile(
    r"(\d{4})[:-](\d\d)[:-](\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?)?(Z|[+-]\d\d:\d\d)?"
)
# Best first; the file's own moment before the moment of its editing.
_MOMENTS = {
    "exif": (
        ("ExifIFD:DateTimeOriginal", "ExifIFD:SubSecTimeOriginal", "ExifIFD:OffsetTimeOriginal"),
        ("ExifIFD:CreateDate", "ExifIFD:SubSecTimeDigitized", "ExifIFD:OffsetTimeDigitized"),
        ("IFD0:ModifyDate", "ExifIFD:SubSecTime", "ExifIFD:OffsetTime"),
    ),
    "xmp": (
        ("XMP-exif:DateTimeOriginal", "", ""),
        ("XMP-photoshop:DateCreated", "", ""),
        ("XMP-xmp:CreateDate", "", ""),
    ),
    "iptc": (("IPTC:DateCreated", "", ""),),
    "container": (
        ("Keys:CreationDate", "", ""),
        ("Matroska:DateTimeOriginal", "", ""),
        ("QuickTime:CreateDate", "", ""),
    ),
}

Said = dict[str, Any]


def _run(*command: str) -> tuple[int, str]:
    done = subprocess.run(command, capture_output=True, check=False, timeout=LIMIT_S)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def libvips(path: Path) -> Said:
    """Size as displayed, pages, their delays, and whether the first page can be read whole."""
    status, text = _run("vipsheader", "-a", str(path))
    if status:
        return {"reads": "no"}
    fields = dict(line.split(": ", 1) for line in text.splitlines()[1:] if ": " in line)
    # The list above is cut off after some sixty of them.
    fields["delay"] = _run("vipsheader", "-f", "delay", str(path))[1]
    size = [int(fields["width"]), int(fields["height"])]
    if int(fields.get("orientation", "1")) >= _TURNED:
        size.reverse()
    said: Said = {"loader": fields.get("vips-loader", ""), "size": size, "reads": _reads(path)}
    if "n-pages" in fields:
        said["pages"] = int(fields["n-pages"])
    delays = [int(each) for each in fields["delay"].split()]
    if said.get("pages", 1) > 1 and delays:
        said["duration"] = sum(delay or 100 for delay in delays) / 1000
    return said


def _reads(path: Path) -> str:
    # A bracket in a name would begin the options.
    for strictness, word in (("truncated", "whole"), ("none", "partly")):
        if _run("vips", "avg", f"{path}[fail-on={strictness}]")[0] == 0:
            return word
    return "no"


def ffprobe(path: Path) -> Said:
    """Format, size as displayed, frames counted and their length, of what moves."""
    entries = (
        "stream=codec_type,codec_name,width,height,sample_aspect_ratio,duration:stream_disposition=attached_pic"
        ":stream_side_data=rotation:format=duration,format_name:packet=stream_index,pts_time,duration_time"
    )
    # A GIF's frame of no time lasts a tenth of a second, as in browsers; every other time is its own.
    own = ("-min_delay", "1") if path.read_bytes()[:4] == b"GIF8" else ()
    status, text = _run(
        "ffprobe", "-v", "quiet", *own, "-show_entries", entries, "-show_packets", "-of", "json", str(path)
    )
    if status:
        return {}
    said = json.loads(text)
    name = said.get("format", {}).get("format_name", "")
    if name not in _TIMED:
        return {}
    moving = [(at, each) for at, each in enumerate(said["streams"]) if _moves(each)]
    if not moving:
        return {"format": name}
    at, stream = moving[0]
    packets = [each for each in said.get("packets", []) if each["stream_index"] == at]
    return {
        "format": name,
        "codec": stream.get("codec_name", ""),
        "size": _shown(stream),
        "frames": len(packets),
        "duration": _length(stream, said["format"], packets),
    }


def _moves(stream: Said) -> bool:
    return stream.get("codec_type") == "video" and not stream.get("disposition", {}).get("attached_pic")


def _shown(stream: Said) -> list[int]:
    width, height = int(stream.get("width", 0)), int(stream.get("height", 0))
    over, under = (int(part) for part in stream.get("sample_aspect_ratio", "1:1").split(":"))
    if over and under:
        width = round(width * over / under)
    turn = next((int(each["rotation"]) for each in stream.get("side_data_list", []) if "rotation" in each), 0)
    return [height, width] if turn % 180 else [width, height]


def _length(stream: Said, container: Said, packets: list[Said]) -> float:
    if "duration" in stream or "duration" in container:
        return round(float(stream.get("duration") or container["duration"]), 3)
    return round(sum(float(each.get("duration_time", 0)) for each in packets), 3)


def exiftool(path: Path) -> Said:
    """The moment it was taken by each standard that says one, the turn, and what ExifTool calls it."""
    _, text = _run("exiftool", "-json", "-G1", "-n", str(path))
    fields = json.loads(text)[0]
    if "IPTC:TimeCreated" in fields and "IPTC:DateCreated" in fields:
        # IPTC writes day and time apart.
        fields["IPTC:DateCreated"] += f" {fields['IPTC:TimeCreated']}"
    said: Said = {"type": fields.get("File:FileType", "")}
    turn = fields.get("IFD0:Orientation")
    if isinstance(turn, int) and turn != 1:
        said["orientation"] = turn
    for standard, choices in _MOMENTS.items():
        found = next((m for each in choices if (m := _moment(fields, *each)) is not None), None)
        if found is not None:
            said[standard] = found
    return said


def _moment(fields: Said, name: str, fraction: str, offset: str) -> dt.datetime | None:
    match = _MOMENT.fullmatch(str(fields.get(name, "")).strip())
    if match is None:
        return None
    *parts, own, zone = match.groups()
    digits = own or str(fields.get(fraction, "")).strip()
    micro = int(digits[:6].ljust(6, "0")) if digits.isdigit() else 0
    try:
        moment = dt.datetime(*(int(part or 0) for part in parts), micro)  # type: ignore[arg-type]  # noqa: DTZ001
    except ValueError:
        return None
    zone = zone or str(fields.get(offset, "")).strip()
    return moment if not zone else dt.datetime.fromisoformat(moment.isoformat() + zone)


def read(path: Path) -> dict[str, Said]:
    """Everything that the tools say about one file."""
    said = {"libvips": libvips(path), "ffprobe": ffprobe(path), "exiftool": exiftool(path)}
    return {tool: words for tool, words in said.items() if words}


def files_of(corpus: Path) -> list[str]:
    """The names of all files, relative to the corpus."""
    return sorted(str(path.relative_to(corpus)) for path in corpus.rglob("*") if path.is_file())


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, dt.datetime):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False)


def written(readings: dict[str, dict[str, Said]]) -> str:
    """The readings as TOML: a table for each file, a line for each tool."""
    tables = ["# Made by `python -m tests.corpus.readings CORPUS`; what the tools say, not what is right.\n"]
    for name, tools in sorted(readings.items()):
        lines = "\n".join(f"{tool} = {_toml(words)}" for tool, words in tools.items())
        tables.append(f"[{json.dumps(name, ensure_ascii=False)}]\n{lines}\n")
    return "\n".join(tables)


def main() -> int:
    """Read the corpus that the command line names."""
    corpus = Path(sys.argv[1])
    names = files_of(corpus)
    if not names:
        print(f"There are no files in {corpus}: nothing was read and nothing written.")  # noqa: T201
        return 1
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        readings = dict(zip(names, pool.map(lambda name: read(corpus / name), names), strict=True))
    if "--check" not in sys.argv:
        READINGS.write_text(written(readings), encoding="utf-8")
        return 0
    before = tomllib.loads(READINGS.read_text(encoding="utf-8"))
    changed = sorted(
        name for name in before.keys() | readings.keys() if before.get(name) != readings.get(name)
    )
    print("\n".join(changed) or "The tools say what they said.")  # noqa: T201
    return bool(changed)


if __name__ == "__main__":
    raise SystemExit(main())
