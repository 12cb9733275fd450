"""A signed-in browser without a screen: pages and pictures over HTTP, one connection."""

from __future__ import annotations

import http.client
import re
from typing import NamedTuple
from urllib.parse import urlencode

from appliance.core.errors import VitrineError


# Longer than the pages themselves wait for a preview.
LIMIT = 30.0
PASSWORD = "bench: a password for a minute"  # noqa: S105 - of an instance that is thrown away
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PARTIAL = {"HX-Request": "true", "HX-Request-Type": "partial"}
_GRID = re.compile(r'src="(/media/(\d+)/grid-240\?v=\d+)"')


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: bytes
    cookie: str


class Refused(VitrineError):
    """The instance under measurement answered something else than what was asked for."""


class Reader:
    """One visitor with the session cookie in hand."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._cookie = ""
        self._partial = False
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, path: str, form: dict[str, str] | None = None) -> Answer:
        """One request; a connection that was closed meanwhile is opened again."""
        try:
            return self._ask(path, form)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            self.close()
            return self._ask(path, form)

    def _ask(self, path: str, form: dict[str, str] | None) -> Answer:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        headers = {"Cookie": self._cookie} if self._cookie else {}
        headers |= PARTIAL if self._partial else {}
        if form is None:
            self._connection.request("GET", path, headers=headers)
        else:
            self._connection.request("POST", path, urlencode(form), headers | FORM)
        response = self._connection.getresponse()
        cookie = (response.getheader("Set-Cookie") or "").partition(";")[0]
        return Answer(response.status, response.read(), cookie)

    def status_of(self, path: str) -> int:
        """The status of a page; 0 while nobody answers."""
        try:
            return self.ask(path).status
        except (OSError, http.client.HTTPException):
            self.close()
            return 0

    def get(self, path: str) -> bytes:
        """The body of a page or picture that must be there."""
        answer = self.ask(path)
        if answer.status != 200:
            raise Refused(f"{path} answered {answer.status}")
        return answer.body

    def part(self, path: str) -> bytes:
        """The body of a fragment, asked for as a script on the page would."""
        self._partial = True
        try:
            return self.get(path)
        finally:
            self._partial = False

    def same(self) -> Reader:
        """Another connection of the same visitor."""
        other = Reader(self.port)
        other._cookie = self._cookie
        return other

    def set_up(self, code: str) -> None:
        """Make the first account."""
        self._enter("/setup", {"code": code, "name": "bench", "password": PASSWORD})

    def sign_in(self) -> None:
        """Sign in to an account that `set_up` made."""
        self._enter("/login", {"name": "bench", "password": PASSWORD})

    def _enter(self, path: str, form: dict[str, str]) -> None:
        answer = self.ask(path, form)
        if answer.status not in {302, 303} or not answer.cookie:
            raise Refused(f"{path} did not sign in: it answered {answer.status}")
        self._cookie = answer.cookie

    def grid(self) -> dict[int, str]:
        """The pictures that the first page of the timeline shows: asset and address."""
        text = self.get("/").decode()
        return {int(asset): address for address, asset in _GRID.findall(text)}

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
