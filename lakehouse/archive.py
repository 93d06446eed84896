"""Reading an archive: what a query or a person wants to know of it before reading rows."""

from __future__ import annotations

from datetime import date

from pyspark.sql import SparkSession

from lakehouse import delta_table
from lakehouse.layout import Lakehouse
from schemas.columns import quoted
from schemas.stream import Stream


def first_day(spark: SparkSession, lakehouse: Lakehouse, stream: Stream) -> date | None:
    """The UTC day of the stream's tuple 1; None while there is none."""
    path = lakehouse.archive(stream.name)
    if not delta_table.exists(spark, path):
        return None
    first = delta_table.read(spark, path).where("seq = 1")
    row = first.selectExpr(f"to_date({quoted(stream.timestamp.column)})").head()
    return row[0] if row is not None else None


def last_seq(spark: SparkSession, lakehouse: Lakehouse, stream: Stream, version: int | None = None) -> int:
    """The last arrival position; 0 where nothing has arrived. Answered from file statistics."""
    path = lakehouse.archive(stream.name)
    if not delta_table.exists(spark, path):
        return 0
    row = delta_table.read(spark, path, version).selectExpr("max(seq)").head()
    return int(row[0] or 0) if row is not None else 0
