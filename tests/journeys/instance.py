"""A real Vitrine in processes of its own: started, asked, hurt and ended by tests."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg

from appliance.core.paths import PROJECT, Home
from appliance.runtime import proc
from tests.journeys import processes
from tests.journeys.account import environ_of, identity_of, interpreter_for


GROUPS = ("quick", "heavy", "long")
DECODER = "appliance.media.child"
PATIENCE = 60.0


@dataclass
class Instance:
    """One data directory and the supervisor that a test runs on it."""

    data: Path
    port: int
    environ: dict[str, str] = field(default_factory=dict)
    user: str = ""
    """The account that starts it; empty means whoever runs the tests."""
    process: subprocess.Popen[bytes] | None = None
    starts: int = 0
    noted: Path | None = None
    """Where the output goes, when not beside the data directory."""

    @property
    def home(self) -> Home:
        """The places inside the data directory."""
        return Home(self.data)

    @property
    def log(self) -> Path:
        """Everything that the processes said."""
        return self.noted or self.data.with_name(self.data.name + ".log")

    # -- life

    def start(self, *folders: Path, ready: bool = True) -> Instance:
        """Run `up` on the data directory and wait until pages and groups are there."""
        arguments = ["up", "--host", "127.0.0.1", "--port", str(self.port), *map(str, folders)]
        self.process = self.launch(arguments)
        self.starts += 1
        if ready:
            self.until_ready()
        return self

    def launch(self, arguments: list[str], **environ: str) -> subprocess.Popen[bytes]:
        """Start any verb on this data directory; its output goes to the log."""
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self._command(arguments),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environ() | environ,
                cwd="/",
                start_new_session=True,
                **self._identity(),
            )

    def run(self, *arguments: str, limit: float = 120.0) -> subprocess.CompletedProcess[str]:
        """Run a verb on this data directory to its end."""
        return subprocess.run(
            self._command(arguments),
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=self._environ(),
            cwd="/",
            timeout=limit,
            **self._identity(),
        )

    def background(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a verb on this data directory whose output the caller reads."""
        return subprocess.Popen(
            self._command(arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._environ(),
            cwd="/",
            **self._identity(),
        )

    def stop(self, number: signal.Signals = signal.SIGTERM) -> float:
        """Ask it to stop; how many seconds it took."""
        assert self.process is not None
        begun = time.monotonic()
        self.process.send_signal(number)
        status = self.process.wait(timeout=PATIENCE)
        assert status == 0, f"it ended with status {status}; see {self.log}\n{self.last_lines()}"
        self.process = None
        return time.monotonic() - begun

    def kill(self) -> None:
        """Kill the supervisor alone; what it leaves behind is the next start's business."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(timeout=PATIENCE)
        self.process = None

    def end(self) -> None:
        """Whatever state a test left it in: end all its processes."""
        if self.process is not None and self.process.poll() is None:
            for pid in self.everyone():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=15)
        for pid in self.everyone():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.process is not None:
            self.process.wait(timeout=PATIENCE)
            self.process = None

    def until_ready(self) -> None:
        """Wait until the pages answer and all groups are at work."""
        wait_for(lambda: self.state().get("ready") or self._ended(), "the instance is ready")
        assert not self._ended(), f"it ended at its start:\n{self.last_lines()}"
        wait_for(self.web_answers, "the pages answer")
        wait_for(lambda: all(self.pid(name) for name in GROUPS), "the groups run")

    def _ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def _command(self, arguments: Sequence[str]) -> list[str]:
        """The program that the bootstrap script hands over to."""
        python = interpreter_for(self.user)
        return [python, "-P", "-m", "appliance.main", *arguments, "--data", str(self.data)]

    def _environ(self) -> dict[str, str]:
        # No ".pyc" from another account into the working tree, no settings of whoever runs the tests.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("VITRINE_")}
        fixed = {
            "PYTHONPATH": str(PROJECT),
            "PYTHONNOUSERSITE": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        if self.user:
            fixed |= environ_of(interpreter_for(self.user)) | {"HOME": str(self.data.parent)}
        return kept | fixed | {"VITRINE_LOG_FORMAT": "json"} | self.environ

    def _identity(self) -> dict[str, Any]:
        return identity_of(self.user) if self.user else {}

    def last_lines(self, count: int = 30) -> str:
        """The end of the log, for a message."""
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-count:])

    # -- who runs

    def state(self) -> dict[str, Any]:
        """What the supervisor wrote about its life, empty when it is not the one that we started."""
        found = _json(self.home.run / "state.json")
        return found if self.process is not None and found.get("pid") == self.process.pid else {}

    def health(self) -> dict[str, Any]:
        """The health file."""
        return _json(self.home.run / "health.json")

    def pid(self, name: str) -> int:
        """The living process of that name, 0 when there is none at the moment."""
        for child in self.state().get("children", ()):
            if child["name"] == name and proc.is_alive(child["pid"], child["pid_started"]):
                return int(child["pid"])
        return 0

    def decoders(self) -> list[int]:
        """The decode children of the heavy group."""
        heavy = self.pid("heavy")
        return (
            [pid for pid in proc.children_of(heavy) if DECODER in processes.command_of(pid)] if heavy else []
        )

    def everyone(self) -> list[int]:
        """Every process of this instance, found by its tree and by its data directory."""
        alive = self.process is not None and self.process.poll() is None
        roots = {self.process.pid} if self.process is not None and alive else set()
        return processes.family(roots, self.data)

    # -- questions

    def get(self, path: str) -> tuple[int, str]:
        """One page."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path, headers={"Host": "localhost"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        finally:
            connection.close()

    def web_answers(self) -> bool:
        """True when the pages and their database answer."""
        try:
            return self.get("/health/ready")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def rows(self, statement: str, *arguments: Any) -> list[Any]:
        """Ask the database of the running instance."""
        return asyncio.run(self._rows(statement, arguments))

    async def _rows(self, statement: str, arguments: tuple[Any, ...]) -> list[Any]:
        connection = await asyncpg.connect(self.database_url, timeout=30)
        try:
            return await connection.fetch(statement, *arguments)
        finally:
            await connection.close(timeout=10)

    def value(self, statement: str, *arguments: Any) -> Any:
        """The first field of the first row."""
        return self.rows(statement, *arguments)[0][0]

    def patient_value(self, statement: str, *arguments: Any, limit: float = PATIENCE) -> Any:
        """The same through an outage."""
        return wait_for(lambda: (self._try(statement, arguments),), "the database answers", limit=limit)[0]

    def _try(self, statement: str, arguments: tuple[Any, ...]) -> Any:
        try:
            return self.value(statement, *arguments)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
            raise NotYet from error

    @property
    def database_url(self) -> str:
        """The private socket of the embedded database."""
        return str(_json(self.home.run / "state.json")["database_url"])

    @property
    def redis_url(self) -> str:
        """The private socket of the embedded doorbell."""
        return str(_json(self.home.run / "state.json")["redis_url"])


class NotYet(Exception):
    """A condition that cannot be judged at this moment."""


def wait_for(condition: Callable[[], Any], what: str, *, limit: float = PATIENCE, every: float = 0.05) -> Any:
    """Wait for a condition and return its value; the limit only ends a hopeless wait."""
    deadline = time.monotonic() + limit
    while True:
        with contextlib.suppress(NotYet):
            if value := condition():
                return value
        assert time.monotonic() < deadline, f"not within {limit:g} s: {what}"
        time.sleep(every)


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def workplace(*, user: str = "") -> Iterator[Path]:
    """A folder with a short path that every account can pass, gone afterwards."""
    place = Path(tempfile.mkdtemp(prefix="vj-"))
    place.chmod(0o755)
    if user:
        entry = pwd.getpwnam(user)
        os.chown(place, entry.pw_uid, entry.pw_gid)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextlib.contextmanager
def instance(place: Path, *, user: str = "", **environ: str) -> Iterator[Instance]:
    """An instance that is not started yet and surely ended."""
    made = Instance(
        place / "data", free_port(), {f"VITRINE_{k.upper()}": v for k, v in environ.items()}, user
    )
    made.log.touch()
    try:
        yield made
    finally:
        made.end()
