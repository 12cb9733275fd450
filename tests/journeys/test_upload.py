"""Files that are sent to a running Vitrine, which is killed in the middle: all of them end up as assets."""

from __future__ import annotations

import base64
import re
import signal
from pathlib import Path

import httpx

from tests.journeys.instance import Instance, instance, wait_for
from tests.media_files import jpeg


TUS = {"Tus-Resumable": "1.0.0"}
PIECE = TUS | {"Content-Type": "application/offset+octet-stream"}
PASSWORD = "four words make one"  # noqa: S105


def entered(there: Instance, *, first: bool) -> httpx.Client:
    """A browser that is signed in."""
    client = httpx.Client(base_url=f"http://127.0.0.1:{there.port}", timeout=30)
    fields = {"name": "anna", "password": PASSWORD}
    if first:
        code = re.findall(r"/setup\?code=(\S+)", there.log.read_text("utf-8"))[-1]
        answer = client.post("/setup", data=fields | {"code": code})
    else:
        answer = client.post("/login", data=fields)
    assert answer.status_code == 303, answer.text
    return client


def announce(client: httpx.Client, name: str, size: int) -> str:
    said = f"filename {base64.b64encode(name.encode()).decode()}"
    answer = client.post("/uploads", headers=TUS | {"Upload-Length": str(size), "Upload-Metadata": said})
    assert answer.status_code == 201, answer.text
    return answer.headers["Location"]


def send(client: httpx.Client, place: str, offset: int, body: bytes) -> None:
    answer = client.patch(place, headers=PIECE | {"Upload-Offset": str(offset)}, content=body)
    assert answer.status_code == 204, answer.text


def test_sent_files_become_assets_also_when_everything_is_killed_meanwhile(place: Path) -> None:
    bodies = {f"IMG_2024010{n}_101112.jpg": jpeg(n, size=(800, 600)) for n in range(1, 4)}
    with instance(place) as there:
        there.start()
        client = entered(there, first=True)
        places = {name: announce(client, name, len(body)) for name, body in bodies.items()}
        for name, body in bodies.items():
            send(client, places[name], 0, body[: len(body) // 2])
        send(client, places["IMG_20240101_101112.jpg"], len(bodies["IMG_20240101_101112.jpg"]) // 2,
             bodies["IMG_20240101_101112.jpg"][len(bodies["IMG_20240101_101112.jpg"]) // 2 :])  # fmt: skip
        wait_for(lambda: there.value("SELECT count(*) FROM asset") == 1, "the first one is imported")

        there.kill()
        there.start()

        client = entered(there, first=False)
        for name, body in bodies.items():
            here = int(client.head(places[name]).headers["Upload-Offset"])
            assert here >= len(body) // 2
            if here < len(body):
                send(client, places[name], here, body[here:])
        again = announce(client, "the same again.jpg", len(bodies["IMG_20240102_101112.jpg"]))
        send(client, again, 0, bodies["IMG_20240102_101112.jpg"])
        wait_for(
            lambda: there.value("SELECT count(*) FROM upload u JOIN root_entry e ON e.id = u.entry_id"
                                " WHERE e.outcome IN ('imported', 'duplicate')") == 4,
            "all are imported",
        )  # fmt: skip

        page = client.get("/uploads/batch/1").text
        assert page.count(">Imported</a>") == 3
        assert page.count(">Already here</a>") == 1
        assert there.value("SELECT count(*) FROM asset") == 3
        assert there.value("SELECT count(*) FROM provenance WHERE how = 'upload'") == 4
        stored = {p.read_bytes() for p in there.home.originals.rglob("*") if p.is_file()}
        assert stored == set(bodies.values())
        assert [p for p in there.home.uploads.rglob("*") if p.is_file()] == []
        there.stop(signal.SIGTERM)
