"""The outermost layer: hosts, origins and headers, for every answer."""

from __future__ import annotations

import httpx
import pytest

from appliance.web.security import CSP, Hosts, same_site
from tests.web.conftest import NAME, PASSWORD


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:8420", "127.0.0.1:8420", "[::1]:8420", "192.168.1.20", "nas.local", "nas.lan:80",
     "box.home.arpa", "pictures.example.org", "PICTURES.example.org."],
)  # fmt: skip
def test_names_of_a_home_network_and_named_hosts_are_answered(host: str) -> None:
    assert Hosts(["pictures.example.org"]).allows(host)


@pytest.mark.parametrize(
    "host", ["", "evil.example.org", "localhost.evil.org", "a b", "local", "x/..", "127.0.0.1.nip.io"]
)
def test_other_names_are_refused(host: str) -> None:
    assert not Hosts([]).allows(host)


async def test_the_refusal_names_the_setting(stranger: httpx.AsyncClient) -> None:
    answer = await stranger.get("/", headers={"Host": "photos.example.org:8420"})
    assert answer.status_code == 403
    assert "VITRINE_HOSTS=photos.example.org" in answer.text


async def test_a_hostile_host_name_is_escaped(stranger: httpx.AsyncClient) -> None:
    answer = await stranger.get("/", headers={"Host": "<script>alert(1)</script>"})
    assert answer.status_code == 403
    assert "<script>alert" not in answer.text


@pytest.mark.parametrize(
    "path", ["/", "/login", "/setup", "/nowhere", "/health/live", "/static/none.css", "/media/1/preview"]
)
async def test_every_answer_has_the_security_headers(stranger: httpx.AsyncClient, path: str) -> None:
    headers = (await stranger.get(path)).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == CSP
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["x-request-id"].startswith("req-")


def test_the_policy_allows_nothing_inline() -> None:
    assert "unsafe" not in CSP
    assert "nonce" not in CSP


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({b"sec-fetch-site": b"same-origin"}, True),
        ({b"sec-fetch-site": b"none"}, True),
        ({b"sec-fetch-site": b"cross-site"}, False),
        ({b"sec-fetch-site": b"same-site", b"origin": b"http://localhost"}, False),
        ({b"origin": b"http://192.168.1.5:8420", b"host": b"192.168.1.5:8420"}, True),
        ({b"origin": b"http://192.168.1.5:9000", b"host": b"192.168.1.5:8420"}, False),
        ({b"origin": b"null", b"host": b"192.168.1.5:8420"}, False),
        ({b"origin": b"https://evil.example", b"host": b"localhost"}, False),
        ({b"host": b"localhost"}, True),
    ],
)
def test_unsafe_requests_must_come_from_our_own_pages(headers: dict[bytes, bytes], allowed: bool) -> None:
    assert same_site("POST", headers) is allowed
    assert same_site("GET", headers) is True


async def test_a_foreign_form_is_refused_before_its_body_is_read(
    stranger: httpx.AsyncClient, account: int
) -> None:
    read = False

    async def body() -> object:
        nonlocal read
        read = True
        yield b"name=anna"

    answer = await stranger.post("/login", content=body(), headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403
    assert not read


async def test_a_head_request_has_the_headers_and_no_body(stranger: httpx.AsyncClient, account: int) -> None:
    answer = await stranger.head("/login")
    assert answer.status_code == 200
    assert answer.content == b""
    assert answer.headers["content-type"].startswith("text/html")


async def test_a_form_that_is_too_large_is_refused_in_words(
    stranger: httpx.AsyncClient, account: int
) -> None:
    answer = await stranger.post("/login", data={"name": NAME, "password": PASSWORD + "x" * 2_000_000})
    assert answer.status_code == 413
    assert "Too much at once" in answer.text


async def test_headers_that_need_a_secure_origin_are_sent_to_secure_origins_only(
    stranger: httpx.AsyncClient,
) -> None:
    for host, sent in (("127.0.0.1:8420", True), ("[::1]:8420", True), ("192.168.1.5:8420", False)):
        headers = (await stranger.get("/login", headers={"Host": host})).headers
        assert ("cross-origin-opener-policy" in headers) is sent
    assert "cross-origin-opener-policy" in (await stranger.get("https://nas.local/login")).headers
