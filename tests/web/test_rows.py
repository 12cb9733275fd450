"""Rows fill the width, whatever the pictures are; pages end on rows."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from appliance.library.timeline import Tile
from appliance.web import rows
from appliance.web.rows import LOOK_AHEAD, NARROWEST, RAGGED_BELOW, SUM, WIDEST


START = datetime(2026, 11, 30)  # noqa: DTZ001 - wall time
usual = st.floats(0.5, 2.4)
hostile = st.floats(0.01, 90)


def tile(number: int, shape: float, moment: datetime = START) -> Tile:
    return Tile(
        id=number,
        effective_at=moment,
        kind="still",
        mime="image/jpeg",
        width=max(1, round(1000 * shape)),
        height=1000,
        duration_ms=None,
        frames=None,
        dominant=0,
        rating=0,
        title=None,
        missing=False,
        grid="complete",
        grid_version=1,
        grid_width=None,
        grid_height=None,
        reason=None,
    )


def tiles(shapes: list[float], apart: timedelta = timedelta(0)) -> list[Tile]:
    return [tile(1000 - n, shape, START - apart * n) for n, shape in enumerate(shapes)]


@given(st.lists(usual, min_size=30, max_size=130), st.sampled_from([11.0, 7.0, 5.0, 4.5]))
def test_every_row_is_near_its_height_but_the_last(shapes: list[float], target: float) -> None:
    chunk = rows.lay_out(tiles(shapes), target, begins=True, ends=True)
    found = [row for group in chunk.groups for row in group.rows]
    for row in found[:-1]:
        assert row.space == 0
        assert 0.7 <= SUM / row.height / target <= 1.45, (row.height, target)
    assert found[-1].space >= 0


@given(st.lists(hostile, min_size=1, max_size=80), st.sampled_from([11.0, 7.0, 2.75, 1.75]), st.booleans())
def test_widths_add_up_and_no_picture_is_lost(shapes: list[float], target: float, closed: bool) -> None:
    made = tiles(shapes)
    chunk = rows.lay_out(made, target, begins=True, ends=closed)
    found = [row for group in chunk.groups for row in group.rows]
    assert [p.tile.id for row in found for p in row.tiles] == [t.id for t in made]
    for row in found:
        assert sum(p.width for p in row.tiles) + row.space == SUM
        assert all(p.width > 0 for p in row.tiles)
    assert all(row.space == 0 for row in found[:-1])
    left = found[-1].space / SUM
    assert left == 0 or 1 - RAGGED_BELOW - 0.01 < left < 1


@given(hostile)
def test_a_strip_is_cropped_and_never_drawn_as_a_line(shape: float) -> None:
    chunk = rows.lay_out(tiles([1.5, shape, 1.5]), 7.0, begins=True, ends=True)
    row = chunk.groups[0].rows[0]
    placed = row.tiles[1]
    drawn = placed.width / row.height
    assert NARROWEST * 0.97 <= drawn <= WIDEST * 1.03


def test_a_month_begins_with_a_heading_and_a_row_of_its_own() -> None:
    chunk = rows.lay_out(tiles([1.4] * 60, timedelta(days=1)), 7.0, begins=True, ends=True)
    assert [group.heading for group in chunk.groups] == ["November 2026", "October 2026"]
    months = [{p.tile.effective_at.month for row in group.rows for p in row.tiles} for group in chunk.groups]
    assert months == [{11}, {10}]


def test_a_page_in_the_middle_of_a_month_has_no_heading_and_ends_on_a_full_row() -> None:
    found = tiles([1.3, 0.7, 1.6, 1.0] * 60, timedelta(minutes=1))
    run, ends = rows.portion(found[: 120 + LOOK_AHEAD], 120, 7.0)
    assert not ends
    assert 108 <= len(run) <= 120
    chunk = rows.lay_out(run, 7.0, begins=False, ends=False)
    assert chunk.groups[0].heading is None
    assert all(row.space == 0 for row in chunk.groups[0].rows)


def test_a_page_ends_with_its_month_when_that_ends_nearby() -> None:
    found = [tile(n, 1.3, START if n < 130 else START - timedelta(days=40)) for n in range(144)]
    run, ends = rows.portion(found, 120, 7.0)
    assert ends
    assert len(run) == 130


def test_the_same_stretch_is_cut_the_same_way_again() -> None:
    found = tiles([1.3, 0.7, 1.6, 1.0, 2.2] * 30, timedelta(hours=2))
    run, ends = rows.portion(found[: 120 + LOOK_AHEAD], 120, 7.0)
    first = rows.lay_out(run, 7.0, begins=True, ends=ends)
    assert rows.lay_out(list(run), 7.0, begins=first.begins, ends=first.ends) == first


def test_the_height_is_told_as_slope_gaps_and_headings() -> None:
    chunk = rows.lay_out(tiles([1.0] * 14), 7.0, begins=True, ends=True)
    slope, gaps, headings = chunk.rise.split()
    # Two rows of seven squares, each (width - 6 gaps) / 7 high, and one gap between them.
    assert abs(float(slope) - 2 / 7) < 0.001
    assert abs(float(gaps) - (1 - 2 * 6 / 7)) < 0.001
    assert headings == "1"


def test_in_another_order_than_dates_months_say_nothing() -> None:
    made = tiles([1.4, 0.8] * 90, timedelta(days=20))
    run, _ = rows.portion(made[: 96 + LOOK_AHEAD], 96, 7.0, by_month=False)
    assert 84 <= len(run) <= 96
    chunk = rows.lay_out(run, 7.0, begins=True, ends=False, by_month=False)
    assert [group.heading for group in chunk.groups] == [None]
    assert all(row.space == 0 for row in chunk.groups[0].rows)
    assert chunk.rise.endswith(" 0")
    assert rows.portion(made[:50], 96, 7.0, by_month=False) == (made[:50], True)


def test_the_row_of_an_anchor_begins_with_it_and_stays_as_it_was_further_down() -> None:
    rng = random.Random(4)
    run = tiles([rng.choice((0.7, 1.0, 1.5, 1.8)) for _ in range(120)])
    whole = rows.lay_out(run, 7.0, begins=True, ends=False)
    stood = [row for group in whole.groups for row in group.rows]
    for row in stood[1:8]:
        at = run.index(row.tiles[0].tile)
        chunk = rows.lay_out(run, 7.0, begins=True, ends=False, anchor=at)
        assert [p.tile for g in chunk.groups for r in g.rows for p in r.tiles] == list(run)
        assert [g.heading for g in chunk.groups] == [whole.groups[0].heading, None]
        assert list(chunk.groups[1].rows) == stood[stood.index(row) :]
