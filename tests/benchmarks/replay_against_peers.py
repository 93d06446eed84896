"""Replay against Structured Streaming and the plain group-by, Delta to Delta, in one run.

    make bench                      10 million rows, 20 micro-batches
    python -m tests.benchmarks.replay_against_peers --rows 1000000

Prints the time of each, two ratios, and first of all whether the answers agree.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.generator.disorder import Disorder
from jobs.generator.traffic import TrafficSpec, declaration, generate
from jobs.replay import ReplayOptions, replay
from lakehouse import delta_table
from lakehouse.ingest import ingest
from lakehouse.layout import Lakehouse
from lakehouse.query_tables import QueryTables
from lakehouse.session import spark_session
from schemas.project import Project
from schemas.query import WindowQuery

QUERY = """
SELECT seg-id, max(speed), min(speed), avg(speed), count(*)
FROM Traffic [RANGE 300 seconds SLIDE 60 seconds WATTR ts]
GROUP BY seg-id
PUNCTUATED BY SLACK 60 seconds
"""
BATCHES = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--keep", type=Path, help="work in this folder and keep the archive in it")
    parser.add_argument("--no-streaming", action="store_true", help="leave the slow peer out")
    arguments = parser.parse_args()
    folder = arguments.keep or Path(tempfile.mkdtemp(prefix="sluice-bench-"))
    spark = spark_session("local[2]", quiet=True)
    try:
        compare(spark, folder, arguments.rows, not arguments.no_streaming)
    finally:
        spark.stop()
        if arguments.keep is None:
            shutil.rmtree(folder)


def compare(spark: SparkSession, folder: Path, rows: int, with_streaming: bool) -> None:
    lakehouse, query = prepare(spark, folder, rows)
    archive = lakehouse.archive("Traffic")
    # Once for the classes and the files' pages, once for the clock.
    timed("plain scan", lambda: scan(spark, archive))
    scanned = timed("plain scan", lambda: scan(spark, archive))
    plain = min(timed("tumbling group-by to Delta", lambda: tumble(spark, archive, folder)) for _ in range(3))
    options = ReplayOptions(batch_rows=-(-rows // BATCHES), fuse=BATCHES, fresh=True)
    ours = min(timed("replay", lambda: replay(spark, lakehouse, query, options)) for _ in range(3))
    print(f"replay / tumbling group-by: {ours / plain:.2f} (at most 3); replay / scan: {ours / scanned:.2f}")
    if with_streaming:
        theirs = timed("structured streaming", lambda: stream(spark, archive, folder))
        compare_answers(spark, lakehouse, query, folder)
        print(f"structured streaming / replay: {theirs / ours:.2f} (at least 5)")


def prepare(spark: SparkSession, folder: Path, rows: int) -> tuple[Lakehouse, WindowQuery]:
    """An archive of `rows` readings of 200 sensors, a hundred a second, delayed up to half a minute."""
    for name in ("streams", "queries"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "streams" / "Traffic.yaml").write_text(declaration())
    (folder / "queries" / "speeds.cql").write_text(QUERY)
    project = Project.at(folder)
    lakehouse = Lakehouse.at(str(folder / "lakehouse"))
    if not delta_table.exists(spark, lakehouse.archive("Traffic")):
        spec = TrafficSpec(
            rows=rows,
            interval=timedelta(seconds=2),
            disorder=Disorder.BOUNDED,
            max_delay=timedelta(seconds=30),
        )
        timed("generate", lambda: generate(spec, folder / "traffic.parquet"))
        timed(
            "ingest",
            lambda: ingest(spark, lakehouse, project.stream("Traffic"), [folder / "traffic.parquet"]),
        )
    return lakehouse, project.query("speeds", lambda _: None)


def scan(spark: SparkSession, archive: str) -> None:
    delta_table.read(spark, archive).write.format("noop").mode("overwrite").save()


def tumble(spark: SparkSession, archive: str, folder: Path) -> None:
    """What no engine can be much faster than: one group-by of the archive, written to Delta."""
    rows = delta_table.read(spark, archive).selectExpr("window(ts, '60 seconds') as w", "`seg-id`", "speed")
    answers = rows.groupBy("w", "seg-id").agg({"speed": "max", "*": "count"})
    named = answers.toDF("w", "seg-id", "greatest", "rows")
    named.write.format("delta").mode("overwrite").save(str(folder / "tumbling"))


def stream(spark: SparkSession, archive: str, folder: Path) -> None:
    """Structured Streaming over the same table, in as many triggers, with RocksDB state."""
    for made in ("streamed", "checkpoint"):
        shutil.rmtree(folder / made, ignore_errors=True)
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    files = len(delta_table.read(spark, archive).inputFiles())
    arrivals = (
        spark.readStream.format("delta")
        .option("maxFilesPerTrigger", max(1, -(-files // BATCHES)))
        .load(archive)
    )
    windows = (
        arrivals.withWatermark("ts", "60 seconds")
        .selectExpr("ts", "`seg-id`", "speed")
        .groupBy("seg-id", _window())
        .agg(*_answers())
    )
    running = (
        windows.writeStream.format("delta")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .outputMode("append")
        .trigger(availableNow=True)
        .start(str(folder / "streamed"))
    )
    running.awaitTermination()
    print(f"  ({len([p for p in running.recentProgress if p['numInputRows']])} triggers with rows)")


def _window() -> Column:
    return F.window("ts", "300 seconds", "60 seconds")


def _answers() -> tuple[Column, ...]:
    return (
        F.max("speed").alias("max_speed"),
        F.min("speed").alias("min_speed"),
        F.avg("speed").alias("avg_speed"),
        F.count("*").alias("count"),
    )


def compare_answers(spark: SparkSession, lakehouse: Lakehouse, query: WindowQuery, folder: Path) -> None:
    """Both have the same windows and groups, with the same answers (theirs may round an average differently)."""
    ours = QueryTables(spark, lakehouse, query.name, query.revision).read("results").alias("ours")
    theirs = (
        spark.read.format("delta")
        .load(str(folder / "streamed"))
        .selectExpr("window.end as end", "*")
        .alias("theirs")
    )
    both: DataFrame = ours.join(theirs, on=_same_window(), how="full")
    differing = both.where(
        "not (ours.count <=> theirs.count and ours.max_speed <=> theirs.max_speed"
        " and ours.min_speed <=> theirs.min_speed and abs(ours.avg_speed - theirs.avg_speed) < 1e-9)"
    ).count()
    total = ours.count()
    if differing or not total:
        raise SystemExit(f"The answers differ in {differing} of {total} rows: no time means anything.")
    print(f"answers agree: {total:,} rows")


def _same_window() -> Column:
    return F.expr("ours.window_end = theirs.end and ours.`seg-id` = theirs.`seg-id`")


def timed(what: str, work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    print(f"{what:30} {seconds:8.2f} s", flush=True)
    return seconds


if __name__ == "__main__":
    main()
