"""Aggregates over the tuples of one window and group, with NULL and NaN as Spark SQL has them.

NULLs are ignored; NaN is greater than any number and contagious in sum and avg; inf less inf is NaN.
Sums and averages of doubles are exact and rounded once. Nothing but NULLs gives NULL (count gives 0).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any

from .values import as_decimal, as_double, decimal_shape, sort_key

GREATEST_PRECISION = 38


@dataclass(frozen=True)
class Aggregate:
    """`function(argument)`; argument None is `*`."""

    function: str
    argument: str | None = None
    alias: str | None = None

    @property
    def column(self) -> str:
        """The name in the results: `count`, `max_speed`, or the alias."""
        if self.alias:
            return self.alias
        return self.function if self.argument is None else f"{self.function}_{self.argument}"

    def over(self, tuples: Sequence[Mapping[str, Any]], attributes: Mapping[str, str]) -> Any:
        """Its value over the tuples, whose attributes have the declared types."""
        if self.argument is None:
            return len(tuples)
        values = [t[self.argument] for t in tuples if t[self.argument] is not None]
        return FUNCTIONS[self.function](values, attributes[self.argument])


def total_of_doubles(values: Sequence[float]) -> Fraction | float:
    """The exact total; NaN or an infinity where there is one."""
    if any(math.isnan(value) for value in values):
        return math.nan
    infinities = {value for value in values if math.isinf(value)}
    if infinities:
        return math.nan if len(infinities) == 2 else infinities.pop()
    return sum((Fraction(value) for value in values), Fraction(0))


def total_of(values: Sequence[Any], type_name: str) -> Fraction | float:
    if type_name == "double":
        return total_of_doubles([float(value) for value in values])
    return sum((Fraction(value) for value in values), Fraction(0))


def aggregate_sum(values: Sequence[Any], type_name: str) -> Any:
    if not values:
        return None
    total = total_of(values, type_name)
    if isinstance(total, float):
        return total
    if type_name == "double":
        return as_double(total)
    return as_decimal(total) if decimal_shape(type_name) else int(total)


def aggregate_avg(values: Sequence[Any], type_name: str) -> Any:
    if not values:
        return None
    total = total_of(values, type_name)
    if isinstance(total, float):
        return total
    mean = total / len(values)
    if shape := decimal_shape(type_name):
        return round_half_up(mean, min(shape[1] + 4, GREATEST_PRECISION))
    return as_double(mean)


def round_half_up(number: Fraction, scale: int) -> Decimal:
    """The number with `scale` digits after the point, halves away from zero: how Spark rounds decimals."""
    scaled = abs(number) * 10**scale
    digits = math.floor(scaled + Fraction(1, 2))
    with localcontext() as context:
        context.prec = 100
        context.rounding = ROUND_HALF_UP
        return (Decimal(digits) if number >= 0 else -Decimal(digits)).scaleb(-scale)


def aggregate_min(values: Sequence[Any], type_name: str) -> Any:
    return unsigned_zero(min(values, key=sort_key, default=None))


def aggregate_max(values: Sequence[Any], type_name: str) -> Any:
    return unsigned_zero(max(values, key=sort_key, default=None))


def unsigned_zero(value: Any) -> Any:
    """-0.0 and 0.0 are equal, so which of them is the least is nobody's to say: 0.0."""
    return value + 0.0 if isinstance(value, float) else value


def aggregate_count(values: Sequence[Any], type_name: str) -> int:
    return len(values)


FUNCTIONS: dict[str, Callable[[Sequence[Any], str], Any]] = {
    "count": aggregate_count,
    "sum": aggregate_sum,
    "avg": aggregate_avg,
    "min": aggregate_min,
    "max": aggregate_max,
}
