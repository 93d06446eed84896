"""The archive's invariants, measured: one pass in arrival order, one by key, metadata for the types."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql.types import StructType

from expectations.arrival_order import SeqRange, backward_arrivals, count_in_order, missing_seqs
from expectations.invariant import Fact, Invariant, sum_of
from expectations.ranges import breaks_range, range_words
from schemas.columns import quoted
from schemas.stream import Range, Stream
from schemas.tables import archive_contract

COLUMNS_DECLARED = Invariant("columns_declared", "The columns and their types are those the stream declares.")
SEQ_DENSE = Invariant("seq_dense", "seq counts up from 1 and none is missing.")
SEQ_UNIQUE = Invariant("seq_unique", "No seq occurs twice.")
ARRIVAL_ORDERED = Invariant("arrival_ordered", "The arrival time is known and never goes back.")


def timestamp_known(stream: Stream) -> Invariant:
    return Invariant("timestamp_known", f"The windowing attribute {stream.timestamp.name} is never NULL.")


def clock_not_ahead(stream: Stream) -> Invariant:
    """Only told: a source's fast clock makes disorder, which replays handle, not a broken archive."""
    words = f"No tuple arrives before its own {stream.timestamp.name}."
    return Invariant("clock_not_ahead", words, stops=False)


def range_kept(declared: Range) -> Invariant:
    return Invariant(f"range_kept_{declared.attribute.column}", range_words(declared))


def key_unique(stream: Stream, span: SeqRange) -> Invariant:
    words = f"The declared key ({', '.join(a.name for a in stream.key)}) is unique"
    if span.first > 1 and not _compares_with_earlier(stream):
        return Invariant("key_unique", f"{words} among {span.words}.")
    return Invariant("key_unique", f"{words}.")


def measure_archive(archive: DataFrame, stream: Stream, span: SeqRange | None = None) -> list[Fact]:
    """The facts of the tuples in `span`. Those that need a column which is not as declared are left out."""
    span = span or SeqRange()
    columns, unfit = measure_columns(archive.schema, stream)
    if unfit & {"seq", "arrived_at", stream.timestamp.column.lower()}:
        return [columns]
    ranges = [declared for declared in stream.ranges if declared.attribute.column.lower() not in unfit]
    facts = [columns, *measure_in_order(archive, stream, ranges, span)]
    if stream.key and not unfit & {a.column.lower() for a in stream.key}:
        facts.append(measure_key(archive, stream, span))
    return facts


def measure_columns(found: StructType, stream: Stream) -> tuple[Fact, set[str]]:
    """The fact of the columns; and the names, in lower case, of those that are not as declared."""
    contract = archive_contract(stream)
    declared = StructType.fromDDL(", ".join(f"{quoted(c.name)} {c.type}" for c in contract.columns))
    assert isinstance(declared, StructType)
    expected = {field.name.lower(): field for field in declared}
    present = {field.name.lower(): field for field in found}
    broken: dict[str, dict[str, Any]] = {}
    for name in {**expected, **present}:
        wanted, seen = expected.get(name), present.get(name)
        if wanted is None or seen is None or wanted.dataType != seen.dataType:
            broken[name] = {
                "column": wanted.name if wanted else name,
                "declared": wanted.dataType.simpleString() if wanted else None,
                "found": seen.dataType.simpleString() if seen else None,
            }
    checked = len({**expected, **present})
    return Fact(COLUMNS_DECLARED, checked, len(broken), tuple(broken.values())[:5]), set(broken)


def measure_in_order(archive: DataFrame, stream: Stream, ranges: list[Range], span: SeqRange) -> list[Fact]:
    """What each tuple shows, alone and beside the one before it; examples are fetched only of what failed."""
    by_row = _broken_by_a_row(stream, ranges)
    totals = count_in_order(archive, span, {inv.name: broken for inv, broken in by_row.items()})
    rows = totals["rows"]
    last = span.last if span.last is not None else (totals["max_seq"] or 0)
    distinct = rows - totals["bad_seq"] - totals["twice"]
    missing = max(0, last - span.first + 1) - distinct
    arrivals = archive.where(span.holds)

    dense = Fact(SEQ_DENSE, rows, missing + totals["bad_seq"])
    if dense.failures:
        dense = replace(dense, examples=tuple(missing_seqs(archive, span, last)))
    unique = Fact(SEQ_UNIQUE, rows, totals["twice"])
    if unique.failures:
        unique = unique.shown_by(_rows_of_repeated_seqs(arrivals))
    ordered = Fact(ARRIVAL_ORDERED, rows, totals["backward"])
    if ordered.failures:
        ordered = ordered.shown_by(backward_arrivals(archive, span))
    facts = [dense, unique, ordered]
    for invariant, broken in by_row.items():
        fact = Fact(invariant, rows, totals[invariant.name])
        facts.append(fact.shown_by(arrivals.where(broken).orderBy("seq")) if fact.failures else fact)
    return facts


def measure_key(archive: DataFrame, stream: Stream, span: SeqRange) -> Fact:
    """A row fails if an earlier arrival has its key. As in SQL, a key with a NULL in it equals no other."""
    key = [fn.col(quoted(a.column)) for a in stream.key]
    in_span = fn.col("seq") >= span.first if span.first > 1 else fn.lit(True)
    groups = (
        _keyed(archive, stream, span)
        .groupBy(*key)
        .agg(
            fn.count_if(in_span).alias("inside"),
            fn.count("*").alias("rows"),
            fn.min("seq").alias("first_seq"),
            fn.max("seq").alias("last_seq"),
        )
        .where("inside > 0")
        # Of a key's rows the very first is right; it may be before the span.
        .withColumn("repeated", fn.expr("if(rows > inside, inside, inside - 1)"))
    )
    found = groups.agg(sum_of("inside"), sum_of("repeated")).first()
    assert found is not None
    fact = Fact(key_unique(stream, span), found[0], found[1])
    if fact.failures == 0:
        return fact
    broken = groups.where("repeated > 0").orderBy("first_seq", "last_seq")
    return fact.shown_by(broken.select(*key, "first_seq", "last_seq", "rows"))


def _broken_by_a_row(stream: Stream, ranges: list[Range]) -> dict[Invariant, Column]:
    timestamp = fn.col(quoted(stream.timestamp.column))
    broken = {timestamp_known(stream): timestamp.isNull()}
    if stream.arrival_time is not None:
        broken[clock_not_ahead(stream)] = timestamp > fn.col("arrived_at")
    for declared in ranges:
        broken[range_kept(declared)] = breaks_range(declared)
    return broken


def _rows_of_repeated_seqs(arrivals: DataFrame) -> DataFrame:
    repeated = arrivals.where("seq >= 1").groupBy("seq").count().where("count > 1").orderBy("seq")
    seqs = [row["seq"] for row in repeated.limit(5).collect()]
    return arrivals.where(fn.col("seq").isin(seqs)).orderBy("seq", "source_file", "source_line")


def _keyed(archive: DataFrame, stream: Stream, span: SeqRange) -> DataFrame:
    """The tuples of `span`, and those of the earlier ones that could have the same key, where that is cheap.

    Where the key holds the timestamp, equal keys have equal timestamps: Delta's statistics leave only the
    files that overlap the span in time. Otherwise the search would cost as the archive does, not as the
    span does; a check of the whole archive makes it.
    """
    complete = fn.lit(True)
    for attribute in stream.key:
        complete &= fn.col(quoted(attribute.column)).isNotNull()
    tuples = archive.where(complete).select("seq", *(quoted(a.column) for a in stream.key))
    inside = tuples.where(span.holds)
    if span.first <= 1 or not _compares_with_earlier(stream):
        return inside
    timestamp = fn.col(quoted(stream.timestamp.column))
    # In microseconds, since Python's instants would pass through the machine's own zone.
    ends = inside.agg(fn.unix_micros(fn.min(timestamp)), fn.unix_micros(fn.max(timestamp))).first()
    assert ends is not None
    if ends[0] is None:
        return inside
    least, greatest = (fn.timestamp_micros(fn.lit(end)) for end in ends)
    earlier = tuples.where((fn.col("seq") < span.first) & timestamp.between(least, greatest))
    return inside.unionAll(earlier)


def _compares_with_earlier(stream: Stream) -> bool:
    return stream.timestamp in stream.key
