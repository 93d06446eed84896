"""A replay that is killed, at each of its writes or whenever, and run again, gives what an unbroken one gives."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.replay.archived import OF_THE_RUN, Archived
from tests.replay.projects import REPO, TEXT, make_project, start_process

pytestmark = pytest.mark.slow

RUNNER = str(REPO / "tests" / "replay" / "killed_replay.py")
SAME = {"batch_rows": 10, "fuse": 2}
SECONDS = 600


@pytest.fixture(scope="module")
def project(brisk: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Archived]:
    """60 rows and their unbroken replay: six micro-batches in three steps."""
    folder = tmp_path_factory.mktemp("killed")
    archived = make_project(brisk, folder, ("unbroken", "same_cut", "other_cut"), rows=60)
    report = archived.replay(archived.query("unbroken", TEXT), **SAME)
    assert (report.batches, report.steps) == (6, 3)
    assert report.results > 20
    assert report.late + report.partly_late > 3
    return folder, archived


def replay_and_die(folder: Path, when: str, table: str, nth: int, *arguments: str) -> None:
    process = start_process(folder, RUNNER, when, table, str(nth), "replay", *arguments)
    said, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == -signal.SIGKILL, said


def replay_and_be_killed(folder: Path, committed: Path, *arguments: str) -> None:
    """Killed at a random moment after the commit that writes the file `committed`."""
    process = start_process(folder, "-c", "from jobs.cli import main; main()", "replay", *arguments)
    deadline = time.monotonic() + SECONDS
    while not committed.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(random.uniform(0, 1.5))
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=SECONDS)


def log_of(archived: Archived, query: str, table: str, version: int) -> Path:
    path = archived.tables(archived.query(query, TEXT)).paths[table]
    return Path(path) / "_delta_log" / f"{version:020}.json"


def test_killed_replay_with_the_same_micro_batches_ends_row_for_row(project: tuple[Path, Archived]) -> None:
    folder, archived = project
    arguments = ("same_cut", "--batch-rows", "10", "--fuse", "2")
    # The first step's ledger row is written; results of the second, perhaps its state and late rows, are too.
    replay_and_die(folder, "after", "results", 2, *arguments)
    query = archived.query("same_cut", TEXT)
    assert [row["batch_id"] for row in archived.rows(query, "ledger/batches")] == [1, 2]
    # The second step is redone and everything of the third is written, but for the ledger.
    replay_and_die(folder, "before", "ledger/batches", 2, *arguments)
    assert [row["batch_id"] for row in archived.rows(query, "ledger/batches")] == [1, 2, 3, 4]
    archived.replay(query, **SAME)
    unbroken = archived.query("unbroken", TEXT)
    assert archived.outcome(query, OF_THE_RUN) == archived.outcome(unbroken, OF_THE_RUN)
    without = (*OF_THE_RUN, "query")
    assert archived.rows(query, "ledger/batches", without) == archived.rows(
        unbroken, "ledger/batches", without
    )
    assert archived.replay(query).batches == 0


def test_killed_replay_resumed_with_other_micro_batches_ends_the_same(
    project: tuple[Path, Archived],
) -> None:
    folder, archived = project
    query = archived.query("other_cut", TEXT)
    # Killed before anything but the run is written: a replay not begun.
    replay_and_die(folder, "after", "ledger/runs", 1, "other_cut", "--batch-rows", "7", "--fuse", "3")
    assert archived.rows(query, "ledger/batches") == []
    # At some moment after its first commit (version 0 made the ledger).
    first_commit = log_of(archived, "other_cut", "ledger/batches", 1)
    replay_and_be_killed(folder, first_commit, "other_cut", "--batch-rows", "11", "--fuse", "1")
    done = archived.rows(query, "ledger/batches")
    assert done, "the first commit was there when it was killed"
    archived.replay(query, batch_rows=4, fuse=5)
    assert archived.outcome(query) == archived.outcome(archived.query("unbroken", TEXT))
    batches = archived.rows(query, "ledger/batches")
    assert batches[: len(done)] == done
    assert [b["first_seq"] for b in batches[1:]] == [b["last_seq"] + 1 for b in batches[:-1]]
    assert batches[-1]["last_seq"] == sum(b["rows_in"] for b in batches) == 60
