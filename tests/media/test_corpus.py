from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from appliance.media.decoder import DecodePool
from appliance.media.reasons import MediaFailure
from appliance.media.wire import GRID_240, GRID_480, PREVIEW, Wanted


# Generous for a loaded machine; the slowest file of the collection takes half a second.
FILE_S = 30.0


async def test_every_file_of_the_corpus_ends_with_a_result_or_a_class(
    pool: DecodePool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = os.environ.get("VITRINE_TEST_CORPUS", "")
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file()) if folder else []
    ended = 0
    for number, path in enumerate(files):
        began = time.monotonic()
        outcome = await _outcome(pool, path, tmp_path / str(number))
        assert outcome, path
        assert time.monotonic() - began < FILE_S, path
        ended += 1
    with capsys.disabled():
        print(f"\ncorpus: {ended} of {len(files)}" if folder else "\ncorpus: NOT RUN")  # noqa: T201
    assert ended == len(files)


async def _outcome(pool: DecodePool, path: Path, target: Path) -> str:
    """What became of one file; a child that dies over it fails the test."""
    names = (GRID_240, GRID_480, PREVIEW)
    async with pool.child() as child:
        try:
            await child.read(bytes(path), timeout=FILE_S)
            wanted = [Wanted.named(name, bytes(target / name)) for name in names]
            decoded = await child.decode(wanted, timeout=FILE_S)
        except MediaFailure as failure:
            return failure.reason
    assert decoded.rendition_errors == [], path
    assert {made.name for made in decoded.renditions} == set(names), path
    return decoded.kind
