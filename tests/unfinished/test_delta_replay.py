"""Replays over a real lakehouse: cases worked by hand, increments, resuming, and the ends of things."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lakehouse.layout import Lakehouse
from schemas.errors import SluiceError
from schemas.stream import declare_stream
from tests.replay.archived import OF_THE_RUN, Archived, at

pytestmark = pytest.mark.slow

MINUTE = 60_000_000
LEDGER = (
    "rows_in",
    "rows_used",
    "rows_partly_late",
    "rows_late",
    "rows_out_of_range",
    "rows_filtered",
    "results_written",
)


@pytest.fixture
def make_archive(brisk: SparkSession, tmp_path: Path) -> Callable[..., Archived]:
    def make(**attributes: str) -> Archived:
        inbox = tmp_path / "inbox"
        inbox.mkdir()
        declared = {"stream": "S", "attributes": attributes | {"ts": "timestamp"}, "timestamp": "ts"}
        return Archived(brisk, Lakehouse.at(str(tmp_path / "lake")), declare_stream(declared), inbox)

    return make


def clocked(*clocks: str, **others: Any) -> list[dict[str, Any]]:
    return [{"ts": f"2026-01-01 {clock}", **others} for clock in clocks]


def ledger(archived: Archived, query: Any) -> list[tuple[int, ...]]:
    return [tuple(row[name] for name in LEDGER) for row in archived.rows(query, "ledger/batches")]


def test_q1_of_wid_closed_at_its_end_then_finished(make_archive: Callable[..., Archived]) -> None:
    archived = make_archive(**{"seg-id": "integer", "speed": "double"})
    archived.arrive(
        [
            {"seg-id": 1, "speed": 50.0, "ts": "2026-01-01 12:10:30"},
            {"seg-id": 1, "speed": 70.0, "ts": "2026-01-01 12:11:00.000000"},
            {"seg-id": 1, "speed": 99.0, "ts": "2026-01-01 11:59:59.999999"},
            {"seg-id": None, "speed": 20.0, "ts": "2026-01-01 12:00:10"},
        ]
    )
    q1 = archived.query(
        "q1",
        "SELECT seg-id, max(speed), count(*) FROM S"
        " [RANGE 300 seconds SLIDE 60 seconds WATTR ts ORIGIN '2026-01-01 12:00:00'] GROUP BY seg-id"
        " PUNCTUATED BY END",
    )
    report = archived.replay(q1, close_at_end=True)
    assert (report.batches, report.rows, report.results, report.late) == (1, 4, 11, 0)
    results = archived.rows(q1, "results")
    found = {
        (row["window_id"], row["seg-id"]): (
            row["window_start"],
            row["window_end"],
            row["max_speed"],
            row["count"],
        )
        for row in results
    }
    # The tuple at 12:10:30 is in 10…14, the one at 12:11:00 sharp in 11…15.
    assert found[10, 1] == (at("12:06:00"), at("12:11:00"), 50.0, 1)
    assert found[11, 1] == (at("12:07:00"), at("12:12:00"), 70.0, 2)
    assert [found[i, 1][2:] for i in range(12, 16)] == [(70.0, 2), (70.0, 2), (70.0, 2), (70.0, 1)]
    # Windows 0–3 are partial: they begin at the origin. A NULL group is a group.
    assert [found[i, None][:2] for i in range(5)] == [(at("12:00"), at(f"12:0{i + 1}:00")) for i in range(5)]
    assert {row["released_seq"] for row in results} == {4}
    assert {row["released_at"] for row in results} == {at("12:11:00")}
    for row in results:
        assert row["valid_from"] == row["window_end"]
        assert (row["expires_at"] - row["valid_from"]).total_seconds() == 60
    assert len({row["answer_id"] for row in results}) == 11
    assert ledger(archived, q1) == [(4, 3, 0, 0, 1, 0, 11)]
    assert archived.rows(q1, "state") == []
    assert archived.rows(q1, "expirations") == []

    # The tables keep their contracts.
    assert archived.constraints(q1, "results") >= {"signed", "ends_after_start", "expires_after_valid"}
    assert archived.constraints(q1, "ledger/batches") >= {"nothing_lost", "range_matches"}
    assert archived.constraints(q1, "late") >= {"missed_some"}
    assert archived.constraints(q1, "state") >= {"known_kind"}
    assert archived.constraints(q1, "expirations") >= {"known_reason"}
    path = archived.tables(q1).paths["ledger/batches"]
    with pytest.raises(Exception, match=r"(?i)nothing_lost|constraint"):
        archived.spark.sql(f"update delta.`{path}` set rows_used = rows_used + 1")

    # Closed at its end it is finished: nothing new is nothing to do, more rows need --fresh.
    assert archived.replay(q1, close_at_end=True).batches == 0
    assert archived.replay(q1).batches == 0
    archived.arrive(clocked("12:16:00", speed=10.0, **{"seg-id": 2}))
    with pytest.raises(SluiceError, match="finished") as refused:
        archived.replay(q1)
    assert "--fresh" in refused.value.remedy
    assert len(archived.rows(q1, "results")) == 11
    assert archived.replay(q1, fresh=True).results == 0
    assert ledger(archived, q1) == [(5, 4, 0, 0, 1, 0, 0)]
    # Closing what an earlier run left open takes a micro-batch without rows.
    closing = archived.replay(q1, close_at_end=True)
    assert (closing.batches, closing.rows, closing.results) == (1, 0, 16)
    assert {row["released_seq"] for row in archived.rows(q1, "results")} == {5}
    again = {row["answer_id"]: row["max_speed"] for row in archived.rows(q1, "results")}
    assert {row["answer_id"]: row["max_speed"] for row in results}.items() <= again.items()


def test_disorder_as_worked_in_semantics_however_it_is_cut(make_archive: Callable[..., Archived]) -> None:
    archived = make_archive(x="integer")
    clocks = ("12:00:50", "12:01:10", "12:00:55", "12:01:09", "12:00:59")
    archived.arrive([{"x": n, "ts": f"2026-01-01 {clock}"} for n, clock in enumerate(clocks, start=1)])
    text = "SELECT count(*), sum(x) FROM S [RANGE 60 seconds SLIDE 60 seconds] PUNCTUATED BY SLACK 10 seconds"
    whole = archived.query("whole", text)
    archived.replay(whole)
    noon = int(at("12:00:00").timestamp()) // 60
    [answer] = archived.rows(whole, "results")
    assert answer == {
        "answer_id": str(noon),
        "window_id": noon,
        "window_start": at("12:00:00"),
        "window_end": at("12:01:00"),
        "count": 1,
        "sum_x": 1,
        "sign": 1,
        "valid_from": at("12:01:00"),
        "expires_at": at("12:02:00"),
        "released_seq": 2,
        "released_at": at("12:01:10"),
        "batch_id": 1,
    }
    late = archived.rows(whole, "late")
    assert [(row["seq"], row["x"], row["missed"], row["behind"]) for row in late] == [
        (3, 3, 1, 5_000_000),
        (5, 5, 1, 1_000_000),
    ]
    assert {(row["missed_from"], row["missed_to"]) for row in late} == {(noon, noon)}
    assert ledger(archived, whole) == [(5, 3, 0, 2, 0, 0, 1)]
    panes = [row for row in archived.rows(whole, "state") if row["kind"] == "pane"]
    assert [(row["first_id"], row["last_id"]) for row in panes] == [(noon + 1, noon + 1)]

    # Stopped after 2 and resumed with other micro-batches: the same, apart from the batches' names.
    resumed = archived.query("resumed", text)
    first = archived.replay(resumed, until=2, batch_rows=1, fuse=1)
    assert (first.batches, first.steps, first.last_seq) == (2, 2, 2)
    assert archived.replay(resumed, until=2).batches == 0
    second = archived.replay(resumed, batch_rows=2)
    assert (second.first_seq, second.batches, second.steps) == (3, 2, 1)
    assert archived.outcome(resumed) == archived.outcome(whole)
    batches = archived.rows(resumed, "ledger/batches")
    assert [(b["batch_id"], b["first_seq"], b["last_seq"]) for b in batches] == [
        (1, 1, 1),
        (2, 2, 2),
        (3, 3, 4),
        (4, 5, 5),
    ]
    assert [row["batch_id"] for row in archived.rows(resumed, "late")] == [3, 4]
    assert [sum(column) for column in zip(*ledger(archived, resumed), strict=True)] == [5, 3, 0, 2, 0, 0, 1]
    assert [run["last_seq"] for run in archived.rows(resumed, "ledger/runs")] == [2, 5]

    # By span of arrival: tuple 1 arrived in the minute of 12:00, all others at 12:01:10.
    spanned = archived.query("spanned", text)
    assert archived.replay(spanned, batch_span=MINUTE).batches == 2
    assert archived.outcome(spanned) == archived.outcome(whole)
    assert [(b["first_seq"], b["last_seq"]) for b in archived.rows(spanned, "ledger/batches")] == [
        (1, 1),
        (2, 5),
    ]
    assert [row["batch_id"] for row in archived.rows(spanned, "results")] == [2]

    # Row windows over the same arrivals: full ones close at their last row, the rest stay open at the end.
    rows = archived.query("rows", "SELECT count(*), max(x) FROM S [RANGE 4 rows SLIDE 2 rows WATTR row-num]")
    archived.replay(rows, close_at_end=True)
    columns = ("window_id", "window_start", "window_end", "count", "max_x")
    columns += ("admitted", "expires_order", "released_seq", "released_at")
    told = [tuple(row[name] for name in columns) for row in archived.rows(rows, "results")]
    assert told == [
        (0, 1, 3, 2, 2, 2, 4, 2, at("12:01:10")),
        (1, 1, 5, 4, 4, 4, 6, 4, at("12:01:10")),
    ]
    assert ledger(archived, rows) == [(5, 5, 0, 0, 0, 0, 2)]


def test_archives_that_are_missing_empty_or_one_row_and_a_gap_of_centuries(
    make_archive: Callable[..., Archived],
) -> None:
    archived = make_archive(x="double")
    text = "SELECT count(*), sum(x) FROM S [RANGE 2 seconds SLIDE 1 second WATTR ts]"
    gap = archived.query("gap", text)
    with pytest.raises(SluiceError, match="has no archive") as missing:
        archived.replay(gap)
    assert "sluice ingest S" in missing.value.remedy
    # A file without a good row makes an archive without rows.
    archived.arrive([{"x": 1.0, "ts": None}])
    assert archived.replay(gap).batches == 0
    assert archived.replay(gap, close_at_end=True).batches == 0
    archived.arrive([{"x": 0.1, "ts": "1970-01-01 00:00:00"}])
    assert archived.replay(gap).results == 0
    archived.arrive([{"x": 0.2, "ts": "2500-01-01 00:00:00"}])
    began = time.monotonic()
    assert archived.replay(gap).results == 2
    # Between them lie 16 billion empty windows, which no machine makes in this time; a busy one needs a minute.
    assert time.monotonic() - began < 300, "empty windows must not be materialised"
    found = [(row["window_id"], row["count"], row["released_seq"]) for row in archived.rows(gap, "results")]
    assert found == [(0, 1, 2), (1, 1, 2)]
    assert archived.rows(gap, "results")[0]["released_at"] == at("00:00:00", "2500-01-01")
    at_once = archived.query("at_once", text)
    archived.replay(at_once, fuse=1, batch_rows=1)
    assert archived.outcome(at_once) == archived.outcome(gap)


def test_nightly_increments_with_archived_punctuations_and_null_groups(
    make_archive: Callable[..., Archived],
) -> None:
    archived = make_archive(g="string", x="double")
    text = (
        "SELECT g, count(*), sum(x) FROM S [RANGE 120 seconds SLIDE 60 seconds WATTR ts] WHERE x < 100"
        " GROUP BY g PUNCTUATED BY ARCHIVE LATE GENEROUS"
    )
    nightly, rows = archived.query("nightly", text), 0
    names = ["p", None, "\\N", "p|q", "", "p"]
    archived.arrive(
        [
            {"g": g, "x": x, "ts": "2026-01-01 12:00:30"}
            for g, x in zip(names, [0.1, 0.2, 0.3, 0.4, 500.0, 0.2], strict=True)
        ]
    )
    rows += archived.replay(nightly, batch_rows=4).rows
    assert archived.rows(nightly, "results") == []
    # Night 2: only a promise, at the last row replayed. It makes a micro-batch without rows.
    archived.arrive([], [{"seq": 6, "pattern": {"ts": {"to": "2026-01-01 12:01:00"}}}])
    silent = archived.replay(nightly)
    assert (silent.batches, silent.rows, silent.results) == (1, 0, 4)
    assert archived.replay(nightly).batches == 0
    assert archived.rows(nightly, "ledger/batches")[-1]["rows_in"] == 0
    answers = archived.rows(nightly, "results")
    assert {row["released_seq"] for row in answers} == {6}
    assert {row["g"]: (row["count"], row["sum_x"]) for row in answers} == {
        "p": (2, 0.1 + 0.2),
        None: (1, 0.2),
        "\\N": (1, 0.3),
        "p|q": (1, 0.4),
    }
    assert len({row["answer_id"] for row in answers}) == 4
    # Night 3: a straggler misses the closed window only; p's promise closes p's windows only.
    archived.arrive(
        [
            {"g": "p", "x": 0.7, "ts": "2026-01-01 12:00:40"},
            {"g": "q", "x": 1.0, "ts": "2026-01-01 12:01:10"},
        ],
        [{"seq": 7, "pattern": {"g": "p", "ts": {"to": "2026-01-01 12:02:00"}}}],
    )
    rows += archived.replay(nightly, batch_rows=1).rows
    assert rows == 8
    minute = int(at("12:00:00").timestamp()) // 60
    [straggler] = archived.rows(nightly, "late")
    assert (straggler["seq"], straggler["missed_from"], straggler["missed_to"]) == (7, minute, minute)
    assert straggler["behind"] == 20_000_000
    third = [row for row in archived.rows(nightly, "results") if row["released_seq"] == 7]
    assert [(row["g"], row["window_id"], row["count"]) for row in third] == [("p", minute + 1, 3)]

    whole = archived.query("whole", text)
    archived.replay(whole)
    assert archived.outcome(whole) == archived.outcome(nightly)
    sums = [[sum(c) for c in zip(*ledger(archived, q), strict=True)] for q in (nightly, whole)]
    assert sums[0] == sums[1] == [8, 6, 1, 0, 0, 1, 5]
    # The same once more from the start: answer ids, batches and all.
    before = archived.outcome(whole, OF_THE_RUN)
    archived.replay(whole, fresh=True)
    assert archived.outcome(whole, OF_THE_RUN) == before


def test_rows_that_are_all_late(make_archive: Callable[..., Archived]) -> None:
    archived = make_archive(x="integer")
    archived.arrive(
        clocked("12:00:01", "12:00:30", "12:01:00", x=1),
        [
            {
                "seq": 0,
                "pattern": {"ts": {"to": "2026-01-02 00:00:00"}},
                "arrived_at": "2026-01-01 00:00:00",
            }
        ],
    )
    late = archived.query(
        "late", "SELECT count(*) FROM S [RANGE 2 minutes SLIDE 1 minute] PUNCTUATED BY ARCHIVE"
    )
    assert archived.replay(late, batch_rows=2, close_at_end=True).late == 3
    assert ledger(archived, late) == [(2, 0, 0, 2, 0, 0, 0), (1, 0, 0, 1, 0, 0, 0)]
    assert archived.rows(late, "results") == []
    assert [row["missed"] for row in archived.rows(late, "late")] == [2, 2, 2]
