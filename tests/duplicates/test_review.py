"""The review of duplicates over HTTP: works without scripts, costs the same at any size, and leads on."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from appliance.core.db import Database
from appliance.core.errors import Conflict
from tests.duplicates.conftest import Doubles, jpeg, scene
from tests.duplicates.test_deciding import decide, state
from tests.media_files import put
from tests.web.conftest import PARTIAL, statements


async def fill(doubles: Doubles, folder: Path, *seeds: int) -> None:
    """A picture and a smaller copy of it for each seed."""
    for seed in seeds:
        put(folder, f"{seed}.jpg", jpeg(scene(seed)))
        put(folder, f"{seed} small.jpg", jpeg(scene(seed, (320, 240)), 85))
    await doubles.imports.scan(folder)
    await doubles.search()


def shown_pair(page: httpx.Response) -> int:
    found = re.search(r'data-pair="(\d+)"', page.text)
    assert found is not None
    return int(found[1])


async def test_an_empty_review_says_so(client: httpx.AsyncClient) -> None:
    page = await client.get("/duplicates")

    assert page.status_code == 200
    assert "0 pairs wait" in page.text
    assert "Nothing to decide" in page.text


async def test_a_pair_stands_side_by_side_with_what_differs_and_a_proposal(
    client: httpx.AsyncClient,
    doubles: Doubles,
    folder: Path,
) -> None:
    await fill(doubles, folder, 1)
    large, small = await doubles.ids("1.jpg", "1 small.jpg")
    await doubles.lib.act("tag", [small], tags="sea")

    page = (await client.get("/duplicates")).text

    assert "1 pair waits" in page
    assert f'href="/asset/{large}"' in page
    assert f'href="/asset/{small}"' in page
    letter = "A" if large < small else "B"
    assert f"<h2>Keep {letter}</h2>" in page
    assert f"<p>{letter} has more pixels.</p>" in page
    assert "4.0 times as many" in page
    assert f"sea, from {'B' if letter == 'A' else 'A'}" in page


async def test_a_decision_by_form_leads_to_the_next_pair_and_back(
    client: httpx.AsyncClient,
    doubles: Doubles,
    folder: Path,
) -> None:
    await fill(doubles, folder, 1, 2)
    first = shown_pair(await client.get("/duplicates"))
    a, b = await doubles.lib.value("SELECT ARRAY[a_id, b_id] FROM duplicate_pair WHERE id = $1", first)

    answer = await client.post(f"/duplicates/{first}", data={"kind": "keep_one", "keep": str(b)})
    assert answer.status_code == 303
    following = await client.get(answer.headers["Location"])

    assert await doubles.lib.value("SELECT state FROM asset WHERE id = $1", a) == "trashed"
    assert shown_pair(following) != first
    undo = re.search(r'action="(/operations/\d+/undo)"', following.text)
    assert undo is not None
    await client.post(undo[1])
    assert await doubles.lib.value("SELECT state FROM asset WHERE id = $1", a) == "kept"
    assert shown_pair(await client.get("/duplicates")) == first


@pytest.mark.parametrize("again", ["different", "alternate", "keep_one", "the other"])
async def test_a_pair_of_which_one_lies_in_the_trash_is_not_decided_from_another_page(
    client: httpx.AsyncClient, doubles: Doubles, folder: Path, again: str
) -> None:
    await fill(doubles, folder, 1)
    pair = shown_pair(await client.get("/duplicates"))
    keep, drop = await doubles.ids("1.jpg", "1 small.jpg")
    await client.post(f"/duplicates/{pair}", data={"kind": "keep_one", "keep": str(keep)})
    before = await state(doubles)
    form = {
        "kind": "keep_one" if again == "the other" else again,
        "keep": str(drop if again == "the other" else keep),
    }

    for headers in ({}, PARTIAL):
        refused = await client.post(f"/duplicates/{pair}", data=form, headers=headers)

        assert refused.status_code == 409
        assert "1 small.jpg lies in the trash" in refused.text
        assert "Undo in the history what was decided, or take it out of the trash" in refused.text
    assert await state(doubles) == before
    assert f'action="/duplicates/{pair}"' not in (await client.get(f"/duplicates?pair={pair}")).text


async def test_a_pair_is_decided_again_once_it_is_out_of_the_trash(
    client: httpx.AsyncClient, doubles: Doubles, folder: Path
) -> None:
    await fill(doubles, folder, 1)
    pair = shown_pair(await client.get("/duplicates"))
    keep, drop = await doubles.ids("1.jpg", "1 small.jpg")
    await client.post(f"/duplicates/{pair}", data={"kind": "keep_one", "keep": str(keep)})

    await doubles.lib.act("restore", [drop])

    assert shown_pair(await client.get("/duplicates")) == pair
    assert (await client.post(f"/duplicates/{pair}", data={"kind": "alternate"})).status_code == 303


async def test_a_pair_of_which_one_is_deleted_for_good_meanwhile_is_refused(
    doubles: Doubles, folder: Path
) -> None:
    await fill(doubles, folder, 1)
    one, other = await doubles.ids("1.jpg", "1 small.jpg")
    await doubles.lib.act("trash", [other])
    await doubles.lib.act("purge", [other])

    for kind in ("different", "alternate", "keep_one"):
        with pytest.raises(Conflict, match="One of the two was deleted for good"):
            await decide(doubles, kind, one, other)


async def test_by_script_the_answer_is_the_next_pair_with_a_line_and_its_undo(
    client: httpx.AsyncClient,
    doubles: Doubles,
    folder: Path,
) -> None:
    await fill(doubles, folder, 1, 2)
    first = shown_pair(await client.get("/duplicates"))

    answer = await client.post(f"/duplicates/{first}", data={"kind": "different"}, headers=PARTIAL)

    assert shown_pair(answer) != first
    assert re.search(rf'data-decided="\d+:{first}"', answer.text)
    assert "They will not be offered again" in answer.text
    assert "/undo" in answer.text


async def test_skipping_goes_on_and_the_end_says_what_was_skipped(
    client: httpx.AsyncClient,
    doubles: Doubles,
    folder: Path,
) -> None:
    await fill(doubles, folder, 1, 2, 3)
    page = await client.get("/duplicates")
    seen = []
    while 'data-pair="' in page.text:
        seen.append(shown_pair(page))
        skip = re.search(r'href="(/duplicates\?after=[\d.]+)"[^>]*data-act="skip"', page.text)
        assert skip is not None
        page = await client.get(skip[1])

    assert len(set(seen)) == len(seen) == 3
    assert "That was the last one" in page.text
    assert await doubles.shown() != []


async def test_the_page_of_a_picture_leads_to_what_looks_like_it(
    client: httpx.AsyncClient, doubles: Doubles, folder: Path
) -> None:
    await fill(doubles, folder, 1)
    (one,) = await doubles.ids("1.jpg")
    pair = shown_pair(await client.get("/duplicates"))

    assert f'href="/duplicates?pair={pair}"' in (await client.get(f"/asset/{one}")).text


async def test_stacked_versions_name_each_other(
    client: httpx.AsyncClient,
    doubles: Doubles,
    folder: Path,
) -> None:
    await fill(doubles, folder, 1)
    one, other = await doubles.ids("1.jpg", "1 small.jpg")
    pair = shown_pair(await client.get("/duplicates"))

    await client.post(f"/duplicates/{pair}", data={"kind": "alternate"})

    for asset, version in ((one, other), (other, one)):
        page = (await client.get(f"/asset/{asset}")).text
        assert f'<a href="/asset/{version}"><img src="/media/{version}/grid-240' in page
    assert "0 pairs wait" in (await client.get("/duplicates")).text


@pytest.mark.parametrize(
    "form", [{}, {"kind": "purge"}, {"kind": "keep_one"}, {"kind": "keep_one", "keep": "999"}]
)
async def test_what_makes_no_sense_is_refused_and_changes_nothing(
    client: httpx.AsyncClient,
    doubles: Doubles,
    folder: Path,
    form: dict[str, str],
) -> None:
    await fill(doubles, folder, 1)
    pair = shown_pair(await client.get("/duplicates"))

    assert (await client.post(f"/duplicates/{pair}", data=form)).status_code == 422
    assert len(await doubles.shown()) == 1


async def test_unknown_pairs_and_places_are_said_to_be_so(client: httpx.AsyncClient) -> None:
    assert (await client.post("/duplicates/77", data={"kind": "different"})).status_code == 404
    assert (await client.get("/duplicates?after=x")).status_code == 422
    assert (await client.get("/duplicates?pair=77")).status_code == 200


async def test_a_page_costs_the_same_number_of_statements_at_any_size(
    client: httpx.AsyncClient,
    doubles: Doubles,
    folder: Path,
    db: Database,
) -> None:
    async def cost() -> int:
        await client.get("/duplicates")
        with statements(db) as seen:
            await client.get("/duplicates")
        return len(seen)

    await fill(doubles, folder, 1, 2)
    few = await cost()
    await fill(doubles, folder, *range(10, 20))

    assert await cost() == few


async def test_a_search_finds_what_waits_for_a_decision(
    client: httpx.AsyncClient, doubles: Doubles, folder: Path
) -> None:
    await fill(doubles, folder, 1)
    put(folder, "alone.jpg", jpeg(scene(5)))
    await doubles.imports.scan(folder)
    await doubles.search()
    one, other, alone = await doubles.ids("1.jpg", "1 small.jpg", "alone.jpg")

    found = (await client.get("/?q=is:duplicate")).text
    free = (await client.get("/?q=is:duplicate-free")).text

    for asset in (one, other):
        assert f'"/asset/{asset}' in found
        assert f'"/asset/{asset}' not in free
    assert f'"/asset/{alone}' in free
    assert f'"/asset/{alone}' not in found
