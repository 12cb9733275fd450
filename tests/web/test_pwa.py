"""The installable app: what the manifest names is there, and nothing of it knows anybody."""

from __future__ import annotations

import io
import re

import httpx
from PIL import Image


async def test_manifest_is_open_and_its_icons_have_their_sizes(stranger: httpx.AsyncClient) -> None:
    answer = await stranger.get("/manifest.webmanifest")

    assert answer.headers["Content-Type"].startswith("application/manifest+json")
    found = answer.json()
    assert {i["purpose"] for i in found["icons"]} == {"any", "maskable"}
    for icon in found["icons"]:
        picture = Image.open(io.BytesIO((await stranger.get(icon["src"])).content))
        assert f"{picture.width}x{picture.height}" == icon["sizes"]
    share = found["share_target"]
    assert (share["action"], share["method"]) == ("/uploads/shared", "POST")
    assert share["params"]["files"] == [{"name": "files", "accept": ["image/*", "video/*"]}]


async def test_mark_stays_inside_what_a_round_mask_leaves(stranger: httpx.AsyncClient) -> None:
    icons = (await stranger.get("/manifest.webmanifest")).json()["icons"]
    address = next(i["src"] for i in icons if i["purpose"] == "maskable" and i["sizes"] == "512x512")
    picture = Image.open(io.BytesIO((await stranger.get(address)).content)).convert("L")

    box = picture.point(lambda v: 255 if v < 128 else 0).getbbox()

    assert box is not None
    corners = [(x - 256, y - 256) for x in (box[0], box[2]) for y in (box[1], box[3])]
    assert max((x * x + y * y) ** 0.5 for x, y in corners) <= 0.4 * 512


async def test_worker_stands_at_the_root_and_is_asked_for_anew(stranger: httpx.AsyncClient) -> None:
    answer = await stranger.get("/sw.js")

    assert answer.headers["Content-Type"].startswith("text/javascript")
    assert answer.headers["Cache-Control"] == "no-cache"
    assert "/media/" not in answer.text


async def test_offline_page_knows_nobody_and_names_only_static_files(client: httpx.AsyncClient) -> None:
    text = (await client.get("/offline")).text

    assert "anna" not in text
    assert "Nothing is lost" in text
    for address in re.findall(r'/static/[^"#?]+', text):
        assert (await client.get(address)).status_code == 200


async def test_pages_name_the_manifest(stranger: httpx.AsyncClient, account: int) -> None:
    text = (await stranger.get("/login")).text

    assert '<link rel="manifest" href="/manifest.webmanifest">' in text
    assert "manifest-src 'self'" in (await stranger.get("/login")).headers["Content-Security-Policy"]
