"""Every format holds the same rows, byte for byte the same each time; failures leave nothing behind."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from jobs.generator.disorder import Disorder
from jobs.generator.output import EXTENSIONS
from jobs.generator.traffic import SCHEMA, TrafficSpec, batches, generate
from schemas.errors import SluiceError

SPEC = TrafficSpec(3_000, disorder=Disorder.BOUNDED, seed=4)


def read_rows(path: Path) -> pa.Table:
    if path.name.endswith(".parquet"):
        return pq.read_table(path)
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if ".csv" in path.name:
        options = pacsv.ConvertOptions(column_types=SCHEMA)
        return pacsv.read_csv(pa.BufferReader(raw), convert_options=options).cast(SCHEMA)
    rows = [json.loads(line) for line in raw.decode().splitlines()]
    for row in rows:
        for name in ("ts", "received_at"):
            row[name] = datetime.fromisoformat(row[name])
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_every_format_holds_the_same_rows(extension: str, tmp_path: Path) -> None:
    out = tmp_path / "new" / f"traffic{extension}"
    told: list[int] = []
    done = generate(SPEC, out, progress=told.append)
    expected = pa.Table.from_batches(batches(SPEC))
    assert read_rows(out).equals(expected)
    assert done.paths == (out,)
    assert (done.rows, done.punctuations, told) == (3_000, 0, [3_000])
    assert done.first_ts == datetime(2026, 1, 1, tzinfo=UTC) == min(expected["ts"].to_pylist())
    assert done.last_ts == max(expected["ts"].to_pylist())
    assert [each.name for each in out.parent.iterdir()] == [out.name]


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_bytes_are_the_same_each_time(extension: str, tmp_path: Path) -> None:
    one, other = tmp_path / f"one{extension}", tmp_path / f"other{extension}"
    generate(SPEC, one)
    generate(SPEC, other, chunk_slots=321)
    assert one.read_bytes() == other.read_bytes()


def test_instants_are_iso_8601_in_utc(tmp_path: Path) -> None:
    generate(TrafficSpec(1, segments=1, missing=0), tmp_path / "one.csv")
    header, row = (tmp_path / "one.csv").read_text().splitlines()
    assert header == "seg-id,speed,vehicle_count,ts,received_at"
    assert row.startswith("1,")
    assert row.endswith(",2026-01-01T00:00:00.000000Z,2026-01-01T00:00:00.000000Z")


@pytest.mark.parametrize("slash", [True, False])
def test_a_folder_gets_parts_in_file_order(slash: bool, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    if not slash:
        folder.mkdir()
    done = generate(SPEC, f"{folder}/" if slash else folder)
    assert [path.name for path in done.paths] == [f"part-{n:05d}.parquet" for n in range(4)]
    assert sorted(folder.iterdir()) == list(done.paths)
    parts = pa.concat_tables([pq.read_table(path) for path in done.paths])
    assert parts.equals(pa.Table.from_batches(batches(SPEC)))


def test_parts_never_mix_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "old.parquet").touch()
    with pytest.raises(SluiceError, match="not empty"):
        generate(SPEC, tmp_path)


@pytest.mark.parametrize("name", ["traffic", "traffic.txt", "traffic.gz", "traffic.parquet.gz"])
def test_an_unknown_extension_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SluiceError, match="format") as refused:
        generate(SPEC, tmp_path / name)
    assert ".parquet" in refused.value.remedy


def test_punctuations_stay_out_of_the_rows(tmp_path: Path) -> None:
    for out, promises in ((tmp_path / "a.jsonl", "a.jsonl"), (f"{tmp_path}/parts/", "parts/promises")):
        with pytest.raises(SluiceError, match="among the rows"):
            generate(SPEC, out, tmp_path / promises)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SluiceError, match="Cannot write"):
        generate(SPEC, tmp_path / "file" / "traffic.csv")


def test_what_fails_leaves_nothing_and_keeps_what_was_there(tmp_path: Path) -> None:
    def interrupt(rows: int) -> None:
        raise KeyboardInterrupt

    (tmp_path / "a.csv").write_text("before")
    for out in (tmp_path / "a.csv", f"{tmp_path}/parts/"):
        with pytest.raises(KeyboardInterrupt):
            generate(SPEC, out, tmp_path / "promises", interrupt)
    assert (tmp_path / "a.csv").read_text() == "before"
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["a.csv"]
