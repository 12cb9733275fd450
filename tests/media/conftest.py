"""A pool of real decode children, and short ways to run one file through it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from PIL import Image

from appliance.media.decoder import DecodePool
from appliance.media.reasons import MediaFailure
from appliance.media.wire import FITS, Decoded, Wanted


Import = Callable[..., Awaitable[Decoded]]
Refuse = Callable[..., Awaitable[MediaFailure]]


@pytest.fixture(scope="session")
async def pool() -> AsyncIterator[DecodePool]:
    """One pool for all tests that do not harm it."""
    made = DecodePool(1)
    yield made
    await made.close()


@pytest.fixture
def decode(pool: DecodePool, tmp_path: Path) -> Import:
    """Read and decode bytes as a worker would; renditions land in `tmp_path`."""

    async def run(
        content: bytes, name: str = "file", wanted: tuple[str, ...] = ("grid-240", "grid-480")
    ) -> Decoded:
        path = tmp_path / name
        path.write_bytes(content)
        async with pool.child() as child:
            await child.read(bytes(path))
            return await child.decode(
                [Wanted(each, FITS[each], bytes(tmp_path / f"{each}.webp")) for each in wanted]
            )

    return run


@pytest.fixture
def refuse(decode: Import) -> Refuse:
    """Expect that bytes are refused, and return the failure."""

    async def run(content: bytes, name: str = "file") -> MediaFailure:
        with pytest.raises(MediaFailure) as caught:
            await decode(content, name)
        return caught.value

    return run


@pytest.fixture
def shown(tmp_path: Path) -> Callable[..., Image.Image]:
    """Open a rendition that was made."""

    def run(name: str = "grid-480") -> Image.Image:
        picture = Image.open(tmp_path / f"{name}.webp")
        picture.load()
        return picture

    return run
