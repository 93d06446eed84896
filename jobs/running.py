"""Running minima and maxima along a whole-number axis, without sorting everything in one partition.

The axis is cut in blocks. What comes before (or after) a block is one number a block, and there are few blocks;
inside a block the rows are sorted by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

_BLOCK = 1 << 14


def least_at_or_above(rows: DataFrame, key: str, values: Sequence[str], by: Sequence[str] = ()) -> DataFrame:
    """`rows` with each of `values` replaced by its least over the rows (of `by`) with a key at or above."""
    block = F.expr(f"({key} - pmod({key}, {_BLOCK}L)) div {_BLOCK}L")
    blocked = rows.withColumn("_block", block)
    summary = blocked.groupBy(*by, "_block").agg(*(F.min(v).alias(f"_least_{v}") for v in values))
    following = _partition(by).orderBy(F.col("_block").desc()).rowsBetween(Window.unboundedPreceding, -1)
    carried = summary.select(
        *by, "_block", *(F.min(f"_least_{v}").over(following).alias(f"_after_{v}") for v in values)
    )
    inside = (
        Window.partitionBy(*by, "_block")
        .orderBy(F.col(key).desc())
        .rangeBetween(Window.unboundedPreceding, Window.currentRow)
    )
    joined = join_null_safe(blocked, carried, [*by, "_block"])
    for value in values:
        joined = joined.withColumn(value, F.least(F.min(value).over(inside), f"_after_{value}"))
    return joined.select(*rows.columns)


def no_rows(spark: SparkSession, schema: str) -> DataFrame:
    """A frame without rows. Made of a list it would be an RDD, and start Python workers for nothing."""
    columns = (column.strip().rsplit(" ", 1) for column in schema.split(","))
    return spark.range(0).selectExpr(*(f"cast(null as {type_}) as {name}" for name, type_ in columns))


def join_null_safe(left: DataFrame, right: DataFrame, on: Sequence[str], how: str = "left") -> DataFrame:
    """A join on columns where NULL equals NULL, with the columns of `on` once."""
    marked = right.withColumnsRenamed({name: f"_right_{name}" for name in on})
    condition: Column = F.lit(True)
    for name in on:
        condition = condition & left[name].eqNullSafe(marked[f"_right_{name}"])
    return left.join(marked, condition, how).drop(*(f"_right_{name}" for name in on))


def _partition(by: Sequence[str]):  # type: ignore[no-untyped-def]
    # One row a block: a single partition holds them all where there is nothing to partition by.
    return Window.partitionBy(*by) if by else Window.partitionBy(F.lit(0))


def running_greatest_before(
    rows: DataFrame, key: str, value: str, start: object, value_type: str
) -> DataFrame:
    """For each key (one row each, few of them): the greatest `value` of lesser keys, and `through` this one."""
    order = _partition(()).orderBy(key)
    first = F.lit(start).cast(value_type)
    before = F.max(value).over(order.rowsBetween(Window.unboundedPreceding, -1))
    through = F.max(value).over(order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    return rows.select(
        key, F.greatest(before, first).alias(value), F.greatest(through, first).alias("through")
    )
