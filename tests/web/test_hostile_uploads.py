"""What is sent may be anything: it becomes a picture, a failure with its reason, or nothing, never a page."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import cast

import httpx
import pytest

from tests.ingest.conftest import Ingest, folder, ingest
from tests.ingest.test_uploads import lying
from tests.media import make


__all__ = ["folder", "ingest"]
SCRIPT = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(document.cookie)</script></svg>"
PAGE = b"<!doctype html><html><body><script>alert(1)</script></body></html>"


async def send(client: httpx.AsyncClient, ingest: Ingest, files: Mapping[str, bytes]) -> httpx.Response:
    """Send a form as a browser without scripts does, import it, and look at the page that follows."""
    body = [("files", (name, content, "image/jpeg")) for name, content in files.items()]
    answer = await client.post("/uploads/form", files=body)
    assert answer.status_code == 303
    await ingest.drain()
    return await client.get(answer.headers["Location"])


async def outcomes(ingest: Ingest) -> dict[str, tuple[str, str | None]]:
    rows = await ingest.rows(
        "SELECT u.name, e.outcome, e.reason FROM upload u JOIN root_entry e ON e.id = u.entry_id"
    )
    return {str(row["name"]): (str(row["outcome"]), cast("str | None", row["reason"])) for row in rows}


async def test_a19_an_avif_is_taken_and_half_of_one_fails_with_its_reason(
    client: httpx.AsyncClient, ingest: Ingest
) -> None:
    whole = make.saved(make.corner((300, 200)), "AVIF")
    page = await send(client, ingest, {"whole.avif": whole, "half.avif": whole[: len(whole) // 2]})
    assert page.status_code == 200
    assert await outcomes(ingest) == {
        "whole.avif": ("imported", None), "half.avif": ("failed", "truncated"),
    }  # fmt: skip
    (row,) = await ingest.rows("SELECT id, mime FROM asset")
    assert row["mime"] == "image/avif"
    assert (await client.get(f"/asset/{row['id']}")).status_code == 200


async def test_a88_drawings_and_pages_with_scripts_become_nothing_that_is_served(
    client: httpx.AsyncClient, ingest: Ingest
) -> None:
    files = {"drawing.svg": SCRIPT, "drawing.jpg": SCRIPT, "page.jpg": PAGE, "page.html": PAGE}
    page = await send(client, ingest, files)
    assert await ingest.rows("SELECT id FROM asset") == []
    assert await outcomes(ingest) == {
        "drawing.svg": ("failed", "unsupported"),
        "drawing.jpg": ("failed", "unsupported"),
        "page.jpg": ("failed", "not_media"),
        "page.html": ("skipped", "not_media"),
    }
    assert "alert(" not in html.unescape(page.text)
    assert "page.html" not in lying(ingest.settings)


@pytest.mark.parametrize("behind", [SCRIPT, PAGE], ids=["svg", "html"])
async def test_a88_a_picture_that_is_a_page_as_well_is_served_as_a_picture_alone(
    client: httpx.AsyncClient, ingest: Ingest, behind: bytes
) -> None:
    both = make.saved(make.corner((300, 200)), "GIF") + behind
    await send(client, ingest, {"both.gif": both})
    (row,) = await ingest.rows("SELECT id FROM asset")
    answer = await client.get(f"/media/{row['id']}/original")
    assert answer.content == both
    assert answer.headers["content-type"] == "image/gif"
    assert answer.headers["x-content-type-options"] == "nosniff"
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-same-origin; default-src 'none'")
    assert "script-src" not in policy
