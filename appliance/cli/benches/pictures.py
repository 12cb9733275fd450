"""Pictures to measure with: camera-like stills, made once, and cheap distinct copies of some."""

from __future__ import annotations

import os
import random
import shutil
import struct
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

from PIL import Image, ImageChops, ImageDraw, ImageFilter

from appliance.cli.benches.frame import cores


Size = tuple[int, int]
TWELVE_MP: Size = (4000, 3000)
TWO_MP: Size = (1600, 1200)
# Names what the pictures look like: another recipe must not be mixed with pictures of this one.
RECIPE = "v1"
# Sharp edges at this grain and quality give the 3 to 5 MB of a phone's 12 MP photo.
GRAIN = 9.0
QUALITY = 90
COMMENT = b"\xff\xfe"


def photos(cache_dir: Path, count: int, size: Size = TWELVE_MP) -> list[Path]:
    """`count` distinct photos of that size; what the cache lacks is made by all processors."""
    folder = cache_dir / f"photos-{RECIPE}-{size[0]}x{size[1]}"
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"photo-{index:04}.jpg" for index in range(count)]
    missing = [index for index, path in enumerate(paths) if not path.exists()]
    if missing:
        with ProcessPoolExecutor(min(cores(), len(missing))) as workers:
            for made in [workers.submit(_make, paths[index], index, size) for index in missing]:
                made.result()
    return paths


def _make(path: Path, index: int, size: Size) -> None:
    unfinished = path.with_suffix(f".{os.getpid()}.part")
    # Seeded by the index: everybody measures with the same pictures.
    chance = random.Random(index)  # noqa: S311 - pictures, not secrets
    grain = ImageChops.offset(_grain(size), chance.randrange(size[0]), chance.randrange(size[1]))
    picture = ImageChops.add(_scene(chance, size), Image.merge("RGB", [grain] * 3), offset=-128)
    picture.save(unfinished, "JPEG", quality=QUALITY, exif=_exif(chance))
    unfinished.replace(path)


@cache
def _grain(size: Size) -> Image.Image:
    return Image.effect_noise(size, GRAIN)


def _scene(chance: random.Random, size: Size) -> Image.Image:
    """Soft light, blurred things far away and sharp ones in front."""
    half = (size[0] // 2, size[1] // 2)
    picture = Image.merge("RGB", [_light(chance, half) for _ in range(3)])
    _things(chance, picture, count=40)
    picture = picture.filter(ImageFilter.GaussianBlur(6))
    _things(chance, picture, count=25)
    return picture.resize(size, Image.Resampling.BICUBIC)


def _light(chance: random.Random, size: Size) -> Image.Image:
    return Image.linear_gradient("L").rotate(chance.choice((0, 90, 180, 270))).resize(size)


def _things(chance: random.Random, picture: Image.Image, *, count: int) -> None:
    draw = ImageDraw.Draw(picture)
    for _ in range(count):
        x, y = chance.randrange(picture.width), chance.randrange(picture.height)
        reach = max(4, chance.randrange(picture.width // 100, picture.width // 5))
        colour = (chance.randrange(256), chance.randrange(256), chance.randrange(256))
        if chance.random() < 0.5:
            draw.ellipse((x, y, x + reach, y + reach * 2 // 3), fill=colour)
        else:
            corners = [(x + chance.randrange(reach), y + chance.randrange(reach)) for _ in range(5)]
            draw.polygon(corners, fill=colour)


def _exif(chance: random.Random) -> Image.Exif:
    exif = Image.Exif()
    exif[0x010F], exif[0x0110] = "Bench", "Bench 1"
    day, hour = chance.randrange(1, 29), chance.randrange(24)
    taken = f"20{chance.randrange(5, 26):02}:{chance.randrange(1, 13):02}:{day:02} {hour:02}:30:00"
    exif[0x0132] = taken
    exif.get_ifd(0x8769)[0x9003] = taken
    return exif


def laid_out(folder: Path, photos: Sequence[Path]) -> Path:
    """A folder that holds exactly these, without their bytes twice where the file system allows it."""
    folder.mkdir()
    for photo in photos:
        try:
            os.link(photo, folder / photo.name)
        except OSError:
            shutil.copyfile(photo, folder / photo.name)
    return folder


def many(folder: Path, patterns: list[Path], count: int, *, per_folder: int = 500) -> None:
    """`count` files with distinct bytes: each is one of the patterns with a comment of its own."""
    bodies = [path.read_bytes() for path in patterns]
    for index, path in enumerate(_names(folder, count, per_folder, ".jpg")):
        path.write_bytes(_commented(bodies[index % len(bodies)], f"picture {index}".encode()))


def _commented(jpeg: bytes, text: bytes) -> bytes:
    """A comment segment right behind the start marker, as the standard has it."""
    return jpeg[:2] + COMMENT + struct.pack(">H", len(text) + 2) + text + jpeg[2:]


def empty(folder: Path, count: int, *, per_folder: int = 1000) -> None:
    """`count` empty files with the names of pictures, for walks that open nothing."""
    for path in _names(folder, count, per_folder, ".jpg"):
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))


def _names(folder: Path, count: int, per_folder: int, ending: str) -> Iterator[Path]:
    for index in range(count):
        inner = folder / f"{index // per_folder:04}"
        if index % per_folder == 0:
            inner.mkdir(parents=True)
        yield inner / f"picture-{index:06}{ending}"
