"""Versions of one thing: what an undo gives back is what nobody decided otherwise since."""

from __future__ import annotations

from pathlib import Path

from tests.duplicates.conftest import Doubles
from tests.duplicates.test_deciding import bring, decide


async def groups(doubles: Doubles) -> list[list[int]]:
    """Groups of more than one, each in order."""
    rows = await doubles.lib.rows(
        "SELECT array_agg(asset_id ORDER BY asset_id) AS ids FROM alternate GROUP BY group_id"
        " HAVING count(*) > 1 ORDER BY 1"
    )
    return [row["ids"] for row in rows]


async def copies(doubles: Doubles, folder: Path) -> list[int]:
    return sorted(await bring(doubles, folder, "a.jpg", "b.jpg", "c.jpg", "d.jpg"))


async def test_an_undone_stacking_leaves_a_later_one_alone(doubles: Doubles, folder: Path) -> None:
    a, b, c, _d = await copies(doubles, folder)
    first = await decide(doubles, "alternate", a, b)
    second = await decide(doubles, "alternate", b, c)

    await doubles.lib.undo(first.id)
    assert await groups(doubles) == [[b, c]]

    await doubles.lib.undo(second.id)
    assert await groups(doubles) == []


async def test_an_undone_stacking_does_not_join_what_was_called_different_since(
    doubles: Doubles, folder: Path
) -> None:
    a, b, c, _d = await copies(doubles, folder)
    await decide(doubles, "alternate", b, c)
    first = await decide(doubles, "alternate", a, b)
    await decide(doubles, "different", b, c)
    assert await groups(doubles) == [[a, b]]

    await doubles.lib.undo(first.id)

    assert await groups(doubles) == []


async def test_two_groups_that_were_joined_are_two_again(doubles: Doubles, folder: Path) -> None:
    a, b, c, d = await copies(doubles, folder)
    await decide(doubles, "alternate", a, c)
    await decide(doubles, "alternate", b, d)
    joined = await decide(doubles, "alternate", a, b)
    assert await groups(doubles) == [[a, b, c, d]]

    await doubles.lib.undo(joined.id)

    assert await groups(doubles) == [[a, c], [b, d]]


async def test_versions_stay_together_when_the_one_between_them_is_deleted(
    doubles: Doubles, folder: Path
) -> None:
    a, b, c, d = await copies(doubles, folder)
    await decide(doubles, "alternate", a, b)
    await decide(doubles, "alternate", b, c)
    await doubles.lib.act("trash", [b])
    await doubles.lib.act("purge", [b])
    more = await decide(doubles, "alternate", c, d)
    assert await groups(doubles) == [[a, c, d]]

    await doubles.lib.undo(more.id)

    assert await groups(doubles) == [[a, c]]


async def test_versions_stay_together_when_the_one_between_them_is_deleted_later(
    doubles: Doubles, folder: Path
) -> None:
    a, b, c, d = await copies(doubles, folder)
    await decide(doubles, "alternate", a, b)
    await decide(doubles, "alternate", a, c)
    more = await decide(doubles, "alternate", c, d)
    await doubles.lib.act("trash", [a])
    await doubles.lib.act("purge", [a])

    await doubles.lib.undo(more.id)

    assert await groups(doubles) == [[b, c]]


async def test_a_difference_that_is_taken_back_joins_again_unless_another_one_stands(
    doubles: Doubles, folder: Path
) -> None:
    a, b, c, _d = await copies(doubles, folder)
    await decide(doubles, "alternate", a, b)
    await decide(doubles, "alternate", b, c)
    first = await decide(doubles, "different", a, c)
    assert await groups(doubles) == [[a, b]]
    await doubles.lib.undo(first.id)
    assert await groups(doubles) == [[a, b, c]]

    first = await decide(doubles, "different", a, c)
    await decide(doubles, "different", b, c)
    await doubles.lib.undo(first.id)
    assert await groups(doubles) == [[a, b]]


async def test_who_leaves_a_group_that_began_with_it_does_not_join_it_by_a_new_stacking(
    doubles: Doubles, folder: Path
) -> None:
    a, b, c, d = await copies(doubles, folder)
    await decide(doubles, "alternate", a, b)
    await decide(doubles, "alternate", a, c)
    await decide(doubles, "different", b, a)
    assert await groups(doubles) == [[b, c]]

    await decide(doubles, "alternate", a, d)

    assert await groups(doubles) == [[a, d], [b, c]]
