"""Each format into good rows with their lines and bad rows with line, raw text and reason."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakehouse.ingest import parquet_reader, records
from lakehouse.ingest.batch import BadRow, RawBatch
from lakehouse.ingest.screening import Screen
from schemas.errors import SluiceError
from tests.ingest.conftest import Read, traffic

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HEADER = "seg-id,speed,ts\n"


def write(path: Path, text: str | bytes) -> Path:
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def rows_of(good: list[dict[str, object]]) -> list[tuple[object, ...]]:
    return [(row["source_line"], row["seg-id"], row["speed"]) for row in good]


def test_csv_rows_keep_their_physical_lines(tmp_path: Path, read_rows: Read) -> None:
    path = write(
        tmp_path / "a.csv",
        "\ufeffTS,extra,Seg-ID,speed\r\n"
        "2026-01-01 12:00:00,x,1,50.5\r\n"
        "\r\n"
        '2026-01-01T12:00:00Z,"two\nlines, and ""quotes""",2,\r\n'
        '"2026-01-01 12:00:00","",3,"NaN"',
    )
    good, bad = read_rows(traffic(), path)
    assert bad == []
    assert rows_of(good[:2]) == [(2, 1, 50.5), (4, 2, None)]
    assert good[2]["source_line"] == 6
    assert good[2]["speed"] != good[2]["speed"]
    assert all(row["ts"] == NOON for row in good)


def test_csv_bad_rows_of_each_kind(tmp_path: Path, read_rows: Read) -> None:
    path = write(
        tmp_path / "a.csv",
        HEADER.encode() + b"1,fast,2026-01-01 12:00:00\n"
        b"1,2\n"
        b"1,2,2026-01-01 12:00:00,4\n"
        b"1,50,2026-01-01 12:00:00\n"
        b"3000000000,50,\n"
        b"1,50,NaN\n"
        b"1,\xff,2026-01-01 12:00:00\n"
        b'1,"50,2026-01-01 12:00:00\n'
        b'1,50"miles,2026-01-01 12:00:00\n'
        b'2,"51",2026-01-01 12:00:00\n',
    )
    good, bad = read_rows(traffic(), path)
    assert rows_of(good) == [(5, 1, 50.0), (11, 2, 51.0)]
    assert sorted(bad, key=lambda row: row.line) == [
        BadRow(2, "1,fast,2026-01-01 12:00:00", "speed: 'fast' is no double"),
        BadRow(3, "1,2", "2 fields, but the header has 3"),
        BadRow(4, "1,2,2026-01-01 12:00:00,4", "4 fields, but the header has 3"),
        BadRow(
            6,
            "3000000000,50,",
            "seg-id: '3000000000' does not fit integer; ts: NULL, but it is the stream's timestamp",
        ),
        BadRow(7, "1,50,NaN", "ts: 'NaN' is no timestamp"),
        BadRow(8, "1,\ufffd,2026-01-01 12:00:00", "not valid UTF-8"),
        BadRow(9, '1,"50,2026-01-01 12:00:00', "a quote that does not close its field"),
        BadRow(10, '1,50"miles,2026-01-01 12:00:00', "speed: '50\"miles' is no double"),
    ]


def test_csv_lone_carriage_returns_do_not_shift_lines(tmp_path: Path, read_rows: Read) -> None:
    lines = [f"{n},1,2026-01-01 12:00:00" for n in range(2000)]
    lines[700] = "700,1\r,2026-01-01 12:00:00"
    good, bad = read_rows(traffic(), write(tmp_path / "a.csv", HEADER + "\n".join(lines)))
    assert len(good) + len(bad) == 2000
    assert all(row["source_line"] == row["seg-id"] + 2 for row in good)
    assert {row.line for row in bad} <= {702}


def test_csv_empty_text_and_null_differ(tmp_path: Path, read_rows: Read) -> None:
    stream = traffic(attributes={"note": "string", "ts": "timestamp"})
    path = write(tmp_path / "a.csv", 'note,ts\n,2026-01-01\n"",2026-01-01\n')
    assert [row["note"] for row in read_rows(stream, path)[0]] == [None, ""]


@pytest.mark.parametrize("size", [16, 37, 64, 1000])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_block_size_changes_nothing(
    tmp_path: Path, read_rows: Read, monkeypatch: pytest.MonkeyPatch, size: int, ending: str
) -> None:
    stream = traffic(attributes={"n": "integer", "note": "string", "ts": "timestamp"})
    lines = ["n,note,ts"]
    for n in range(40):
        note = {0: "plain", 1: '"a ""b"" c"', 2: f'"two{ending}lines"', 3: "", 4: '5" pipe'}[n % 5]
        lines.append(f"{n},{note},2026-01-01" if n % 7 else f"{n},{note}")
    path = write(tmp_path / "a.csv", ending.join(lines))
    whole = read_rows(stream, path)
    monkeypatch.setattr(records, "BLOCK_BYTES", size)
    good, bad = read_rows(stream, path)
    assert good == whole[0]
    assert sorted(bad, key=lambda row: row.line) == sorted(whole[1], key=lambda row: row.line)
    assert len(good) + len(bad) == 40
    assert all(row["note"] == f"two{ending}lines" for row in good if row["n"] % 5 == 2)
    assert all(row["note"] == '5" pipe' for row in good if row["n"] % 5 == 4)


def test_an_unclosed_quote_costs_one_line_not_the_file(
    tmp_path: Path, read_rows: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "LONGEST_RECORD", 300)
    monkeypatch.setattr(records, "BLOCK_BYTES", 128)
    lines = [f"{n},1,2026-01-01 12:00:00" for n in range(100)]
    lines[50] = '50,"1,2026-01-01 12:00:00'
    good, bad = read_rows(traffic(), write(tmp_path / "a.csv", HEADER + "\n".join(lines)))
    assert [row.line for row in bad] == [52]
    assert len(good) == 99


def test_json_lines(tmp_path: Path, read_rows: Read) -> None:
    path = write(
        tmp_path / "a.jsonl.gz",
        '{"seg-id": 1, "speed": 50, "ts": "2026-01-01 12:00:00", "extra": [1]}\n'
        "\n"
        '{"ts": "2026-01-01T12:00:00Z", "SEG-ID": 2, "speed": "51.5"}\n'
        '{"seg-id": 3.0, "ts": "2026-01-01T12:00:00Z", "speed": NaN}\n'
        '{"seg-id": 4, "ts": "2026-01-01T12:00:00Z"}\r\n',
    )
    good, bad = read_rows(traffic(), path)
    assert bad == []
    assert rows_of([*good[:2], good[3]]) == [(1, 1, 50.0), (3, 2, 51.5), (5, 4, None)]
    assert good[2]["seg-id"] == 3
    assert good[2]["speed"] != good[2]["speed"]


def test_json_bad_rows_of_each_kind(tmp_path: Path, read_rows: Read) -> None:
    tail = '"ts": "2026-01-01 12:00:00"}'
    lines = [
        '{"speed": "fast", ' + tail,
        '{"speed": 1, ',
        "[1, 2]",
        '{"speed": true, ' + tail,
        '{"seg-id": 3000000000, ' + tail,
        '{"speed": 1}',
        '{"speed": 1, "ts": 1700000000}',
        '{"speed": 1, "Speed": 2, ' + tail,
        '{"speed": 1, ' + tail + ' {"speed": 1, ' + tail,
        '{"speed": [1], ' + tail,
        '{"seg-id": 7, "speed": 1e999, ' + tail,
        '{"seg-id": 8, "speed": 2, ' + tail,
    ]
    good, bad = read_rows(traffic(), write(tmp_path / "a.json", "\n".join(lines)))
    assert rows_of(good) == [(12, 8, 2.0)]
    assert [(row.line, row.reason.split(" (char")[0]) for row in bad] == [
        (1, "speed: 'fast' is no double"),
        (2, "not valid JSON: Expecting property name enclosed in double quotes: line 1 column 14"),
        (3, "not a JSON object"),
        (4, "speed: true is no double"),
        (5, "seg-id: '3000000000' does not fit integer"),
        (6, "ts: NULL, but it is the stream's timestamp"),
        (7, "ts: 1700000000 is no timestamp"),
        (8, "Speed: given twice"),
        (9, bad[8].reason.split(" (char")[0]),
        (10, "speed: [1] is no double"),
        (11, "speed: '1e999' does not fit double"),
    ]
    assert "Extra data" in bad[8].reason
    assert [row.raw for row in bad] == lines[:11]


def test_json_bad_line_in_a_large_block_is_narrowed_down(tmp_path: Path, read_rows: Read) -> None:
    lines = [json.dumps({"seg-id": n, "speed": n / 2, "ts": "2026-01-01T12:00:00"}) for n in range(5000)]
    lines[3210] = lines[3210][:-1]
    lines[4000] = lines[4000].replace("speed", "SPEED")
    good, bad = read_rows(traffic(), write(tmp_path / "a.json", "\n".join(lines)))
    assert [row.line for row in bad] == [3211]
    assert [row["seg-id"] for row in good] == [n for n in range(5000) if n != 3210]
    assert all(row["speed"] == row["seg-id"] / 2 for row in good)


def test_json_keys_of_another_case_after_the_first_lines_are_not_null(
    tmp_path: Path, read_rows: Read
) -> None:
    lines = ['{"speed": 1, "ts": "2026-01-01"}'] * 100 + ['{"Speed": 2, "ts": "2026-01-01"}'] * 3
    good, _ = read_rows(traffic(), write(tmp_path / "a.json", "\n".join(lines)))
    assert [row["speed"] for row in good[-4:]] == [1.0, 2.0, 2.0, 2.0]


def test_json_nested_and_exact_decimals(tmp_path: Path, read_rows: Read) -> None:
    stream = traffic(
        attributes={
            "price": "decimal(20,4)",
            "tags": "array<string>",
            "at": "struct<x:double,y:bigint>",
            "ts": "timestamp",
        }
    )
    lines = [
        '{"price": 1234567890123456.1234, "tags": ["a"], "at": {"x": 1, "y": 2}, "ts": "2026-01-01"}',
        '{"price": "1.5", "tags": null, "at": {"X": 1.5, "z": 0}, "ts": "2026-01-01"}',
        '{"tags": "a", "ts": "2026-01-01"}',
    ]
    good, bad = read_rows(stream, write(tmp_path / "a.ndjson", "\n".join(lines)))
    assert [row["price"] for row in good] == [Decimal("1234567890123456.1234"), Decimal("1.5000")]
    assert [row["tags"] for row in good] == [["a"], None]
    assert [row["at"] for row in good] == [{"x": 1.0, "y": 2}, {"x": 1.5, "y": None}]
    assert [(row.line, row.reason) for row in bad] == [(3, "tags: 'a' is no array<string>")]


def test_parquet(tmp_path: Path, read_rows: Read) -> None:
    table = pa.table(
        {
            "SEG-ID": pa.array([1, 2**40, 3, 4], pa.int64()),
            "speed": pa.array([1.0, 2.0, float("nan"), None], pa.float32()),
            "ts": pa.array([NOON, NOON, None, NOON], pa.timestamp("ns")),
            "extra": ["a"] * 4,
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    good, bad = read_rows(traffic(), tmp_path / "a.parquet")
    assert rows_of(good) == [(1, 1, 1.0), (4, 4, None)]
    assert good[0]["ts"] == NOON
    assert [(row.line, row.reason) for row in bad] == [
        (2, "seg-id: 1099511627776 does not fit integer"),
        (3, "ts: NULL, but it is the stream's timestamp"),
    ]
    assert json.loads(bad[0].raw)["SEG-ID"] == 2**40


def test_tsv_and_nested_text(tmp_path: Path, read_rows: Read) -> None:
    stream = traffic(attributes={"tags": "array<integer>", "ts": "timestamp"})
    path = write(tmp_path / "a.tsv.gz", "tags\tts\n[1,2]\t2026-01-01\nx\t2026-01-01\n")
    good, bad = read_rows(stream, path)
    assert [row["tags"] for row in good] == [[1, 2]]
    assert bad == [BadRow(3, "x\t2026-01-01", "tags: 'x' is no array<integer>")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seg-id,sped,ts\n1,2,3\n", "no column for speed; its columns are seg-id, sped, ts"),
        ("seg-id,speed,when\n", "the stream's timestamp ts; its columns are seg-id, speed, when"),
        ("seg-id,speed,TS,Ts\n", "2 columns named ts"),
    ],
)
def test_missing_columns_are_told(tmp_path: Path, read_rows: Read, text: str, message: str) -> None:
    with pytest.raises(SluiceError, match=message) as caught:
        read_rows(traffic(), write(tmp_path / "a.csv", text))
    if "sped" in text:
        assert "Did you mean sped?" in caught.value.remedy


def test_damaged_files_are_told(tmp_path: Path, read_rows: Read) -> None:
    whole = gzip.compress(("\n".join(f"{n},{n * 7919 % 1000},2026" for n in range(9000))).encode())
    short = tmp_path / "short.csv.gz"
    short.write_bytes(gzip.compress(HEADER.encode()) + whole[: len(whole) // 2])
    no_zip = tmp_path / "no.json.gz"
    no_zip.write_bytes(b"{}\n")
    no_parquet = write(tmp_path / "no.parquet", b"PAR1 not really")
    pq.write_table(pa.table({"seg-id": [1], "speed": [1.0], "ts": [NOON]}), tmp_path / "cut.parquet")
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(cut.read_bytes()[:-20])
    for path in (short, no_zip, no_parquet, cut):
        with pytest.raises(SluiceError, match=rf"{path.name} cannot be read") as caught:
            read_rows(traffic(), path)
        assert "Nothing of this ingest landed" in caught.value.problem


def test_empty_files_have_no_rows(tmp_path: Path, read_rows: Read) -> None:
    for name, text in [("a.csv", ""), ("b.csv", HEADER), ("c.json", ""), ("d.json", "\n\n")]:
        assert read_rows(traffic(), write(tmp_path / name, text)) == ([], [])


def test_batches_are_bounded(tmp_path: Path, read_rows: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    """However large the file, what is held at once is a block."""
    monkeypatch.setattr(records, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(parquet_reader, "BATCH_ROWS", 20)
    sizes = []
    real = Screen.sift

    def sift(screen: Screen, batch: RawBatch) -> tuple[pa.Table, list[BadRow]]:
        sizes.append(len(batch.lines))
        return real(screen, batch)

    monkeypatch.setattr(Screen, "sift", sift)
    lines = [f"{n},1,2026-01-01 12:00:00" for n in range(1000)]
    read_rows(traffic(), write(tmp_path / "a.csv", HEADER + "\n".join(lines)))
    table = pa.table({"seg-id": range(1000), "speed": [1.0] * 1000, "ts": [NOON] * 1000})
    pq.write_table(table, tmp_path / "b.pq")
    read_rows(traffic(), tmp_path / "b.pq")
    assert sum(sizes) == 2000
    assert max(sizes) <= 50


@pytest.mark.parametrize("column", ["received", "ts"])
def test_one_column_may_order_and_time_arrivals(tmp_path: Path, read_rows: Read, column: str) -> None:
    stream = traffic(arrival={"order": column, "time": column.upper()})
    lines = [
        '{"ts": "2026-01-01", "received": "2026-01-02"}',
        '{"ts": "2026-01-01", "received": null, "speed": "1"}',
        '{"ts": "2026-01-01", "received": "soon"}',
    ]
    good, bad = read_rows(stream, write(tmp_path / "a.json", "\n".join(lines)))
    assert (len(good), len(bad)) == ((1, 2) if column == "received" else (3, 0))
    if bad:
        assert bad[0].reason.lower() == "received: null, but it is the arrival time"
