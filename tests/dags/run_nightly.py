"""Runs nightly_replay by `dag.test()` in this process and prints what came of it, one JSON document, last on stdout.

A script of its own because Airflow reads its environment when it is first imported, and keeps it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

DAGS = Path(__file__).resolve().parents[2] / "dags"


def main() -> None:
    from airflow.dag_processing.dagbag import DagBag
    from airflow.models.asset import AssetEvent
    from airflow.utils.db import initdb
    from airflow.utils.session import create_session

    initdb()
    bag = DagBag(str(DAGS))
    assert bag.import_errors == {}, bag.import_errors
    dag = bag.dags["nightly_replay"]
    # The wait before a second try is no part of what is tested.
    dag.get_task("each_query.replay").retries = 0
    run = dag.test()
    with create_session() as session:
        events = [
            {"asset": event.asset.name, "uri": event.asset.uri, "extra": event.extra}
            for event in session.query(AssetEvent)
        ]
        tasks = [
            {"task": ti.task_id, "subject": ti.rendered_map_index, "state": str(ti.state)}
            for ti in run.get_task_instances(session=session)
        ]
    sys.stdout.flush()
    print("\n" + json.dumps({"state": str(run.state), "tasks": tasks, "events": events}))


if __name__ == "__main__":
    main()
