"""Amounts with a unit, as windows and policies use them: `300 seconds`, `0.5 hours`, `10 rows`, plain `5`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction

from schemas.language.span import NOWHERE, Span


class Unit(Enum):
    """The closed list of units. `tuple` and `tuples` are other spellings of ROWS."""

    MICROSECOND = "microsecond"
    MILLISECOND = "millisecond"
    SECOND = "second"
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    ROWS = "row"

    @property
    def microseconds(self) -> int | None:
        """How many microseconds one is; None for rows."""
        return MICROSECONDS.get(self)

    @property
    def is_time(self) -> bool:
        return self is not Unit.ROWS

    @classmethod
    def named(cls, word: str) -> Unit | None:
        """The unit that a word (singular or plural, any case) names."""
        return _WORDS.get(word.lower())


MICROSECONDS = {
    Unit.MICROSECOND: 1,
    Unit.MILLISECOND: 1_000,
    Unit.SECOND: 1_000_000,
    Unit.MINUTE: 60_000_000,
    Unit.HOUR: 3_600_000_000,
    Unit.DAY: 86_400_000_000,
    Unit.WEEK: 604_800_000_000,
}

_WORDS = {spelled: unit for unit in Unit for spelled in (unit.value, unit.value + "s")} | {
    "tuple": Unit.ROWS,
    "tuples": Unit.ROWS,
}

UNIT_WORDS = tuple(_WORDS)
"""Every spelling of every unit."""


@dataclass(frozen=True)
class Quantity:
    """An exact amount of a unit; `unit` None is a plain number, in the attribute's own measure."""

    value: Fraction
    unit: Unit | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)

    @property
    def microseconds(self) -> Fraction | None:
        """The amount in microseconds (not always whole); None unless the unit is one of time."""
        if self.unit is None or self.unit.microseconds is None:
            return None
        return self.value * self.unit.microseconds

    def __str__(self) -> str:
        number = print_decimal(self.value)
        if self.unit is None:
            return number
        return f"{number} {self.unit.value}{'' if self.value == 1 else 's'}"


def print_decimal(value: Fraction) -> str:
    """The number in decimals, exactly: what a query can spell has a finite expansion."""
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
        if places > 400:
            raise ValueError(f"{value} has no finite decimal expansion")
    digits = str(abs(int(value * 10**places))).rjust(places + 1, "0")
    whole, fraction = (digits[:-places], digits[-places:]) if places else (digits, "")
    return ("-" if value < 0 else "") + whole + (f".{fraction}" if fraction else "")
