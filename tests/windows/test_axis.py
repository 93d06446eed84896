"""Positions of windowing attributes: exact, a double as the decimal that it prints as (SEMANTICS §1)."""

from __future__ import annotations

import math
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemas.axis import FARTHEST, Axis, DoesNotFit, parse_timestamp
from schemas.quantity import Quantity, Unit
from schemas.stream import Attribute

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def axis(kind: str, places: int = 0) -> Axis:
    return Axis(Attribute("a", kind), places)


def positions_in_sql(spark: SparkSession, on: Axis, values: list[Any]) -> list[int | None]:
    frame = spark.createDataFrame([(place, v) for place, v in enumerate(values)], f"place int, a {on.type}")
    measured = frame.withColumn("measure", F.expr(on.measure_sql()))
    placed = measured.select("place", F.expr(on.position_sql("measure")).alias("position"))
    return [row.position for row in placed.orderBy("place").collect()]


def floor_position(value: Any, places: int) -> int:
    """The definition: the value as it prints, times 10^places, rounded down."""
    return math.floor(Fraction(repr(value) if isinstance(value, float) else str(value)) * 10**places)


def neighbours(value: float) -> list[float]:
    return [math.nextafter(value, -math.inf), value, math.nextafter(value, math.inf)]


@pytest.mark.parametrize("places", [0, 1, 2, 6])
def test_a_double_stands_for_the_decimal_that_it_prints_as(spark: SparkSession, places: int) -> None:
    chance = random.Random(places)
    boundaries = [n / 10**places for n in (*range(-12, 13), 29, 30, 31, 999_999)]
    values = [
        *(near for value in boundaries for near in neighbours(value)),
        *(0.1 + 0.2, 0.3, 0.3 / 0.1, 0.1 * 3, 0.7 + 0.1, 1.1 * 1.1, 4.35 * 100, 2.675, 1.005, -0.1 - 0.2),
        *(
            1e15,
            1e15 - 0.125,
            123456789012345.67,
            -123456789012345.67,
            4503599627370497.5,
            9007199254740993.0,
        ),
        *(-1e15, 1e12 + 0.1, 999999999.9999999, -999999999.9999999),
        *(1e-7, -1e-7, 5e-324, -5e-324, 1e-300, 0.0, -0.0),
        *(round(chance.uniform(-1e6, 1e6), chance.randint(0, 9)) for _ in range(150)),
        *(chance.uniform(-1, 1) * 10 ** chance.randint(-9, 11) for _ in range(150)),
    ]
    told = positions_in_sql(spark, axis("double", places), values)
    exact = [floor_position(value, places) for value in values]
    wanted = [position if abs(position) <= FARTHEST else None for position in exact]
    wrong = [(v, got, want) for v, got, want in zip(values, told, wanted, strict=True) if got != want]
    assert not wrong
    assert [axis("double", places).position(value) for value in values] == exact


def test_a_double_without_a_place_has_no_position(spark: SparkSession) -> None:
    values = [None, math.nan, math.inf, -math.inf, 1e19, -1e19, 1e300]
    assert positions_in_sql(spark, axis("double", 1), values) == [None] * len(values)


def test_decimals_dates_timestamps_and_whole_numbers(spark: SparkSession) -> None:
    decimals = [
        Decimal(text) for text in ("0.00", "0.25", "-0.25", "0.19", "-0.11", "9999999.99", "-9999999.99")
    ]
    told = positions_in_sql(spark, axis("decimal(9,2)", 1), [*decimals, None])
    assert told == [*(floor_position(d, 1) for d in decimals), None]
    assert told[:5] == [0, 2, -3, 1, -2]
    assert positions_in_sql(spark, axis("decimal(9,2)", 2), decimals) == [int(d * 100) for d in decimals]
    widest = [Decimal("9" * 36 + ".99"), Decimal("-" + "9" * 36 + ".99"), Decimal("1.50")]
    assert positions_in_sql(spark, axis("decimal(38,2)", 2), widest) == [None, None, 150]

    days = [date(1970, 1, 1), date(1969, 12, 31), date(2026, 1, 1), date(9999, 12, 31), None]
    assert positions_in_sql(spark, axis("date"), days) == [0, -1, 20454, 2932896, None]
    instants = [
        EPOCH,
        EPOCH - timedelta(microseconds=1),
        datetime(2026, 1, 1, 12, 10, 30, 123456, tzinfo=UTC),
        datetime(2500, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        None,
    ]
    micros = [None if i is None else (i - EPOCH) // timedelta(microseconds=1) for i in instants]
    assert positions_in_sql(spark, axis("timestamp"), instants) == micros

    assert positions_in_sql(spark, axis("integer"), [-(2**31), 0, 2**31 - 1, None]) == [
        -(2**31),
        0,
        2**31 - 1,
        None,
    ]
    whole = [-FARTHEST - 1, -FARTHEST, FARTHEST, FARTHEST + 1, None]
    assert positions_in_sql(spark, axis("bigint"), whole) == [None, -FARTHEST, FARTHEST, None, None]


@pytest.mark.parametrize(
    ("on", "values"),
    [
        (axis("double", 1), [0.3, -0.1, 2.5, 123456.7, -0.0 + 0.0]),
        (axis("double", 3), [0.001, 1.005, -2.675]),
        (axis("decimal(9,2)", 2), [Decimal("0.25"), Decimal("-3.99"), Decimal("9999999.99")]),
        (axis("date"), [date(1969, 12, 31), date(2026, 2, 28), date(9999, 12, 31)]),
        (axis("timestamp"), [EPOCH, datetime(2026, 1, 1, 12, 0, 0, 1, tzinfo=UTC)]),
        (axis("integer"), [-5, 0, 2**31 - 1]),
        (axis("bigint"), [-(2**62) // 2, 7]),
    ],
    ids=lambda one: one.type if isinstance(one, Axis) else "",
)
def test_a_value_comes_back_from_its_position(spark: SparkSession, on: Axis, values: list[Any]) -> None:
    frame = spark.createDataFrame([(v,) for v in values], f"a {on.type}")
    back = frame.withColumn("back", F.expr(on.value_sql(f"({on.position_sql(on.measure_sql())})")))
    assert dict(back.dtypes)["back"] == dict(back.dtypes)["a"]
    assert [row.back for row in back.collect()] == [row.a for row in back.collect()]


def test_python_and_sql_positions_of_literals() -> None:
    assert axis("timestamp").position("2026-01-01 12:00:00") == parse_timestamp("2026-01-01T14:00:00+02:00")
    assert axis("timestamp").position("1969-12-31 23:59:59.999999") == -1
    assert axis("date").position("1970-01-02") == 1
    assert axis("decimal(9,2)", 1).position("-0.11") == -2
    assert axis("double", 1).position(0.1 + 0.2) == 3
    assert axis("double", 1).position(0.29999999999999999) == 3
    assert axis("double", 1).position(0.3 - 2**-54) == 2


def seconds(n: str) -> Quantity:
    return Quantity(Fraction(n), Unit.SECOND)


def test_steps_of_quantities() -> None:
    assert axis("timestamp").steps(seconds("0.5")) == 500_000
    assert axis("date").steps(Quantity(Fraction(2), Unit.WEEK)) == 14
    assert axis("date").steps(Quantity(Fraction(48), Unit.HOUR)) == 2
    assert axis("double").resolving(Quantity(Fraction("0.25"))).steps(Quantity(Fraction("1.5"))) == 150
    assert Axis(None).steps(Quantity(Fraction(10), Unit.ROWS)) == 10


@pytest.mark.parametrize(
    ("on", "quantity", "said"),
    [
        (axis("timestamp"), Quantity(Fraction(5)), "does not fit a"),
        (axis("timestamp"), Quantity(Fraction(5), Unit.ROWS), "does not fit a"),
        (axis("timestamp"), seconds("0.0000001"), "finer than the steps"),
        (axis("date"), Quantity(Fraction(1), Unit.HOUR), "finer than the steps"),
        (axis("date"), Quantity(Fraction(1)), "does not fit a"),
        (axis("integer"), seconds("5"), "does not fit a"),
        (axis("integer"), Quantity(Fraction("0.5")), "finer than the steps"),
        (Axis(None), seconds("5"), "does not fit row-num"),
        (Axis(None), Quantity(Fraction("1.5"), Unit.ROWS), "finer than the steps"),
        (axis("timestamp"), Quantity(Fraction(10**9), Unit.WEEK), "more than a can span"),
    ],
)
def test_quantities_that_do_not_fit_say_why_and_what_to_write(
    on: Axis, quantity: Quantity, said: str
) -> None:
    with pytest.raises(DoesNotFit) as refused:
        on.steps(quantity)
    assert said in refused.value.problem
    assert str(quantity) in refused.value.problem
    assert refused.value.remedy
