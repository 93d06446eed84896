"""Files into the archive, the quarantine and the punctuations, on Spark and Delta."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from lakehouse import delta_table
from lakehouse.ingest import arrival, commit, ingest, records, staging
from lakehouse.layout import Lakehouse
from schemas.errors import SluiceError
from schemas.stream import Stream
from tests.ingest.conftest import traffic

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def csv(path: Path, *rows: str) -> str:
    path.write_text("\n".join(["seg-id,speed,ts", *rows, ""]))
    return str(path)


def row(segment: int, second: int) -> str:
    return f"{segment},50,{(NOON + timedelta(seconds=second)).isoformat()}"


@pytest.fixture
def lakehouse(tmp_path: Path) -> Lakehouse:
    return Lakehouse.at(str(tmp_path / "lake [house]"))


def archived(spark: SparkSession, lakehouse: Lakehouse, *columns: str) -> list[tuple[Any, ...]]:
    table = delta_table.read(spark, lakehouse.archive("Traffic")).orderBy("seq")
    return [tuple(r) for r in table.select(*(f"`{c}`" for c in columns)).collect()]


def quarantined(spark: SparkSession, lakehouse: Lakehouse) -> list[tuple[Any, ...]]:
    table = delta_table.read(spark, lakehouse.quarantine("Traffic")).orderBy("source_file", "source_line")
    return [tuple(r) for r in table.select("source_file", "source_line", "raw", "reason").collect()]


def is_clean(lakehouse: Lakehouse) -> bool:
    return staging.leftovers(lakehouse.staging("Traffic")) == []


def test_formats_order_quarantine_and_content(
    spark: SparkSession, lakehouse: Lakehouse, tmp_path: Path
) -> None:
    files = tmp_path / "files"
    files.mkdir()
    first = csv(files / "1.csv", row(1, 0), "1,fast,2026-01-01", row(2, 60))
    with gzip.open(files / "2.jsonl.gz", "wt") as out:
        out.write(json.dumps({"seg-id": 3, "ts": "2026-01-01T12:00:30Z"}) + "\n{\n")
    pq.write_table(pa.table({"Seg-Id": [4], "speed": [1.5], "ts": [NOON]}), files / "3.parquet")
    (files / "4.csv").write_text("seg-id,speed,ts\n1,2,\n")
    (files / "5.csv").write_bytes((files / "1.csv").read_bytes())
    (files / "notes.txt").write_text("")
    seen: list[tuple[int, int, str]] = []

    dry = ingest(spark, lakehouse, traffic(), str(files), dry_run=True)
    assert (dry.rows, dry.quarantined, dry.last_seq) == (4, 3, 4)
    assert not Path(lakehouse.root).exists()

    report = ingest(spark, lakehouse, traffic(), files, progress=lambda *told: seen.append(told))
    assert [(f.rows, f.quarantined, f.first_seq, f.last_seq) for f in report.files] == [
        (2, 1, 1, 2), (1, 1, 3, 3), (1, 0, 4, 4), (0, 1, None, None), (0, 0, None, None),
    ]  # fmt: skip
    assert report.files[4].skipped == f"same content as {first}, already ingested"
    assert (report.rows, report.quarantined, report.first_seq, report.last_seq) == (4, 3, 1, 4)
    assert [Path(name).name for name in report.ignored] == ["notes.txt"]
    assert seen[-1][0] <= seen[-1][1]
    assert seen == sorted(seen, key=lambda told: told[0])
    later = NOON + timedelta(seconds=60)
    assert archived(spark, lakehouse, "seq", "seg-id", "source_line", "speed") == [
        (1, 1, 2, 50.0), (2, 2, 4, 50.0), (3, 3, 1, None), (4, 4, 1, 1.5),
    ]  # fmt: skip
    arrived = [at.replace(tzinfo=UTC) for (at,) in archived(spark, lakehouse, "arrived_at")]
    assert arrived == [NOON, later, later, later]
    bad = quarantined(spark, lakehouse)
    assert [(Path(b[0]).name, *b[1:3]) for b in bad] == [
        ("1.csv", 3, "1,fast,2026-01-01"), ("2.jsonl.gz", 2, "{"), ("4.csv", 2, "1,2,"),
    ]  # fmt: skip
    assert bad[0][3] == "speed: 'fast' is no double"
    assert bad[2][3] == "ts: NULL, but it is the stream's timestamp"
    assert is_clean(lakehouse)

    # Known contents, also under other names, add nothing: neither rows nor bad rows, nor a commit.
    version = delta_table.latest_version(spark, lakehouse.archive("Traffic"))
    (files / "4.csv").rename(files / "renamed.csv")
    again = ingest(spark, lakehouse, traffic(), [files / "renamed.csv", files])
    assert all(file.skipped for file in again.files)
    assert delta_table.latest_version(spark, lakehouse.archive("Traffic")) == version
    assert len(quarantined(spark, lakehouse)) == 3

    # The next ingest goes on where the archive ends, and its arrivals are not before.
    ingest(spark, lakehouse, traffic(), csv(tmp_path / "next.csv", row(5, 10), row(6, 90)))
    assert archived(spark, lakehouse, "seq")[-2:] == [(5,), (6,)]
    arrived = [at.replace(tzinfo=UTC) for (at,) in archived(spark, lakehouse, "arrived_at")]
    assert arrived[-2:] == [later, NOON + timedelta(seconds=90)]

    # A damaged file stops all of its ingest.
    damaged = tmp_path / "z.parquet"
    damaged.write_bytes(b"PAR1")
    with pytest.raises(SluiceError, match=r"z\.parquet cannot be read"):
        ingest(spark, lakehouse, traffic(), [csv(tmp_path / "fine.csv", row(7, 1)), damaged])
    assert len(archived(spark, lakehouse, "seq")) == 6
    assert is_clean(lakehouse)

    # Another declaration of the same stream is told, not mixed in.
    other = traffic(attributes={"seg-id": "string", "ts": "timestamp"})
    with pytest.raises(SluiceError, match="seg-id, speed differ"):
        ingest(spark, lakehouse, other, tmp_path / "fine.csv")


def test_arrival_order_time_and_reserved_names(
    spark: SparkSession, lakehouse: Lakehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sorted by a column that is no attribute, in runs; small batches and files change nothing."""
    monkeypatch.setattr(records, "BLOCK_BYTES", 200)
    monkeypatch.setattr(arrival, "RUN_ROWS", 10)
    monkeypatch.setattr(staging, "GROUP_ROWS", 8)
    monkeypatch.setattr(staging, "FILE_ROWS", 16)
    stream = traffic(
        attributes={"seq": "integer", "ts": "timestamp"},
        arrival={"order": "position", "time": "received_at"},
    )
    count = 60
    lines = ["seq,ts,position,received_at"]
    for place in range(count):
        position = (place * 7) % count // 2  # each twice: equals keep the file's order
        lines.append(f"{place},2026-01-01,{position},2026-01-01 12:00:{position:02d}")
    lines[11] = "10,2026-01-01,5,soon"
    lines[21] = "20,2026-01-01,,2026-01-01 12:00:00"
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines))
    report = ingest(spark, lakehouse, stream, path)
    assert (report.rows, report.quarantined) == (count - 2, 2)
    rows = archived(spark, lakehouse, "seq", "seq_", "arrived_at", "source_line")
    kept = [place for place in range(count) if place not in (10, 20)]
    assert [r[1] for r in rows] == sorted(kept, key=lambda place: ((place * 7) % count // 2, place))
    assert [r[0] for r in rows] == list(range(1, count - 1))
    assert [r[2].second for r in rows] == [(r[1] * 7) % count // 2 for r in rows]
    assert [b[1:2] + b[3:] for b in quarantined(spark, lakehouse)] == [
        (12, "received_at: 'soon' is no timestamp"),
        (22, "position: NULL, but it is the order of arrival"),
    ]
    # Each archive file is a stretch of seqs of its own.
    files = sorted(
        (min(seqs), max(seqs), len(seqs))
        for file in Path(lakehouse.archive("Traffic")).glob("*.parquet")
        for seqs in [pq.read_table(file, columns=["seq"]).column("seq").to_pylist()]
    )
    assert len(files) > 2
    assert all(last - first + 1 == rows for first, last, rows in files)
    assert [first for first, _, _ in files[1:]] == [last + 1 for _, last, _ in files[:-1]]


def both_tables(spark: SparkSession, lakehouse: Lakehouse) -> tuple[Any, Any, Any]:
    punctuations = delta_table.read(spark, lakehouse.punctuations("Traffic")).orderBy("seq", "source_line")
    return (
        archived(spark, lakehouse, "seq", "arrived_at", "seg-id", "source_line"),
        quarantined(spark, lakehouse),
        [tuple(p) for p in punctuations.select("seq", "arrived_at", "pattern", "source_line").collect()],
    )


def write_all(folder: Path) -> tuple[str, str]:
    rows = csv(folder / "rows.csv", row(1, 0), "bad", row(2, 60))
    promises = folder / "promises.jsonl"
    promises.write_text(
        '{"seq": 1, "pattern": {"TS": {"to": "2026-01-01 12:00:00"}}}\n'
        '{"seq": 2, "pattern": {"seg-id": 1}, "arrived_at": "2026-01-01T12:05:00Z"}\n'
        "{\n"
    )
    return rows, str(promises)


class Killed(BaseException):
    pass


def test_killed_at_every_stage_ends_the_same(
    spark: SparkSession, lakehouse: Lakehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, promises = write_all(tmp_path)
    stages = ["archive", "quarantine", "Traffic_punctuations", "discard"]
    reached = []
    real_append = delta_table.append

    def kill_at(stage: str, patch: pytest.MonkeyPatch) -> None:
        def append(table: Any, path: str, *rest: Any) -> None:
            if path.endswith(f"{stage}/Traffic") or path.endswith(f"/{stage}"):
                reached.append(stage)
                raise Killed
            real_append(table, path, *rest)

        def discard(*_: Any) -> None:  # a killed process does not tidy up after itself
            if stage == "discard":
                reached.append(stage)
                raise Killed

        patch.setattr(delta_table, "append", append)
        patch.setattr(staging, "discard", discard)
        patch.setattr("lakehouse.ingest.run.discard", discard)

    for stage in stages:
        with monkeypatch.context() as patch:
            kill_at(stage, patch)
            with pytest.raises(Killed):
                ingest(spark, lakehouse, traffic(), rows, promises)
    assert reached == stages
    report = ingest(spark, lakehouse, traffic(), rows, promises)
    assert report.rows == 0
    assert is_clean(lakehouse)
    tuples, bad, promised = both_tables(spark, lakehouse)
    assert [(t[0], t[2], t[3]) for t in tuples] == [(1, 1, 2), (2, 2, 4)]
    assert [(Path(b[0]).name, b[1]) for b in bad] == [("promises.jsonl", 3), ("rows.csv", 3)]
    assert [(p[0], p[1].minute, json.loads(p[2]), p[3]) for p in promised] == [
        (1, 0, {"ts": {"to": "2026-01-01T12:00:00Z"}}, 1),
        (2, 5, {"seg-id": 1}, 2),
    ]

    # A punctuation's arrival is an arrival: the next tuple is not before it.
    ingest(spark, lakehouse, traffic(), csv(tmp_path / "next.csv", row(3, 61)))
    assert archived(spark, lakehouse, "arrived_at")[-1][0].minute == 5

    # Too late and too early ones are refused with their rows.
    late, early = tmp_path / "late.json", tmp_path / "early.json"
    late.write_text('\n{"seq": 2, "pattern": {}}')
    early.write_text('{"seq": 5, "pattern": {}}')
    more = csv(tmp_path / "more.csv", row(4, 400))
    with pytest.raises(SluiceError, match=r"late\.json, line 2: .* seq 2, but tuples up to 3"):
        ingest(spark, lakehouse, traffic(), more, late)
    with pytest.raises(SluiceError, match="seq 5, but the last tuple is 4"):
        ingest(spark, lakehouse, traffic(), more, early)
    assert len(archived(spark, lakehouse, "seq")) == 3
    # One at the last seq stands alone, once.
    late.write_text('{"seq": 3, "pattern": {}}')
    assert ingest(spark, lakehouse, traffic(), [], late).punctuations == 1
    assert ingest(spark, lakehouse, traffic(), [], late).punctuations == 0


def test_two_at_a_time(spark: SparkSession, lakehouse: Lakehouse, tmp_path: Path) -> None:
    """The second is told to wait; where no lock reaches, Delta's log lets only one of them in."""
    first = csv(tmp_path / "1.csv", row(1, 0))
    second = csv(tmp_path / "2.csv", row(2, 0))

    def meanwhile(*_: Any) -> None:
        with pytest.raises(SluiceError, match="Another ingest of Traffic is running"):
            ingest(spark, lakehouse, traffic(), second)

    ingest(spark, lakehouse, traffic(), first, progress=meanwhile)
    # An ingest that read the log before the first one committed.
    stale = staging.Staging(lakehouse.staging("Traffic"), traffic(), "stale", 1)
    said = {"ingest_id": "stale", "number": 1, "files": [], "punctuations": [], "last_seq": 1,
            "last_arrived_at": None}  # fmt: skip
    stale.close()
    with pytest.raises(SluiceError, match="at the same time"):
        commit.commit(spark, lakehouse, traffic(), said)
    assert len(archived(spark, lakehouse, "seq")) == 1


KILLED = """
import sys
from lakehouse.session import spark_session
from lakehouse.ingest import ingest
from lakehouse.layout import Lakehouse
from tests.ingest.conftest import traffic
spark = spark_session("local[1]")
print("ready", flush=True)
told = lambda *_: print("reading", flush=True)
ingest(spark, Lakehouse.at(sys.argv[1]), traffic(), sys.argv[2], progress=told)
"""


@pytest.mark.slow
def test_a_killed_process_leaves_nothing_half(
    spark: SparkSession, lakehouse: Lakehouse, tmp_path: Path
) -> None:
    count = 400_000
    path = csv(tmp_path / "big.csv", *(row(n, n) for n in range(count)))
    environment = os.environ | {"PYTHONPATH": os.getcwd(), "SLUICE_DRIVER_MEMORY": "1g"}
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, lakehouse.root, path],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("reading"):
                break
        root = Path(lakehouse.staging("Traffic"))
        deadline = time.monotonic() + 60
        while not list(root.glob("*/good/*")) and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert not is_clean(lakehouse)
    report = ingest(spark, lakehouse, traffic(), path)
    assert report.rows in (0, count)
    table = delta_table.read(spark, lakehouse.archive("Traffic"))
    seqs = table.selectExpr("count(*)", "count(DISTINCT seq)", "min(seq)", "max(seq)").collect()[0]
    assert tuple(seqs) == (count, count, 1, count)
    assert is_clean(lakehouse)


def stream_of_every_type() -> Stream:
    return traffic(
        attributes={
            "flag": "boolean", "n": "integer", "big": "bigint", "x": "double", "price": "decimal(38,10)",
            "note": "string", "day": "date", "ts": "timestamp", "tags": "array<integer>",
            "at": "struct<x:double,name:string>",
        }
    )  # fmt: skip


def test_every_type_lands_as_it_was(spark: SparkSession, lakehouse: Lakehouse, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    row = {
        "flag": True, "n": -1, "big": 2**62, "x": 0.1, "price": "1234567890123456789.0000000001",
        "note": "é", "day": "1950-01-02", "ts": "1950-01-01T00:00:00.000001Z", "tags": [1, None],
        "at": {"x": 2, "name": "q"},
    }  # fmt: skip
    path.write_text(json.dumps(row, ensure_ascii=False) + '\n{"x": NaN, "ts": "2026-01-01"}\n')
    assert ingest(spark, lakehouse, stream_of_every_type(), path).rows == 2
    first, second = delta_table.read(spark, lakehouse.archive("Traffic")).orderBy("seq").collect()
    assert (first["flag"], first["n"], first["big"], first["x"], first["note"]) == (True, -1, 2**62, 0.1, "é")
    assert str(first["price"]) == row["price"]
    assert first["day"].isoformat() == "1950-01-02"
    assert (first["tags"], first["at"]["x"], first["at"]["name"]) == ([1, None], 2.0, "q")
    assert second["x"] != second["x"]
    assert second["note"] is None
    micros = delta_table.read(spark, lakehouse.archive("Traffic")).selectExpr("unix_micros(ts)").head(1)
    assert micros[0][0] == -631151999999999
