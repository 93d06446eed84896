"""Windows that a tuple alone decides (context free): which windows hold a position, and what each holds.

`extent` and `window_ids` are inverse. Everything is in whole positions of the window's axis.
"""

from __future__ import annotations

from builtins import range as Positions
from dataclasses import dataclass
from enum import Enum

from schemas.axis import Axis


class WindowClass(Enum):
    """How much of the stream decides a tuple's windows (WID, section 4)."""

    CF = "context free: a tuple alone decides its windows"


@dataclass(frozen=True)
class SlidingWindow:
    """`[RANGE r SLIDE s WATTR a ORIGIN m]`; tumbling where range = slide, with gaps where it is less."""

    axis: Axis
    range: int
    slide: int
    origin: int
    begins_at_origin: bool

    window_class = WindowClass.CF

    def end(self, window_id: int) -> int:
        return self.origin + (window_id + 1) * self.slide

    def start(self, window_id: int) -> int:
        start = self.end(window_id) - self.range
        return max(self.origin, start) if self.begins_at_origin else start

    def extent(self, window_id: int) -> Positions:
        """The positions in a window, half-open."""
        if self.begins_at_origin and window_id < 0:
            return Positions(0)
        return Positions(self.start(window_id), self.end(window_id))

    def window_ids(self, position: int) -> Positions:
        """The windows that hold a position; none before the origin or in a gap."""
        if self.begins_at_origin and position < self.origin:
            return Positions(0)
        first = (position - self.origin) // self.slide
        last = (position - self.origin + self.range) // self.slide - 1
        return Positions(first, last + 1)

    def reached(self, bound: int) -> int:
        """The last window that ends at or below a bound."""
        return (bound - self.origin) // self.slide - 1

    def first_id_sql(self, position: str) -> str:
        return _floor_divide(f"({position} - {_whole(self.origin)})", self.slide)

    def last_id_sql(self, position: str) -> str:
        return f"({_floor_divide(f'({position} - {_whole(self.origin - self.range)})', self.slide)} - 1L)"

    def reached_sql(self, bound: str) -> str:
        return f"({_floor_divide(f'({bound} - {_whole(self.origin)})', self.slide)} - 1L)"

    def holds_sql(self, position: str) -> str:
        """Whether any window holds a position; NULL where there is no position."""
        conditions = []
        if self.begins_at_origin:
            conditions.append(f"{position} >= {_whole(self.origin)}")
        if self.range < self.slide:
            # Of each stride only the last `range` positions are in a window.
            gap = self.slide - self.range
            conditions.append(f"pmod({position} - {_whole(self.origin)}, {self.slide}L) >= {gap}L")
        return " and ".join(conditions) or f"{position} is not null"

    def end_sql(self, window_id: str) -> str:
        return f"({_whole(self.origin)} + ({window_id} + 1L) * {self.slide}L)"

    def start_sql(self, window_id: str) -> str:
        start = f"({self.end_sql(window_id)} - {self.range}L)"
        return f"greatest({_whole(self.origin)}, {start})" if self.begins_at_origin else start


def _whole(number: int) -> str:
    return f"({number}L)" if number < 0 else f"{number}L"


def _floor_divide(dividend: str, divisor: int) -> str:
    """Spark's `div` rounds towards zero and `/` goes through doubles: neither is floor."""
    return f"(({dividend} - pmod({dividend}, {divisor}L)) div {divisor}L)"
