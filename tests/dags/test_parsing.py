"""The DAG file as Airflow reads it: fast, without Spark or Great Expectations, and of the shape its run relies on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow  # Airflow itself takes seconds to import.

ROOT = Path(__file__).resolve().parents[2]

# Airflow's processor imports Airflow once and then parses files in forks: what counts is what the file adds.
PARSE = """
import json, sys, time
import airflow.sdk, airflow.dag_processing.dagbag as dagbag
from airflow.serialization.serialized_objects import DagSerialization
begun = time.process_time()
bag = dagbag.DagBag(sys.argv[1])
took = time.process_time() - begun
dag = bag.dags.get("nightly_replay")
DagSerialization.to_dict(dag)
print()
print(json.dumps({
    "errors": bag.import_errors,
    "took": took,
    "dags": sorted(bag.dags),
    "heavy": sorted({m.split(".")[0] for m in sys.modules} & {"pyspark", "great_expectations", "pandas", "delta"}),
    "catchup": dag.catchup,
    "max_active_runs": dag.max_active_runs,
    "tasks": {t.task_id: {
        "upstream": sorted(t.upstream_task_ids),
        "rule": t.trigger_rule.value,
        "retries": t.retries,
        "at_once": t.max_active_tis_per_dag,
    } for t in dag.tasks},
}))
"""


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("AIRFLOW", "SLUICE_"))}
    environment |= {
        "AIRFLOW_HOME": str(tmp_path_factory.mktemp("airflow")),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }
    done = subprocess.run(
        [sys.executable, "-c", PARSE, str(ROOT / "dags")],
        env=environment,
        cwd=environment["AIRFLOW_HOME"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_it_parses_fast_and_light(parsed: dict[str, Any]) -> None:
    assert parsed["errors"] == {}
    assert parsed["dags"] == ["nightly_replay"]
    assert parsed["heavy"] == []
    assert parsed["took"] < 2


def test_one_run_at_a_time_and_none_for_the_past(parsed: dict[str, Any]) -> None:
    assert parsed["catchup"] is False
    assert parsed["max_active_runs"] == 1


def test_gates_come_before_replays_and_are_tried_once(parsed: dict[str, Any]) -> None:
    tasks = parsed["tasks"]
    assert tasks["pin"]["upstream"] == ["list_streams"]
    assert tasks["gate"]["upstream"] == ["pin"]
    assert tasks["gate"]["retries"] == 0
    assert "gate" in tasks["choose_queries"]["upstream"]
    assert tasks["each_query.replay"]["upstream"] == ["choose_queries"]
    assert "each_query.replay" in tasks["each_query.check"]["upstream"]
    assert {tasks[name]["at_once"] for name in ("gate", "each_query.replay", "each_query.check")} == {1}


def test_the_watcher_watches_everything(parsed: dict[str, Any]) -> None:
    watcher = parsed["tasks"]["watcher"]
    assert watcher["rule"] == "one_failed"
    assert watcher["upstream"] == sorted(set(parsed["tasks"]) - {"watcher"})
