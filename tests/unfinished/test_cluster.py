"""The same replay on a cluster of two workers gives the same tables, to the last bit."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from tests.replay.archived import OF_THE_RUN
from tests.replay.projects import TEXT, make_project, start_process

pytestmark = pytest.mark.slow

SPARK_HOME = Path(pyspark.__file__).parent
SECONDS = 600


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


@contextmanager
def daemon(kind: str, log: Path, *arguments: str) -> Iterator[None]:
    """A part of a standalone cluster, on loopback; asked to stop when done, and waited for."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    settings = {
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(log.parent / "work"),
        "PYSPARK_PYTHON": sys.executable,
    }
    command = [
        str(SPARK_HOME / "bin" / "spark-class"),
        f"org.apache.spark.deploy.{kind}",
        "--host",
        "127.0.0.1",
    ]
    with log.open("w", encoding="utf-8") as said:
        process = subprocess.Popen(
            [*command, "--webui-port", str(free_port()), *arguments],
            env={**ours, **settings},
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(20)


def wait_until_said(log: Path, words: str) -> None:
    deadline = time.monotonic() + SECONDS
    while words not in log.read_text(encoding="utf-8", errors="replace"):
        assert time.monotonic() < deadline, log.read_text(encoding="utf-8", errors="replace")[-2000:]
        time.sleep(0.2)


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """A master with two workers of one core each."""
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    with ExitStack() as parts:
        log = tmp_path / "master.log"
        parts.enter_context(daemon("master.Master", log, "--port", str(port)))
        wait_until_said(log, "I have been elected leader")
        for number in (1, 2):
            worker = tmp_path / f"worker{number}.log"
            words = ("--cores", "1", "--memory", "1g", url)
            parts.enter_context(daemon("worker.Worker", worker, *words))
        for number in (1, 2):
            wait_until_said(tmp_path / f"worker{number}.log", "Successfully registered with master")
        yield url


def test_differential_two_executors_write_what_one_process_writes(
    brisk: SparkSession, tmp_path: Path, master: str
) -> None:
    folder = tmp_path / "project"
    archived = make_project(brisk, folder, ("here", "there"), rows=50)
    process = start_process(
        folder,
        "-m",
        "jobs.cli",
        "replay",
        "there",
        "--batch-rows",
        "20",
        "--fuse",
        "2",
        "--master",
        master,
    )
    here, there = archived.query("here", TEXT), archived.query("there", TEXT)
    archived.replay(here, batch_rows=20, fuse=2)
    said, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, said
    [report] = json.loads(said)
    assert (report["batches"], report["steps"]) == (3, 2)
    assert (
        "there" in (tmp_path / "master.log").read_text() or "sluice" in (tmp_path / "master.log").read_text()
    )
    assert archived.outcome(there, OF_THE_RUN) == archived.outcome(here, OF_THE_RUN)
    without = (*OF_THE_RUN, "query")
    assert archived.rows(there, "ledger/batches", without) == archived.rows(here, "ledger/batches", without)
