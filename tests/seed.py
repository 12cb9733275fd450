"""A library of any size in seconds: rows by the thousand, a few real pictures shared between them."""

from __future__ import annotations

import functools
import hashlib
import io
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from PIL import Image

from appliance.core.db import Database
from appliance.core.paths import Home
from tests.media_files import picture


ORIGINALS = 30
SIZES = ((640, 480), (480, 640), (640, 360), (500, 500), (700, 300), (360, 540))
LATEST = datetime(2026, 11, 23, 18, 0)  # noqa: DTZ001 - wall time


@dataclass(frozen=True)
class Look:
    """One picture: its renditions' bytes and sizes, and an original."""

    grids: dict[str, tuple[bytes, int, int]]
    preview: tuple[bytes, int, int]
    original: bytes
    width: int
    height: int


def look(image: Image.Image) -> Look:
    """Renditions of a picture as the decoder would make them."""
    out = io.BytesIO()
    image.convert("RGB").save(out, "JPEG", quality=80)
    grids = {f"grid-{h}": _webp(image, round(image.width * h / image.height), h) for h in (240, 480)}
    return Look(grids, _webp(image, image.width, image.height), out.getvalue(), image.width, image.height)


def _webp(image: Image.Image, width: int, height: int) -> tuple[bytes, int, int]:
    out = io.BytesIO()
    image.convert("RGB").resize((width, height)).save(out, "WEBP", quality=60, method=0)
    return out.getvalue(), width, height


@functools.cache
def looks() -> Sequence[Look]:
    """A handful of pictures of different shapes."""
    return [look(picture(n, size=size)) for n, size in enumerate(SIZES)]


async def seed(
    db: Database,
    home: Home,
    count: int,
    *,
    latest: datetime = LATEST,
    apart: timedelta = timedelta(hours=5),
    pictures: Sequence[Look] = (),
    preview: bool = True,
    stored: int = 30,
) -> list[int]:
    """Assets whose dates go back from `latest`, newest first; the first `stored` have their files."""
    chosen = pictures or looks()
    root = home.data / "seeded"
    root.mkdir(parents=True, exist_ok=True)
    rng = random.Random(count)
    rows = []
    for number in range(count):
        made = chosen[rng.randrange(len(chosen))] if len(chosen) > 1 else chosen[0]
        original = made.original + f"{latest} {number}".encode()
        digest = hashlib.sha256(original).digest()
        if number < stored:
            _store(home, digest, made, preview=preview)
        if number < min(stored, ORIGINALS):
            (root / f"{_name(number, latest)}.jpg").write_bytes(original)
        rows.append((_name(number, latest), digest, len(original), made, latest - apart * number))
    return await _insert(db, home, root, rows, preview=preview)


def _store(home: Home, digest: bytes, made: Look, *, preview: bool) -> None:
    pictures = dict(made.grids) | ({"preview": made.preview} if preview else {})
    for name, (body, _, _) in pictures.items():
        first = home.tmp / f"{id(made)}-{name}"
        if not first.exists():
            first.write_bytes(body)
        path = home.rendition(digest, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        os.link(first, path)


async def _insert(
    db: Database, home: Home, root: Path, rows: list[tuple[str, bytes, int, Look, datetime]], *, preview: bool
) -> list[int]:
    async with db.unit_of_work() as uow:
        root_id = await uow.sql.fetchval(
            "INSERT INTO root (path, mode) VALUES ($1, 'in_place') "
            "ON CONFLICT (path) DO UPDATE SET mode = 'in_place' RETURNING id",
            str(root).encode(),
        )
        ids = await uow.sql.fetch(
            """
            INSERT INTO asset (kind, sha256, size, mime, width, height, date_source, taken_at, effective_at,
                               dominant)
            SELECT 'still', s, n, 'image/jpeg', w, h, 'exif', at, at, (n % 216)::int
            FROM unnest($1::bytea[], $2::bigint[], $3::int[], $4::int[], $5::timestamp[]) AS t(s, n, w, h, at)
            RETURNING id
            """,
            [r[1] for r in rows],
            [r[2] for r in rows],
            [r[3].width for r in rows],
            [r[3].height for r in rows],
            [r[4] for r in rows],
        )
        found = [row["id"] for row in ids]
        for name in ("grid-240", "grid-480", "preview"):
            done = preview or name != "preview"
            await uow.sql.execute(
                "INSERT INTO rendition (asset_id, name, status, width, height, bytes) "
                "SELECT i, $2, $3, w, h, 1 FROM unnest($1::bigint[], $4::int[], $5::int[]) AS t(i, w, h)",
                found,
                name,
                "complete" if done else "pending",
                [r[3].grids.get(name, r[3].preview)[1] for r in rows],
                [r[3].grids.get(name, r[3].preview)[2] for r in rows],
            )
        await uow.sql.execute(
            "INSERT INTO asset_file (asset_id, root_id, path, size, mtime_ns) "
            "SELECT i, $2, p, n, m "
            "FROM unnest($1::bigint[], $3::bytea[], $4::bigint[], $5::bigint[]) AS t(i, p, n, m)",
            found,
            root_id,
            [f"{r[0]}.jpg".encode() for r in rows],
            [r[2] for r in rows],
            [_mtime(root / f"{r[0]}.jpg") for r in rows],
        )
        await uow.sql.execute(
            "INSERT INTO provenance (asset_id, how, root_id, path) "
            "SELECT i, 'folder', $2, p FROM unnest($1::bigint[], $3::bytea[]) AS t(i, p)",
            found,
            root_id,
            [f"{r[0]}.jpg".encode() for r in rows],
        )
    return found


def _name(number: int, latest: datetime) -> str:
    return f"{latest:%Y%m%d}-{number}"


def _mtime(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0
