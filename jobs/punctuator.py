"""The punctuator: the one place that knows disorder. It says from which arrival position on what is done.

An *advance* is a fact about the archive: after position `pos`, everything below a bound is done, and with it the
windows up to `reached`. `high` is the bound before slack is taken off, exact, in the axis's measure. The bound
after position q is the greatest of the advances at or before q; a window closes at the least `pos` that reaches it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.archived_punctuations import count_for_groups, read_patterns
from jobs.running import no_rows, running_greatest_before
from schemas.errors import SluiceError
from schemas.policy import Archive, End, SlackRows, SlackSpan
from schemas.query import WindowQuery

MARKS = "mark_pattern string, mark_high string"
"""What the punctuator remembers between steps: the greatest `high` so far, by pattern where promises have one."""

EVERY_WINDOW = 2**61
"""The window that an endless promise reaches: past any that there can be."""

_ENDLESS = "endless"


@dataclass(frozen=True)
class Progress:
    """What one step's arrivals and punctuations close.

    `by` are the group columns that bounds depend on (none: the bound is the whole stream's). `advances` has
    `by`, `pos`, `reached`, `released_at` (NULL: not looked up yet). `highs_before(late)` has the advances that
    can be the last before one of the late rows, with `by`, `pos`, `high` and `reached`. `block` is how many positions
    share a partition where `by` is empty. `closed_to` is the last window closed when the step ends, as a number, or
    by group. `kept` is what the step lets go of when it is done.
    """

    by: tuple[str, ...]
    advances: DataFrame
    highs_before: Callable[[DataFrame], DataFrame]
    block: int
    closed_to: int | DataFrame | None
    marks: DataFrame
    kept: tuple[DataFrame, ...] = ()


def slack_of(query: WindowQuery) -> tuple[Fraction, int]:
    """How far bounds stay behind: a span of the attribute, and a number of rows."""
    match query.punctuation:
        case _ if query.window.axis.is_row_num:
            # A row window closes when its last row arrives: the bound is one past the row just seen.
            return Fraction(-1), 0
        case SlackSpan(quantity) if quantity.value == 0:
            return Fraction(0), 0
        case SlackSpan(quantity):
            return Fraction(query.window.axis.steps(quantity), 10**query.window.axis.places), 0
        case SlackRows(rows):
            return Fraction(0), rows
    return Fraction(0), 0


def reached_sql(query: WindowQuery, high: str) -> str:
    """SQL for the last window that a high closes."""
    axis = query.window.axis
    span, _ = slack_of(query)
    return query.window.reached_sql(f"({axis.position_sql(high)} - {int(span * 10**axis.places)}L)")


def advance_by_slack(
    query: WindowQuery,
    cells: DataFrame,
    tuples: DataFrame,
    known: Any,
    seen: Any,
    first_seq: int,
    last_seq: int,
    block: int,
) -> Progress:
    """Progress where each tuple moves the bound. `cells` summarise `tuples` (see jobs.window_scope); both also
    hold the tuples before the step that a slack of rows has held back until now. `known` is the greatest measure
    before the step, `seen` the greatest of the cells."""
    spark = cells.sparkSession
    measure = query.window.axis.measure_type
    high = max((value for value in (seen, known) if value is not None), default=None)
    moved = cells.where(f"reached is not null and pos <= {last_seq}").select("pos", "reached", "released_at")
    if known is not None:
        before = spark.range(1).selectExpr(
            f"{first_seq - 1}L as pos",
            f"{_reached(query, known)}L as reached",
            "cast(null as timestamp) as released_at",
        )
        moved = moved.unionAll(before)

    def highs_before(late: DataFrame) -> DataFrame:
        """Only a tuple above all that came before its block can be the greatest before a late one in it."""
        blocks = cells.groupBy("block").agg(F.max("high").alias("high"))
        carried = running_greatest_before(blocks, "block", "high", known, measure)
        wanted = late.select(F.expr(f"seq div {block}L").alias("block")).distinct()
        # A block without advances of its own still has what came before it.
        at = wanted.join(_extend(carried, wanted, known, measure), "block")
        _, rows = slack_of(query)
        events = tuples.select(
            F.expr(f"seq + {rows}L").alias("pos"), F.col("measure").alias("high")
        ).withColumn("block", F.expr(f"pos div {block}L"))
        inside = events.join(F.broadcast(at.withColumnRenamed("high", "before")), "block")
        records = inside.where("high is not null and (before is null or high > before)").select("pos", "high")
        starts = at.where("high is not null").select(F.expr(f"block * {block}L - 1").alias("pos"), "high")
        return records.unionAll(starts).withColumn("reached", F.expr(reached_sql(query, "high")))

    return Progress(
        by=(),
        advances=moved,
        highs_before=highs_before,
        block=block,
        closed_to=None if high is None else _reached(query, high),
        marks=spark.range(0 if high is None else 1).selectExpr(
            "cast(null as string) as mark_pattern", f"'{high}' as mark_high"
        ),
    )


def _reached(query: WindowQuery, high: Any) -> int:
    """The last window that a high closes."""
    axis = query.window.axis
    span, _ = slack_of(query)
    return query.window.reached(axis.position_of(high) - int(span * 10**axis.places))


def _extend(carried: DataFrame, wanted: DataFrame, known: object, measure: str) -> DataFrame:
    """`carried` for every wanted block: one without advances has what the last block before it left."""
    marks = carried.select("block", F.col("high"), F.col("through")).unionAll(
        wanted.join(carried, "block", "left_anti").select(
            "block", F.lit(None).cast(measure), F.lit(None).cast(measure)
        )
    )
    return running_greatest_before(
        marks.groupBy("block").agg(F.max("through").alias("high")), "block", "high", known, measure
    ).select("block", "high")


def advance_by_archive(
    query: WindowQuery,
    punctuations: DataFrame,
    groups: DataFrame,
    marks: DataFrame,
    first_seq: int,
    last_seq: int,
) -> Progress:
    """Progress where archived punctuations move the bound: of the whole stream, or of the groups they name."""
    patterns = read_patterns(query, punctuations.where(f"seq between {first_seq - 1} and {last_seq}"))
    measure = query.window.axis.measure_type
    remembered = marks.select(
        F.lit(first_seq - 1).cast("bigint").alias("pos"),
        F.col("mark_pattern").alias("others"),
        F.expr(f"if(mark_high = '{_ENDLESS}', null, cast(mark_high as {measure}))").alias("high"),
        F.expr(f"mark_high = '{_ENDLESS}'").alias("endless"),
    )
    promises = remembered.unionAll(patterns).persist()
    by, counted = count_for_groups(query, promises, groups)
    reached = F.expr(f"if(endless, {EVERY_WINDOW}L, {reached_sql(query, 'high')})")
    advances = counted.withColumn("reached", reached).persist()
    closed_to: int | DataFrame | None
    if by:
        closed_to = advances.groupBy(*by).agg(F.max("reached").alias("closed_to"))
    else:
        top = advances.agg(F.max("reached")).head()
        closed_to = None if top is None else top[0]
    marked = promises.groupBy("others").agg(F.max("high").alias("high"), F.max("endless").alias("endless"))
    return Progress(
        by=tuple(by),
        advances=advances.select(*by, "pos", "reached", F.lit(None).cast("timestamp").alias("released_at")),
        highs_before=lambda late: advances.select(*by, "pos", "high", "reached"),
        block=0,
        closed_to=closed_to,
        marks=marked.select(
            F.col("others").alias("mark_pattern"),
            F.expr(f"if(endless, '{_ENDLESS}', cast(high as string))").alias("mark_high"),
        ),
        kept=(promises, advances),
    )


def never_advance(query: WindowQuery, spark: SparkSession) -> Progress:
    """Progress where nothing is done before the archive ends."""
    measure = query.window.axis.measure_type
    return Progress(
        by=(),
        advances=no_rows(spark, "pos bigint, reached bigint, released_at timestamp"),
        highs_before=lambda late: no_rows(spark, "pos bigint, reached bigint").withColumn(
            "high", F.lit(None).cast(measure)
        ),
        block=0,
        closed_to=None,
        marks=no_rows(spark, MARKS),
    )


def check_policy(query: WindowQuery) -> None:
    """An error for a policy that is not there yet."""
    if not isinstance(query.punctuation, (SlackSpan, SlackRows, Archive, End)):
        raise SluiceError(
            f"`PUNCTUATED BY {query.punctuation}` is not there yet.",
            "Use SLACK n rows, SLACK n unit, ARCHIVE or END.",
        )
