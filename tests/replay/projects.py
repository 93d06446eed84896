"""A small project on disk, for replays in processes of their own, beside the same archive in this process."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml
from pyspark.sql import SparkSession

from lakehouse.layout import Lakehouse
from schemas.stream import load_stream
from tests.replay.archived import Archived

REPO = Path(__file__).resolve().parents[2]
TEXT = (
    "SELECT g, count(*), sum(x), avg(x), max(x) FROM S [RANGE 50 seconds SLIDE 20 seconds WATTR ts]"
    " WHERE x < 9 GROUP BY g PUNCTUATED BY SLACK 12 seconds LATE GENEROUS\n"
)


def make_project(spark: SparkSession, folder: Path, queries: tuple[str, ...], rows: int) -> Archived:
    """A project with one text under several names, and `rows` disordered rows in its archive."""
    for name in ("streams", "queries", "inbox", "conf"):
        (folder / name).mkdir(parents=True)
    declared = {
        "stream": "S",
        "attributes": {"g": "string", "x": "double", "ts": "timestamp"},
        "timestamp": "ts",
    }
    stream_file = folder / "streams" / "S.yaml"
    stream_file.write_text(yaml.safe_dump(declared, sort_keys=False), encoding="utf-8")
    for name in queries:
        (folder / "queries" / f"{name}.cql").write_text(TEXT, encoding="utf-8")
    # A handful of rows: compiling plans would cost more than running them.
    (folder / "conf" / "spark-defaults.conf").write_text(
        "spark.sql.codegen.wholeStage false\nspark.sql.codegen.factoryMode NO_CODEGEN\n"
        "spark.sql.adaptive.enabled false\nspark.cores.max 2\n",
        encoding="utf-8",
    )
    archived = Archived(
        spark, Lakehouse.at(str(folder / ".lakehouse")), load_stream(stream_file), folder / "inbox"
    )
    chance = random.Random(11)
    start = datetime(2026, 1, 1, 12, tzinfo=UTC)
    archived.arrive(
        [
            {
                "g": chance.choice(["p", "q", None]),
                "x": chance.choice([0.1, 0.2, 0.7, 1e16, -1e16, 2.5, 11.0, None]),
                "ts": (start + timedelta(seconds=4 * n - chance.choice([0, 0, 3, 9, 45]))).isoformat(),
            }
            for n in range(rows)
        ]
    )
    return archived


def start_process(folder: Path, *command: str) -> subprocess.Popen[str]:
    """A process in a group of its own, so that it can be killed with its JVM. It takes no settings from ours."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("SLUICE_", "SPARK_"))}
    kept = {name: os.environ[name] for name in ("SLUICE_JARS",) if name in os.environ}
    settings = {"SPARK_CONF_DIR": str(folder / "conf"), "PYTHONPATH": str(REPO), "SLUICE_DRIVER_MEMORY": "1g"}
    return subprocess.Popen(
        [sys.executable, *command, "--project", str(folder), "--no-gate", "--quiet", "-o", "json"],
        cwd=folder,
        env={**ours, **kept, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
