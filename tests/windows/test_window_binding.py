"""Binding a window to its stream: what is exact, and refusals that point at the text."""

from __future__ import annotations

from datetime import date

import pytest

from schemas.binding import bind_query
from schemas.errors import SluiceError
from schemas.language import QueryError, parse
from schemas.query import WindowQuery
from schemas.stream import declare_stream

ATTRIBUTES = {
    "ts": "timestamp",
    "day": "date",
    "n": "integer",
    "d": "decimal(9,2)",
    "x": "double",
    "g": "string",
}
TRAFFIC = declare_stream({"stream": "Traffic", "attributes": ATTRIBUTES, "timestamp": "ts"})


def bound(window: str, rest: str = "", first_day: date | None = None) -> WindowQuery:
    text = f"SELECT count(*) FROM Traffic {window} {rest}"
    return bind_query("q", parse(text, "q"), {"Traffic": TRAFFIC}, lambda _: first_day)


@pytest.mark.parametrize(
    ("window", "range_", "slide", "origin", "cut"),
    [
        ("[RANGE 300 seconds SLIDE 60 seconds]", 300_000_000, 60_000_000, 0, False),
        ("[SLIDE 0.5 minutes WATTR ts RANGE 1 hour]", 3_600_000_000, 30_000_000, 0, False),
        (
            "[RANGE 1 day SLIDE 1 hour ORIGIN '1970-01-02']",
            86_400_000_000,
            3_600_000_000,
            86_400_000_000,
            True,
        ),
        (
            "[RANGE 1 hour SLIDE 1 hour ORIGIN '1970-01-01 02:00+02:00']",
            3_600_000_000,
            3_600_000_000,
            0,
            True,
        ),
        ("[RANGE 2 weeks SLIDE 48 hours WATTR day ORIGIN '1970-01-11']", 14, 2, 10, True),
        ("[RANGE 5 SLIDE 2 WATTR n ORIGIN -3]", 5, 2, -3, True),
        ("[RANGE 0.5 SLIDE 0.25 WATTR d]", 50, 25, 0, False),
        ("[RANGE 0.3 SLIDE 0.1 WATTR x ORIGIN 0.05]", 30, 10, 5, True),
        ("[RANGE 1000 rows SLIDE 10 rows WATTR row-num]", 1000, 10, 1, True),
        ("[RANGE 4 rows SLIDE 2 tuples]", 4, 2, 1, True),
    ],
)
def test_windows_are_whole_numbers_of_positions(
    window: str, range_: int, slide: int, origin: int, cut: bool
) -> None:
    found = bound(window).window
    assert (found.range, found.slide, found.origin, found.begins_at_origin) == (range_, slide, origin, cut)


def test_a_slack_finer_than_the_window_makes_the_axis_finer() -> None:
    found = bound("[RANGE 1 SLIDE 1 WATTR x]", "PUNCTUATED BY SLACK 0.25").window
    assert (found.axis.places, found.range) == (2, 100)


def test_a_time_without_a_date_is_on_the_day_of_tuple_1() -> None:
    found = bound("[RANGE 1 hour SLIDE 1 hour ORIGIN '07:00:00']", first_day=date(1970, 1, 3)).window
    assert found.origin == (2 * 24 + 7) * 3_600_000_000


@pytest.mark.parametrize(
    ("window", "rest", "at", "said"),
    [
        ("[RANGE 300 SLIDE 60 seconds]", "", "300", "`300` does not fit ts, which is of type timestamp"),
        ("[RANGE 5 seconds SLIDE 1 WATTR n]", "", "5 seconds", "does not fit n"),
        ("[RANGE 5 SLIDE 0.5 WATTR n]", "", "0.5", "finer than the steps of n"),
        ("[RANGE 1 SLIDE 0.001 WATTR d]", "", "0.001", "finer than the steps of d"),
        ("[RANGE 1 week SLIDE 1 hour WATTR day]", "", "1 hour", "finer than the steps of day"),
        ("[RANGE 0.0000001 seconds SLIDE 1 second]", "", "0.0000001 seconds", "finer than the steps of ts"),
        ("[RANGE 0 seconds SLIDE 1 second]", "", "0 seconds", "RANGE must be more than 0"),
        ("[RANGE 1 hour SLIDE 1 hour ORIGIN 'noon']", "", "'noon'", "ORIGIN 'noon' is no timestamp"),
        ("[RANGE 5 SLIDE 1 WATTR n ORIGIN 'x']", "", "'x'", "ORIGIN 'x' is no integer"),
        ("[RANGE 5 SLIDE 1 WATTR n ORIGIN 0.5]", "", "0.5", "finer than the steps of n"),
        ("[RANGE 5 rows SLIDE 1 row ORIGIN 3]", "", "3", "row windows begin at row 1"),
        ("[RANGE 5 SLIDE 1 WATTR g]", "", "g", "g is string, which has no steps"),
        (
            "[RANGE 1 hour SLIDE 1 hour]",
            "PUNCTUATED BY SLACK 5",
            "PUNCTUATED",
            "`5` does not fit ts",
        ),
        ("[RANGE 5 rows SLIDE 1 row]", "PUNCTUATED BY SLACK 5 seconds", "PUNCTUATED", "does not fit row-num"),
    ],
)
def test_windows_that_do_not_fit_are_refused_where_they_stand(
    window: str, rest: str, at: str, said: str
) -> None:
    with pytest.raises(QueryError) as refused:
        bound(window, rest)
    error = refused.value
    assert said in error.problem
    assert error.line == 1
    pointed = error.source_line[error.caret.index("^") :]
    assert pointed.startswith(at) or at.startswith("PUNCTUATED"), (pointed, error.problem)
    assert error.hint
    assert str(error.column) in error.problem


@pytest.mark.parametrize(
    ("window", "kind"),
    [
        ("[RANGE 10 seconds RATTR ts SLIDE 1 ROW SATTR row-num]", "slide-by-tuple"),
        ("[RANGE 10 seconds SLIDE 1 tuple WATTR ts]", "slide-by-tuple"),
        ("[RANGE 10 rows SLIDE 1 row WATTR row-num PATTR g]", "PATTR"),
        ("[ROWS 10]", "ROWS n"),
        ("[PARTITION BY g ROWS 10]", "ROWS n"),
        ("[UNBOUNDED START AT '2026-01-01']", "landmark"),
        ("[START AT '2026-01-01' END AT '2026-01-02']", "landmark"),
        ("[END AT '2026-01-02']", "landmark"),
        ("[NOW]", "NOW"),
        ("[RANGE 10 seconds SLIDE 5 seconds LAG 1 second]", "LAG"),
        ("[RANGE 10 seconds]", "without SLIDE"),
        ("", "without a window"),
    ],
)
def test_window_kinds_that_are_not_there_yet_say_so(window: str, kind: str) -> None:
    with pytest.raises(QueryError) as refused:
        bound(window)
    assert kind in refused.value.problem
    assert "not there yet" in refused.value.problem
    assert refused.value.hint


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("SELECT count(*) FROM Traffic [NOW] UNION SELECT count(*) FROM Traffic [NOW]", "UNION"),
        ("SELECT count(*) FROM Traffic [NOW] A, Traffic [NOW] B", "joining streams"),
        ("SELECT DISTINCT g FROM Traffic [RANGE 1 hour SLIDE 1 hour]", "DISTINCT"),
        ("SELECT g FROM Traffic [RANGE 1 hour SLIDE 1 hour]", "without an aggregate"),
        ("SELECT count(*) FROM (SELECT * FROM Traffic) [RANGE 1 hour SLIDE 1 hour]", "subquery"),
        (
            "SELECT count(*) FROM Traffic [RANGE 1 hour SLIDE 1 hour] PUNCTUATED BY HEARTBEAT EVERY 1 minute",
            "HEARTBEAT",
        ),
        (
            "SELECT count(*) FROM Traffic [RANGE 1 hour SLIDE 1 hour] PUNCTUATED BY EACH g IN ORDER",
            "IN ORDER",
        ),
    ],
)
def test_queries_that_cannot_be_replayed_yet_say_so(text: str, what: str) -> None:
    with pytest.raises(SluiceError) as refused:
        bind_query("q", parse(text, "q"), {"Traffic": TRAFFIC}, lambda _: None)
    assert what in refused.value.problem
    assert "not there yet" in refused.value.problem


def test_an_unknown_stream_or_attribute_suggests_a_near_one() -> None:
    text = "SELECT count(*)\nFROM Trafic [RANGE 1 hour SLIDE 1 hour]"
    with pytest.raises(QueryError) as refused:
        bind_query("q", parse(text, "q"), {"Traffic": TRAFFIC}, lambda _: None)
    assert (refused.value.line, refused.value.column) == (2, 6)
    assert refused.value.hint == "Did you mean Traffic?"
    with pytest.raises(QueryError) as wrong:
        bound("[RANGE 1 hour SLIDE 1 hour WATTR tz]")
    assert "ts" in wrong.value.hint
