"""The oracle against cases worked by hand, against itself (inverse, prefixes), and its second witness."""

import ast
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tests.oracle as oracle_package
from tests.oracle import (
    Aggregate,
    Archive,
    ContextFreeWindow,
    End,
    Fate,
    Lateness,
    OracleAnswer,
    OracleQuery,
    Punctuation,
    SlackRows,
    SlackSpan,
    axis_of,
    comparable,
    comparable_answer,
    replay,
    replay_stepwise,
)
from tests.oracle.strategies import (
    AXIS_TYPES,
    Case,
    Grid,
    arrival_lines,
    cases,
    punctuation_lines,
    query_text,
    stream_declaration,
)

SECOND = timedelta(seconds=1)
GENEROUS, CONSISTENT = Lateness.GENEROUS, Lateness.CONSISTENT
ORACLE_FOLDER = Path(oracle_package.__file__).parent
thorough = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def clock(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-01-01T{text}").replace(tzinfo=UTC)


def arrivals_of(points: list[Any], wattr: str = "a", **columns: list[Any]) -> list[dict[str, Any]]:
    """Arrivals with these values in the windowing attribute; tuple n arrives at second n."""
    return [
        {wattr: point, "seq": seq, "arrived_at": clock("00:00:00") + seq * SECOND}
        | {name: values[seq - 1] for name, values in columns.items()}
        for seq, point in enumerate(points, start=1)
    ]


def integer_query(range_: int, slide: int, origin: int | None = None, **options: Any) -> OracleQuery:
    return OracleQuery(
        window=ContextFreeWindow("a", axis_of("integer"), range_, slide, origin),
        aggregates=options.pop("aggregates", [Aggregate("count")]),
        attributes={"a": "integer", "g": "string", "x": "integer"},
        **options,
    )


def counts(answer: OracleAnswer) -> dict[int, int]:
    return {row["window_id"]: row["count"] for row in answer.results}


def both(
    arrivals: list[Mapping[str, Any]],
    query: OracleQuery,
    punctuations: list[Punctuation] | None = None,
    **options: Any,
) -> OracleAnswer:
    """The declarative answer, once the second witness has agreed."""
    answer = replay(arrivals, punctuations or [], query, **options)
    witness = replay_stepwise(arrivals, punctuations or [], query, **options)
    assert comparable_answer(answer) == comparable_answer(witness)
    return answer


# --- windows --------------------------------------------------------------------------------------


def five_minutes_every_minute(origin: str | None = "12:00:00") -> ContextFreeWindow:
    start = None if origin is None else clock(origin)
    return ContextFreeWindow("ts", axis_of("timestamp"), 300 * SECOND, 60 * SECOND, start)


def test_q1_windows_are_as_worked():
    window = five_minutes_every_minute()
    value, point = window.axis.value, window.axis.point
    assert (value(window.start(10)), value(window.end(10))) == (clock("12:06:00"), clock("12:11:00"))
    assert (value(window.start(11)), value(window.end(11))) == (clock("12:07:00"), clock("12:12:00"))
    assert window.wids(point(clock("12:10:30"))) == [10, 11, 12, 13, 14]
    assert window.wids(point(clock("12:11:00"))) == [11, 12, 13, 14, 15]
    assert window.wids(point(clock("12:10:59.999999"))) == [10, 11, 12, 13, 14]
    assert window.wids(point(clock("12:06:00"))) == [6, 7, 8, 9, 10]


def test_q1_first_four_windows_are_partial():
    window = five_minutes_every_minute()
    lengths = [(window.end(i) - window.start(i)) / 60_000_000 for i in range(6)]
    assert lengths == [1, 2, 3, 4, 5, 5]
    assert {window.axis.value(window.start(i)) for i in range(4)} == {clock("12:00:00")}
    assert window.wids(window.axis.point(clock("12:00:00"))) == [0, 1, 2, 3, 4]
    assert window.wids(window.axis.point(clock("11:59:59.999999"))) == []


def test_without_origin_windows_are_counted_from_1970_and_not_cut():
    window = five_minutes_every_minute(origin=None)
    assert window.wids(window.axis.point(datetime(1970, 1, 1, tzinfo=UTC))) == [0, 1, 2, 3, 4]
    assert window.axis.value(window.start(0)) == datetime(1969, 12, 31, 23, 56, tzinfo=UTC)
    assert window.wids(window.axis.point(datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC))) == [-1, 0, 1, 2, 3]


def test_row_windows_are_as_worked():
    window = ContextFreeWindow("row-num", axis_of("row-num"), 1000, 10)
    rows = {i: (window.start(i), window.end(i) - 1) for i in (0, 99, 100)}
    assert rows == {0: (1, 10), 99: (1, 1000), 100: (11, 1010)}
    assert window.wids(Fraction(1)) == list(range(100))
    assert window.wids(Fraction(11)) == list(range(1, 101))


def test_a_zone_is_honoured_and_no_zone_is_utc():
    axis = axis_of("timestamp")
    east = datetime.fromisoformat("2026-01-01T14:00:00+02:00")
    assert axis.point(east) == axis.point(datetime(2026, 1, 1, 12)) == axis.point(clock("12:00:00"))


def test_doubles_are_the_decimals_they_print_as():
    window = ContextFreeWindow("a", axis_of("double"), 0.1, 0.1)
    # 0.3 lies at the start of window 3; in binary floating point 0.3 / 0.1 is below 3
    assert window.wids(window.axis.point(0.3)) == [3]
    assert window.wids(window.axis.point(0.1 + 0.2)) == [3]
    assert window.wids(window.axis.point(0.29999999999999993)) == [2]
    assert [window.axis.value(window.end(i)) for i in range(3)] == [0.1, 0.2, 0.3]


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf])
def test_improper_doubles_have_no_place(value: float | None):
    window = ContextFreeWindow("a", axis_of("double"), 1, 1)
    assert window.wids(window.axis.point(value)) == []


def test_dates_and_decimals_step_exactly():
    days = ContextFreeWindow("d", axis_of("date"), timedelta(weeks=1), timedelta(days=1), date(2026, 2, 27))
    assert days.wids(days.axis.point(date(2026, 3, 1))) == [2, 3, 4, 5, 6, 7, 8]
    assert days.axis.value(days.end(1)) == date(2026, 3, 1)
    money = ContextFreeWindow("m", axis_of("decimal(9,2)"), Decimal("0.30"), Decimal("0.10"))
    assert money.wids(money.axis.point(Decimal("0.30"))) == [3, 4, 5]
    assert money.wids(money.axis.point(Decimal("0.29"))) == [2, 3, 4]


def test_a_bound_that_the_type_does_not_have_is_refused():
    window = ContextFreeWindow("a", axis_of("integer"), Decimal("2.5"), Decimal("2.5"))
    with pytest.raises(ValueError, match="not whole"):
        window.axis.value(window.end(0))


numbers = st.fractions(min_value=-40, max_value=40, max_denominator=8)
lengths = st.fractions(min_value=Fraction(1, 8), max_value=12, max_denominator=8)


@given(range_=lengths, slide=lengths, origin=st.none() | numbers, a=numbers)
@thorough
def test_extent_and_wids_are_inverse(range_: Fraction, slide: Fraction, origin: Fraction | None, a: Fraction):
    window = ContextFreeWindow("a", axis_of("integer"), range_, slide, origin)
    wids = window.wids(a)
    nearby = range(math.floor((a - window.m) / slide) - 3, math.floor((a - window.m + range_) / slide) + 3)
    assert wids == [i for i in nearby if window.extent_holds(i, a)]
    if range_ % slide == 0 and origin is None:
        assert len(wids) == range_ / slide


# --- results --------------------------------------------------------------------------------------


def test_a_result_row_has_every_column():
    arrivals = arrivals_of([1, 2, 4, 9], g=["p", "p", "q", "p"], x=[3, 4, None, 1])
    sums = [Aggregate("sum", "x"), Aggregate("count", "x"), Aggregate("count")]
    answer = both(arrivals, integer_query(6, 3, 0, aggregates=sums, group_by=["g"]))
    assert answer.results[0] == {
        "window_id": 0,
        "window_start": 0,  # cut: 3-6 lies before the origin
        "window_end": 3,
        "g": "p",
        "sum_x": 7,
        "count_x": 2,
        "count": 2,
        "valid_from": 3,
        "expires_at": 6,
        "released_seq": 3,
        "released_at": clock("00:00:03"),
    }
    seen = [(r["window_id"], r["g"], r["sum_x"], r["count_x"], r["released_seq"]) for r in answer.results]
    # 1: [0,6), 2: [3,9); window 3 = [6,12) stays open
    assert seen == [(0, "p", 7, 2, 3), (1, "p", 7, 2, 4), (1, "q", None, 0, 4), (2, "q", None, 0, 4)]
    assert answer.open_windows == [(("p",), 3), (("p",), 4)]


def test_row_windows_close_with_their_last_row_whatever_the_policy():
    arrivals = arrivals_of([5, 1, 9, 2, 7])
    window = ContextFreeWindow("row-num", axis_of("row-num"), 3, 2)
    query = OracleQuery(window, [Aggregate("count")], {"a": "integer"}, policy=End())
    answer = both(arrivals, query, close_at_end=True)
    # rows 1-2, rows 2-4; rows 4-6 and 6-8 are not full
    columns = (
        "window_id",
        "window_start",
        "window_end",
        "count",
        "admitted",
        "expires_order",
        "released_seq",
    )
    assert [tuple(row[name] for name in columns) for row in answer.results] == [
        (0, 1, 3, 2, 2, 4, 2),
        (1, 2, 5, 3, 4, 6, 4),
    ]
    assert answer.open_windows == [((), 2)]
    assert answer.ledger() == ledger(used=5)
    assert answer.late == []


def test_row_windows_number_the_stream_not_what_where_leaves():
    arrivals = arrivals_of([0] * 4, x=[1, 9, 9, 1])
    window = ContextFreeWindow("row-num", axis_of("row-num"), 2, 2)
    query = OracleQuery(window, [Aggregate("count")], {"x": "integer"}, where=lambda t: t["x"] > 5)
    answer = both(arrivals, query)
    assert [(r["window_id"], r["count"], r["released_seq"]) for r in answer.results] == [(0, 1, 2), (1, 1, 4)]
    assert answer.ledger() == ledger(used=2, filtered=2)


def test_gaps_between_windows_are_out_of_range_but_move_the_bound():
    # RANGE 2 SLIDE 5: windows [3,5), [8,10), …
    answer = both(arrivals_of([3, 5, 2, 7, 9]), integer_query(2, 5))
    assert counts(answer) == {0: 1}
    assert answer.results[0]["released_seq"] == 2  # by a = 5, which has no window of its own
    assert answer.ledger() == ledger(used=2, out_of_range=3)


def test_tuples_before_the_origin_and_without_a_value_are_out_of_range():
    answer = both(arrivals_of([9, None, 10, 12]), integer_query(2, 2, origin=10))
    assert answer.ledger() == ledger(used=2, out_of_range=2)
    assert counts(answer) == {0: 1}


def test_a_huge_gap_gives_no_empty_windows():
    answer = both(arrivals_of([0, 10**12]), integer_query(10, 1), close_at_end=True)
    assert len(answer.results) == 20
    assert {row["released_seq"] for row in answer.results} == {2}


def test_filtered_tuples_move_the_bound_and_make_no_row():
    arrivals = arrivals_of([1, 2, 11, 25], x=[0, 0, 7, 0])
    answer = both(arrivals, integer_query(10, 10, where=lambda t: t["x"] > 5))
    assert [(r["window_id"], r["released_seq"]) for r in answer.results] == [(1, 4)]
    assert answer.ledger() == ledger(used=1, filtered=3)
    assert answer.open_windows == []


def test_an_unknown_where_refuses():
    answer = both(arrivals_of([1, 11]), integer_query(10, 10, where=lambda t: None))
    assert answer.ledger() == ledger(filtered=2)


def test_null_and_nan_groups():
    arrivals = arrivals_of([1, 1, 1, 1, 1, 9], g=[None, math.nan, float("nan"), -0.0, 0.0, None])
    query = OracleQuery(
        integer_query(5, 5).window, [Aggregate("count")], {"a": "integer", "g": "double"}, group_by=["g"]
    )
    answer = both(arrivals, query)
    assert comparable([(row["g"], row["count"]) for row in answer.results]) == comparable(
        [(None, 1), (0.0, 2), (math.nan, 2)]
    )


# --- disorder -------------------------------------------------------------------------------------


def ledger(
    used: int = 0, partly_late: int = 0, late: int = 0, out_of_range: int = 0, filtered: int = 0
) -> dict[str, int]:
    return {
        "rows_in": used + partly_late + late + out_of_range + filtered,
        "rows_used": used,
        "rows_partly_late": partly_late,
        "rows_late": late,
        "rows_out_of_range": out_of_range,
        "rows_filtered": filtered,
    }


def test_section_8_worked_case():
    instants = ["12:00:50", "12:01:10", "12:00:55", "12:01:09", "12:00:59"]
    arrivals = arrivals_of([clock(each) for each in instants], wattr="ts")
    query = OracleQuery(
        window=ContextFreeWindow("ts", axis_of("timestamp"), 60 * SECOND, 60 * SECOND),
        aggregates=[Aggregate("count")],
        attributes={"ts": "timestamp"},
        policy=SlackSpan(10 * SECOND),
    )
    answer = both(arrivals, query)
    (row,) = answer.results
    assert (row["window_end"], row["count"], row["released_seq"]) == (clock("12:01:00"), 1, 2)
    assert row["released_at"] == clock("00:00:02")
    assert [(late["seq"], late["missed"], late["behind"]) for late in answer.late] == [
        (3, 1, 5_000_000),
        (5, 1, 1_000_000),
    ]
    assert answer.fates[4] is Fate.USED
    assert answer.ledger() == ledger(used=3, late=2)
    assert answer.ledger(3, 4) == ledger(used=1, late=1)


def test_a_window_closes_when_the_bound_reaches_its_end_exactly():
    assert (
        both(arrivals_of([1, 12]), integer_query(10, 10, policy=SlackSpan(2))).results[0]["released_seq"] == 2
    )
    assert both(arrivals_of([1, 11]), integer_query(10, 10, policy=SlackSpan(2))).results == []


def test_generous_drops_from_closed_windows_only():
    # RANGE 10 SLIDE 5: a = 7 is in windows 1 (end 10) and 2 (end 15)
    arrivals = arrivals_of([1, 11, 7, 20])
    answer = both(arrivals, integer_query(10, 5, lateness=GENEROUS))
    assert counts(answer) == {0: 1, 1: 1, 2: 2, 3: 1}
    assert answer.late == [{"seq": 3, "missed_from": 1, "missed_to": 1, "missed": 1, "behind": 4}]
    assert answer.ledger() == ledger(used=3, partly_late=1)


def test_consistent_drops_from_all_windows_if_any_is_closed():
    arrivals = arrivals_of([1, 11, 7, 20])
    answer = both(arrivals, integer_query(10, 5, lateness=CONSISTENT))
    assert counts(answer) == {0: 1, 1: 1, 2: 1, 3: 1}
    assert answer.late == [{"seq": 3, "missed_from": 1, "missed_to": 1, "missed": 1, "behind": 4}]
    assert answer.ledger() == ledger(used=3, late=1)


def test_lateness_is_judged_before_where():
    arrivals = arrivals_of([1, 11, 7], x=[9, 9, 0])
    answer = both(arrivals, integer_query(10, 5, where=lambda t: t["x"] > 5))
    assert answer.fates[3] is Fate.PARTLY_LATE
    assert [late["seq"] for late in answer.late] == [3]
    assert ((), 2) in answer.open_windows


def test_slack_of_rows_counts_every_row():
    # bound(q) is the maximum over 1…q-2; the row without a value counts as a row
    arrivals = arrivals_of([12, None, 3, 4])
    answer = both(arrivals, integer_query(10, 10, policy=SlackRows(2)))
    # bound(2) is none, bound(3) = 12: tuple 3 is on time, tuple 4 is late
    assert counts(answer) == {0: 1}
    assert answer.results[0]["released_seq"] == 3
    assert [late["seq"] for late in answer.late] == [4]


def test_end_closes_nothing_until_asked():
    arrivals = arrivals_of([1, 30, 2])
    query = integer_query(10, 10, policy=End())
    answer = both(arrivals, query)
    assert answer.results == []
    assert answer.open_windows == [((), 0), ((), 3)]
    closed = both(arrivals, query, close_at_end=True)
    assert [(r["window_id"], r["count"], r["released_seq"]) for r in closed.results] == [(0, 2, 3), (3, 1, 3)]
    assert closed.late == closed.open_windows == []


def test_until_cuts_tuples_and_punctuations():
    arrivals = arrivals_of([1, 2, 3])
    marks = [Punctuation(2, {"a": {"to": 10}}), Punctuation(3, {"a": {"to": 20}})]
    query = integer_query(10, 10, policy=Archive())
    assert both(arrivals, query, marks, until=1).results == []
    answer = both(arrivals, query, marks, until=2)
    assert [(r["count"], r["released_seq"]) for r in answer.results] == [(2, 2)]
    assert sorted(answer.fates) == [1, 2]


# --- archived punctuations ------------------------------------------------------------------------


def test_an_archived_punctuation_is_broken_by_the_tuple_after_it_at_the_earliest():
    marks = [Punctuation(1, {"a": {"to": 10}})]
    answer = both(arrivals_of([5, 6]), integer_query(10, 10, policy=Archive()), marks)
    assert [(r["count"], r["released_seq"]) for r in answer.results] == [(1, 1)]
    assert answer.late == [{"seq": 2, "missed_from": 0, "missed_to": 0, "missed": 1, "behind": 4}]


def test_a_punctuation_before_the_first_tuple_closes_windows_too():
    answer = both(
        arrivals_of([5, 15]), integer_query(10, 10, policy=Archive()), [Punctuation(0, {"a": {"to": 10}})]
    )
    assert answer.results == []
    assert answer.ledger() == ledger(used=1, late=1)


@pytest.mark.parametrize(
    ("entry", "closes"),
    [
        ({"to": 10}, True),
        ({"to": 9}, False),
        ({"to": 9, "to_closed": True}, True),
        ({"from": 0, "to": 10}, False),
        ({"from": 0}, False),
        (9, False),
        ([8, 9, 10], False),
        ({}, True),
    ],
)
def test_which_patterns_move_a_bound(entry: Any, closes: bool):
    marks = [Punctuation(1, {"a": entry})]
    answer = both(arrivals_of([5]), integer_query(10, 10, policy=Archive()), marks)
    assert bool(answer.results) is closes


@pytest.mark.parametrize(
    ("type_name", "to", "end", "closes"),
    [
        ("date", date(2026, 1, 9), date(2026, 1, 10), True),
        ("date", date(2026, 1, 8), date(2026, 1, 10), False),
        ("decimal(9,2)", Decimal("9.99"), Decimal(10), True),
        ("decimal(9,2)", Decimal("9.98"), Decimal(10), False),
        ("timestamp", clock("11:59:59.999999"), clock("12:00:00"), True),
        ("timestamp", clock("11:59:59"), clock("12:00:00"), False),
        ("double", 9.99, 10.0, False),
        ("double", 10.0, 10.0, True),
    ],
)
def test_a_closed_end_reaches_one_step_further(type_name: str, to: Any, end: Any, closes: bool):
    axis = axis_of(type_name)
    length = timedelta(days=1) if type_name in ("date", "timestamp") else 1
    window = ContextFreeWindow("a", axis, length, length, axis.value(axis.point(end) - axis.span(length)))
    assert window.end(0) == axis.point(end)
    query = OracleQuery(window, [Aggregate("count")], {"a": type_name}, policy=Archive())
    inside = axis.value(window.start(0))
    answer = both(arrivals_of([inside]), query, [Punctuation(1, {"a": {"to": to, "to_closed": True}})])
    assert bool(answer.results) is closes


def test_a_granule_is_the_step_of_a_closed_end():
    window = ContextFreeWindow(
        "ts", axis_of("timestamp", granule=SECOND), 60 * SECOND, 60 * SECOND, clock("11:59:00")
    )
    query = OracleQuery(window, [Aggregate("count")], {"ts": "timestamp"}, policy=Archive())
    marks = [Punctuation(1, {"ts": {"to": clock("11:59:59"), "to_closed": True}})]
    assert len(both(arrivals_of([clock("11:59:30")], wattr="ts"), query, marks).results) == 1


def test_a_pattern_that_fixes_the_group_closes_that_group_only():
    arrivals = arrivals_of([1, 2, 3, 4, 5], g=["p", "q", None, "p", "q"])
    marks = [Punctuation(3, {"a": {"to": 10}, "g": "p"}), Punctuation(5, {"a": {"to": 10}, "g": ["q", "r"]})]
    answer = both(arrivals, integer_query(10, 10, group_by=["g"], policy=Archive()), marks)
    assert [(r["g"], r["count"], r["released_seq"]) for r in answer.results] == [("p", 1, 3), ("q", 2, 5)]
    assert [late["seq"] for late in answer.late] == [4]
    assert answer.open_windows == [((None,), 0)]


@pytest.mark.parametrize(
    ("other", "group", "counts_for_it"),
    [
        ({}, 2, True),
        ({"from": 1, "to": 2}, 2, False),
        ({"from": 1, "to": 2, "to_closed": True}, 2, True),
        ({"from": 2, "from_open": True}, 2, False),
        ({"from": 2}, 2, True),
        ({"to": 5}, None, False),
        (None, None, True),
        ([1, None], None, True),
        ([1, 3], 2, False),
    ],
)
def test_which_patterns_count_for_a_group(other: Any, group: int | None, counts_for_it: bool):
    arrivals = arrivals_of([1], g=[group])
    marks = [Punctuation(1, {"a": {"to": 10}, "g": other})]
    answer = both(arrivals, integer_query(10, 10, group_by=["g"], policy=Archive()), marks)
    assert bool(answer.results) is counts_for_it


def test_a_pattern_on_another_attribute_counts_for_no_group():
    marks = [Punctuation(1, {"a": {"to": 10}, "x": 1}), Punctuation(1, {"a": {"to": 10}, "g": "p"})]
    answer = both(arrivals_of([1], x=[1], g=["p"]), integer_query(10, 10, policy=Archive()), marks)
    assert answer.results == []


def test_a_group_that_is_over_is_closed_for_good():
    arrivals = arrivals_of([1, 99, 99], g=["p", "p", "q"])
    marks = [Punctuation(1, {"g": "p"})]
    answer = both(arrivals, integer_query(10, 10, group_by=["g"], policy=Archive()), marks)
    assert [(r["g"], r["released_seq"]) for r in answer.results] == [("p", 1)]
    assert answer.late == [{"seq": 2, "missed_from": 9, "missed_to": 9, "missed": 1, "behind": None}]
    assert answer.open_windows == [(("q",), 9)]


# --- aggregates -----------------------------------------------------------------------------------

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("function", "type_name", "values", "expected"),
    [
        ("count", "double", [None, NAN, 1.0], 2),
        ("count", "double", [None], 0),
        ("sum", "integer", [None, None], None),
        ("sum", "integer", [2, None, 3], 5),
        ("sum", "double", [0.1] * 10, 1.0),
        ("sum", "double", [1e16, 1.0, -1e16], 1.0),
        ("sum", "double", [1e308, 1e308, -1e308], 1e308),
        ("sum", "double", [1e308, 1e308], INF),
        ("sum", "double", [1.0, NAN], NAN),
        ("sum", "double", [INF, -INF], NAN),
        ("sum", "double", [INF, 1.0], INF),
        ("sum", "double", [-INF, -INF], -INF),
        ("sum", "decimal(7,2)", [Decimal("0.10"), Decimal("0.20")], Decimal("0.30")),
        ("avg", "integer", [1, 2, None], 1.5),
        ("avg", "double", [None], None),
        ("avg", "double", [NAN, 1.0], NAN),
        ("avg", "double", [0.1, 0.2, 0.3], 0.2),
        ("avg", "decimal(7,2)", [Decimal("1.00"), Decimal("1.00"), Decimal("0.00")], Decimal("0.666667")),
        ("avg", "decimal(7,2)", [Decimal("-0.01")] + [Decimal(0)] * 7, Decimal("-0.001250")),
        ("min", "double", [NAN, 3.0, None], 3.0),
        ("min", "double", [NAN, None], NAN),
        ("min", "double", [INF, NAN], INF),
        ("max", "double", [INF, NAN, 3.0], NAN),
        ("max", "double", [INF, 3.0], INF),
        ("max", "string", ["a", None, "b"], "b"),
        ("min", "string", [None], None),
    ],
)
def test_aggregates_have_nulls_and_nans_as_spark_does(
    function: str, type_name: str, values: list[Any], expected: Any
):
    query = OracleQuery(
        window=integer_query(1, 1).window,
        aggregates=[Aggregate(function, "x", alias="answer")],
        attributes={"a": "integer", "x": type_name},
    )
    answer = both(arrivals_of([0] * len(values), x=values), query, close_at_end=True)
    assert comparable([row["answer"] for row in answer.results]) == comparable([expected])


@given(st.lists(st.floats(allow_nan=False, min_value=-1e300, max_value=1e300), min_size=1, max_size=20))
@thorough
def test_sums_of_doubles_are_those_of_fsum(values: list[float]):
    total = Aggregate("sum", "x").over([{"x": value} for value in values], {"x": "double"})
    assert total == math.fsum(values)


def test_aggregates_are_named_as_results_name_them():
    assert Aggregate("count").column == "count"
    assert Aggregate("max", "speed").column == "max_speed"
    assert Aggregate("max", "speed", alias="top").column == "top"


# --- whole cases ----------------------------------------------------------------------------------


@given(cases())
@settings(thorough, max_examples=300)
def test_differential_declarative_and_stepwise(case: Case):
    both(case.arrivals, case.query, case.punctuations, until=case.until, close_at_end=case.close_at_end)


@given(cases())
@thorough
def test_the_ledger_balances_in_every_batch(case: Case):
    answer = replay(case.arrivals, case.punctuations, case.query)
    first = 1
    for last in case.cuts:
        totals = answer.ledger(first, last)
        assert totals["rows_in"] == last - first + 1 == sum(totals.values()) - totals["rows_in"]
        first = last + 1
    late = {row["seq"] for row in answer.late}
    assert late == {seq for seq, fate in answer.fates.items() if fate in (Fate.LATE, Fate.PARTLY_LATE)}


@given(cases())
@thorough
def test_a_prefix_of_the_archive_gives_a_prefix_of_the_answer(case: Case):
    whole = replay(case.arrivals, case.punctuations, case.query)
    for cut in case.cuts:
        part = replay(case.arrivals, case.punctuations, case.query, until=cut)
        assert comparable(part.results) == comparable(whole.released(1, cut))
        assert comparable(part.late) == comparable([row for row in whole.late if row["seq"] <= cut])
        assert part.fates == {seq: fate for seq, fate in whole.fates.items() if seq <= cut}


@given(cases())
@thorough
def test_without_bounds_every_window_is_what_its_extent_holds(case: Case):
    """END and close at end: nothing is late, so each answer is a plain GROUP BY of the extent."""
    query = OracleQuery(case.query.window, [Aggregate("count")], case.attributes, policy=End())
    answer = replay(case.arrivals, [], query, close_at_end=True)
    window = query.window
    for row in answer.results:
        low, high = row["window_start"], row["window_end"]
        values = [t["seq"] if window.by_rows else t[window.wattr] for t in case.arrivals]
        inside = [v for v in values if v is not None and not is_improper(v) and low <= v < high]
        assert row["count"] == len(inside)
    assert answer.late == []


def is_improper(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


@given(cases())
@thorough
def test_a_case_renders(case: Case):
    text = query_text(case)
    assert text.startswith("SELECT ")
    assert f"WATTR {case.wattr}" in text
    assert set(stream_declaration(case)["attributes"]) >= {"ts", "g", "h", "x"}
    assert len(arrival_lines(case)) == len(case.arrivals)
    assert len(punctuation_lines(case)) == len(case.punctuations)
    assert case.cuts == sorted(set(case.cuts))
    assert case.cuts[-1:] == ([len(case.arrivals)] if case.arrivals else [])


def test_the_rendered_text_is_as_the_interface_has_it():
    case = Case(
        grid=Grid("integer"),
        attributes={"ts": "timestamp", "a": "integer", "g": "string", "x": "integer"},
        arrivals=[],
        punctuations=[],
        range_n=7,
        slide_n=3,
        origin_n=2,
        group_by=("g",),
        aggregates=(Aggregate("count"), Aggregate("sum", "x")),
        where=None,
        policy=SlackSpan(2),
        policy_text="SLACK 2",
        lateness=GENEROUS,
        cuts=[],
        until=None,
        close_at_end=False,
    )
    assert query_text(case) == (
        "SELECT g, count(*), sum(x) FROM S [RANGE 7 SLIDE 3 WATTR a ORIGIN 2] "
        "GROUP BY g PUNCTUATED BY SLACK 2 LATE GENEROUS"
    )


@pytest.mark.parametrize("axis_type", AXIS_TYPES)
def test_a_grid_says_the_same_in_values_and_in_exact_numbers(axis_type: str):
    grid, axis = Grid(axis_type), axis_of(axis_type)
    for n in (-3, 0, 1, 7):
        assert axis.point(grid.point(n)) - axis.point(grid.point(0)) == axis.span(grid.span(n))


def test_the_oracle_imports_nothing_from_the_product():
    product = {"schemas", "lakehouse", "expectations", "jobs"}
    for path in sorted(ORACLE_FOLDER.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            assert not product & {name.split(".")[0] for name in names}, path.name
