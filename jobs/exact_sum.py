"""Sums of doubles that do not depend on the order of their terms.

Floating-point addition is not associative, so Spark's own sum differs with the plan, the micro-batches and
the executors. Here each double is cut into eight whole numbers of 32 bits (limbs), each with its own weight;
limbs are summed as whole numbers, which is exact in any order, and put together once at the end.

Terms are exact from 2^-75 up to 2^127 in magnitude (every number a 32-bit float can be); bits below 2^-128 are
dropped, term by term; a term of 2^127 or beyond counts as infinite. A limb's sum has room for 2^31 terms.
`tests/benchmarks/exact_sum.py` measures the cost: none that can be told from noise.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_WEIGHTS = (96, 64, 32, 0, -32, -64, -96, -128)
_GREATEST = 2.0**127
_PLUS, _MINUS, _NAN = 1, 2, 4


def limb_columns(name: str) -> list[str]:
    """The columns that carry the sum called `name`: its limbs and its flags."""
    return [*(f"{name}_limb{place}" for place in range(len(_WEIGHTS))), f"{name}_flags"]


def cut_into_limbs(rows: DataFrame, term: str, name: str) -> DataFrame:
    """`rows` with the limbs of the column `term` beside it; NULL where the term is."""
    rest = f"{name}_rest"
    rows = rows.withColumn(rest, F.expr(f"if(abs({term}) < {_GREATEST!r}D, {term}, if(isnull({term}), null, 0D))"))
    for place, weight in enumerate(_WEIGHTS):
        limb = f"{name}_limb{place}"
        # Casting rounds towards zero, so that what is left is exact and smaller than the limb's weight.
        rows = rows.withColumn(limb, F.expr(f"cast({rest} * {2.0**-weight!r}D as bigint)"))
        rows = rows.withColumn(rest, F.expr(f"{rest} - {limb} * {2.0**weight!r}D"))
    flags = (
        f"case when isnan({term}) then {_NAN} when {term} >= {_GREATEST!r}D then {_PLUS}"
        f" when {term} <= -{_GREATEST!r}D then {_MINUS} else 0 end"
    )
    return rows.withColumn(f"{name}_flags", F.expr(flags)).drop(rest)


def merge_expressions(name: str) -> dict[str, str]:
    """Aggregate expressions that add limbs up, by the column that each makes."""
    *limbs, flags = limb_columns(name)
    return {**{limb: f"sum({limb})" for limb in limbs}, flags: f"bit_or({flags})"}


def put_together(sums: DataFrame, name: str, into: str) -> DataFrame:
    """`sums` with the double `into` that the limbs of `name` add up to; NULL where there was no term."""
    digits = [f"{name}_digit{place}" for place in range(len(_WEIGHTS))]
    limbs = limb_columns(name)[:-1]
    sums = _carry(sums, limbs, digits)
    # Adding the digits of a negative number would cancel: they are taken of its magnitude.
    negative = f"{name}_negative"
    sums = sums.withColumn(negative, F.expr(f"{digits[0]} < 0"))
    magnitudes = [f"{name}_magnitude{place}" for place in range(len(_WEIGHTS))]
    for limb, magnitude in zip(limbs, magnitudes, strict=True):
        sums = sums.withColumn(magnitude, F.expr(f"if({negative}, -{limb}, {limb})"))
    sums = _carry(sums, magnitudes, digits)
    # From the least digit up, so that rounding happens where it weighs least.
    total = "0D"
    for digit, weight in reversed(list(zip(digits, _WEIGHTS, strict=True))):
        total = f"({total} + {digit} * {2.0**weight!r}D)"
    flags = f"{name}_flags"
    answer = (
        f"case when {flags} is null then null"
        f" when {flags} >= {_NAN} or {flags} = {_PLUS | _MINUS} then double('NaN')"
        f" when {flags} = {_PLUS} then double('Infinity') when {flags} = {_MINUS} then double('-Infinity')"
        f" when {negative} then -{total} else {total} end"
    )
    return sums.withColumn(into, F.expr(answer)).drop(*digits, *magnitudes, negative)


def _carry(rows: DataFrame, limbs: list[str], digits: list[str]) -> DataFrame:
    """Digits from 0 up to 2^32, all but the first, of the number that the limbs stand for."""
    carried = "0L"
    for place in range(len(limbs) - 1, -1, -1):
        total = f"({limbs[place]} + {carried})"
        if place == 0:
            return rows.withColumn(digits[0], F.expr(total))
        rows = rows.withColumn(digits[place], F.expr(f"pmod({total}, {2**32}L)"))
        carry = f"{digits[place]}_carry"
        rows = rows.withColumn(carry, F.expr(f"({total} - {digits[place]}) div {2**32}L"))
        carried = carry
    raise AssertionError("a sum has limbs")
