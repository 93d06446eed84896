"""Each invariant of results and ledger: sound ones keep all, those broken in one way break exactly that."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from expectations.invariant import Fact
from expectations.results import measure_results

RESULTS = (
    "answer_id string, window_id bigint, window_start bigint, window_end bigint, `seg-id` int, count bigint,"
    " sign tinyint, valid_from bigint, expires_at bigint, released_seq bigint, batch_id bigint, run_id string"
)
BATCHES = (
    "batch_id bigint, first_seq bigint, last_seq bigint, rows_in bigint, rows_used bigint,"
    " rows_partly_late bigint, rows_late bigint, rows_out_of_range bigint, rows_filtered bigint,"
    " results_written bigint, run_id string"
)


def answer(window_id: int, group: int | None, batch_id: int, released_seq: int | None, **changes: Any) -> Any:
    """Window i is [10i, 10i + 10), its answer current for ten more."""
    end = 10 * window_id + 10
    sound = {
        "answer_id": f"{window_id}/{group}",
        "window_id": window_id,
        "window_start": end - 10,
        "window_end": end,
        "seg-id": group,
        "count": 5,
        "sign": 1,
        "valid_from": end,
        "expires_at": end + 10,
        "released_seq": released_seq,
        "batch_id": batch_id,
        "run_id": "r1",
    }
    return tuple({**sound, **changes}.values())


def batch(batch_id: int, first_seq: int, last_seq: int, written: int, **changes: Any) -> Any:
    rows = last_seq - first_seq + 1
    sound = {
        "batch_id": batch_id,
        "first_seq": first_seq,
        "last_seq": last_seq,
        "rows_in": rows,
        "rows_used": rows,
        "rows_partly_late": 0,
        "rows_late": 0,
        "rows_out_of_range": 0,
        "rows_filtered": 0,
        "results_written": written,
        "run_id": "r1",
    }
    return tuple({**sound, **changes}.values())


# Micro-batch 2 has no rows and releases at the last arrival; the NULL group is a group as any other.
ANSWERS = [
    answer(0, 1, 1, 4),
    answer(0, None, 1, 4),
    answer(1, 1, 2, 5, expires_at=None),
    answer(1, 1, 3, 8, sign=-1, valid_from=21),
]
LEDGER = [batch(1, 1, 5, 2), batch(2, 6, 5, 1), batch(3, 6, 9, 1)]


def facts_of(
    spark: SparkSession, answers: list[Any], ledger: list[Any], first_batch: int | None = None
) -> list[Fact]:
    results = spark.createDataFrame(answers, RESULTS).coalesce(1)
    batches = spark.createDataFrame(ledger, BATCHES).coalesce(1)
    return measure_results(results, batches, ["seg-id"], False, first_batch)


def failed(facts: list[Fact]) -> dict[str, Fact]:
    return {fact.invariant.name: fact for fact in facts if fact.failures}


def test_sound_results_keep_every_invariant(spark: SparkSession) -> None:
    facts = facts_of(spark, ANSWERS, LEDGER)
    assert failed(facts) == {}
    assert {f.invariant.name: f.checked for f in facts} == {
        "ends_after_start": 4,
        "expires_after_valid": 4,
        "released_in_batch": 4,
        "one_row_a_window": 3,
        "answer_id_unique": 3,
        "ledger_sums": 3,
        "ledger_range": 3,
        "ledger_contiguous": 3,
        "ledger_results": 3,
    }


def test_empty_results_keep_every_invariant(spark: SparkSession) -> None:
    assert failed(facts_of(spark, [], [])) == {}
    assert failed(facts_of(spark, [], [batch(1, 1, 5, 0)])) == {}


OTHERS = ANSWERS[1:]
BROKEN: list[tuple[str, list[Any], list[Any], dict[str, Any]]] = [
    ("ends_after_start", [answer(0, 1, 1, 4, window_start=10), *OTHERS], LEDGER, {"window_start": 10}),
    ("expires_after_valid", [answer(0, 1, 1, 4, expires_at=10), *OTHERS], LEDGER, {"expires_at": 10}),
    ("released_in_batch", [answer(0, 1, 1, 6), *OTHERS], LEDGER, {"released_seq": 6, "batch_last_seq": 5}),
    ("released_in_batch", [answer(0, 1, 1, None), *OTHERS], LEDGER, {"released_seq": None}),
    (
        "one_row_a_window",
        [answer(0, None, 1, 4, answer_id="another"), *OTHERS],
        LEDGER,
        {"window_id": 0, "seg-id": None, "rows": 2, "first_batch_id": 1, "last_batch_id": 1},
    ),
    (
        "answer_id_unique",
        [answer(0, 1, 1, 4, answer_id="0/None"), *OTHERS],
        LEDGER,
        {"answer_id": "0/None", "rows": 2},
    ),
    ("ledger_sums", ANSWERS, [*LEDGER[:2], batch(3, 6, 9, 1, rows_late=1)], {"batch_id": 3, "rows_late": 1}),
    ("ledger_range", ANSWERS, [*LEDGER[:2], batch(3, 6, 9, 1, rows_in=5, rows_used=5)], {"rows_in": 5}),
    (
        "ledger_contiguous",
        ANSWERS,
        [*LEDGER[:2], batch(3, 7, 9, 1)],
        {"batch_id": 3, "first_seq": 7, "previous_last_seq": 5},
    ),
    (
        "ledger_contiguous",
        [*ANSWERS[:3], answer(1, 1, 4, 8, sign=-1, valid_from=21)],
        [*LEDGER[:2], batch(4, 6, 9, 1)],
        {"batch_id": 4, "previous_batch_id": 2},
    ),
    ("ledger_results", OTHERS, LEDGER, {"batch_id": 1, "in_ledger": 2, "in_results": 1}),
    ("ledger_results", ANSWERS, LEDGER[:2], {"batch_id": 3, "in_ledger": None, "in_results": 1}),
]


@pytest.mark.parametrize(
    ("name", "answers", "ledger", "example"), BROKEN, ids=[f"{n}-{b[0]}" for n, b in enumerate(BROKEN)]
)
def test_broken_results_break_exactly_that_invariant(
    spark: SparkSession, name: str, answers: list[Any], ledger: list[Any], example: dict[str, Any]
) -> None:
    broken = failed(facts_of(spark, answers, ledger))
    assert list(broken) == [name]
    assert broken[name].failures == 1
    assert len(broken[name].examples) == 1
    assert example.items() <= broken[name].examples[0].items()


def test_from_a_batch_on_only_its_part_is_judged_but_windows_answered_before_are_found(
    spark: SparkSession,
) -> None:
    wrong_before = [answer(0, 1, 1, 99, expires_at=0), *OTHERS]
    assert failed(facts_of(spark, wrong_before, LEDGER, first_batch=2)) == {}
    # The negative tuple of batch 3 gives way to a second answer of window 1.
    again = [*ANSWERS[:3], answer(1, 1, 3, 8)]
    broken = failed(facts_of(spark, again, LEDGER, first_batch=3))
    assert {name: fact.failures for name, fact in broken.items()} == {
        "one_row_a_window": 1,
        "answer_id_unique": 1,
    }
    assert broken["one_row_a_window"].examples[0]["first_batch_id"] == 2
    begins_late = [*LEDGER[:2], batch(3, 7, 9, 1)]
    assert list(failed(facts_of(spark, ANSWERS, begins_late, first_batch=3))) == ["ledger_contiguous"]


def test_lives_of_physical_windows_are_in_admission_order_for_every_input(spark: SparkSession) -> None:
    results = spark.createDataFrame([answer(0, 1, 1, 4)], RESULTS)
    batches = spark.createDataFrame([batch(1, 1, 5, 1)], BATCHES)

    def lives(*orders: str) -> dict[str, Fact]:
        physical: DataFrame = results.drop("valid_from", "expires_at").selectExpr("*", *orders)
        return failed(measure_results(physical, batches, ["seg-id"], True))

    assert lives("25 AS admitted", "42 AS expires_order") == {}
    assert list(lives("42 AS admitted", "42 AS expires_order")) == ["expires_after_valid"]
    of_a = ("1 AS admitted_A", "18 AS expires_order_A")
    assert lives(*of_a, "3 AS admitted_B", "4 AS expires_order_B") == {}
    assert list(lives(*of_a, "5 AS admitted_B", "4 AS expires_order_B")) == ["expires_after_valid"]
