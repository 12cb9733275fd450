"""Files and folders dated where no clock has been: they come in, and nobody else waits for them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from appliance.media.moments import mtime_ns_of
from appliance.media.storing import remove_source
from appliance.media.wire import Stat
from tests.ingest.conftest import Ingest
from tests.media_files import jpeg, put


BEYOND = 10_000_000_000 * 10**9
"""Nanoseconds up to the year 2286, more than 63 bits hold."""


def dated(path: Path, ns: int = BEYOND) -> Path:
    """Give a file a time beyond; a file system that cannot keep it is no place for this test."""
    os.utime(path, ns=(ns, ns))
    if path.stat().st_mtime_ns != ns:
        pytest.skip("this file system keeps no such time")
    return path


async def test_file_and_folder_dated_beyond_what_a_column_holds_come_in_with_the_others(
    ingest: Ingest, folder: Path
) -> None:
    put(folder, "good.jpg", jpeg(1))
    dated(put(folder, "album/far.jpg", jpeg(2)))
    dated(folder / "album")

    first = await ingest.scan(folder)
    again = await ingest.scan(folder)

    assert (first.imported, first.failed) == (2, 0)
    assert (again.unchanged, again.hashed) == (2, 0)
    assert {
        r["mtime_ns"] for r in await ingest.rows("SELECT mtime_ns FROM asset_file WHERE path LIKE 'album%'")
    } == {2**63 - 1}


async def test_its_original_is_known_again_and_its_source_can_be_removed(tmp_path: Path) -> None:
    path = dated(put(tmp_path, "far.jpg", jpeg(2)))
    seen = path.stat()

    remove_source(bytes(path), Stat(seen.st_size, mtime_ns_of(seen)))

    assert not path.exists()


@pytest.mark.parametrize("ns", [0, -1, 2**63 - 1, -(2**63)])
def test_all_other_times_stay_what_they_are(tmp_path: Path, ns: int) -> None:
    path = put(tmp_path, "a.jpg", b"a")
    os.utime(path, ns=(ns, ns))

    assert mtime_ns_of(path.stat()) == path.stat().st_mtime_ns
