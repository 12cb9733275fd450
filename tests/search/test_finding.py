"""What each word of the grammar finds."""

from __future__ import annotations

from datetime import timedelta

import pytest

from appliance.search import lookup
from appliance.search.services import SearchError
from tests.search.conftest import ADMIN, NOW, VIEWER, Library, wall


async def test_words_are_tags_and_all_must_hold(library: Library) -> None:
    one, two, three, four = await library.add(4)
    await library.tag([one, two, three], "fox")
    await library.tag([two, three, four], "snow")
    await library.tag([three], "red fox", "artist:anna")
    assert await library.find("fox snow") == [two, three]
    assert await library.find("fox or snow") == [one, two, three, four]
    assert await library.find("fox -snow") == [one]
    assert await library.find("-fox") == [four]
    assert await library.find("-(fox snow)") == [one, four]
    assert await library.find('"Red  Fox"') == [three]
    assert await library.find("artist:anna") == [three]
    assert await library.find("general:anna") == []
    assert await library.find("kind:artist") == [three]
    assert await library.find("tags:0") == []
    assert await library.find("tags:>=2 -red_fox") == [two]
    assert await library.find("(fox -snow) or (snow -fox)") == [one, four]


async def test_a_star_stands_for_every_tag_that_begins_so(library: Library) -> None:
    made = await library.add(12)
    for number, asset in enumerate(made):
        await library.tag([asset], f"art {number}", "other")
    assert await library.find("art*") == made
    assert await library.find("art_1*") == [made[1], *made[10:]]
    assert await library.find("-art_1*") == [made[0], *made[2:10]]
    plan = await library.plan("art*")
    assert plan.note_of(plan.query.terms[0]) == "expands to 12 tags"


async def test_an_alias_finds_its_tag(library: Library) -> None:
    (asset,) = await library.add(1)
    (tag,) = await library.tag([asset], "fox")
    async with library.db.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO tag_alias (name, name_key, kind, tag_id) VALUES ('Vulpes', 'vulpes', 'general', $1)",
            tag,
        )
    assert await library.find("VULPES") == [asset]
    assert await library.find("vul*") == [asset]


@pytest.mark.parametrize(
    "sort", ["", "-sort:date", "sort:added", "sort:size", "sort:rating", "sort:duration", "sort:random:5"]
)
async def test_a_tag_that_does_not_exist_finds_nothing_but_excludes_nothing(
    library: Library, sort: str
) -> None:
    made = await library.add(3)
    await library.tag(made, "fox")
    assert await library.find(f"fox nosuch {sort}") == []
    assert sorted(await library.find(f"fox -nosuch {sort}")) == made
    assert sorted(await library.find(f"(fox or nosuch) {sort}")) == made
    assert [t.name for t in (await library.plan("fox nosuch")).unknown] == ["nosuch"]


async def test_numbers_compare_and_round(library: Library) -> None:
    small, large, film = await library.add(
        3,
        width=[640, 4000, 1920],
        height=[480, 3000, 1080],
        size=[90_000, 5_200_000, 3_000_000_000],
        kind=["still", "still", "video"],
        mime=["image/png", "image/jpeg", "video/x-matroska"],
        duration_ms=[None, None, 90_400],
        rating=[0, 5, 3],
    )
    for q, wanted in {
        "width:>2000": [large],
        "width:640": [small],
        "height:480..1080": [small, film],
        "mpx:>4": [large],
        "mpx:2..2.1": [film],
        "mpx:12": [large],
        "mpx:<1": [small],
        "ratio:16:9": [film],
        "ratio:4:3": [small, large],
        "ratio:>1.5": [film],
        "size:>5mb": [large, film],
        "size:5mb": [large],
        "size:<100kb": [small],
        "size:>=1gb": [film],
        "duration:1:30": [film],
        "duration:>1m": [film],
        "-duration:>1m": [small, large],
        "duration:..1m": [],
        "rating:>=3": [large, film],
        "rating:0": [small],
        "rating:1..4": [film],
        "type:video": [film],
        "type:mkv": [film],
        "type:image": [small, large],
        "type:png or type:mkv": [small, film],
        "is:rated -is:landscape": [],
        "is:landscape": [small, large, film],
    }.items():
        assert await library.find(q) == wanted, q


async def test_dates_are_half_open_to_the_last_day_of_everything(library: Library) -> None:
    moments = [
        wall(9999, 12, 31, 23, 59, 59, 999_999),
        wall(2025, 1, 1),
        wall(2024, 12, 31, 23, 59, 59, 999_999),
        wall(2024, 3, 1),
        wall(2024, 2, 29, 23, 59),
        wall(2024, 2, 28, 12),
        wall(2023, 3, 1),
        wall(2023, 2, 28, 23),
        wall(1, 1, 1),
    ]
    made = [(await library.add(1, latest=moment))[0] for moment in moments]
    for q, wanted in {
        "date:2024-12-31": made[2:3],
        "date:2024-12": made[2:3],
        "date:2024": made[2:6],
        "date:2024-02-29": made[4:5],
        "date:2024-02-28": made[5:6],
        "date:2023-02-28": made[7:8],
        "date:2023-02": made[7:8],
        "date:9999": made[:1],
        "date:9999-12": made[:1],
        "date:9999-12-31": made[:1],
        "date:>9999": [],
        "date:>9999-12-31": [],
        "date:<=9999-12-31": made,
        "date:>=9999-12-31": made[:1],
        "date:..2023": made[6:],
        "date:2023-02-28..2024-02-28": made[5:8],
        "date:<0002": made[8:],
        "date:0001-01-01": made[8:],
        "-date:2024": made[:2] + made[6:],
        "date:>2024-12": made[:2],
    }.items():
        assert await library.find(q) == wanted, q
    for wrong in (
        "date:2023-02-29",
        "date:2024-13",
        "date:0000",
        "date:2024-04-31",
        "date:soon",
        "date:2025..2024",
    ):
        with pytest.raises(SearchError) as refused:
            await library.find(f"fox {wrong}")
        assert (refused.value.start, refused.value.end) == (4, 4 + len(wrong))


async def test_days_are_counted_back_from_now(library: Library) -> None:
    now = NOW.replace(tzinfo=None)
    today, yesterday, week, year = [
        (await library.add(1, latest=now - back, added_at=(NOW - back).isoformat()))[0]
        for back in (timedelta(0), timedelta(days=1), timedelta(days=6), timedelta(days=300))
    ]
    assert await library.find("date:today") == [today]
    assert await library.find("date:yesterday") == [yesterday]
    assert await library.find("date:<7d") == [today, yesterday, week]
    assert await library.find("date:>7d") == [year]
    assert await library.find("date:<99999y") == [today, yesterday, week, year]
    assert await library.find("added:0001..9999") == [today, yesterday, week, year]
    assert await library.find("added:>9999") == []


async def test_folders_are_found_whole_or_by_a_part(library: Library) -> None:
    made = await library.add(4)
    async with library.db.unit_of_work() as uow:
        roots = [
            await uow.sql.fetchval("INSERT INTO root (path, mode) VALUES ($1, 'in_place') RETURNING id", p)
            for p in (b"/photos", b"/photos2/trip")
        ]
        for asset, root, path in zip(
            made,
            [roots[0], roots[0], roots[0], roots[1]],
            [b"2024/trip/a.jpg", b"2024/b.jpg", b"trip2/\xe9/c.jpg", b"d.jpg"],
            strict=True,
        ):
            await uow.sql.execute(
                "INSERT INTO asset_file (asset_id, root_id, path, size, mtime_ns) VALUES ($1, $2, $3, 1, 1)",
                asset,
                root,
                path,
            )
        await uow.sql.execute(
            "INSERT INTO asset_file (asset_id, root_id, path, size, mtime_ns) VALUES ($1, $2, $3, 1, 1)",
            made[0],
            roots[0],
            b"2024/trip/copy of a.jpg",
        )
    for q, wanted in {
        "folder:/photos": made[:3],
        "folder:/photos/": made[:3],
        "folder:/photos/2024": made[:2],
        "folder:/photos/2024/trip": made[:1],
        "folder:trip": [made[0], made[3]],
        "folder:2024/trip": made[:1],
        'folder:"/photos/trip2/\\xe9"': made[2:3],
        "folder:/nowhere": [],
        "-folder:trip": made[1:3],
        "folder:/": made,
    }.items():
        assert await library.find(q) == wanted, q


async def test_text_is_in_title_note_or_file_name(library: Library) -> None:
    made = await library.add(
        4, title=["A 100% Day", None, None, None], note=[None, "by the Käfer", None, None]
    )
    async with library.db.unit_of_work() as uow:
        for asset, path in ((made[2], b"beach_day/IMG_7.jpg"), (made[3], "x/Größe (1).jpg".encode())):
            await uow.sql.execute(
                "INSERT INTO provenance (asset_id, how, path) VALUES ($1, 'upload', $2)", asset, path
            )
    for q, wanted in {
        "text:100%": made[:1],
        "text:10%": [],
        'text:"the käfer"': made[1:2],
        "text:img_7": made[2:3],
        "text:imgx7": [],
        "text:beach_day": [],
        "text:größe": made[3:],
        'text:"(1)"': made[3:],
        "-text:day": made[1:],
        "source:upload": made[2:],
    }.items():
        assert await library.find(q) == wanted, q


async def test_what_the_timeline_hides_is_found_by_name_and_by_administrators(library: Library) -> None:
    shown, archived, trashed, private, both = await library.add(
        5,
        state=["inbox", "archived", "trashed", "kept", "archived"],
        private=[False, False, False, True, True],
    )
    await library.tag([shown, archived, trashed, private, both], "fox")
    for q, wanted in {
        "": [shown],
        "fox": [shown],
        "-is:trashed": [shown],
        "is:archived": [archived, both],
        "is:trashed fox": [trashed],
        "is:private": [private],
        "is:archived is:private": [both],
        "is:inbox": [shown],
        "is:kept": [],
        "is:trashed or is:archived": [archived, trashed, both],
        "fox -sort:date (is:trashed or is:private or is:inbox)": [private, trashed, shown],
        "is:trashed sort:size": [trashed],
        "(is:trashed or is:private) sort:random:3 fox": [trashed, private],
    }.items():
        found = await library.find(q)
        assert (sorted(found) if "random" in q else found) == wanted, q
    for q in ("is:private", "fox or is:trashed", "-is:archived"):
        with pytest.raises(SearchError, match="Only administrators"):
            await library.find(q, VIEWER)
    assert await library.find("fox", VIEWER) == await library.find("fox", ADMIN)


async def test_volumes_are_found_by_their_type_and_their_pages_by_administrators(library: Library) -> None:
    volume, page, film, loose = await library.add(
        4,
        kind=["volume", "still", "video", "still"],
        state=["kept", "inside", "inside", "kept"],
    )
    await library.tag([volume, page, loose], "fox")
    for q, wanted in {
        "": [volume, loose],
        "type:volume": [volume],
        "-type:volume": [loose],
        "type:comic fox": [volume],
        "type:image": [loose],
        "type:page": [page],
        "type:page fox": [page],
        "type:page or type:volume": [volume, page],
        "type:page sort:size": [page],
        "-type:page": [volume, loose],
    }.items():
        assert await library.find(q) == wanted, q
    assert film not in await library.find("type:page or type:video")
    with pytest.raises(SearchError, match="Only administrators can search for type:page"):
        await library.find("type:page", VIEWER)
    assert await library.find("type:volume", VIEWER) == [volume]


async def test_a_beginning_of_too_many_tags_is_refused_at_its_place(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "MOST_TAGS", 3)
    (asset,) = await library.add(1)
    await library.tag([asset], "fox 1", "fox 2", "fox 3")
    assert await library.find("fox*") == [asset]
    await library.tag([asset], "fox 4")
    with pytest.raises(SearchError, match=r"fox\* stands for 4 tags") as refused:
        await library.find("-fox*")
    assert (refused.value.start, refused.value.end) == (1, 5)
    assert refused.value.hint == "Type more letters."
