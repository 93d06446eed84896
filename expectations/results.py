"""The invariants of a query's results and of its ledger, measured."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from expectations.invariant import Fact, Invariant, sum_of
from schemas.columns import quoted

ONE_ROW_A_WINDOW = Invariant("one_row_a_window", "A group has one answer in a window.")
ANSWER_ID_UNIQUE = Invariant("answer_id_unique", "An answer_id names one answer.")
ENDS_AFTER_START = Invariant("ends_after_start", "A window ends after it starts.")
EXPIRES_AFTER_VALID = Invariant("expires_after_valid", "An answer expires after it becomes valid.")
RELEASED_IN_BATCH = Invariant(
    "released_in_batch", "An answer is released by an arrival of its own micro-batch."
)
LEDGER_SUMS = Invariant(
    "ledger_sums",
    "rows_in is the sum of rows_used, rows_partly_late, rows_late, rows_out_of_range and rows_filtered.",
)
LEDGER_RANGE = Invariant("ledger_range", "rows_in is the number of arrivals from first_seq to last_seq.")
LEDGER_CONTIGUOUS = Invariant(
    "ledger_contiguous",
    "Micro-batches are numbered from 1 without a gap, each beginning where the one before it ended.",
)
LEDGER_RESULTS = Invariant(
    "ledger_results", "results_written is the number of rows in results of that micro-batch."
)

_SUMMED = ("rows_used", "rows_partly_late", "rows_late", "rows_out_of_range", "rows_filtered")


def measure_results(
    results: DataFrame,
    batches: DataFrame,
    group_columns: Sequence[str],
    physical: bool,
    first_batch: int | None = None,
) -> list[Fact]:
    """The facts of the results and of the ledger, from `first_batch` on where one is given."""
    return [
        *measure_answers(results, batches, physical, first_batch),
        *measure_uniqueness(results, group_columns, first_batch),
        *measure_ledger(results, batches, first_batch),
    ]


def measure_answers(
    results: DataFrame, batches: DataFrame, physical: bool, first_batch: int | None = None
) -> list[Fact]:
    """What each answer shows, beside the ledger's row of its micro-batch: one pass."""
    answers = results.where(_from_batch(first_batch))
    broken: dict[Invariant, Column] = {}
    if {"window_start", "window_end"} <= set(results.columns):
        broken[ENDS_AFTER_START] = fn.col("window_start") >= fn.col("window_end")
    lives = [fn.col(quoted(start)) >= fn.col(quoted(end)) for start, end in _lifetimes(results, physical)]
    if lives:
        broken[EXPIRES_AFTER_VALID] = fn.greatest(fn.lit(False), *lives) if len(lives) > 1 else lives[0]
    released = fn.col("released_seq")
    if "input" in batches.columns:
        # With several inputs a position is one of a stream's; the ledger tells ranges by alias.
        broken[RELEASED_IN_BATCH] = released.isNull()
        beside = answers
    else:
        # A micro-batch without rows has first_seq = last_seq + 1 and releases at last_seq.
        least = fn.least("batch_first_seq", "batch_last_seq")
        broken[RELEASED_IN_BATCH] = released.isNull() | ~released.between(least, fn.col("batch_last_seq"))
        ranges = batches.groupBy("batch_id").agg(
            fn.min("first_seq").alias("batch_first_seq"), fn.max("last_seq").alias("batch_last_seq")
        )
        beside = answers.join(fn.broadcast(ranges), "batch_id", "left")
    counts = [fn.count_if(fn.coalesce(flag, fn.lit(False))) for flag in broken.values()]
    found = beside.agg(fn.count("*"), *counts).first()
    assert found is not None
    facts = []
    for place, (invariant, flag) in enumerate(broken.items(), start=1):
        fact = Fact(invariant, found[0], found[place])
        shown = beside.where(flag).orderBy("released_seq", "answer_id")
        facts.append(fact.shown_by(shown) if fact.failures else fact)
    return facts


def measure_uniqueness(
    results: DataFrame, group_columns: Sequence[str], first_batch: int | None = None
) -> list[Fact]:
    """Positive answers by group and window, and by id; those of a later batch against earlier ones too."""
    facts = []
    positive = _with_earlier_rivals(results.where("sign = 1"), first_batch)
    if "window_id" in results.columns:
        names = ["window_id", *(quoted(name) for name in group_columns)]
        facts.append(_measure_repeats(ONE_ROW_A_WINDOW, positive, names, first_batch))
    facts.append(_measure_repeats(ANSWER_ID_UNIQUE, positive, ["answer_id"], first_batch))
    return facts


def measure_ledger(results: DataFrame, batches: DataFrame, first_batch: int | None = None) -> list[Fact]:
    """The ledger's sums and ranges, and its counts against the results."""
    inputs = [name for name in ("input",) if name in batches.columns]
    in_turn = Window.partitionBy(*inputs).orderBy("batch_id", "first_seq")
    # The lag is taken before the first batches are left out, so that the first kept one has its previous.
    ledger = batches.select(
        *inputs,
        *("batch_id", "first_seq", "last_seq", "rows_in", *_SUMMED, "results_written", "run_id"),
        fn.lag("batch_id").over(in_turn).alias("previous_batch_id"),
        fn.lag("last_seq").over(in_turn).alias("previous_last_seq"),
    ).where(_from_batch(first_batch))
    summed = sum((fn.col(name) for name in _SUMMED), fn.lit(0))
    numbered = fn.col("batch_id") == fn.coalesce("previous_batch_id", fn.lit(0)) + 1
    follows = fn.coalesce(fn.col("first_seq") == fn.col("previous_last_seq") + 1, fn.lit(True))
    broken = {
        LEDGER_SUMS: fn.col("rows_in") != summed,
        LEDGER_RANGE: fn.col("rows_in") != fn.col("last_seq") - fn.col("first_seq") + 1,
        LEDGER_CONTIGUOUS: ~(numbered & follows),
    }
    found = ledger.agg(fn.count("*"), *(fn.count_if(flag) for flag in broken.values())).first()
    assert found is not None
    facts = []
    for place, (invariant, flag) in enumerate(broken.items(), start=1):
        fact = Fact(invariant, found[0], found[place])
        facts.append(fact.shown_by(ledger.where(flag).orderBy("batch_id")) if fact.failures else fact)
    return [*facts, _measure_results_written(results, batches, first_batch)]


def _measure_results_written(results: DataFrame, batches: DataFrame, first_batch: int | None) -> Fact:
    """Rows of a micro-batch that the ledger has not got are a failure too: it was not finished."""
    written = (
        results.where(_from_batch(first_batch)).groupBy("batch_id").agg(fn.count("*").alias("in_results"))
    )
    told = (
        batches.where(_from_batch(first_batch))
        .groupBy("batch_id")
        .agg(fn.sum("results_written").alias("in_ledger"))
    )
    beside = told.join(written, "batch_id", "full").select(
        "batch_id", "in_ledger", fn.coalesce("in_results", fn.lit(0)).alias("in_results")
    )
    differs = ~fn.col("in_ledger").eqNullSafe(fn.col("in_results"))
    found = beside.agg(fn.count("*"), fn.count_if(differs)).first()
    assert found is not None
    fact = Fact(LEDGER_RESULTS, found[0], found[1])
    return fact.shown_by(beside.where(differs).orderBy("batch_id")) if fact.failures else fact


def _measure_repeats(
    invariant: Invariant, positive: DataFrame, names: Sequence[str], first_batch: int | None
) -> Fact:
    groups = (
        positive.groupBy(*names)
        .agg(
            fn.count_if(_from_batch(first_batch)).alias("inside"),
            fn.count("*").alias("rows"),
            fn.min("batch_id").alias("first_batch_id"),
            fn.max("batch_id").alias("last_batch_id"),
        )
        .where("inside > 0")
        .withColumn("repeated", fn.expr("if(rows > inside, inside, inside - 1)"))
    )
    found = groups.agg(sum_of("inside"), sum_of("repeated")).first()
    assert found is not None
    fact = Fact(invariant, found[0], found[1])
    shown = groups.where("repeated > 0").drop("inside", "repeated").orderBy(*names)
    return fact.shown_by(shown) if fact.failures else fact


def _with_earlier_rivals(positive: DataFrame, first_batch: int | None) -> DataFrame:
    """From a batch on: its rows, and earlier ones of the same windows, found by Delta's statistics."""
    if first_batch is None or first_batch <= 1:
        return positive
    fresh = positive.where(_from_batch(first_batch))
    if "window_id" not in positive.columns:
        return fresh
    ends = fresh.agg(fn.min("window_id"), fn.max("window_id")).first()
    assert ends is not None
    if ends[0] is None:
        return fresh
    same_windows = fn.col("window_id").between(fn.lit(ends[0]), fn.lit(ends[1]))
    return positive.where(_from_batch(first_batch) | same_windows)


def _from_batch(first_batch: int | None) -> Column:
    return fn.lit(True) if first_batch is None else fn.col("batch_id") >= first_batch


def _lifetimes(results: DataFrame, physical: bool) -> list[tuple[str, str]]:
    """Columns that begin and end a life. A join of physical windows has a pair an input, with its alias."""
    if not physical:
        return [("valid_from", "expires_at")]
    return [
        (name, ended)
        for name in results.columns
        if name == "admitted" or name.startswith("admitted_")
        for ended in [name.replace("admitted", "expires_order", 1)]
        if ended in results.columns
    ]
