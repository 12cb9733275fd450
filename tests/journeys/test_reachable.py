"""From another machine: a second network namespace, by address and by name, as a phone at home does it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.journeys.instance import Instance, instance


HOME, STRANGE = "something.local", "pictures.example.org"
ASK = """
import json, sys, urllib.error, urllib.parse, urllib.request
url, fields = sys.argv[1], json.loads(sys.argv[2])
data = urllib.parse.urlencode(fields).encode() if fields else None
headers = {"Origin": "://".join(urllib.parse.urlsplit(url)[:2])} if data else {}
class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_): return None
opener = urllib.request.build_opener(Stay, urllib.request.ProxyHandler({}))
try:
    answer = opener.open(urllib.request.Request(url, data, headers), timeout=60)
except urllib.error.HTTPError as refusal:
    answer = refusal
print(json.dumps([answer.status, dict(answer.headers), answer.read().decode()]))
"""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)


@dataclass
class Neighbour:
    """A machine with one cable to this one."""

    name: str
    address: str
    """Under which it reaches us."""

    def ask(self, url: str, **fields: str) -> tuple[int, dict[str, str], str]:
        command = ["ip", "netns", "exec", self.name, sys.executable, "-c", ASK, url, json.dumps(fields)]
        status, headers, body = json.loads(run(*command).stdout)
        return status, headers, body


def why_not() -> str:
    if os.geteuid() != 0:
        return "only root makes network namespaces"
    return "" if shutil.which("ip") else "iproute2 is missing"


@pytest.fixture
def neighbour() -> Iterator[Neighbour]:
    """Made for one test; whatever was made is taken away again."""
    if reason := why_not():
        print(f"\nreachability: NOT RUN ({reason})")  # noqa: T201
        pytest.skip(reason)
    number = os.getpid() % 60_000
    name, ours, theirs = f"vitrine-{number}", f"vto{number}", f"vtt{number}"
    net = f"10.{200 + number // 250 % 50}.{number % 250}"
    hosts = Path("/etc/netns") / name / "hosts"
    with contextlib.ExitStack() as stack:
        try:
            run("ip", "netns", "add", name)
            stack.callback(run, "ip", "netns", "del", name)
            run("ip", "link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", name)
        except subprocess.CalledProcessError as error:
            print(f"\nreachability: NOT RUN ({error.stderr.strip()})")  # noqa: T201
            pytest.skip("no network namespace can be made here")
        hosts.parent.mkdir(parents=True)
        stack.callback(shutil.rmtree, hosts.parent)
        hosts.write_text(f"127.0.0.1 localhost\n{net}.1 {HOME} {STRANGE}\n")
        run("ip", "addr", "add", f"{net}.1/24", "dev", ours)
        run("ip", "link", "set", ours, "up")
        run("ip", "-n", name, "addr", "add", f"{net}.2/24", "dev", theirs)
        run("ip", "-n", name, "link", "set", theirs, "up")
        yield Neighbour(name, f"{net}.1")


@contextlib.contextmanager
def listening(place: Path, **environ: str) -> Iterator[Instance]:
    """An instance with its default: all interfaces."""
    with instance(place, **environ) as there:
        there.process = there.launch(["up", "--port", str(there.port)])
        there.until_ready()
        yield there


def code_of(there: Instance) -> str:
    found = re.findall(r"/setup\?code=(\S+)", there.log.read_text("utf-8"))
    assert found, there.last_lines()
    return str(found[-1])


def test_a_machine_at_home_reaches_it_by_address_and_by_name_and_a_strange_name_is_told_the_way_out(
    place: Path, neighbour: Neighbour
) -> None:
    password = "four words make one"  # noqa: S105
    with listening(place) as there:
        assert f"http://{neighbour.address}:{there.port}" in there.log.read_text("utf-8")
        by_address, by_name = (f"http://{host}:{there.port}" for host in (neighbour.address, HOME))
        for base in (by_address, by_name):
            status, headers, _ = neighbour.ask(f"{base}/")
            assert (status, headers["location"]) == (303, "/setup")
            status, _, body = neighbour.ask(f"{base}/setup")
            assert status == 200
            assert "Set-up code" in body
        made = neighbour.ask(f"{by_name}/setup", code=code_of(there), name="anna", password=password)
        assert (made[0], made[1]["location"]) == (303, "/")
        entered = neighbour.ask(f"{by_address}/login", name="anna", password=password)
        assert (entered[0], entered[1]["location"]) == (303, "/")
        status, _, body = neighbour.ask(f"http://{STRANGE}:{there.port}/login")
        assert status == 403
        assert f"VITRINE_HOSTS={STRANGE}" in body
        assert there.value("SELECT count(DISTINCT address) FROM session") == 1
        assert there.value("SELECT address FROM session LIMIT 1") != "127.0.0.1"
        there.stop()
    with listening(place, hosts=STRANGE) as there:
        status, _, body = neighbour.ask(f"http://{STRANGE}:{there.port}/login")
        assert status == 200
        assert "Sign in" in body
