"""Windowing attributes as exact numbers (SEMANTICS §1).

An axis turns a value of its type into a point (a Fraction) and back. Timestamps are microseconds since
1970 UTC, dates are days since 1970, a double is the decimal that it prints as. No floating point in between.
"""

import math
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
DAY = timedelta(days=1)


def exact(number: int | float | Decimal | str | Fraction) -> Fraction:
    """The number as written: a float as the decimal that it prints as.

    >>> exact(0.1)
    Fraction(1, 10)
    """
    if isinstance(number, float):
        return Fraction(repr(number))
    return Fraction(number)


def as_utc(instant: datetime) -> datetime:
    """An instant without a zone is UTC."""
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)


def whole(number: Fraction, what: str) -> int:
    """The number as an int; an error if it is not a whole one."""
    if number.denominator != 1:
        raise ValueError(f"{what} is {number}, which is not whole: the attribute's type has no such value")
    return int(number)


def as_decimal(number: Fraction) -> Decimal:
    """The number as an exact Decimal (every number that comes from decimals has one)."""
    with localcontext() as context:
        context.prec = 400
        quotient = Decimal(number.numerator) / Decimal(number.denominator)
    if Fraction(quotient) != number:
        raise ValueError(f"{number} has no finite decimal")
    return quotient


def as_double(number: Fraction) -> float:
    """The nearest double (int by int division rounds once, correctly); beyond the greatest, infinity."""
    try:
        return number.numerator / number.denominator
    except OverflowError:
        return math.inf if number > 0 else -math.inf


@dataclass(frozen=True)
class Axis:
    """A total order that windows can be laid along; `step` is its smallest step, None where it has none."""

    type: str
    step: Fraction | None = Fraction(1)

    def point(self, value: Any) -> Fraction | None:
        """Where the value lies; None for a value that is not proper (NULL, NaN, infinite)."""
        return None if value is None else exact(value)

    def span(self, length: Any) -> Fraction:
        """A length (RANGE, SLIDE, slack) in units of the axis."""
        return exact(length)

    def value(self, point: Fraction) -> Any:
        """The value that lies at the point, in the attribute's type."""
        return whole(point, f"a bound on the {self.type} axis")

    def distance(self, length: Fraction) -> Any:
        """A length as the `behind` column has it."""
        return int(length) if length.denominator == 1 else as_decimal(length)


class RowNumAxis(Axis):
    """Arrival positions."""

    def span(self, length: Any) -> Fraction:
        return Fraction(whole(exact(length), "a number of rows"))


class DateAxis(Axis):
    """Days since 1970-01-01."""

    def point(self, value: date | None) -> Fraction | None:
        return None if value is None else Fraction((value - EPOCH.date()).days)

    def span(self, length: timedelta | int) -> Fraction:
        return (
            Fraction(length // MICROSECOND, DAY // MICROSECOND)
            if isinstance(length, timedelta)
            else exact(length)
        )

    def value(self, point: Fraction) -> date:
        return EPOCH.date() + whole(point, "a bound on the date axis") * DAY


class TimestampAxis(Axis):
    """Microseconds since 1970-01-01 00:00:00 UTC; a whole number of microseconds is given as timedelta."""

    def point(self, value: datetime | None) -> Fraction | None:
        return None if value is None else Fraction((as_utc(value) - EPOCH) // MICROSECOND)

    def span(self, length: timedelta | int) -> Fraction:
        return Fraction(length // MICROSECOND) if isinstance(length, timedelta) else exact(length)

    def value(self, point: Fraction) -> datetime:
        return EPOCH + whole(point, "a bound on the timestamp axis") * MICROSECOND


class DecimalAxis(Axis):
    """decimal(p,s): steps of 10^-s."""

    def value(self, point: Fraction) -> Decimal:
        whole(point / self.step, f"a bound on the {self.type} axis, in its steps,")
        return as_decimal(point)

    def distance(self, length: Fraction) -> Decimal:
        return as_decimal(length)


class DoubleAxis(Axis):
    """Doubles as the decimals that they print as; dense, so there is no step."""

    def point(self, value: float | int | Decimal | None) -> Fraction | None:
        if value is None or not math.isfinite(value):
            return None
        return exact(value)

    def value(self, point: Fraction) -> float:
        return as_double(point)

    def distance(self, length: Fraction) -> float:
        return as_double(length)


def decimal_shape(type_name: str) -> tuple[int, int] | None:
    """(precision, scale) of `decimal(p,s)`; None for another type.

    >>> decimal_shape("decimal(9, 2)")
    (9, 2)
    """
    shape = re.fullmatch(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)", type_name.strip().lower())
    return (int(shape[1]), int(shape[2])) if shape else None


def axis_of(type_name: str, granule: timedelta = MICROSECOND) -> Axis:
    """The axis of a declared attribute type, or of `row-num`. A granule is the step of its time."""
    name = type_name.strip().lower()
    if name == "row-num":
        return RowNumAxis(name)
    if name in ("integer", "bigint"):
        return Axis(name)
    if name == "date":
        return DateAxis(name)
    if name == "timestamp":
        return TimestampAxis(name, Fraction(granule // MICROSECOND))
    if name == "double":
        return DoubleAxis(name, None)
    if shape := decimal_shape(name):
        return DecimalAxis(name, Fraction(1, 10 ** shape[1]))
    raise ValueError(
        f"{type_name!r} cannot be a windowing attribute: use timestamp, date, integer, decimal or double"
    )


def group_value(value: Any) -> Any:
    """A value as GROUP BY sees it: NULLs are one group, NaNs are one group, -0.0 is 0.0."""
    if isinstance(value, float):
        if math.isnan(value):
            return math.nan  # always this one object, so that tuples of group values compare equal
        return value + 0.0
    return as_utc(value) if isinstance(value, datetime) else value


def sort_key(value: Any) -> tuple:
    """Orders values as Spark does: NULL first, NaN last."""
    if value is None:
        return (0, 0)
    if isinstance(value, float) and math.isnan(value):
        return (2, 0)
    return (1, value)


def group_sort_key(group: tuple) -> tuple:
    """Orders groups, column by column."""
    return tuple(sort_key(value) for value in group)
