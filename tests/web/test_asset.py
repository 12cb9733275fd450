"""The page of an asset: what is known, in words; its picture as soon as there is one."""

from __future__ import annotations

import json

import httpx

from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.web.factwords import of_file
from tests.seed import seed
from tests.web.conftest import PARTIAL


async def test_it_tells_date_source_camera_size_and_origin(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    made = await seed(db, settings.home, 3)
    facts = {
        "make": "Canon",
        "model": "Canon EOS 5D",
        "exposure": "1/120 s",
        "f_number": 1.6,
        "iso": 64,
        "focal_length": 26.0,
    }
    async with db.unit_of_work() as uow:
        await uow.sql.execute(
            "UPDATE asset SET facts = $2, taken_offset = 120 WHERE id = $1", made[1], json.dumps(facts)
        )
    page = (await client.get(f"/asset/{made[1]}")).text
    assert "own record, UTC+2" in page
    assert "Canon EOS 5D" in page
    assert "26 mm, f/1.6, 1/120 s, ISO 64" in page
    assert "JPEG" in page
    assert f'href="/asset/{made[0]}" data-key="previous"' in page
    assert f'href="/asset/{made[2]}" data-key="next"' in page
    assert f"#a{made[1]}" in page
    files = (await client.get(f"/asset/{made[1]}?pane=files")).text
    assert "SHA-256" in files
    assert "left where it is, only read" in files
    assert "/seeded/" in files


async def test_names_that_are_not_text_are_shown_and_not_fatal_a14(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    made = await seed(db, settings.home, 1)
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE asset_file SET path = $1", b"dr\xe9 <b>.jpg")
        await uow.sql.execute("UPDATE provenance SET path = $1", b"dr\xe9 <b>.jpg")
    for pane in ("info", "files"):
        page = await client.get(f"/asset/{made[0]}?pane={pane}")
        assert page.status_code == 200
        assert r"dr\xe9 &lt;b&gt;.jpg" in page.text


async def test_without_a_preview_the_grid_picture_stands_and_the_sharp_one_is_asked_for(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    made = await seed(db, settings.home, 3, preview=False)
    page = (await client.get(f"/asset/{made[1]}")).text
    assert "Sharp picture in a moment" in page
    assert f'hx-get="/asset/{made[1]}/picture" hx-trigger="load delay:50ms' in page
    assert f"/media/{made[1]}/grid-480" in page
    async with db.unit_of_work() as uow:
        found = dict(await uow.sql.fetch("SELECT asset_id, priority FROM rendition WHERE name = 'preview'"))
        assert found == {made[0]: 1, made[1]: 0, made[2]: 1}
        await uow.sql.execute("UPDATE rendition SET status = 'complete' WHERE name = 'preview'")
    part = (await client.get(f"/asset/{made[1]}/picture", headers=PARTIAL)).text
    assert f"/media/{made[1]}/preview" in part
    assert "load delay" not in part


async def test_a_preview_that_failed_says_why_and_offers_the_original(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    made = await seed(db, settings.home, 1)
    async with db.unit_of_work() as uow:
        await uow.sql.execute(
            "UPDATE rendition SET status = 'failed', reason = 'timeout' WHERE name = 'preview'"
        )
    page = (await client.get(f"/asset/{made[0]}")).text
    assert "Took too long" in page
    assert "Open the original" in page
    assert "load delay" not in page.partition('id="picture"')[2].partition("</figure>")[0]


async def test_an_asset_that_does_not_exist_is_a_page_in_words(client: httpx.AsyncClient) -> None:
    answer = await client.get("/asset/12345")
    assert answer.status_code == 404
    assert "There is no such picture" in answer.text
    assert 'class="rail"' in answer.text


def test_hostile_facts_never_break_the_page() -> None:
    lines = of_file(
        {
            "make": None,
            "model": ["x", 1.5],
            "f_number": True,
            "latitude": "north",
            "weird": {"a": [1, 2]},
            "iso": 0,
        }
    )
    assert ("Weird", "a 1, 2") in lines
    assert all(isinstance(text, str) and text for _, text in lines)


DESCRIBED = """
WITH entry AS (
    INSERT INTO root_entry (root_id, path, size, mtime_ns, inode, outcome, reason, seen_batch)
    SELECT root_id, path || '.json', 1, 1, 1, 'skipped', 'sidecar', 1 FROM asset_file WHERE asset_id = $1
    RETURNING id, root_id, path
)
INSERT INTO sidecar (entry_id, root_id, about, kind, sha256, said)
SELECT id, root_id, substr(path, 1, length(path) - 5), 'json', '', $2 FROM entry
"""


async def test_it_tells_what_files_beside_it_say_as_text_with_links_of_the_web_only(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    made = await seed(db, settings.home, 1)
    said = {
        "title": "<i>At sea</i>",
        "facts": {
            "description": "<script>alert(1)</script>",
            "artist": "Anna",
            "category": "pixiv",
            "sources": ["https://example.org/post/7?a=1&b=2", "javascript:alert(1)", 7],
        },
        "notes": ["400 of 500 keywords became tags"],
    }
    async with db.unit_of_work() as uow:
        await uow.sql.execute(DESCRIBED, made[0], json.dumps(said))
        await uow.sql.execute(
            "INSERT INTO root_entry (root_id, path, size, mtime_ns, inode, outcome, asset_id, seen_batch)"
            " SELECT root_id, path, 1, 1, 1, 'imported', asset_id, 1 FROM asset_file WHERE asset_id = $1"
            " ON CONFLICT DO NOTHING",
            made[0],
        )
    page = (await client.get(f"/asset/{made[0]}")).text
    assert "<b>pixiv</b>" in page
    assert "&lt;i&gt;At sea&lt;/i&gt;" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert 'href="https://example.org/post/7?a=1&amp;b=2" rel="noreferrer noopener"' in page
    assert "javascript:" not in page
    assert "400 of 500 keywords became tags" in page


def test_words_that_come_with_a_camera_are_told_together() -> None:
    lines = of_file(
        {"lens_make": "Canon", "lens": "EF 50mm", "exposure_bias": -0.33, "metering": "spot",
         "program": "manual", "city": "Lindau", "country": "Germany",
         "latitude": 47.5, "longitude": 9.7, "altitude": 395.2,
         "artist": "Anna"}
    )  # fmt: skip
    assert lines == [
        ("Lens", "Canon EF 50mm"),
        ("Set to", "-0.33 EV"),
        ("Metering", "spot, manual"),
        ("Place", "Lindau, Germany, 47.50000° N, 9.70000° E, 395 m"),
        ("By", "Anna"),
    ]
