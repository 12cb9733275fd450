"""Static files: addressed by content, kept for ever, small."""

from __future__ import annotations

import gzip
import re

import httpx
import pytest

from appliance.web.assets import BUNDLES, assets


async def test_an_address_changes_with_the_content_and_may_be_kept_for_ever(
    stranger: httpx.AsyncClient,
) -> None:
    url = assets().url("base.css")
    assert re.fullmatch(r"/static/base\.[0-9a-f]{12}\.css", url)
    answer = await stranger.get(url)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert answer.headers["content-encoding"] == "gzip"
    assert (await stranger.get("/static/base.css")).status_code == 404


async def test_a_browser_without_gzip_is_served_too(stranger: httpx.AsyncClient) -> None:
    answer = await stranger.get(assets().url("shell.js"), headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in answer.headers
    assert answer.content == assets().named("shell.js").body


@pytest.mark.parametrize("name", ["tokens.css", "base.css", *[n for n in BUNDLES if n.endswith(".css")]])
def test_style_sheets_name_files_that_exist(name: str) -> None:
    found = re.findall(rb'url\("([^"]+)"\)', assets().named(name).body)
    for url in found:
        assert assets().at(url.decode()) is not None, url


def test_scripts_of_the_gallery_are_within_their_budget() -> None:
    assert len(gzip.compress(assets().named("gallery.page.js").body, 9)) <= 30_000


def test_style_of_the_gallery_is_within_its_budget() -> None:
    assert len(gzip.compress(assets().named("gallery.page.css").body, 9)) <= 16_000


@pytest.mark.parametrize(
    "path", ["/static/../pyproject.toml", "/static/%2e%2e/pyproject.toml", "/static//etc/passwd"]
)
async def test_nothing_outside_is_served(stranger: httpx.AsyncClient, account: int, path: str) -> None:
    answer = await stranger.get(path)
    assert answer.status_code in {303, 404}
    assert "requires-python" not in answer.text
