"""The window scope: which windows each tuple is in (WID's bucket operator), and a summary to judge lateness by."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.micro_batches import Cut
from jobs.punctuator import reached_sql, slack_of
from schemas.policy import Archive, End
from schemas.query import WindowQuery


def assign_window_ids(query: WindowQuery, arrivals: DataFrame) -> DataFrame:
    """`arrivals` with `measure`, the windows `first_id` to `last_id` (NULL: out of range), and `passes` WHERE."""
    axis, window = query.window.axis, query.window
    measured = arrivals.withColumn("measure", F.expr(axis.measure_sql()))
    placed = measured.withColumn("position", F.expr(axis.position_sql("measure")))
    held = window.holds_sql("position")
    return placed.withColumns(
        {
            "first_id": F.expr(f"case when {held} then {window.first_id_sql('position')} end"),
            "last_id": F.expr(f"case when {held} then {window.last_id_sql('position')} end"),
            "passes": F.expr("true" if query.where is None else f"coalesce({query.where}, false)"),
        }
    )


def summarise(
    query: WindowQuery, tuples: DataFrame, cut: Cut, first_seq: int, last_seq: int, block: int
) -> DataFrame:
    """One row a cell: tuples of one micro-batch, one run of arrivals (`block`) and one reach of the axis.

    Everything that lateness needs of the archive is in the cells, and they are few. With slack of rows, tuples
    before the step are in `tuples` too: they move the bound only now, and are not counted.
    """
    _, rows = slack_of(query)
    in_step = f"seq >= {first_seq}L"
    due = f"seq + {rows}L <= {last_seq}L"
    moves = not isinstance(query.punctuation, Archive | End) or query.window.axis.is_row_num
    keyed = tuples.select(
        F.expr(cut.key_sql).alias("key"),
        F.expr(f"(seq + {rows}L) div {block}L" if moves else "0L").alias("block"),
        F.expr(f"if({in_step}, first_id, null)").alias("first_id"),
        F.expr(f"if({in_step}, last_id, null)").alias("last_id"),
        F.expr(reached_sql(query, "measure") if moves else "cast(null as bigint)").alias("reached"),
        "seq",
        "arrived_at",
        "measure",
        "passes",
    )
    counted = keyed.groupBy("key", "block", "first_id", "last_id", "reached").agg(
        F.expr(f"count_if({in_step})").alias("rows"),
        F.expr(f"count_if({in_step} and first_id is null)").alias("out_of_range"),
        F.expr("count_if(first_id is not null and not passes)").alias("refused"),
        F.expr("max(seq)").alias("last_seq"),
        F.expr(f"min(seq) + {rows}L").alias("pos"),
        F.expr("min(arrived_at)" if rows == 0 else "cast(null as timestamp)").alias("released_at"),
        F.expr(f"max(if({due}, measure, null))").alias("high"),
    )
    return counted
