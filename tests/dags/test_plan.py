"""What a night replays, from what the project holds, what was pinned and which gates are open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sluice_plan as plan

STREAM = "stream: {name}\nattributes: {{x: integer, ts: timestamp}}\ntimestamp: ts\n"
PINS = [
    {"stream": "Traffic", "version": 3, "last_seq": 2000},
    {"stream": "Roads", "version": 1, "last_seq": 10},
]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("Traffic", "Roads"):
        (tmp_path / "streams").mkdir(exist_ok=True)
        (tmp_path / "streams" / f"{name}.yaml").write_text(STREAM.format(name=name))
    (tmp_path / "queries").mkdir()
    monkeypatch.setenv("SLUICE_PROJECT", str(tmp_path))
    monkeypatch.delenv("SLUICE_LAKEHOUSE", raising=False)
    return tmp_path


def add_query(project: Path, name: str, text: str) -> None:
    (project / "queries" / f"{name}.cql").write_text(text)


def test_a_query_reads_the_streams_of_its_from(project: Path) -> None:
    add_query(project, "one", "SELECT max(x) FROM traffic [RANGE 5 seconds SLIDE 1 second WATTR ts]")
    add_query(project, "two", "SELECT * FROM Roads [NOW], Traffic [NOW] WHERE Roads.x = Traffic.x")
    assert plan.read_project(str(project)) == {"one": ["Traffic"], "two": ["Roads", "Traffic"]}


def test_a_query_that_cannot_be_understood_reads_none(project: Path) -> None:
    add_query(project, "broken", "SELECT what is this")
    add_query(project, "unknown", "SELECT max(x) FROM Elsewhere [NOW]")
    assert plan.read_project(str(project)) == {"broken": [], "unknown": []}


def test_only_streams_that_are_read_are_pinned() -> None:
    assert plan.streams_of({"one": ["Traffic"], "two": ["Roads", "Traffic"], "broken": []}) == [
        "Roads",
        "Traffic",
    ]


@pytest.mark.usefixtures("project")
def test_a_replay_ends_where_its_first_stream_was_pinned() -> None:
    (replay,) = plan.replays({"two": ["Roads", "Traffic"]}, PINS, ["Traffic", "Roads"])
    assert replay["replay_args"] == ["replay", "two", "--no-gate", "-q", "--until=10"]
    assert replay["check_args"] == ["check", "two"]


@pytest.mark.usefixtures("project")
def test_a_closed_gate_stops_the_queries_of_its_stream() -> None:
    queries = {"one": ["Traffic"], "two": ["Roads", "Traffic"], "three": ["Roads"]}
    assert names(plan.replays(queries, PINS, ["Traffic"])) == ["one"]
    assert names(plan.replays(queries, PINS, [])) == []


@pytest.mark.usefixtures("project")
def test_a_stream_with_no_archive_leaves_its_queries_out() -> None:
    queries = {"one": ["Traffic"], "three": ["Roads"]}
    assert names(plan.replays(queries, PINS[:1], ["Traffic"])) == ["one"]


@pytest.mark.usefixtures("project")
def test_a_query_not_understood_is_tried_so_that_its_failure_is_seen() -> None:
    (replay,) = plan.replays({"broken": []}, PINS, [])
    assert replay["replay_args"] == ["replay", "broken", "--no-gate", "-q"]


def test_assets_are_named_by_table_and_lie_in_the_lakehouse(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = plan.gate_of(PINS[0])
    assert gate["asset"]["name"] == "archive/Traffic"
    assert gate["asset"]["uri"] == f"{project.as_uri()}/.lakehouse/archive/Traffic"
    monkeypatch.setenv("SLUICE_LAKEHOUSE", "s3a://bucket/lake/")
    assert plan.gate_of(PINS[0])["asset"]["uri"] == "s3a://bucket/lake/archive/Traffic"


def names(replays: list[dict[str, Any]]) -> list[str]:
    return [one["query"] for one in replays]
