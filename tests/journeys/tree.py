"""Folders full of generated files whose fate is known: the same seed gives the same bytes."""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from PIL import Image

from tests import media_files


ODD_NAMES = (b"dr\xe9.jpg", "日本語 ☂.jpg".encode(), b"quote ' and \" .jpg", b"new\nline.jpg")
MARK = b"<vitrine-%010d>"
RATIO = 4 / 3


@dataclass
class Tree:
    """A generated folder and what an import of it must come to."""

    folder: Path
    files: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)

    def expect(self, outcome: str, reason: str = "") -> None:
        """Note the fate of one more file."""
        self.files += 1
        self.outcomes[outcome] += 1
        if reason:
            (self.failed if outcome == "failed" else self.skipped)[reason] += 1

    @property
    def reasons(self) -> dict[str, int]:
        """All reason classes, as a report lists them."""
        return dict(self.failed + self.skipped)

    def report(self) -> dict[str, object]:
        """The report of a first import, without its batch number."""
        counted = {name: self.outcomes[name] for name in ("imported", "duplicate", "failed", "skipped")}
        none = dict.fromkeys(("unchanged", "moved", "returned", "missing", "stayed"), 0)
        return {"files": self.files, **none, **counted, "reasons": self.reasons, "held": None}


@dataclass(frozen=True)
class Shares:
    """How many files of each kind a tree has, beside a few odd ones."""

    small: int
    webp: int = 0
    jpeg: int = 0
    png: int = 0
    duplicates: int = 0
    broken: int = 0
    skipped: int = 0


Plan = list[tuple[str, int]]


def grow(folder: Path, shares: Shares, *, seed: int = 1, scale: float = 1.0) -> Tree:
    """Write a tree; `scale` multiplies the pixels of its large pictures."""
    tree = Tree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    places = _places(random.Random(seed))
    written: list[Path] = []
    for kind, number in _plan(shares, seed):
        if kind == "duplicate":
            _duplicate(tree, next(places), written[number % len(written)])
            continue
        path = _write(tree, next(places), kind, number, scale=scale)
        if path is not None:
            written.append(path)
    for number, name in enumerate(ODD_NAMES):
        media_files.put(folder / "odd", name, media_files.jpeg(seed * 1_000_000 + number))
        tree.expect("imported")
    return tree


def _plan(shares: Shares, seed: int) -> Plan:
    """Kinds in a random order; duplicates come last in number but anywhere in the walk."""
    plan = [
        (kind, seed * 100_000 + number)
        for kind, count in (
            ("small", shares.small),
            ("webp", shares.webp),
            ("jpeg", shares.jpeg),
            ("png", shares.png),
            ("broken", shares.broken),
            ("skipped", shares.skipped),
        )
        for number in range(count)
    ]
    rng = random.Random(seed)
    rng.shuffle(plan)
    return plan + [("duplicate", rng.randrange(1 << 30)) for _ in range(shares.duplicates)]


def _places(rng: random.Random) -> Iterator[str]:
    """Folder and stem of the next file: some dozens of folders, some of them deep."""
    number = 0
    while True:
        year, month = rng.randrange(2004, 2012), rng.randrange(1, 7)
        deep = "album/" if rng.random() < 0.2 else ""
        yield f"{year}/{month:02d}/{deep}file-{number:05d}"
        number += 1


def _write(tree: Tree, place: str, kind: str, number: int, *, scale: float) -> Path | None:
    if kind == "broken":
        make = BROKEN[number % len(BROKEN)]
        suffix, content, reason = make(number)
        media_files.put(tree.folder, place + suffix, content)
        tree.expect("failed", reason)
        return None
    if kind == "skipped":
        _skipped(tree, place, number)
        return None
    suffix, content = SMALL[number % len(SMALL)](number) if kind == "small" else _large(kind, number, scale)
    tree.expect("imported")
    return media_files.put(tree.folder, place + suffix, content)


def _duplicate(tree: Tree, place: str, source: Path) -> None:
    media_files.put(tree.folder, place + "-copy" + source.suffix, source.read_bytes())
    tree.expect("duplicate")


def _skipped(tree: Tree, place: str, number: int) -> None:
    folder, _, stem = place.rpartition("/")
    match number % 4:
        case 0:
            media_files.put(tree.folder, f"{place}.xmp", b"<x:xmpmeta xmlns:x='adobe:ns:meta/'/>\n")
            tree.expect("skipped", "sidecar")
        case 1:
            media_files.put(tree.folder, f"{folder}/.{stem}.jpg", media_files.jpeg(number))
            tree.expect("skipped", "hidden")
        case 2:
            media_files.put(tree.folder, f"{place}.xlsx", b"some other program's file\n" * 9)
            tree.expect("skipped", "not_media")
        case 3:
            link = tree.folder / f"{place}.jpg"
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to("/etc/hostname")
            tree.expect("skipped", "symlink")


def _small_jpeg(number: int) -> tuple[str, bytes]:
    return ".jpg", media_files.jpeg(number, size=(320, 240), taken="2011:03:04 05:06:07")


def _small(suffix: str, name: str) -> Callable[[int], tuple[str, bytes]]:
    def make(number: int) -> tuple[str, bytes]:
        return suffix, encoded(media_files.picture(number, size=(240, 180)), name)

    return make


def _small_animation(number: int) -> tuple[str, bytes]:
    first, *rest = (media_files.picture(number * 7 + frame, size=(96, 72)) for frame in range(4))
    out = io.BytesIO()
    first.save(out, "GIF", save_all=True, append_images=rest, duration=120, loop=0)
    return ".gif", out.getvalue()


SMALL: list[Callable[[int], tuple[str, bytes]]] = [
    _small_jpeg,
    _small(".png", "PNG"),
    _small(".webp", "WEBP"),
    _small_animation,
]


def _empty(_number: int) -> tuple[str, bytes, str]:
    return ".jpg", b"", "empty"


def _text(number: int) -> tuple[str, bytes, str]:
    return ".jpg", f"<html>page {number} in a picture's clothes</html>\n".encode(), "not_media"


def _damaged(number: int) -> tuple[str, bytes, str]:
    whole = encoded(media_files.picture(number, size=(200, 150)), "PNG")
    return ".png", whole[:200] + bytes(100) + whole[300:], "corrupt"


def _cut(number: int) -> tuple[str, bytes, str]:
    whole = media_files.jpeg(number, size=(400, 300))
    return ".jpg", whole[: len(whole) // 2], "truncated"


def _document(number: int) -> tuple[str, bytes, str]:
    return ".pdf", b"%%PDF-1.4\n%%%d\n" % number + b"x" * 500, "unsupported"


BROKEN: list[Callable[[int], tuple[str, bytes, str]]] = [_empty, _text, _damaged, _cut, _document]


def encoded(image: Image.Image, name: str, **options: object) -> bytes:
    """The file of a picture."""
    out = io.BytesIO()
    image.save(out, name, **options)
    return out.getvalue()


def _large(kind: str, number: int, scale: float) -> tuple[str, bytes]:
    """One of few encoded pictures with a mark of its own: other bytes, the same work to decode."""
    base = number % 4
    match kind:
        case "webp":
            return ".webp", _webp(base, scale).replace(MARK % 0, MARK % number)
        case "jpeg":
            plain = _jpeg(base, scale)
            comment = MARK % number
            return ".jpg", plain[:2] + b"\xff\xfe" + struct.pack(">H", len(comment) + 2) + comment + plain[2:]
        case _:
            plain = _png(base, scale)
            return ".png", plain[:33] + _png_chunk(b"tEXt", b"Comment\0" + MARK % number) + plain[33:]


def _png_chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def _canvas(seed: int, pixels: float) -> Image.Image:
    width = int((pixels * RATIO) ** 0.5)
    return media_files.picture(seed, size=(width, int(width / RATIO)))


# Pixels by which each kind costs a decoder about as much as the pictures of a camera or a scanner do;
# measured on one core: WebP 6 MP 140 ms and 0.1 MB, JPEG 12 MP 40 ms, PNG with a palette 6 MP 57 ms.
@cache
def _webp(base: int, scale: float) -> bytes:
    return encoded(_canvas(base, 6e6 * scale), "WEBP", method=0, quality=80, xmp=MARK % 0)


@cache
def _jpeg(base: int, scale: float) -> bytes:
    return encoded(_canvas(base + 10, 12e6 * scale), "JPEG", quality=85)


@cache
def _png(base: int, scale: float) -> bytes:
    canvas = _canvas(base + 20, 6e6 * scale)
    flat = canvas.quantize(64, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    return encoded(flat, "PNG", compress_level=1)
