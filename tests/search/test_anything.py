"""Whatever can be said is answered: no combination of terms breaks a statement."""

from __future__ import annotations

from datetime import timedelta

from appliance.search import explaining, selections, services
from appliance.search.selections import Selection
from tests.search.conftest import ADMIN, NOW, Library


TERMS = (
    "fox",
    "snow",
    "nosuch",
    "f*",
    "artist:anna",
    "artist:a*",
    '"red fox"',
    "tag:fox",
    "rating:safe",
    "kind:artist",
    "kind:meta",
    "type:image",
    "type:mkv",
    "date:2024-05",
    "date:<7d",
    "date:>99999y",
    "date:9999-12-31",
    "date:0001",
    "date:today",
    "added:2026",
    "added:>9999",
    "added:<0002",
    "added:>99999y",
    "rating:>=3",
    "rating:0",
    "is:favourite",
    "is:inbox",
    "is:archived",
    "is:trashed",
    "is:private",
    "is:missing",
    "is:untagged",
    "is:duplicate",
    "is:broken",
    "is:portrait",
    "is:noted",
    "width:>999999999999999",
    "height:1..2",
    "mpx:0",
    "mpx:999999999999999",
    "ratio:16:9",
    "ratio:0.001",
    "ratio:square",
    "size:999999999999999gib",
    "size:>0b",
    "duration:999999:59",
    "duration:0",
    "duration:>1h",
    "folder:/",
    "folder:a",
    r'folder:"\xe9"',
    'text:"%_\\\\ (+[.*"',
    "text:é",
    "tags:0",
    "tags:>2",
    "tags:999999999999999",
    "source:upload",
)
SORTS = (
    "",
    "sort:date",
    "-sort:date",
    "sort:added",
    "sort:rating",
    "-sort:size",
    "sort:duration",
    "sort:random:2147483647",
)


def sentence(library: Library) -> str:
    """A search of a few terms, some excluded, some grouped."""
    rng = library.random
    words = []
    for _ in range(rng.randint(1, 4)):
        some = [rng.choice(("", "", "-")) + rng.choice(TERMS) for _ in range(rng.randint(1, 3))]
        group = f" {rng.choice(('', 'or '))}".join(some)
        words.append(f"{rng.choice(('', '-'))}({group})" if len(some) > 1 else group)
    return " ".join([*words, rng.choice(SORTS)]).strip()


async def test_any_combination_of_terms_is_answered(library: Library) -> None:
    made = await library.add(60, apart=timedelta(days=20), rating=[n % 6 for n in range(60)])
    await library.tag(made[:40], "fox", "artist:anna")
    await library.tag(made[20:], "snow", "red fox")
    for q in (*TERMS, *(f"-{t}" for t in TERMS), *(sentence(library) for _ in range(250))):
        query = services.parse(q)
        async with library.db.unit_of_work() as uow, services.patience(uow.sql):
            plan = await services.plan(uow.sql, query, ADMIN, now=NOW)
            found = await services.older(uow.sql, plan, plan.order.first(), 1000, inclusive=True)
            count = await services.count_exact(uow.sql, plan)
            assert len(found) == len({t.id for t in found}) == count, q
            assert (await services.count(uow.sql, plan)).count == count, q
            if (months := await services.months(uow.sql, plan)) is not None:
                assert sum(n for _, n in months) == count, q
            chosen = Selection(q, everything=True)
            assert await selections.count(uow.sql, chosen, ADMIN) == count, q
            if found:
                place = await services.place_of(uow.sql, plan, found[-1].id)
                assert place == found[-1].position, q
            else:
                await explaining.explain(uow.sql, plan)
