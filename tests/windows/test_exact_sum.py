"""Sums of doubles by limbs: exact, rounded once, in any order."""

from __future__ import annotations

import math
import random

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.exact_sum import cut_into_limbs, merge_expressions, put_together


def sums_by_limbs(
    spark: SparkSession, lists: list[list[float | None]], partitions: int = 3
) -> list[float | None]:
    """The sum of each list, in one query."""
    terms = [(place, value) for place, values in enumerate(lists) for value in values]
    rows = spark.createDataFrame(terms, "place int, term double").repartition(partitions)
    cut = cut_into_limbs(rows, ["term"])
    merged = cut.groupBy("place").agg(*(F.expr(s).alias(c) for c, s in merge_expressions("term").items()))
    told = {row.place: row.term_sum for row in put_together(merged, ["term"]).collect()}
    return [told.get(place) for place in range(len(lists))]


BY_HAND: list[tuple[list[float | None], float | None]] = [
    ([1e16, 1.0, -1e16], 1.0),
    ([1.0, 1e16, -1e16], 1.0),
    ([0.1] * 10, 1.0),
    ([0.1, 0.2, -0.3], math.fsum([0.1, 0.2, -0.3])),
    ([1e-20, 1e-20], 2e-20),
    ([1.0, 1e-20, -1.0], 1e-20),
    ([1e38, 1e38, -1e38], 1e38),
    ([1e38, 1.0, -1e38], 1.0),
    ([-1e38, -3.5], -1e38),
    ([-0.1, -0.2, -0.7], math.fsum([-0.1, -0.2, -0.7])),
    ([-1.0, 2.0**-70, 1.0], 2.0**-70),
    ([-(2.0**32), 2.0**31, 2.0**31, -1.0], -1.0),
    ([2.0**53, 1.0, 1.0], 2.0**53 + 2),
    ([2.0**53, 1.0], 2.0**53),
    ([0.0, -0.0], 0.0),
    ([None, None], None),
    ([None, 2.5], 2.5),
    ([math.nan, 1.0], math.nan),
    ([math.inf, 1.0], math.inf),
    ([-math.inf, 1.0, None], -math.inf),
    ([math.inf, -math.inf], math.nan),
    ([math.inf, math.nan], math.nan),
]


def test_sums_worked_by_hand(spark: SparkSession) -> None:
    told = sums_by_limbs(spark, [terms for terms, _ in BY_HAND])
    for (terms, wanted), got in zip(BY_HAND, told, strict=True):
        assert repr(got) == repr(wanted), terms


def test_a_sum_close_to_a_tie_is_rounded_once(spark: SparkSession) -> None:
    """2^53 + 1 lies half way between two doubles; a little more decides for the upper one."""
    assert sums_by_limbs(spark, [[2.0**53, 1.0, 2.0**-60]]) == [2.0**53 + 2]


def drawn_lists(chance: random.Random, count: int) -> list[list[float | None]]:
    """Terms of every tame magnitude, of both signs, many of which cancel."""
    lists: list[list[float | None]] = []
    for number in range(count):
        spread = chance.choice([1, 10, 40, 70])
        terms = [
            chance.uniform(-1, 1) * 2.0 ** chance.randint(-spread, spread)
            for _ in range(chance.randint(1, 40))
        ]
        # What is below 2^-75 is not promised to the last bit.
        terms = [term if abs(term) >= 2.0**-75 else 0.5 for term in terms]
        if number % 2:
            cancelled = chance.sample(terms, len(terms) // 2)
            terms += [-term for term in cancelled]
        chance.shuffle(terms)
        lists.append([*terms])
    return lists


@pytest.mark.parametrize("seed", [1, 2])
def test_oracle_limbs_add_up_to_what_fsum_gives(spark: SparkSession, seed: int) -> None:
    lists = drawn_lists(random.Random(seed), 400)
    told = sums_by_limbs(spark, lists)
    wrong = [
        (terms, got, math.fsum(term for term in terms if term is not None))
        for terms, got in zip(lists, told, strict=True)
        if got != math.fsum(term for term in terms if term is not None)
    ]
    assert not wrong, (
        f"{len(wrong)} of {len(lists)} differ, the shortest: {min(wrong, key=lambda w: len(w[0]))}"
    )


def test_differential_the_order_and_the_partitions_do_not_matter(spark: SparkSession) -> None:
    chance = random.Random(3)
    lists = drawn_lists(chance, 60)
    shuffled = [chance.sample(terms, len(terms)) for terms in lists]
    one, other = sums_by_limbs(spark, lists, 1), sums_by_limbs(spark, shuffled, 4)
    assert list(map(repr, one)) == list(map(repr, other))
