"""Someone with an account, who looks at the pages."""

from __future__ import annotations

import re

import httpx

from tests.journeys.instance import Instance, wait_for


PASSWORD = "a long word for tests"  # noqa: S105 - nobody else ever sees this instance


def visitor(instance: Instance) -> httpx.Client:
    """Make the first account with the code that the start printed, and sign in with it."""
    code = wait_for(lambda: _code(instance), "the set-up code is printed")
    origin = f"http://localhost:{instance.port}"
    client = httpx.Client(
        base_url=origin, headers={"Origin": origin, "Sec-Fetch-Site": "same-origin"}, timeout=20
    )
    answer = client.post("/setup", data={"code": code, "name": "ada", "password": PASSWORD})
    assert answer.status_code < 400, answer.text
    assert client.get("/admin/activity").status_code == 200
    return client


def _code(instance: Instance) -> str:
    found = re.search(r"/setup\?code=([A-Z0-9-]+)", instance.log.read_text("utf-8", "replace"))
    return found.group(1) if found else ""
