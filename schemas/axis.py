"""The axis of a windowing attribute: whole numbers on which every window is computed, exactly.

A timestamp's positions are microseconds, a date's days, a number's decimal steps, a row's arrival ranks.
Window bounds and slack are whole numbers of positions; a value between two positions stands at the lower
one, and no comparison with a bound can tell the difference. So nothing is computed in floating point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from schemas.columns import quoted
from schemas.errors import SluiceError
from schemas.quantity import Quantity, Unit, print_decimal
from schemas.stream import Attribute

FARTHEST = 4 * 10**18
"""Positions beyond this leave no room for adding a range in 64 bits: such values are out of range."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DAY_IN_MICROSECONDS = 86_400_000_000
# Up to here a double that stands for a decimal of this many digits is the one nearest to it.
_EXACT_DOUBLE = 10**15


class DoesNotFit(SluiceError):
    """A quantity or a literal that is none of the attribute's measure."""


@dataclass(frozen=True)
class Axis:
    """Positions of one attribute; `places` is how many decimal places a numeric position resolves."""

    attribute: Attribute | None
    places: int = 0
    granule: int = 1

    @property
    def is_row_num(self) -> bool:
        return self.attribute is None

    @property
    def type(self) -> str:
        return "bigint" if self.attribute is None else self.attribute.type

    @property
    def name(self) -> str:
        return "row-num" if self.attribute is None else self.attribute.name

    @property
    def _power(self) -> int:
        """Positions in one unit of a numeric attribute."""
        return int(10**self.places)

    @property
    def scale(self) -> int:
        """The greatest number of decimal places that a value of the type can have; -1 is no limit."""
        if self.type == "double":
            return -1
        return int(self.type[:-1].split(",")[1]) if self.type.startswith("decimal") else 0

    def resolving(self, *quantities: Quantity | Fraction | None) -> Axis:
        """This axis, fine enough for all of these."""
        if not self._has_places:
            return self
        values = [q.value if isinstance(q, Quantity) else q for q in quantities if q is not None]
        return Axis(self.attribute, max([self.places, *(_places(value) for value in values)]), self.granule)

    def steps(self, quantity: Quantity) -> int:
        """How many positions a quantity is; an error where its unit is not the attribute's."""
        unit = quantity.unit
        if self.type == "timestamp" or self.type == "date":
            measure, example = quantity.microseconds, "300 seconds" if self.type == "timestamp" else "7 days"
            if measure is not None and self.type == "date":
                measure /= _DAY_IN_MICROSECONDS
        elif self.is_row_num:
            measure, example = quantity.value if unit is Unit.ROWS else None, "1000 rows"
        else:
            measure, example = quantity.value if unit is None else None, "100"
            if measure is not None:
                measure *= 10**self.places
        if measure is None:
            raise DoesNotFit(
                f"`{quantity}` does not fit {self.name}, which is {self._kind}.", f"Write e.g. `{example}`."
            )
        if measure.denominator != 1:
            raise DoesNotFit(
                f"`{quantity}` is finer than the steps of {self.name}, which is {self._kind}.",
                "Use a whole number of its steps.",
            )
        if abs(measure) > FARTHEST // 4:
            raise DoesNotFit(f"`{quantity}` is more than {self.name} can span.", "Use a smaller one.")
        return int(measure)

    @property
    def _kind(self) -> str:
        return "the arrival position" if self.is_row_num else f"of type {self.type}"

    def position(self, value: Any) -> int:
        """The position of a value, given as JSON, YAML or a query has it; the lower one of two."""
        if self.type == "timestamp":
            return parse_timestamp(value)
        if self.type == "date":
            return date.fromisoformat(str(value)).toordinal() - date(1970, 1, 1).toordinal()
        return math.floor(_exact(value) * self._power)

    def position_of(self, measure: Any) -> int:
        """The position of a measure."""
        return math.floor(_exact(measure) * self._power) if self._has_places else int(measure)

    @property
    def measure_type(self) -> str:
        """The type in which bounds are kept exactly: positions, or the value itself where it is finer."""
        return self.type if self._has_places else "bigint"

    @property
    def _has_places(self) -> bool:
        return self.type == "double" or self.type.startswith("decimal")

    def measure_sql(self, value: str | None = None) -> str:
        """SQL for what a tuple measures on this axis; NULL where it has no place on it."""
        if self.attribute is None:
            return "seq"
        column = value or quoted(self.attribute.column)
        match self.type:
            case "timestamp":
                return f"unix_micros({column})"
            case "date":
                return f"cast(unix_date({column}) as bigint)"
            case "integer":
                return f"cast({column} as bigint)"
            case "bigint":
                return _within_reach(column)
        return f"case when {self.position_sql(column)} is not null then {column} end"

    def position_sql(self, measure: str) -> str:
        """SQL for the position of a measure."""
        if self.type == "double":
            return self._double_position_sql(measure)
        if not self._has_places:
            return measure
        whole = f"try_cast(try_multiply(floor({measure}, {self.places}), {10**self.places}BD) as bigint)"
        return _within_reach(whole)

    def less_sql(self, high: str, slack: Fraction, value: str) -> str:
        """SQL for the measure `high`, less a slack, less the measure `value`: exact, in the measure's type."""
        if not self._has_places:
            return f"({high} - {value} - {int(slack)}L)"
        number = print_decimal(slack)
        if self.type != "double":
            return f"cast({high} - {value} - {number}BD as {self.behind_type})"
        exact = [f"try_cast(cast({m} as string) as decimal(38,18))" for m in (high, value)]
        printed = f"cast(try_subtract(try_subtract({exact[0]}, {exact[1]}), {number}BD) as double)"
        return f"coalesce({printed}, {high} - {value} - {number}D)"

    @property
    def behind_type(self) -> str:
        return (
            f"decimal(38,{max(self.scale, self.places)})"
            if self.type.startswith("decimal")
            else self.measure_type
        )

    def after_sql(self, measure: str) -> str:
        """SQL for the least bound that a promise up to and including `measure` gives."""
        if self.type == "timestamp":
            return f"({measure} - pmod({measure}, {self.granule}L) + {self.granule}L)"
        if self.type == "double":
            return measure
        if self._has_places:
            step = print_decimal(Fraction(1, 10**self.scale))
            return f"cast({measure} + {step}BD as {self.type})"
        return f"({measure} + 1L)"

    def _double_position_sql(self, column: str) -> str:
        """A double stands for the decimal that it prints as.

        n / 10^k is the double nearest to that decimal, and printing is monotonic, so that comparing with it
        puts right what the multiplication rounded. Farther out the printed decimal itself is used.
        """
        power = f"{10**self.places}D"
        rough = f"floor({column} * {power})"
        near = f"({rough} + if({column} >= ({rough} + 1) / {power}, 1, 0) - if({column} < {rough} / {power}, 1, 0))"
        printed = f"try_cast(cast({column} as string) as decimal(38,18))"
        far = f"try_cast(try_multiply(floor({printed}, {self.places}), {10**self.places}BD) as bigint)"
        return (
            f"case when isnan({column}) then null"
            f" when abs({column}) * {power} < {_EXACT_DOUBLE}D then cast({near} as bigint)"
            f" else {_within_reach(far)} end"
        )

    def value_sql(self, position: str) -> str:
        """SQL for the attribute's value at a position."""
        match self.type:
            case "timestamp":
                return f"timestamp_micros({position})"
            case "date":
                return f"date_from_unix_date(cast({position} as int))"
            case "bigint":
                return position
            case "double":
                return f"({position} / {10**self.places}D)"
            case "integer":
                return f"cast({position} as int)"
        return f"cast({position} * {print_decimal(Fraction(1, 10**self.places))}BD as {self.type})"

    def show(self, position: int) -> str:
        """The value at a position, for people."""
        if self.type == "timestamp":
            return (_EPOCH + position * _MICROSECOND).isoformat().replace("+00:00", "Z")
        if self.type == "date":
            return (date(1970, 1, 1) + timedelta(days=position)).isoformat()
        return print_decimal(Fraction(position, 10**self.places))


def parse_timestamp(value: Any) -> int:
    """Microseconds since 1970 of an instant; without a zone it is UTC."""
    if isinstance(value, datetime):
        instant = value
    else:
        text = str(value).strip()
        instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    return (instant - _EPOCH) // _MICROSECOND


def _exact(value: Any) -> Fraction:
    return Fraction(Decimal(repr(value)) if isinstance(value, float) else Decimal(str(value)))


def _places(value: Fraction) -> int:
    _, _, fraction = print_decimal(value).partition(".")
    return len(fraction)


def _within_reach(sql: str) -> str:
    return f"case when {sql} between -{FARTHEST} and {FARTHEST} then {sql} end"
