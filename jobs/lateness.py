"""Lateness: when each window closed, and which tuples came after a window of theirs had."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.punctuator import Progress, slack_of
from jobs.running import join_null_safe, least_at_or_above
from schemas.policy import Lateness
from schemas.query import WindowQuery

_SMALL_ENOUGH_TO_BROADCAST = 2_000_000


def close_windows(progress: Progress, wanted: DataFrame) -> DataFrame:
    """The close table of the `wanted` windows (`by`, `window_id`): `closing_seq` and `released_at`, NULL if open.

    A window closes at the least position whose advance reaches it or a later one.
    """
    reached = progress.advances.select(
        *progress.by,
        F.col("reached").alias("window_id"),
        F.col("pos").alias("closing_seq"),
        "released_at",
        F.lit(False).alias("wanted"),
    )
    asked = wanted.select(
        *progress.by,
        "window_id",
        F.lit(None).cast("bigint").alias("closing_seq"),
        F.lit(None).cast("timestamp").alias("released_at"),
        F.lit(True).alias("wanted"),
    )
    # Arrival times never go back, so that the least of them belongs to the least position.
    closing = least_at_or_above(
        reached.unionAll(asked), "window_id", ("closing_seq", "released_at"), progress.by
    )
    return closing.where("wanted").drop("wanted")


def look_up_closing(tuples: DataFrame, closings: DataFrame, progress: Progress, windows: int) -> DataFrame:
    """`tuples` with the `closing_seq` of the first window of each."""
    first = closings.select(*progress.by, F.col("window_id").alias("first_id"), "closing_seq")
    if windows <= _SMALL_ENOUGH_TO_BROADCAST:
        first = F.broadcast(first)
    if not progress.by:
        return tuples.join(first, "first_id", "left")
    return join_null_safe(tuples, first, [*progress.by, "first_id"])


def judge_late(query: WindowQuery, late: DataFrame, progress: Progress) -> DataFrame:
    """Late tuples with what each missed, the first window still open to it (`open_from`), and whether it is
    `partly` late: still in a window."""
    marked = late.withColumns({"order": F.col("seq"), "is_tuple": F.lit(True)})
    blank = {
        name: F.lit(None).cast(field.dataType) for name, field in ((f.name, f) for f in marked.schema.fields)
    }
    advances = progress.highs_before(late)
    given = {*progress.by, "order", "is_tuple"}
    events = (
        advances.withColumnsRenamed({"pos": "order"})
        .withColumn("is_tuple", F.lit(False))
        .select(
            *(F.col(name) if name in given else blank[name].alias(name) for name in marked.columns),
            F.col("high").alias("bound_high"),
            F.col("reached").alias("bound_reached"),
        )
    )
    tuples = marked.withColumns(
        {
            "bound_high": F.lit(None).cast(query.window.axis.measure_type),
            "bound_reached": F.lit(None).cast("bigint"),
        }
    )
    # A bound after position q holds for tuple q + 1: at the same position the tuple comes first. An advance at the
    # end of a block belongs to the next one.
    at = "if(is_tuple, `order`, `order` + 1)"
    partition = [*progress.by] if progress.by or not progress.block else []
    both = tuples.unionAll(events)
    both = both.withColumn("_block", F.expr(f"({at}) div {progress.block}L" if progress.block else "0L"))
    before = (
        Window.partitionBy(*partition, "_block")
        .orderBy("order", F.col("is_tuple").desc())
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    bounded = both.withColumns(
        {"high": F.max("bound_high").over(before), "reached": F.max("bound_reached").over(before)}
    ).where("is_tuple")
    span, _ = slack_of(query)
    behind = query.window.axis.less_sql("high", span, "measure")
    endless = f"reached >= {2**61}L"
    judged = bounded.withColumns(
        {
            "open_from": F.expr("greatest(reached + 1, first_id)"),
            "missed_from": F.col("first_id"),
            "missed_to": F.expr("least(last_id, reached)"),
            "behind": F.expr(f"if({endless}, null, {behind})"),
        }
    )
    partly = "open_from <= last_id" if query.lateness is Lateness.GENEROUS else "false"
    return judged.withColumns(
        {"missed": F.expr("missed_to - missed_from + 1"), "partly": F.expr(partly)}
    ).drop("order", "is_tuple", "bound_high", "bound_reached", "_block", "high", "reached")
