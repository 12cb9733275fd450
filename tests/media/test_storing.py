from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from appliance.media import storing
from appliance.media.decoder import ChildDied, DecodePool
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import Stat
from tests.media import make


JPEG = make.saved(make.corner((400, 300)), "JPEG")

# Read, place and remove as an import in `move` mode does; the marker file stands for the commit.
MOVE = """
import asyncio, sys
from pathlib import Path
from appliance.media.decoder import DecodePool

async def main(source, temporary, final, commit):
    pool = DecodePool(1)
    async with pool.child() as child:
        read = await child.read(source.encode(), copy_to=temporary.encode())
        await child.place(temporary.encode(), final.encode())
        Path(commit).touch()
        await child.remove_source(source.encode(), read.stat)
    await pool.close()

asyncio.run(main(*sys.argv[1:]))
"""


class Places:
    def __init__(self, folder: Path) -> None:
        self.source = folder / "in" / "a.jpg"
        self.temporary = folder / "tmp" / "part"
        self.final = folder / "originals" / "ab" / "cd" / "abcd.jpg"
        self.commit = folder / "commit"
        self.source.parent.mkdir()
        self.source.write_bytes(JPEG)

    def arguments(self) -> list[str]:
        return [str(path) for path in (self.source, self.temporary, self.final, self.commit)]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


async def move(places: Places) -> None:
    """Move a source into the originals, up to the crash point if one is set."""
    pool = DecodePool(1)
    try:
        async with pool.child() as child:
            read = await child.read(bytes(places.source), copy_to=bytes(places.temporary))
            await child.place(bytes(places.temporary), bytes(places.final))
            places.commit.touch()
            await child.remove_source(bytes(places.source), read.stat)
    finally:
        await pool.close()


@pytest.mark.parametrize("step", storing.STEPS)
async def test_a_crash_at_any_step_loses_nothing(
    places: Places, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    monkeypatch.setenv("VITRINE_CRASH_AT", step)
    with pytest.raises(ChildDied, match=str(storing.CRASH_STATUS)):
        await move(places)
    assert places.source.read_bytes() == JPEG
    assert not places.final.exists() or places.final.read_bytes() == JPEG
    assert places.commit.exists() == (step == "removing")


@pytest.mark.parametrize("step", storing.STEPS)
async def test_an_import_that_is_repeated_after_a_crash_succeeds(
    places: Places, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    monkeypatch.setenv("VITRINE_CRASH_AT", step)
    with pytest.raises(ChildDied):
        await move(places)
    monkeypatch.delenv("VITRINE_CRASH_AT")
    places.temporary = places.temporary.with_name("second")
    await move(places)
    assert places.final.read_bytes() == JPEG
    assert not places.source.exists()


def test_both_syncs_come_before_the_source_is_removed(places: Places, tmp_path: Path) -> None:
    assert shutil.which("strace"), "strace is needed: the order of system calls is what is promised"
    record = tmp_path / "strace.txt"
    calls = "trace=fsync,rename,renameat,renameat2,unlink,unlinkat,openat"
    subprocess.run(
        ["strace", "-f", "-y", "-e", calls, "-o", record, sys.executable, "-c", MOVE, *places.arguments()],
        check=True,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        timeout=120,
    )
    lines = record.read_text("utf-8", "replace").splitlines()
    order = [
        _line(lines, rf"fsync\(\d+<{re.escape(str(places.temporary))}>\)\s+= 0"),
        _line(
            lines, rf"rename\w*\(.*{re.escape(str(places.temporary))}.*{re.escape(str(places.final))}.*= 0"
        ),
        _line(lines, rf"fsync\(\d+<{re.escape(str(places.final.parent))}>\)\s+= 0"),
        _line(lines, rf"openat\(.*{re.escape(str(places.commit))}.*O_CREAT"),
        _line(lines, rf"unlink\w*\(.*{re.escape(str(places.source))}.*= 0"),
    ]
    assert order == sorted(order)


def _line(lines: list[str], pattern: str) -> int:
    found = [number for number, line in enumerate(lines) if re.search(pattern, line)]
    assert found, f"no call like {pattern}"
    return found[0]


def test_new_folders_are_made_durable_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    real = os.fsync

    def watched(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        real(descriptor)

    monkeypatch.setattr(storing.os, "fsync", watched)
    (tmp_path / "part").write_bytes(JPEG)
    storing.place(bytes(tmp_path / "part"), bytes(tmp_path / "ab" / "cd" / "x"))
    assert set(synced) == {str(tmp_path / "ab" / "cd"), str(tmp_path / "ab"), str(tmp_path)}


def test_a_source_that_changed_since_it_was_read_is_kept(tmp_path: Path) -> None:
    source = tmp_path / "a.jpg"
    source.write_bytes(JPEG)
    seen = os.stat(source)
    source.write_bytes(JPEG + b"more")
    with pytest.raises(MediaFailure) as caught:
        storing.remove_source(bytes(source), Stat(seen.st_size, seen.st_mtime_ns))
    assert caught.value.reason is Reason.CHANGED
    assert source.exists()


def test_a_full_disk_is_named_and_leaves_no_part_behind(tmp_path: Path) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(MediaFailure) as caught, storing.created(bytes(tmp_path / "part")) as target:
        os.dup2(full, target)
        storing.write(target, b"x")
    os.close(full)
    assert caught.value.reason is Reason.NO_SPACE
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MediaFailure) as caught, storing.created(bytes(tmp_path / "file" / "part")):
        pytest.fail("a file is no folder")
    assert caught.value.reason is Reason.UNWRITABLE
