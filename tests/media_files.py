"""Small media made on the spot; each differs from the others by its seed."""

from __future__ import annotations

import io
import random
from pathlib import Path

from PIL import Image


def picture(seed: int, *, size: tuple[int, int] = (64, 48)) -> Image.Image:
    """A picture with structure, so that no two seeds give the same bytes."""
    rng = random.Random(seed)
    small = Image.new("RGB", (8, 6))
    small.putdata([(rng.randrange(256), rng.randrange(256), rng.randrange(256)) for _ in range(48)])
    return small.resize(size, Image.Resampling.BICUBIC)


def jpeg(seed: int, *, size: tuple[int, int] = (64, 48), taken: str | None = None) -> bytes:
    """A JPEG, with a taken date when one is given."""
    out = io.BytesIO()
    exif = Image.Exif()
    if taken is not None:
        exif.get_ifd(0x8769)[0x9003] = taken
    picture(seed, size=size).save(out, "JPEG", quality=80, exif=exif)
    return out.getvalue()


def put(folder: Path, name: str | bytes, content: bytes) -> Path:
    """Write a file below a folder, making the folders between."""
    path = folder / (name if isinstance(name, str) else name.decode("utf-8", "surrogateescape"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
