"""nightly_replay run for real, in a small lakehouse: Airflow starts Spark processes through its connection."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Night:
    """What came of one run."""

    state: str
    tasks: list[dict[str, Any]]
    events: list[dict[str, Any]]

    def states(self, task: str) -> dict[str | None, str]:
        """State by subject (a stream or a query), or by None for a task that is not mapped."""
        return {one["subject"]: one["state"] for one in self.tasks if one["task"] == task}


@pytest.fixture(scope="module")
def archived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped example with 2,000 readings archived, and two of its queries."""
    folder = tmp_path_factory.mktemp("archived") / "project"
    sluice("init", str(folder))
    (folder / "queries" / "wid_q2.cql").unlink()
    readings = folder.with_name("readings.csv")
    sluice("generate", "Traffic", "--rows", "2000", "--out", str(readings), project=folder)
    sluice("ingest", "Traffic", str(readings), project=folder)
    return folder


@pytest.fixture
def project(archived: Path, tmp_path: Path) -> Path:
    """A copy of it: a Delta table names its files relative to its folder, so it can be moved."""
    return shutil.copytree(archived, tmp_path / "project")


def sluice(*arguments: str, project: Path | None = None) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SLUICE_") or k == "SLUICE_JARS"}
    if project is not None:
        environment["SLUICE_PROJECT"] = str(project)
    done = subprocess.run(
        [str(BIN / "sluice"), *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_nightly(project: Path, home: Path) -> Night:
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("AIRFLOW", "SLUICE_")) or k == "SLUICE_JARS"
    }
    environment = {
        **kept,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW_CONN_SPARK_DEFAULT": '{"conn_type": "spark", "host": "local[2]"}',
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SLUICE_PROJECT": str(project),
        "SLUICE_DRIVER_MEMORY": "1g",
    }
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("run_nightly.py"))],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return Night(**json.loads(done.stdout.splitlines()[-1]))


def rows_of(query: str, project: Path) -> list[dict[str, Any]]:
    return json.loads(sluice("show", query, "-o", "json", project=project))


def test_a_night_replays_and_checks_every_query(project: Path, tmp_path: Path) -> None:
    night = run_nightly(project, tmp_path / "airflow")

    assert night.state == "success"
    assert night.states("gate") == {"Traffic": "success"}
    assert night.states("each_query.replay") == {"speeds": "success", "wid_q1": "success"}
    assert night.states("each_query.check") == {"speeds": "success", "wid_q1": "success"}
    assert night.states("publish_data_docs") == {None: "success"}
    assert night.states("watcher") == {None: "skipped"}
    root = (project / ".lakehouse").as_uri()
    assert {(one["asset"], one["uri"]) for one in night.events} == {
        ("archive/Traffic", f"{root}/archive/Traffic"),
        ("results/speeds", f"{root}/results/speeds"),
        ("results/wid_q1", f"{root}/results/wid_q1"),
    }
    assert all(one["extra"]["last_seq"] == 2000 for one in night.events)
    assert rows_of("speeds", project)
    assert rows_of("wid_q1", project)
    assert (project / ".lakehouse" / "quality" / "data_docs" / "index.html").exists()


def test_a_closed_gate_and_a_broken_query_stop_no_other(project: Path, tmp_path: Path) -> None:
    declared = (project / "streams" / "Traffic.yaml").read_text()
    # Every sensor reports many times, so this key is broken.
    roads = declared.replace("stream: Traffic", "stream: Roads").replace("key: [seg-id, ts]", "key: [seg-id]")
    (project / "streams" / "Roads.yaml").write_text(roads)
    archive = project / ".lakehouse" / "archive"
    shutil.copytree(archive / "Traffic", archive / "Roads")
    speeds = (project / "queries" / "speeds.cql").read_text()
    (project / "queries" / "on_roads.cql").write_text(speeds.replace("FROM Traffic", "FROM Roads"))
    (project / "queries" / "wid_q1.cql").write_text("SELECT what is this")

    night = run_nightly(project, tmp_path / "airflow")

    assert night.state == "failed"
    assert night.states("gate") == {"Traffic": "success", "Roads": "failed"}
    assert night.states("each_query.replay") == {"speeds": "success", "wid_q1": "failed"}
    assert night.states("each_query.check")["speeds"] == "success"
    assert night.states("publish_data_docs") == {None: "success"}
    assert night.states("watcher") == {None: "failed"}
    assert {one["asset"] for one in night.events} == {"archive/Traffic", "results/speeds"}
    assert rows_of("speeds", project)
    assert not (project / ".lakehouse" / "results" / "on_roads").exists()


def test_without_an_open_gate_nothing_is_replayed(project: Path, tmp_path: Path) -> None:
    declared = project / "streams" / "Traffic.yaml"
    declared.write_text(declared.read_text().replace("key: [seg-id, ts]", "key: [seg-id]"))

    night = run_nightly(project, tmp_path / "airflow")

    assert night.state == "failed"
    assert night.states("gate") == {"Traffic": "failed"}
    assert set(night.states("each_query.replay").values()) == {"skipped"}
    assert set(night.states("each_query.check").values()) == {"skipped"}
    assert not (project / ".lakehouse" / "results").exists()


def test_spark_submit_takes_its_path_from_the_repository(tmp_path: Path) -> None:
    """A module beside submit.py hides none of the standard library's, and packages import as packages."""
    jobs = tmp_path / "jobs"
    (jobs / "cli").mkdir(parents=True)
    shutil.copy(ROOT / "jobs" / "submit.py", jobs)
    (jobs / "__init__.py").touch()
    (jobs / "types.py").write_text("raise RuntimeError('not the standard library')")
    (jobs / "cli" / "__init__.py").write_text(
        "def main():\n    import sys, types\n    print(sys.argv[1:], types.__name__, __name__)\n"
    )
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(BIN), os.environ["PATH"]]),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    said = subprocess.run(
        ["spark-submit", "--master", "local[1]", str(jobs / "submit.py"), "check", "Traffic"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "['check', 'Traffic'] types jobs.cli" in said.stdout, said.stderr[-2000:]
