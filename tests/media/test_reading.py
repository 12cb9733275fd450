from __future__ import annotations

import errno
import hashlib
import os
import socket
from pathlib import Path

import pytest

from appliance.media import reading
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import OpenRequest, Stat
from tests.media import make


JPEG = make.saved(make.corner(), "JPEG")


def read(path: Path | bytes, *, expect: Stat | None = None, copy_to: Path | None = None) -> reading.Read:
    """Read as the child does, and let go."""
    request = OpenRequest(bytes(path), expect, True, None if copy_to is None else bytes(copy_to))
    source, answer = reading.read(request)
    source.close()
    return answer


def refusal(path: Path | bytes, *, expect: Stat | None = None, copy_to: Path | None = None) -> MediaFailure:
    """The failure that reading a path ends with."""
    with pytest.raises(MediaFailure) as caught:
        read(path, expect=expect, copy_to=copy_to)
    return caught.value


def test_reading_returns_the_hash_of_the_whole_file(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(JPEG)
    answer = read(tmp_path / "a.jpg")
    stat = os.stat(tmp_path / "a.jpg")
    assert answer.sha256 == hashlib.sha256(JPEG).digest()
    assert (answer.size, answer.mtime_ns, answer.inode) == (len(JPEG), stat.st_mtime_ns, stat.st_ino)


def test_reading_does_not_touch_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(JPEG)
    before = os.stat(tmp_path / "a.jpg")
    read(tmp_path / "a.jpg")
    after = os.stat(tmp_path / "a.jpg")
    assert (before.st_mtime_ns, before.st_ctime_ns) == (after.st_mtime_ns, after.st_ctime_ns)


def test_a14_a_latin1_name_is_read_as_bytes(tmp_path: Path) -> None:
    path = bytes(tmp_path) + b"/dr\xe9.jpg"
    Path(os.fsdecode(path)).write_bytes(JPEG)
    assert read(path).sha256 == hashlib.sha256(JPEG).digest()


def test_a16_html_named_jpg_is_not_media(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"<html><body>404</body></html>")
    assert refusal(tmp_path / "a.jpg").reason is Reason.NOT_MEDIA


def test_a55_a_pipe_is_passed_over_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.jpg")
    assert refusal(tmp_path / "x.jpg").reason is Reason.SPECIAL


def test_a55_a_pipe_put_in_place_after_the_check_does_not_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "x.jpg")
    (tmp_path / "real.jpg").write_bytes(JPEG)
    seen = os.lstat(tmp_path / "real.jpg")
    monkeypatch.setattr(reading.os, "lstat", lambda _path: seen)
    assert refusal(tmp_path / "x.jpg").reason is Reason.SPECIAL


def test_sockets_devices_and_folders_are_special(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s.jpg"))
        assert refusal(tmp_path / "s.jpg").reason is Reason.SPECIAL
    assert refusal(b"/dev/zero").reason is Reason.SPECIAL
    assert refusal(tmp_path).reason is Reason.SPECIAL


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(JPEG)
    (tmp_path / "link.jpg").symlink_to("a.jpg")
    assert refusal(tmp_path / "link.jpg").reason is Reason.SYMLINK


def test_a_file_that_is_gone_has_vanished(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(JPEG)
    assert refusal(tmp_path / "b.jpg").reason is Reason.VANISHED
    assert refusal(tmp_path / "a.jpg" / "b.jpg").reason is Reason.VANISHED


def test_an_empty_file_is_empty(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").touch()
    assert refusal(tmp_path / "a.jpg").reason is Reason.EMPTY


def test_a_file_that_is_not_the_scanned_one_has_changed(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(JPEG)
    seen = os.stat(tmp_path / "a.jpg")
    assert read(tmp_path / "a.jpg", expect=Stat(seen.st_size, seen.st_mtime_ns)).size == len(JPEG)
    assert (
        refusal(tmp_path / "a.jpg", expect=Stat(seen.st_size, seen.st_mtime_ns - 1)).reason is Reason.CHANGED
    )


def test_a_file_that_grows_while_it_is_read_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(JPEG + bytes(3 * reading.CHUNK))
    real = reading._chunk

    def grow(descriptor: int, at: int) -> bytes:
        if at == reading.CHUNK:
            with path.open("ab") as more:
                more.write(b"more")
        return real(descriptor, at)

    monkeypatch.setattr(reading, "_chunk", grow)
    assert refusal(path, copy_to=tmp_path / "copy").reason is Reason.CHANGED
    assert not (tmp_path / "copy").exists()


def test_a_copy_holds_the_bytes_that_were_hashed(tmp_path: Path) -> None:
    content = JPEG + os.urandom(3 * reading.CHUNK)
    (tmp_path / "a.jpg").write_bytes(content)
    answer = read(tmp_path / "a.jpg", copy_to=tmp_path / "tmp" / "copy")
    assert (tmp_path / "tmp" / "copy").read_bytes() == content
    assert answer.sha256 == hashlib.sha256(content).digest()


def test_later_steps_see_the_copy_and_not_a_source_that_changes(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(JPEG)
    source, _ = reading.read(OpenRequest(bytes(tmp_path / "a.jpg"), None, True, bytes(tmp_path / "copy")))
    (tmp_path / "a.jpg").write_bytes(b"something else")
    assert source.file().read() == JPEG
    source.check_unchanged()
    source.close()


def test_two_readers_of_a_source_do_not_move_each_other(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(JPEG)
    source = reading.open_source(bytes(tmp_path / "a.jpg"), None)
    first, second = source.file(), source.file()
    first.seek(10)
    assert second.read(3) == JPEG[:3]
    assert first.read(3) == JPEG[10:13]
    source.close()


def test_a_file_without_permission_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(JPEG)
    path.chmod(0)
    assert _as_nobody(bytes(path)) == Reason.UNREADABLE


def _as_nobody(path: bytes) -> str:
    """Read as a user without rights, in a process of its own when the tests run as root."""
    incoming, outgoing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                # Only the open itself shall be refused, not the way to the folder.
                os.chdir(os.path.dirname(path))
                os.setuid(65534)
            reading.read(OpenRequest(os.path.basename(path), None, True, None))
        except MediaFailure as failure:
            os.write(outgoing, failure.reason.encode())
        finally:
            os._exit(0)
    os.close(outgoing)
    os.waitpid(child, 0)
    with os.fdopen(incoming) as answer:
        return answer.read()


def test_an_error_of_the_disk_is_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jpg").write_bytes(JPEG)

    def broken(_descriptor: int, _count: int, _at: int) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(reading.os, "pread", broken)
    failure = refusal(tmp_path / "a.jpg")
    assert (failure.reason, failure.detail) == (Reason.UNREADABLE, "Input/output error")
