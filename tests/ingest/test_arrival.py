"""Arrival times never go back; rows sort by an order column in bounded memory, equals as they came."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import fs

from lakehouse.ingest import arrival
from lakehouse.ingest.arrival import ArrivalClock, sort_by
from lakehouse.ingest.screening import infer_type

UTC = pa.timestamp("us", "UTC")


@given(st.lists(st.lists(st.integers(-5, 20), min_size=1)), st.none() | st.integers(0, 10))
def test_clock_is_the_running_maximum(batches: list[list[int]], carried: int | None) -> None:
    clock = ArrivalClock(carried)
    stamped = [at for b in batches for at in clock.stamp(pa.array(b, UTC)).cast(pa.int64()).to_pylist()]
    expected, highest = [], carried
    for value in (value for b in batches for value in b):
        highest = value if highest is None else max(highest, value)
        expected.append(highest)
    assert stamped == expected
    assert clock.last == highest


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("distinct", [1, 3, 1000])
def test_sorting_in_runs_equals_a_stable_sort(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, distinct: int
) -> None:
    monkeypatch.setattr(arrival, "RUN_ROWS", 50)
    monkeypatch.setattr(arrival, "_MERGE_ROWS", 8)
    monkeypatch.setattr(arrival, "_LEAST_PIECE", 7)
    chance = random.Random(seed)
    rows = [(chance.randrange(distinct), place) for place in range(seed * 100 + 20)]
    tables, left = [], rows
    while left:
        size = chance.randint(1, 40)
        tables.append(pa.table({"key": [k for k, _ in left[:size]], "place": [p for _, p in left[:size]]}))
        left = left[size:]
    pieces = list(sort_by(tables, "key", fs.LocalFileSystem(), str(tmp_path / "runs")))
    merged = [(row["key"], row["place"]) for piece in pieces for row in piece.to_pylist()]
    assert merged == sorted(rows)
    assert not list(tmp_path.glob("runs/*"))
    # Memory: no piece is a large part of the whole.
    assert seed == 0 or max(piece.num_rows for piece in pieces) <= 7 * (len(rows) // 50 + 2)


def test_the_type_of_an_undeclared_order_column() -> None:
    assert infer_type([pa.array(["1", "10", None]), pa.array(["2"])]) == "bigint"
    assert infer_type([pa.array(["1", "1.5"])]) == "double"
    assert infer_type([pa.array(["2026-01-01", "2026-01-02 10:00:00Z", "?"])]) == "timestamp"
    assert infer_type([pa.array(["a", "b", "1"])]) == "string"
    assert infer_type([pa.array([3, 1])]) == "bigint"
