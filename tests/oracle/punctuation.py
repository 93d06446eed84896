"""Punctuation (SEMANTICS §1 and §8): the bound after each arrival position, "a < bound(q) is done".

A policy answers `bound(q, group, heard, window, columns)`, where `heard` is what came, all of it: tuples and
archived punctuations. A bound is an exact number, None (nothing is done yet) or `EVERYTHING` (all is done).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

from .values import Axis, group_value
from .windows import ContextFreeWindow

EVERYTHING = math.inf
Bound = Fraction | float | None


@dataclass(frozen=True)
class Punctuation:
    """An archived punctuation between tuple `seq` and tuple `seq`+1.

    `pattern` has the shape of INTERFACE's JSON lines with values of the attributes' types: a constant, a list
    (a set), or a dict with any of `from`, `to`, `from_open`, `to_closed`. One left out is "anything".
    """

    seq: int
    pattern: Mapping[str, Any]
    arrived_at: datetime | None = None


@dataclass(frozen=True)
class Heard:
    """What an archive holds: `arrivals` in order of seq (dense, from 1), and archived punctuations."""

    arrivals: Sequence[Mapping[str, Any]]
    punctuations: Sequence[Punctuation]

    def up_to(self, seq: int | None) -> "Heard":
        """The archive cut after tuple `seq`."""
        last = len(self.arrivals) if seq is None else min(seq, len(self.arrivals))
        return Heard(self.arrivals[:last], [p for p in self.punctuations if p.seq <= last])

    def check(self) -> None:
        """Refuses arrivals that are not numbered 1, 2, 3, …"""
        seqs = [arrival["seq"] for arrival in self.arrivals]
        if seqs != list(range(1, len(seqs) + 1)):
            raise ValueError(f"seqs are {seqs}: they must be 1, 2, 3, … in order")


class Policy(Protocol):
    """Where punctuation comes from."""

    def bound(
        self, q: int, group: tuple, heard: Heard, window: ContextFreeWindow, columns: Sequence[str]
    ) -> Bound:
        """bound(q) for a group whose values in `columns` are `group`; q runs from 0."""


def highest(heard: Heard, q: int, window: ContextFreeWindow) -> Fraction | None:
    """The maximum of a over tuples 1…q that have a proper value, whatever else becomes of them."""
    points = [window.point_of(arrival) for arrival in heard.arrivals if arrival["seq"] <= q]
    return max((point for point in points if point is not None), default=None)


@dataclass(frozen=True)
class SlackSpan:
    """`SLACK d`: bound(q) = max of a over tuples 1…q, less d."""

    span: timedelta | int | float | Decimal = 0

    def bound(
        self, q: int, group: tuple, heard: Heard, window: ContextFreeWindow, columns: Sequence[str]
    ) -> Bound:
        top = highest(heard, q, window)
        return None if top is None else top - window.axis.span(self.span)


@dataclass(frozen=True)
class SlackRows:
    """`SLACK n rows`: bound(q) = max of a over tuples 1…q-n."""

    rows: int

    def bound(
        self, q: int, group: tuple, heard: Heard, window: ContextFreeWindow, columns: Sequence[str]
    ) -> Bound:
        return highest(heard, q - self.rows, window)


@dataclass(frozen=True)
class End:
    """`END`: no bound at all."""

    def bound(
        self, q: int, group: tuple, heard: Heard, window: ContextFreeWindow, columns: Sequence[str]
    ) -> Bound:
        return None


@dataclass(frozen=True)
class Archive:
    """`ARCHIVE`: the greatest bound of the archived punctuations up to q that count for the group."""

    def bound(
        self, q: int, group: tuple, heard: Heard, window: ContextFreeWindow, columns: Sequence[str]
    ) -> Bound:
        bounds = [
            bound_of_entry(punctuation.pattern.get(window.wattr, {}), window.axis)
            for punctuation in heard.punctuations
            if punctuation.seq <= q and counts_for(punctuation.pattern, window.wattr, group, columns)
        ]
        return max((bound for bound in bounds if bound is not None), default=None)


def is_range(entry: Any) -> bool:
    return isinstance(entry, Mapping)


def is_anything(entry: Any) -> bool:
    """A range with neither end admits everything."""
    return is_range(entry) and entry.get("from") is None and entry.get("to") is None


def bound_of_entry(entry: Any, axis: Axis) -> Bound:
    """The b of which the entry on the windowing attribute says "a < b is done"; None if it says no such.

    Constants, sets and ranges with a lower end leave smaller values open. Up to and including `to` is "less
    than one step after `to`"; a double has no step, and `to` itself is the greatest b that is surely done.
    """
    if is_anything(entry):
        return EVERYTHING
    if not is_range(entry) or entry.get("from") is not None:
        return None
    to = axis.point(entry["to"])
    return to + axis.step if entry.get("to_closed") and axis.step is not None else to


def counts_for(pattern: Mapping[str, Any], wattr: str, group: tuple, columns: Sequence[str]) -> bool:
    """Whether the entries beside the windowing attribute's are anything, or match the group's own columns."""
    own = dict(zip(columns, group, strict=True))
    return all(
        is_anything(entry) or (attribute in own and entry_matches(entry, own[attribute]))
        for attribute, entry in pattern.items()
        if attribute != wattr
    )


def entry_matches(entry: Any, value: Any) -> bool:
    """Whether a value is the constant, in the set, or inside the range (NULL and NaN are inside none)."""
    if is_range(entry):
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return False
        low, high = group_value(entry.get("from")), group_value(entry.get("to"))
        above = low is None or (low < value if entry.get("from_open") else low <= value)
        below = high is None or (value <= high if entry.get("to_closed") else value < high)
        return above and below
    if isinstance(entry, list | tuple | set | frozenset):
        return any(entry_matches(constant, value) for constant in entry)
    return (group_value(entry),) == (group_value(value),)  # in tuples the one NaN object equals itself
