"""Windows that a tuple alone decides (SEMANTICS §2): extent and window ids are inverse, in Python and in SQL."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemas.axis import Axis, parse_timestamp
from schemas.stream import Attribute
from schemas.window import SlidingWindow

BIG = Axis(Attribute("a", "bigint"))
ROWS = Axis(None)
TIME = Axis(Attribute("ts", "timestamp"))


@st.composite
def windows(draw: st.DrawFn) -> SlidingWindow:
    slide = draw(st.integers(1, 12))
    range_ = draw(st.one_of(st.just(slide), st.integers(1, 30)))
    origin = draw(st.none() | st.integers(-50, 50))
    return SlidingWindow(BIG, range_, slide, origin or 0, origin is not None)


@given(windows(), st.integers(-200, 200), st.integers(-60, 60))
def test_extent_and_window_ids_are_inverse(window: SlidingWindow, position: int, window_id: int) -> None:
    assert (position in window.extent(window_id)) == (window_id in window.window_ids(position))


@given(windows(), st.integers(-200, 200))
def test_window_ids_as_the_definition_has_them(window: SlidingWindow, position: int) -> None:
    """extent(i) = { t : e(i)-r <= t.a < e(i) }, cut at the origin where there is one, whose ids begin at 0."""
    found = list(window.window_ids(position))
    m, r, s = window.origin, window.range, window.slide
    defined = [
        i
        for i in range(-300, 300)
        if m + (i + 1) * s - r <= position < m + (i + 1) * s
        and not (window.begins_at_origin and (i < 0 or position < m))
    ]
    assert found == defined
    assert len(found) <= -(-r // s)


@given(windows(), st.integers(-200, 200))
def test_reached_is_the_last_window_at_or_below_a_bound(window: SlidingWindow, bound: int) -> None:
    reached = window.reached(bound)
    assert window.end(reached) <= bound < window.end(reached + 1)


@given(windows(), st.integers(-60, 60))
def test_extents_are_cut_at_the_origin_only(window: SlidingWindow, window_id: int) -> None:
    extent = window.extent(window_id)
    if window.begins_at_origin:
        assert all(position >= window.origin for position in extent)
        assert (len(extent) == 0) == (window_id < 0)
    else:
        assert len(extent) == window.range


def test_q1_of_wid_as_worked_in_semantics() -> None:
    second = 1_000_000
    noon = parse_timestamp("2026-01-01 12:00:00")
    q1 = SlidingWindow(TIME, 300 * second, 60 * second, noon, True)
    minute = 60 * second
    assert (q1.start(10), q1.end(10)) == (noon + 6 * minute, noon + 11 * minute)
    assert (q1.start(11), q1.end(11)) == (noon + 7 * minute, noon + 12 * minute)
    assert list(q1.window_ids(noon + 10 * minute + 30 * second)) == [10, 11, 12, 13, 14]
    assert 10 not in q1.window_ids(noon + 11 * minute)
    assert 10 in q1.window_ids(noon + 11 * minute - 1)
    lengths = [q1.end(i) - q1.start(i) for i in range(6)]
    assert lengths == [minute, 2 * minute, 3 * minute, 4 * minute, 5 * minute, 5 * minute]
    assert list(q1.window_ids(noon - 1)) == []


def test_row_windows_as_worked_in_semantics() -> None:
    rows = SlidingWindow(ROWS, 1000, 10, 1, True)
    assert rows.extent(0) == range(1, 11)
    assert rows.extent(99) == range(1, 1001)
    assert rows.extent(100) == range(11, 1011)


def test_a_range_below_the_slide_leaves_gaps() -> None:
    """r = 2, s = 5: of 0…4 only 3 and 4 are in a window."""
    gaps = SlidingWindow(BIG, 2, 5, 0, False)
    assert [list(gaps.window_ids(p)) for p in range(-2, 6)] == [[-1], [-1], [], [], [], [0], [0], []]


SEVERAL = [
    SlidingWindow(BIG, 300, 60, 0, False),
    SlidingWindow(BIG, 7, 7, -13, True),
    SlidingWindow(BIG, 2, 5, 3, True),
    SlidingWindow(BIG, 2, 5, -4, False),
    SlidingWindow(BIG, 10, 3, 17, True),
    SlidingWindow(BIG, 1, 1, 0, False),
    SlidingWindow(BIG, 86_400_000_000, 3_600_000_000, 1_767_225_600_000_000, True),
    SlidingWindow(BIG, 300_000_000, 60_000_000, 0, False),
]


def test_sql_says_what_python_says(spark: SparkSession) -> None:
    chance = random.Random(7)
    near = [w.origin + k * w.slide + d for w in SEVERAL for k in (-3, -1, 0, 1, 2, 9) for d in (-1, 0, 1)]
    far = [chance.randint(-(4 * 10**18), 4 * 10**18) for _ in range(40)] + [-4 * 10**18, 4 * 10**18]
    positions = sorted({*near, *far, *range(-40, 40)})
    frame = spark.createDataFrame([(p,) for p in positions] + [(None,)], "position bigint")
    columns = []
    for place, window in enumerate(SEVERAL):
        sqls = (
            window.first_id_sql("position"),
            window.last_id_sql("position"),
            window.holds_sql("position"),
            window.reached_sql("position"),
            window.start_sql(f"({window.first_id_sql('position')})"),
            window.end_sql(f"({window.first_id_sql('position')})"),
        )
        columns.append(F.array(*(F.expr(f"cast({sql} as bigint)") for sql in sqls)).alias(f"w{place}"))
    for position, *told in frame.select("position", *columns).collect():
        for window, (first, last, holds, reached, start, end) in zip(SEVERAL, told, strict=True):
            if position is None:
                # NULL, or false where NULL was asked about: either way no window is assigned.
                assert not holds
                continue
            ids = window.window_ids(position)
            assert bool(holds) == (len(ids) > 0), (window, position)
            if ids:
                assert (first, last) == (ids.start, ids.stop - 1), (window, position)
                assert (start, end) == (window.start(first), window.end(first)), (window, position)
            assert reached == window.reached(position), (window, position)


@pytest.mark.parametrize("window", SEVERAL, ids=lambda w: f"r{w.range}s{w.slide}m{w.origin}")
def test_extents_hold_exactly_what_window_ids_say(window: SlidingWindow) -> None:
    first = window.window_ids(window.origin + 5 * window.slide - 1).start
    for window_id in range(first, first + 3):
        extent = window.extent(window_id)
        assert window_id in window.window_ids(extent.start)
        assert window_id in window.window_ids(extent.stop - 1)
        assert window_id not in window.window_ids(extent.stop)
