"""Commands over a lakehouse, in this process: rows on stdout, messages on stderr, exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.cli import main

pytestmark = pytest.mark.slow

STREAM = """
stream: S
attributes: {g: string, x: integer, ts: timestamp}
timestamp: ts
ranges: {x: {from: 0, to: 100}}
"""
TIME_WINDOW = """
SELECT g, count(*), max(x) FROM S [RANGE 120 seconds SLIDE 60 seconds WATTR ts] GROUP BY g
PUNCTUATED BY SLACK 10 seconds
"""
ROW_WINDOW = "SELECT count(*), max(x) FROM S [RANGE 4 rows SLIDE 2 rows WATTR row-num]"
UNSAID = "SELECT count(*) FROM S [RANGE 60 seconds SLIDE 60 seconds]"
ARRIVALS = [
    ("p", 1, "12:00:10"),
    ("q", 2, "12:00:50"),
    ("p", 3, "12:01:30"),
    ("p", 4, "12:00:20"),
    ("q", 5, "12:03:30"),
    (None, 6, "12:05:00"),
    ("p", 7, "12:09:00"),
]


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        return json.loads(self.out)


Sluice = Callable[..., Said]


@pytest.fixture
def sluice(
    spark: SparkSession, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Sluice:
    """Runs the command line as a shell would; the session that is up is the one it gets."""

    def run(*arguments: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["sluice", *arguments, "--project", str(project)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as done:
            main()
        told = capsys.readouterr()
        assert "Traceback" not in told.err
        return Said(int(done.value.code or 0), told.out, told.err)

    return run


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "streams").mkdir()
    (folder / "queries").mkdir()
    (folder / "streams" / "S.yaml").write_text(STREAM)
    for name, text in (("minutes", TIME_WINDOW), ("fours", ROW_WINDOW), ("unsaid", UNSAID)):
        (folder / "queries" / f"{name}.cql").write_text(text)
    (folder / "queries" / "broken.cql").write_text(
        "SELECT count(*)\nFROM S [RANGE 60 seconds SLYDE 60 seconds]"
    )
    lines = [{"g": g, "x": x, "ts": f"2026-01-01 {clock}"} for g, x, clock in ARRIVALS]
    (folder / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def instant(clock: str) -> str:
    return f"2026-01-01T{clock}Z"


def test_ingest_replay_and_looking_around(sluice: Sluice, project: Path) -> None:
    # Names that are not there.
    unknown = sluice("replay", "minuts")
    assert (unknown.code, unknown.out) == (2, "")
    assert "There is no query minuts" in unknown.err
    assert "Did you mean minutes?" in unknown.err
    broken = sluice("replay", "broken")
    assert broken.code == 2
    assert "line 2, column" in broken.err
    assert "^" in broken.err
    missing = sluice("replay", "minutes")
    assert missing.code == 2
    assert "sluice ingest S" in missing.err

    dry = sluice("ingest", "S", str(project / "rows.jsonl"), "--dry-run", "-o", "json")
    assert dry.rows[0]["rows"] == 7
    assert not (project / ".lakehouse" / "archive").exists()
    landed = sluice("ingest", "s", str(project / "rows.jsonl"), "-o", "json", "-q")
    assert landed.code == 0
    assert landed.err == ""
    assert [(row["rows"], row["first_seq"], row["last_seq"]) for row in landed.rows] == [(7, 1, 7)]

    before = sluice("show", "minutes")
    assert before.code == 2
    assert "sluice replay minutes" in before.err

    dry_run = sluice("replay", "minutes", "--dry-run", "-o", "json", "--no-gate")
    assert (dry_run.rows[0]["batches"], dry_run.rows[0]["last_seq"], dry_run.rows[0]["results"]) == (1, 7, 0)
    assert not (project / ".lakehouse" / "results").exists()
    replayed = sluice("replay", "minutes", "fours", "--no-gate", "-o", "json", "--batch-rows", "3")
    assert replayed.code == 0
    assert [(row["query"], row["rows"]) for row in replayed.rows] == [("minutes", 7), ("fours", 7)]
    assert "sluice show minutes" in replayed.err

    # Tuple 4 (12:00:20) came when 12:01:20 was the bound: late for the window that ended at 12:01.
    late = sluice("late", "minutes", "-o", "json")
    assert [(row["seq"], row["x"], row["missed"], row["behind"]) for row in late.rows] == [
        (4, 4, 1, 60_000_000)
    ]
    assert late.rows[0]["ts"] == instant("12:00:20")
    assert sluice("late", "fours", "-o", "json").rows == []
    assert sluice("late", "fours", "-o", "json").out.strip() == "[]"
    csv = sluice("show", "minutes", "-o", "csv", "--limit", "1")
    assert len(csv.out.splitlines()) == 2
    assert "--limit 1" in csv.err
    assert sluice("show", "minutes", "-o", "json", "--limit", "0").rows == []

    listed = sluice("streams", "-o", "json").rows
    assert [(row["stream"], row["rows"]) for row in listed] == [("S", 7)]
    runs = sluice("runs", "-o", "json").rows
    assert {(row["query"], row["state"], row["batches"], row["rows"]) for row in runs} == {
        ("minutes", "done", 3, 7),
        ("fours", "done", 3, 7),
    }
    assert all(row["started_at"].endswith("Z") for row in runs)
    places = {row["table"]: row["path"] for row in sluice("tables", "minutes", "-o", "json").rows}
    assert all(Path(places[name]).is_dir() for name in ("results", "expirations", "late", "ledger/batches"))
    pinned = json.loads(sluice("pin").out)
    assert pinned["S"]["last_seq"] == 7

    # A default policy is said on stderr, even where it is quiet.
    unsaid = sluice("replay", "unsaid", "--no-gate", "-q")
    assert "SLACK 0" in unsaid.err
    again = sluice("replay", "unsaid", "--no-gate")
    assert "nothing new" in again.err


def current_by_definition(now: str) -> list[tuple[str | None, str, int]]:
    """The window whose end is the last at or before `now`: its tuples, less those that came late for it."""
    at = datetime.fromisoformat(f"2026-01-01 {now}")
    end = at.replace(second=0)
    start_minute = (end.hour * 60 + end.minute) - 2
    counts: dict[str | None, int] = {}
    for g, x, clock in ARRIVALS:
        hour, minute, _ = map(int, clock.split(":"))
        inside = start_minute <= hour * 60 + minute < start_minute + 2
        missed = x == 4 and end.strftime("%H:%M") == "12:01"
        if inside and not missed:
            counts[g] = counts.get(g, 0) + 1
    return sorted(((g, end.strftime("%H:%M:%S"), n) for g, n in counts.items()), key=repr)


@pytest.mark.parametrize(
    "now", ["12:00:59.999999", "12:01:00", "12:02:30", "12:03:00", "12:05:59", "12:06:00"]
)
def test_show_at_an_instant_is_what_was_current_then(sluice: Sluice, now: str) -> None:
    shown = sluice("show", "minutes", "--at", f"2026-01-01 {now}", "-o", "json")
    assert shown.code == 0
    found = sorted(((row["g"], row["valid_from"][11:19], row["count"]) for row in shown.rows), key=repr)
    assert found == current_by_definition(now)
    for row in shown.rows:
        assert row["valid_from"] <= instant(now) or "." in now
        assert row["valid_from"].endswith("Z")


def test_show_at_a_row_is_what_was_current_then(sluice: Sluice) -> None:
    """Window i is rows …2i+2, current from that row until row 2i+4."""
    for seq, windows in ((1, []), (2, [0]), (3, [0]), (4, [1]), (6, [2]), (7, [2])):
        shown = sluice("show", "fours", "--at", str(seq), "-o", "json")
        assert [row["window_id"] for row in shown.rows] == windows, seq
    beyond = sluice("show", "fours", "--at", "100", "-o", "json")
    assert "what is known" in beyond.err
    wrong = sluice("show", "fours", "--at", "noon")
    assert (wrong.code, "is no seq" in wrong.err) == (2, True)
    no_time = sluice("show", "minutes", "--at", "noon")
    assert (no_time.code, "is no timestamp" in no_time.err) == (2, True)


def test_a_gate_that_closes_exits_1_and_nothing_is_replayed(sluice: Sluice, project: Path) -> None:
    (project / "bad.jsonl").write_text('{"g": "p", "x": 500, "ts": "2026-01-01 12:10:00"}\n')
    assert sluice("ingest", "S", str(project / "bad.jsonl"), "-q").code == 0
    gated = sluice("replay", "minutes", "-q")
    assert gated.code == 1
    assert "500" in gated.err
    assert gated.out == ""
    runs = sluice("runs", "minutes", "-o", "json").rows
    assert [row["last_seq"] for row in runs] == [7]
    checked = sluice("check", "S", "-o", "json", "-q")
    assert checked.code == 1
    assert [row["failures"] for row in checked.rows if not row["success"]] == [1]
    assert sluice("check", "minutes", "-o", "json", "-q").code == 0
