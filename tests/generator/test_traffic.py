"""The traffic stream: the same every time, complete, and out of order in just the way asked for."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
import yaml

from jobs.generator import STREAMS
from jobs.generator.disorder import Disorder
from jobs.generator.traffic import SCHEMA, TrafficSpec, batches, declaration
from schemas.errors import SluiceError

MINUTE = 60_000_000
KINDS = list(Disorder)


def rows_of(spec: TrafficSpec, chunk_slots: int = 1 << 18) -> pa.Table:
    return pa.Table.from_batches(batches(spec, chunk_slots=chunk_slots), schema=SCHEMA)


def column(rows: pa.Table, name: str) -> np.ndarray:
    values = rows[name].combine_chunks()
    return values.cast(pa.int64()).to_numpy() if pa.types.is_timestamp(values.type) else values.to_numpy()


def displacement(ts: np.ndarray) -> np.ndarray:
    """How far each tuple is behind the high-water mark before it."""
    return np.maximum(np.maximum.accumulate(ts) - ts, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_chunk_sizes_leave_no_trace(kind: Disorder) -> None:
    spec = TrafficSpec(7_001, segments=37, disorder=kind, seed=5)
    whole = rows_of(spec)
    assert whole.equals(rows_of(spec))
    for chunk_slots in (13, 37, 1_000, 50_000):
        assert whole.equals(rows_of(spec, chunk_slots))


def test_batches_are_cut_the_same_whatever_the_chunks() -> None:
    spec = TrafficSpec(600_000, disorder=Disorder.BOUNDED)
    sizes = [batch.num_rows for batch in batches(spec, chunk_slots=70_000)]
    assert sizes == [1 << 18, 1 << 18, 600_000 - (1 << 19)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 2, 1_000, 30_011])
def test_exactly_the_rows_asked_for(kind: Disorder, rows: int) -> None:
    assert rows_of(TrafficSpec(rows, disorder=kind, missing=0.3)).num_rows == rows


@pytest.mark.parametrize("kind", KINDS)
def test_the_key_is_unique_and_arrival_never_goes_back(kind: Disorder) -> None:
    rows = rows_of(TrafficSpec(20_000, segments=50, disorder=kind, seed=3))
    keys = set(zip(column(rows, "seg-id").tolist(), column(rows, "ts").tolist(), strict=True))
    assert len(keys) == 20_000
    received = column(rows, "received_at")
    assert (np.diff(received) >= 0).all()
    if kind is not Disorder.CLOCKS:
        assert (received >= column(rows, "ts")).all()


@pytest.mark.parametrize("kind", [Disorder.BOUNDED, Disorder.BLOCKS, Disorder.SOURCES])
def test_disorder_changes_the_order_and_nothing_else(kind: Disorder) -> None:
    spec = TrafficSpec(5_000, segments=40, seed=8)
    by_key = [("ts", "ascending"), ("seg-id", "ascending")]
    plain = rows_of(spec).drop(["received_at"])
    mixed = rows_of(replace(spec, disorder=kind)).drop(["received_at"])
    assert not plain.equals(mixed)
    assert plain.sort_by(by_key).equals(mixed.sort_by(by_key))


def test_none_is_sorted() -> None:
    rows = rows_of(TrafficSpec(10_000))
    assert (np.diff(column(rows, "ts")) >= 0).all()


@pytest.mark.parametrize("seconds", [0, 1, 60, 900])
def test_bounded_displaces_by_no_more_than_the_greatest_delay(seconds: int) -> None:
    spec = TrafficSpec(20_000, disorder=Disorder.BOUNDED, max_delay=timedelta(seconds=seconds))
    rows = rows_of(spec)
    behind = displacement(column(rows, "ts"))
    assert behind.max() <= seconds * 1_000_000
    assert behind.max() >= 0.8 * (seconds - 1) * 1_000_000
    delays = column(rows, "received_at") - column(rows, "ts")
    assert delays.max() <= seconds * 1_000_000


def test_blocks_ascend_and_are_mixed_inside() -> None:
    rows = rows_of(TrafficSpec(12_000, disorder=Disorder.BLOCKS))
    ts, received = column(rows, "ts"), column(rows, "received_at")
    block = ts // MINUTE
    assert (np.diff(block) >= 0).all()
    assert (received >= (block + 1) * MINUTE).all()
    assert (received < (block + 1) * MINUTE + 1_000_000).all()
    for each in np.unique(block)[:-1]:
        inside = ts[block == each]
        assert 0.3 < (np.diff(inside) < 0).mean() < 0.7


def test_sources_are_in_order_each_and_out_of_order_together() -> None:
    rows = rows_of(TrafficSpec(12_000, disorder=Disorder.SOURCES, max_delay=timedelta(minutes=10)))
    ts, received, segment = (column(rows, name) for name in ("ts", "received_at", "seg-id"))
    assert (displacement(ts) > 0).mean() > 0.5
    delay = received - ts
    assert delay.max() <= 10 * MINUTE
    for each in np.unique(segment):
        mine = segment == each
        assert (np.diff(ts[mine]) > 0).all()
        assert np.ptp(delay[mine]) <= 10_000_000  # the jitter: half an interval here


def test_only_a_few_clocks_are_off_and_each_by_a_constant() -> None:
    rows = rows_of(TrafficSpec(12_000, disorder=Disorder.CLOCKS, broken_clocks=4))
    ts, received, segment = (column(rows, name) for name in ("ts", "received_at", "seg-id"))
    ahead = ts - received
    off = set(segment[ahead != 0].tolist())
    assert len(off) == 4
    offsets = [set(ahead[segment == each].tolist()) for each in off]
    assert all(len(offset) == 1 for offset in offsets)
    constants = sorted(offset.pop() for offset in offsets)
    assert constants[1] < 0 < constants[2]
    assert all(2 * MINUTE <= abs(constant) <= 5 * 60 * MINUTE for constant in constants)
    healthy = ts[~np.isin(segment, list(off))]
    assert (np.diff(healthy) >= 0).all()


def test_missing_readings_are_as_many_as_asked_and_some_in_outages() -> None:
    ts_of: dict[int, np.ndarray] = {}
    rows = rows_of(TrafficSpec(200_000, missing=0.1))
    ts, segment = column(rows, "ts"), column(rows, "seg-id")
    rounds = (ts.max() - ts.min()) // 20_000_000 + 1
    assert 1 - 200_000 / (rounds * 200) == pytest.approx(0.1, abs=0.01)
    ts_of = {each: ts[segment == each] for each in np.unique(segment).tolist()}
    gaps = np.concatenate([np.diff(mine) for mine in ts_of.values()])
    assert (gaps % 20_000_000 == 0).all()
    # Chance alone, at a tenth each, would make five in a row once in 100,000; outages make them common.
    assert (gaps >= 6 * 20_000_000).sum() > 50


def test_nothing_is_missing_where_nothing_may_be() -> None:
    rows = rows_of(TrafficSpec(2_000, missing=0))
    assert np.unique(column(rows, "ts"), return_counts=True)[1].tolist() == [10] * 200


def test_rush_hours_are_slow_and_busy() -> None:
    rows = rows_of(TrafficSpec(90_000, segments=20))
    hour = column(rows, "ts") // (60 * MINUTE) % 24
    speed, vehicles = column(rows, "speed"), column(rows, "vehicle_count")
    mean_speed = {at: speed[hour == at].mean() for at in (3, 8, 12, 17)}
    mean_vehicles = {at: vehicles[hour == at].mean() for at in (3, 8, 12, 17)}
    assert max(mean_speed[8], mean_speed[17]) < 0.8 * min(mean_speed[3], mean_speed[12])
    assert min(mean_vehicles[8], mean_vehicles[17]) > 1.5 * max(mean_vehicles[3], mean_vehicles[12])
    assert speed.min() >= 2
    free_flow = [speed[(hour < 5) & (column(rows, "seg-id") == each)].mean() for each in range(1, 21)]
    assert np.std(free_flow) > 3


def test_seeds_and_starts_differ() -> None:
    spec = TrafficSpec(1_000)
    assert not rows_of(spec).equals(rows_of(replace(spec, seed=1)))
    later = rows_of(replace(spec, start=datetime(2027, 5, 1, 6)))
    assert later["ts"][0].as_py() == datetime(2027, 5, 1, 6, tzinfo=UTC)


def test_the_declaration_fits_the_rows() -> None:
    declared = yaml.safe_load(STREAMS["Traffic"].declaration())
    assert declaration() == STREAMS["Traffic"].declaration()
    assert {*declared["attributes"], declared["arrival"]["time"]} == set(SCHEMA.names)
    assert declared["stream"] == "Traffic"
    assert declared["key"] == ["seg-id", "ts"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": 0},
        {"segments": 0},
        {"segments": 2_000_000},
        {"disorder": "chaos"},
        {"missing": 1.0},
        {"missing": -0.1},
        {"missing": float("nan")},
        {"interval": timedelta(0)},
        {"interval": timedelta(seconds=1.5)},
        {"block": timedelta(0)},
        {"max_delay": timedelta(seconds=-1)},
        {"start": datetime(2026, 1, 1, 0, 0, 0, 5)},
        {"start": datetime(1066, 1, 1)},
        {"rows": 10**8, "segments": 1, "interval": timedelta(days=1)},
        {"disorder": "clocks", "segments": 3},
        {"disorder": "clocks", "broken_clocks": 0},
        {"disorder": "clocks", "punctuation_scope": "stream"},
        {"punctuation_scope": "town"},
    ],
)
def test_what_cannot_be_generated_is_refused_with_a_remedy(wrong: dict[str, object]) -> None:
    with pytest.raises(SluiceError) as refused:
        TrafficSpec(**{"rows": 10, **wrong})  # type: ignore[arg-type]
    assert refused.value.remedy
