"""Volumes in the program as a person starts it: brought in, and unpacked by its own workers."""

from __future__ import annotations

from pathlib import Path

from tests.journeys.instance import Instance, wait_for
from tests.media.zips import comic, zipped
from tests.media_files import jpeg, put


MINE = "JOIN asset_file f ON f.asset_id = v.asset_id JOIN root r ON r.id = f.root_id WHERE r.path = $1"


def test_volumes_of_a_folder_are_unpacked_by_themselves(running: Instance, place: Path) -> None:
    folder = place / "books"
    put(folder, "one.cbz", comic(30, seed=70))
    nested = zipped({"a.cbz": comic(3, seed=71, packed=True), "b.jpg": jpeg(72_000)}, packed=True)
    put(folder, "two.zip", nested)
    put(folder, "loose.jpg", jpeg(70_004))
    assert running.run("import", str(folder), "--wait").returncode == 0
    done = f"SELECT count(*) FROM volume v {MINE} AND v.status = 'complete'"
    wait_for(lambda: running.value(done, bytes(folder)) == 2, "both volumes are unpacked")

    pages = running.rows(
        "SELECT p.status, a.state, count(*) FROM volume_page p JOIN asset a ON a.id = p.asset_id"
        f" JOIN volume v ON v.asset_id = p.volume_id {MINE} GROUP BY 1, 2 ORDER BY 1, 2",
        bytes(folder),
    )
    # One page lies loose as well, so that it is one picture, on the timeline.
    assert [tuple(row) for row in pages] == [("complete", "inside", 33), ("complete", "kept", 1)]
