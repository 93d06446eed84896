"""Promises are true, and stand as early as they can: checked tuple by tuple against the file."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from jobs.generator import traffic
from jobs.generator.disorder import Disorder
from jobs.generator.punctuations import PunctuationScope, Punctuator
from jobs.generator.traffic import TrafficSpec, generate

CASES = [
    *[TrafficSpec(4_000, segments=40, disorder=kind, seed=2) for kind in Disorder],
    *[
        TrafficSpec(4_000, segments=40, disorder=kind, punctuation_scope=PunctuationScope.SOURCE)
        for kind in Disorder
    ],
    TrafficSpec(3_000, segments=20, disorder=Disorder.BOUNDED, max_delay=timedelta(minutes=7), missing=0.6),
    TrafficSpec(300, segments=1, interval=timedelta(minutes=5), missing=0.5),
    TrafficSpec(2_000, segments=9, disorder=Disorder.BLOCKS, block=timedelta(seconds=90)),
    TrafficSpec(1, disorder=Disorder.SOURCES, punctuation_scope=PunctuationScope.SOURCE),
]


def named(spec: TrafficSpec) -> str:
    return f"{spec.disorder}-{spec.scope}-{spec.rows}"


def read_promises(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def instant(text: str) -> datetime:
    assert text.endswith("Z")
    return datetime.fromisoformat(text)


@pytest.mark.parametrize("spec", CASES, ids=named)
def test_oracle_promises_hold_and_are_as_early_as_can_be(
    spec: TrafficSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small batches, so that promises reach across many of them.
    monkeypatch.setattr(traffic, "BATCH_ROWS", 257)
    done = generate(spec, tmp_path / "rows.parquet", tmp_path / "promises.jsonl", chunk_slots=997)
    rows = pq.read_table(tmp_path / "rows.parquet").to_pylist()
    promises = read_promises(tmp_path / "promises.jsonl")
    assert len(promises) == done.punctuations > 0
    assert [each["seq"] for each in promises] == sorted(each["seq"] for each in promises)
    promised: dict[object, set[datetime]] = {}
    for promise in promises:
        seq, pattern = promise["seq"], promise["pattern"]
        source, to = pattern.get("seg-id"), instant(pattern["ts"]["to"])
        in_scope = [n for n, row in enumerate(rows, 1) if source in (None, row["seg-id"])]
        before = [n for n in in_scope if rows[n - 1]["ts"] < to]
        # It stands behind the last tuple that would break it: true, and not a tuple too late.
        assert seq == max(before)
        assert instant(promise["arrived_at"]) == rows[seq - 1]["received_at"]
        assert to.second == to.microsecond == 0
        promised.setdefault(source, set()).add(to)
    by_source = spec.scope is PunctuationScope.SOURCE
    assert set(promised) == ({row["seg-id"] for row in rows} if by_source else {None})
    for source, ends in promised.items():
        minutes = {row["ts"].replace(second=0) for row in rows if source in (None, row["seg-id"])}
        # One for each minute that has readings: it reaches to the next such minute.
        assert len(ends) == len(minutes)
        assert ends - {max(ends)} == minutes - {min(minutes)}
        assert max(ends) > max(minutes)


def test_chunk_sizes_leave_no_trace_in_promises(tmp_path: Path) -> None:
    for scope in PunctuationScope:
        spec = TrafficSpec(
            9_000, segments=30, disorder=Disorder.SOURCES, missing=0.2, punctuation_scope=scope
        )
        texts = set()
        for chunk_slots in (50, 1_234, 100_000):
            generate(spec, tmp_path / "rows.csv", tmp_path / "promises", chunk_slots=chunk_slots)
            texts.add((tmp_path / "promises").read_bytes())
        assert len(texts) == 1


def test_a_promise_reads_as_the_interface_says(tmp_path: Path) -> None:
    spec = TrafficSpec(400, segments=1, missing=0)
    generate(spec, tmp_path / "rows.csv", tmp_path / "promises")
    assert read_promises(tmp_path / "promises")[0] == {
        "seq": 3,
        "pattern": {"ts": {"to": "2026-01-01T00:01:00Z"}},
        "arrived_at": "2026-01-01T00:00:40.000000Z",
    }


def test_parts_of_a_stream_give_the_promises_of_the_whole() -> None:
    # By hand, in minutes: 0 1 0 2 1 5 arrive in this order, one a minute; delays below 3 minutes.
    minute = 60_000_000
    arrived = np.array([0, 1, 2, 3, 4, 5], dtype=np.int64) * minute
    ts = np.array([0, 1, 0, 2, 1, 5], dtype=np.int64) * minute
    slot = np.array([0, 2, 1, 4, 3, 5], dtype=np.int64)
    for size in (1, 2, 4, 6):
        punctuator, found = Punctuator(3 * minute), []
        for begin in range(0, 6, size):
            some = slice(begin, begin + size)
            found.append(punctuator.observe(slot[some] * 0, slot[some], ts[some], ts[some], arrived[some]))
        found.append(punctuator.finish())
        promises = [(seq, to // minute) for part in found for seq, to in zip(part.seq, part.to, strict=True)]
        # ts < 1 is done after the third, ts < 2 after the fifth and so ts < 5 too, all after the sixth.
        assert promises == [(3, 1), (5, 2), (5, 5), (6, 6)]


def test_start_without_a_zone_is_utc() -> None:
    assert TrafficSpec(1, start=datetime(2026, 3, 1)).start == datetime(2026, 3, 1, tzinfo=UTC)
