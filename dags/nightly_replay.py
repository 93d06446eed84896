"""Every night: pin the archives, gate them, replay every query, check its results, publish Data Docs.

What is pinned is the last arrival position of each stream: all queries replay up to there, whatever arrives
in the meantime. A gate that closes keeps its stream's queries from being replayed; a query that fails stops
no other; either way the run is marked failed. Spark runs in processes of its own, on the master that the
connection `spark_default` names.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, AssetAlias, CronTriggerTimetable, TriggerRule, task, task_group

# Airflow puts a bundle's folder on the path, but only once its own processes read it.
if (_here := str(Path(__file__).resolve().parent)) not in sys.path:
    sys.path.append(_here)

import sluice_plan as plan
import sluice_settings as settings
from sluice_data_docs import publish
from sluice_operators import PinArchives, SluiceOperator

# Streams and queries are found when the run starts, so their assets stand behind these two names.
ARCHIVES = AssetAlias("sluice archives", group="sluice")
RESULTS = AssetAlias("sluice results", group="sluice")

with DAG(
    dag_id="nightly_replay",
    # Without a start date, an Airflow that has just been set up waits for the night instead of making up for the last.
    schedule=CronTriggerTimetable("0 2 * * *", timezone="UTC", run_immediately=timedelta(0)),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 0, "execution_timeout": timedelta(hours=12)},
    tags=["sluice"],
    doc_md=__doc__,
) as nightly_replay:

    @task
    def read_project() -> dict[str, list[str]]:
        """The project's queries and the streams that each reads."""
        return plan.read_project(settings.project_folder())

    @task
    def list_streams(queries: dict[str, list[str]]) -> list[str]:
        """The streams to pin and to gate."""
        return plan.streams_of(queries)

    @task(trigger_rule=TriggerRule.ALL_DONE)
    def choose_queries(
        queries: dict[str, list[str]] | None, pins: list[dict[str, Any]] | None, opened: list[str] | None
    ) -> list[dict[str, Any]]:
        """The replays whose gates are open. A closed one stops its own stream's queries only."""
        return plan.replays(queries or {}, pins or [], opened or [])

    @task_group
    def each_query(
        query: str, replay_args: list[str], check_args: list[str], results: dict[str, Any]
    ) -> None:
        replay = SluiceOperator(
            task_id="replay",
            subject=query,
            application_args=replay_args,
            asset=results,
            inlets=[ARCHIVES],
            outlets=[RESULTS],
            # A replay that was cut short is finished by the next one, so trying again is safe.
            retries=1,
            retry_delay=timedelta(minutes=1),
            max_active_tis_per_dag=settings.parallel_replays(),
            map_index_template="{{ task.subject }}",
        )
        check = SluiceOperator(
            task_id="check",
            subject=query,
            application_args=check_args,
            inlets=[RESULTS],
            max_active_tis_per_dag=1,  # Data Docs have one index.
            map_index_template="{{ task.subject }}",
        )
        replay >> check

    @task(trigger_rule=TriggerRule.ALL_DONE)
    def publish_data_docs() -> str:
        """Where the night's Data Docs are; also after failures, which they explain."""
        return publish(settings.lakehouse_root())

    @task(trigger_rule=TriggerRule.ONE_FAILED)
    def watcher() -> None:
        """Data Docs are published after failures too; without this the run would then count as a success."""
        raise RuntimeError("A task of this run has failed; its log says why.")

    queries = read_project()
    pin = PinArchives(task_id="pin", streams=list_streams(queries))
    gate = SluiceOperator.partial(
        task_id="gate",
        outlets=[ARCHIVES],
        retries=0,
        max_active_tis_per_dag=1,  # Data Docs have one index.
        map_index_template="{{ task.subject }}",
    ).expand_kwargs(pin.output.map(plan.gate_of))
    chosen = choose_queries(queries, pin.output, gate.output)
    published = publish_data_docs()
    each_query.expand_kwargs(chosen) >> published
    list(nightly_replay.tasks) >> watcher()
