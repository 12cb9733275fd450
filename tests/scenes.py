"""Painted landscapes for screenshots: made on the spot, so that no one's pictures are shown.

`python -m tests.scenes FOLDER COUNT` writes them with taken dates over some months, and a few clips.
"""

from __future__ import annotations

import colorsys
import io
import math
import random
import sys
import zipfile
from datetime import datetime, timedelta
from pathlib import Path

import av
from PIL import Image, ImageDraw, ImageFilter


SIZES = [(1500, 1000), (1500, 1000), (1600, 900), (1000, 1500), (1200, 1200), (1800, 800), (1400, 1050)]
Colour = tuple[int, int, int]


def tone(hue: float, saturation: float, value: float) -> Colour:
    red, green, blue = colorsys.hsv_to_rgb(hue % 1, min(1, saturation), max(0, min(1, value)))
    return round(red * 255), round(green * 255), round(blue * 255)


def mix(a: Colour, b: Colour, part: float) -> Colour:
    return tuple(round(x + (y - x) * part) for x, y in zip(a, b, strict=True))  # type: ignore[return-value]


def sky(size: tuple[int, int], high: Colour, low: Colour) -> Image.Image:
    column = Image.new("RGB", (1, 64))
    column.putdata([mix(high, low, (y / 63) ** 1.4) for y in range(64)])
    return column.resize(size, Image.Resampling.BICUBIC)


def ridge(rng: random.Random, width: int, base: float, height: float) -> list[tuple[float, float]]:
    """A skyline: sines with shrinking waves."""
    waves = [(rng.uniform(0.5, 1.5) * 2**k, rng.uniform(0, 6.3), height / 1.8**k) for k in range(6)]
    points = []
    for x in range(0, width + 8, 8):
        y = sum(a * math.sin(f * 2 * math.pi * x / width + p) for f, p, a in waves)
        points.append((x, base - y))
    return points


def scene(seed: int) -> Image.Image:
    """One landscape."""
    rng = random.Random(seed)
    width, height = size = rng.choice(SIZES)
    # Dawn, day, dusk: the greens between look like no sky.
    hue, night = rng.choice([0.02, 0.06, 0.1, 0.52, 0.57, 0.6, 0.66, 0.93]), rng.random() < 0.2
    high = tone(hue, 0.55, 0.15 if night else rng.uniform(0.45, 0.8))
    low = tone(hue + rng.uniform(-0.15, 0.15), rng.uniform(0.2, 0.5), 0.4 if night else 0.98)
    image = sky(size, high, low)
    draw = ImageDraw.Draw(image)
    if night:
        for _ in range(220):
            x, y, r = rng.randrange(width), rng.randrange(height // 2), rng.random() * 1.6
            draw.ellipse((x - r, y - r, x + r, y + r), fill=(240, 240, 230))
    x, y, r = rng.uniform(0.2, 0.8) * width, rng.uniform(0.2, 0.5) * height, rng.uniform(0.03, 0.08) * height
    draw.ellipse((x - r, y - r, x + r, y + r), fill=mix(low, (255, 250, 235), 0.8))
    layers = rng.randint(3, 6)
    ground = tone(
        hue + rng.uniform(0.1, 0.6), rng.uniform(0.25, 0.6), 0.12 if night else rng.uniform(0.2, 0.4)
    )
    for layer in range(layers):
        depth = (layer + 1) / layers
        line = ridge(rng, width, height * (0.45 + 0.5 * depth), height * 0.09 * (1.2 - depth / 2))
        draw.polygon([*line, (width + 8, height), (0, height)], fill=mix(low, ground, depth**0.8))
    return image.filter(ImageFilter.GaussianBlur(0.6))


PLACES = ("Coast", "Mountains", "Evenings")


def paint(folder: Path, count: int, *, newest: datetime) -> None:
    """Write `count` scenes into folders, each some hours or days older than the one before."""
    rng, taken = random.Random(8420), newest
    for number in range(count):
        exif = Image.Exif()
        exif.get_ifd(0x8769)[0x9003] = taken.strftime("%Y:%m:%d %H:%M:%S")
        place = folder / PLACES[number % len(PLACES)] / str(taken.year)
        place.mkdir(parents=True, exist_ok=True)
        scene(number).save(place / f"scene-{number:03}.jpg", quality=85, exif=exif)
        # An outing with many pictures, then weeks with none.
        taken -= timedelta(hours=640 if number % 15 == 14 else rng.choice([1, 2, 5, 9]))


def clip(path: Path, seed: int, *, seconds: int = 8, made: datetime | None = None) -> None:
    """A slow pan over one landscape."""
    picture = scene(seed).resize((1280, 720))
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as target:
        if made is not None:
            target.metadata["creation_time"] = made.strftime("%Y-%m-%dT%H:%M:%S.000000Z")
        stream = target.add_stream("libx264", rate=12)
        stream.width, stream.height, stream.pix_fmt = 640, 360, "yuv420p"
        for number in range(seconds * 12):
            left = round(number * 640 / (seconds * 12))
            frame = av.VideoFrame.from_image(picture.crop((left, 180, left + 640, 540)))
            frame.pts = number
            target.mux(stream.encode(frame))
        target.mux(stream.encode(None))


def album(path: Path, first: int, pages: int) -> None:
    """A volume: one scene for each page, upright."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as target:
        for number in range(pages):
            page = io.BytesIO()
            picture = scene(first + number)
            height = picture.height
            picture.crop((0, 0, round(height * 0.7), height)).save(page, "JPEG", quality=85)
            target.writestr(f"page {number + 1}.jpg", page.getvalue())
        told = "<ComicInfo><Title>Postcards from the coast</Title><Series>Postcards</Series></ComicInfo>"
        target.writestr("ComicInfo.xml", told)


def again(folder: Path, into: Path, count: int) -> None:
    """Smaller copies of some of what was painted, as they come back from a chat."""
    into.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.rglob("scene-*.jpg"))[:count]:
        with Image.open(path) as picture:
            small = picture.resize((picture.width * 2 // 3, picture.height * 2 // 3))
        small.save(into / f"received {path.stem}.jpg", quality=70)


def spoil(folder: Path) -> None:
    """Files that cannot be read, each for a reason of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = folder / "whole.jpg"
    scene(900).save(whole, quality=80)
    body = whole.read_bytes()
    whole.unlink()
    for number in range(3):
        (folder / f"cut-{number}.jpg").write_bytes(body[: 900 + number])
    (folder / "empty.png").write_bytes(b"")
    (folder / "drawing.psd").write_bytes(b"8BPS\x00\x01" + bytes(200))
    (folder / "torn.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))


if __name__ == "__main__":
    start = datetime(2026, 11, 28, 16, 40)  # noqa: DTZ001
    paint(Path(sys.argv[1]), int(sys.argv[2]), newest=start)
    for each in range(3):
        clip(Path(sys.argv[1]) / "Clips" / f"pan-{each}.mp4", 700 + each, made=start - timedelta(days=each))
