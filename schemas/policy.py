"""How a query learns that part of a stream is done (`Punctuation`), and what a late tuple still counts for.

`str()` of a policy gives the words of its clause, which `schemas.language.parser` reads back as the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from schemas.language.names import print_name
from schemas.quantity import Quantity, Unit


@dataclass(frozen=True)
class SlackSpan:
    """Done below the greatest value so far less a span: of time, or a plain number for a plain attribute."""

    quantity: Quantity

    def __str__(self) -> str:
        return f"SLACK {self.quantity}"


@dataclass(frozen=True)
class SlackRows:
    """Done below the greatest value of all but the last `rows` tuples."""

    rows: int

    def __str__(self) -> str:
        return f"SLACK {Quantity(Fraction(self.rows), Unit.ROWS)}"


@dataclass(frozen=True)
class Archive:
    """Done as the archived punctuations say."""

    def __str__(self) -> str:
        return "ARCHIVE"


@dataclass(frozen=True)
class EachInOrder:
    """Done when every live source, named by the attributes, has passed; `idle` (rows or time) retires one."""

    attributes: tuple[str, ...]
    idle: Quantity | None = None

    def __str__(self) -> str:
        words = f"EACH {', '.join(print_name(name) for name in self.attributes)} IN ORDER"
        return words if self.idle is None else f"{words} IDLE {self.idle}"


@dataclass(frozen=True)
class Heartbeat:
    """Done, at every multiple of `every` in arrival time, below the greatest value that arrived before it."""

    every: Quantity

    def __str__(self) -> str:
        return f"HEARTBEAT EVERY {self.every}"


@dataclass(frozen=True)
class End:
    """Nothing is done before the archive ends."""

    def __str__(self) -> str:
        return "END"


Punctuation: TypeAlias = SlackSpan | SlackRows | Archive | EachInOrder | Heartbeat | End


class Lateness(Enum):
    """What a late tuple keeps: its open windows (GENEROUS), or nothing once one is closed (CONSISTENT)."""

    GENEROUS = "GENEROUS"
    CONSISTENT = "CONSISTENT"

    def __str__(self) -> str:
        return self.value


NO_SLACK = SlackSpan(Quantity(Fraction(0)))
"""What holds where neither query nor stream names a policy."""
