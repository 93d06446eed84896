"""Micro-batches: which arrivals each takes, and which of them one Spark job takes together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.running import join_null_safe

DEFAULT_BATCH_ROWS = 100_000
ROWS_A_JOB = 20_000_000
"""How many rows a fused job takes unless told: enough that its fixed costs are small."""


@dataclass(frozen=True)
class MicroBatch:
    """Arrivals `first_seq` to `last_seq`; without rows, `last_seq` is one less. `key` is its place on the cut."""

    batch_id: int
    first_seq: int
    last_seq: int
    key: int | None

    @property
    def rows(self) -> int:
        return self.last_seq - self.first_seq + 1


@dataclass(frozen=True)
class Cut:
    """How arrivals are cut: every `rows` rows from `first_seq` on, or every `span` microseconds of arrival."""

    rows: int | None
    span: int | None
    first_seq: int

    @property
    def key_sql(self) -> str:
        """SQL for the key of the micro-batch that an arrival (`seq`, `arrived_at`) is in."""
        if self.rows is not None:
            return f"((seq - {self.first_seq}L) div {self.rows}L)"
        micros = "unix_micros(arrived_at)"
        return f"(({micros} - pmod({micros}, {self.span}L)) div {self.span}L)"


def plan_batches(
    arrivals: DataFrame, cut: Cut, last_seq: int, first_batch: int, punctuation_first: bool
) -> list[MicroBatch]:
    """The micro-batches of arrivals `cut.first_seq` to `last_seq`, in order.

    `punctuation_first`: punctuations have come since the last row, which make a micro-batch without rows.
    """
    batches = []
    first = cut.first_seq
    if punctuation_first:
        batches.append(MicroBatch(first_batch, first, first - 1, None))
    if first > last_seq:
        return batches
    ranges: Sequence[tuple[int, int, int]]
    if cut.rows is not None:
        count = -(-(last_seq - first + 1) // cut.rows)
        ranges = [
            (key, first + key * cut.rows, min(last_seq, first + (key + 1) * cut.rows - 1))
            for key in range(count)
        ]
    else:
        inside = arrivals.where(f"seq between {first} and {last_seq}")
        spans = (
            inside.groupBy(F.expr(cut.key_sql).alias("key")).agg(F.min("seq"), F.max("seq")).orderBy("key")
        )
        ranges = [(row[0], row[1], row[2]) for row in spans.collect()]
    start = first_batch + len(batches)
    return batches + [MicroBatch(start + n, begin, end, key) for n, (key, begin, end) in enumerate(ranges)]


def fuse(batches: Sequence[MicroBatch], together: int) -> list[list[MicroBatch]]:
    """Steps of `together` micro-batches, each one Spark job."""
    return [list(batches[place : place + together]) for place in range(0, len(batches), together)]


def choose_fuse(cut: Cut, batches: int, rows: int) -> int:
    """As many micro-batches a job as make it worth its fixed costs."""
    rows_a_batch = cut.rows or max(1, rows // max(1, batches))
    return max(1, ROWS_A_JOB // rows_a_batch)


def number_batches(rows: DataFrame, step: Sequence[MicroBatch], cut: Cut) -> DataFrame:
    """`rows` (with `seq` and `arrived_at`) with the `batch_id` of each; before the step is its first one."""
    first = step[0]
    if len(step) == 1:
        return rows.withColumn("batch_id", F.lit(first.batch_id).cast("bigint"))
    numbered: DataFrame
    if cut.rows is not None:
        offset = next(b.batch_id - b.key for b in step if b.key is not None)
        numbered = rows.withColumn("batch_id", F.expr(f"{cut.key_sql} + {offset}L"))
    else:
        spark: SparkSession = rows.sparkSession
        known = [(b.key, b.batch_id) for b in step if b.key is not None]
        keys = spark.createDataFrame(known, "_key bigint, batch_id bigint")
        numbered = join_null_safe(
            rows.withColumn("_key", F.expr(cut.key_sql)), F.broadcast(keys), ["_key"]
        ).drop("_key")
    return numbered.withColumn(
        "batch_id", F.expr(f"if(seq < {first.first_seq}L, {first.batch_id}L, batch_id)")
    )
