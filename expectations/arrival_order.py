"""Each arrival beside the one before it, without sorting the archive into one partition.

`seq` is cut into blocks. Tuples are ordered inside their block, and then only the edges of blocks are
compared, so that the work spreads over all cores whatever the archive's size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as fn

from expectations.invariant import EXAMPLES, example_rows, sum_of

# Wide enough that edges are few, narrow enough that a night's rows spread over all cores.
_BLOCK_BITS = 14


@dataclass(frozen=True)
class SeqRange:
    """The arrivals to look at, both ends included. `last` None: up to the end of the archive."""

    first: int = 1
    last: int | None = None

    @property
    def words(self) -> str:
        if self.last is None:
            return f"seq {self.first} on" if self.first > 1 else "the whole archive"
        return f"seq {self.first} to {self.last}"

    @property
    def holds(self) -> Column:
        """Whether a tuple is in the range. With no lower end, one with a bad `seq` is, so that it is seen."""
        inside = fn.col("seq") >= self.first if self.first > 1 else fn.lit(True)
        return inside if self.last is None else inside & (fn.col("seq") <= self.last)

    @property
    def with_previous(self) -> SeqRange:
        """One tuple more, before the first, to compare the first with."""
        return SeqRange(max(1, self.first - 1), self.last)


def count_in_order(archive: DataFrame, span: SeqRange, flags: dict[str, Column]) -> Row:
    """In one pass: `rows`, `max_seq`, `bad_seq` (NULL or below 1), `twice`, `backward`, rows by flag."""
    # Only positions and flags go through the shuffle, not the tuples.
    narrow = archive.where(span.with_previous.holds).select(
        "seq", "arrived_at", *(fn.coalesce(flag, fn.lit(False)).alias(name) for name, flag in flags.items())
    )
    seq = fn.col("seq")
    by_block = (
        _ordered_in_blocks(narrow)
        .groupBy("block")
        .agg(
            *_edges(),
            fn.max("seq").alias("max_seq"),
            fn.count_if(span.holds).alias("rows"),
            fn.count_if(span.holds & (seq.isNull() | (seq < 1))).alias("bad_seq"),
            fn.count_if(span.holds & (seq >= 1) & (seq == fn.col("previous_seq"))).alias("twice"),
            fn.count_if(span.holds & goes_back()).alias("backward"),
            *(fn.count_if(span.holds & fn.col(name)).alias(name) for name in flags),
        )
    )
    # One row a block: few enough to stand in one partition.
    before = fn.lag("last").over(Window.orderBy("block"))
    backward_edge = fn.col("first.arrived_at") < before["arrived_at"]
    totals = (
        by_block.withColumn("backward_edge", backward_edge.cast("int"))
        .agg(
            fn.max("max_seq").alias("max_seq"),
            *(sum_of(name).alias(name) for name in ("rows", "bad_seq", "twice", *flags)),
            (sum_of("backward") + sum_of("backward_edge")).alias("backward"),
        )
        .first()
    )
    assert totals is not None  # an aggregate over no group is one row
    return totals


def goes_back() -> Column:
    """Whether a tuple beside its previous one arrived before it, or at no known time."""
    return fn.col("arrived_at").isNull() | (fn.col("arrived_at") < fn.col("previous_arrived_at"))


def backward_arrivals(archive: DataFrame, span: SeqRange) -> DataFrame:
    """The tuples whose arrival time goes back, with `previous_arrived_at`, in order."""
    return _beside_previous(archive, span).where(goes_back()).drop("previous_seq").orderBy("seq")


def missing_seqs(archive: DataFrame, span: SeqRange, last: int) -> list[dict[str, Any]]:
    """The first gaps up to `last`, as {"missing_from", "missing_to"}, after rows with a bad `seq`."""
    seq = fn.col("seq")
    bad = example_rows(archive.where(span.holds & (seq.isNull() | (seq < 1))))
    positions = archive.select("seq", "arrived_at").where(seq >= 1)
    beside = _beside_previous(positions, span)
    before = fn.coalesce(fn.col("previous_seq"), fn.lit(span.first - 1))
    gaps = beside.where(seq > before + 1).orderBy("seq")
    found = example_rows(gaps.select((before + 1).alias("missing_from"), (seq - 1).alias("missing_to")))
    greatest = positions.where(span.holds).agg(fn.max("seq")).first()
    assert greatest is not None
    reached = max(span.first - 1, greatest[0] or 0)
    if reached < last:
        found.append({"missing_from": reached + 1, "missing_to": last})
    return [*bad, *found][:EXAMPLES]


def _beside_previous(archive: DataFrame, span: SeqRange) -> DataFrame:
    """The tuples of `span` with `previous_seq` and `previous_arrived_at`, across the edges of blocks too."""
    ordered = _ordered_in_blocks(archive.where(span.with_previous.holds))
    edges = ordered.groupBy("block").agg(*_edges())
    before_block = edges.select("block", fn.lag("last").over(Window.orderBy("block")).alias("before"))
    return (
        ordered.join(fn.broadcast(before_block), "block", "left")
        .where(span.holds)
        .withColumn("previous_arrived_at", _or_edge("previous_arrived_at", "arrived_at"))
        .withColumn("previous_seq", _or_edge("previous_seq", "seq"))
        .drop("block", "before")
    )


def _or_edge(column: str, field: str) -> Column:
    """The previous tuple's value in the block; for a block's first tuple, the edge of the block before."""
    return fn.when(fn.col("previous_seq").isNull(), fn.col(f"before.{field}")).otherwise(fn.col(column))


def _ordered_in_blocks(arrivals: DataFrame) -> DataFrame:
    # By arrival time too, so that copies of one position have one order in every run.
    in_block = Window.partitionBy("block").orderBy("seq", "arrived_at")
    return (
        arrivals.withColumn("block", fn.shiftright("seq", _BLOCK_BITS))
        .withColumn("previous_seq", fn.lag("seq").over(in_block))
        # What has no position has no neighbour either.
        .withColumn(
            "previous_arrived_at", fn.when(fn.col("previous_seq") >= 1, fn.lag("arrived_at").over(in_block))
        )
    )


def _edges() -> tuple[Column, Column]:
    placed = fn.when(fn.col("seq") >= 1, fn.struct("seq", "arrived_at"))
    return fn.min(placed).alias("first"), fn.max(placed).alias("last")
