"""Films in a library, and what the play lane does, step by step."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

import av

from appliance.core.drains import Claimed
from appliance.library import converting, playing
from appliance.media.decoder import DecodePool
from tests.ingest.conftest import Ingest
from tests.media import make
from tests.media_files import put
from tests.waiting import until


def long_film(seconds: int = 14) -> bytes:
    """A film that takes a while to encode: few pictures, many times."""
    with tempfile.NamedTemporaryFile() as out:
        with av.open(out.name, "w", format="avi") as target:
            stream: Any = target.add_stream("mjpeg", rate=25)
            stream.width, stream.height, stream.pix_fmt = 1280, 720, "yuvj420p"
            shown = [av.VideoFrame.from_image(each) for each in make.frames(4, size=(1280, 720))]
            for number in range(seconds * 25):
                frame = shown[number // 3 % 4]
                frame.pts = number
                target.mux(stream.encode(frame))
            target.mux(stream.encode(None))
        return out.read()


async def film(ingest: Ingest, folder: Path, name: str, content: bytes) -> int:
    """A film that was imported; its asset."""
    put(folder, name, content)
    await ingest.scan(folder)
    (row,) = await ingest.rows("SELECT max(id) AS id FROM asset WHERE kind = 'video'")
    return int(str(row["id"]))


async def wish(ingest: Ingest, asset_id: int, *, again: bool = False) -> playing.Playing:
    async with ingest.db.unit_of_work() as uow:
        return await playing.want(uow, asset_id, again=again)


async def take(ingest: Ingest) -> list[Claimed]:
    async with ingest.db.unit_of_work() as uow:
        return list(await converting.claim(uow.sql, 1, 1))


async def work(ingest: Ingest, claimed: Claimed, pool: DecodePool | None = None) -> str:
    async with (pool or ingest.pool).child() as child:
        return await converting.convert(ingest.settings, ingest.db, claimed, child, limit_s=60)


async def until_making(ingest: Ingest, asset_id: int) -> playing.Playing:
    """Wait until something of the film can be watched."""

    async def making() -> playing.Playing | None:
        async with ingest.db.unit_of_work() as uow:
            now = await playing.state(uow.sql, asset_id)
        return now if now is not None and now.made_s > 0 else None

    made: playing.Playing = await until(making, "something was made")
    return made


def frames_of(content: bytes) -> int:
    with av.open(io.BytesIO(content)) as opened:
        return sum(1 for _ in opened.decode(video=0))
