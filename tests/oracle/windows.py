"""Windows that a tuple alone decides (SEMANTICS §2). Other classes of windows get files of their own."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from .values import Axis, RowNumAxis


class ContextFreeWindow:
    """`[RANGE range SLIDE slide WATTR wattr ORIGIN origin]` along an axis.

    Lengths and origin are given as values of the attribute's type (timedelta for timestamps and dates).
    Afterwards `r`, `s`, `m` are exact; `numbered_from_0` says that ids start at 0 and extents are cut at m.
    """

    def __init__(self, wattr: str, axis: Axis, range: Any, slide: Any, origin: Any = None) -> None:  # noqa: A002
        self.wattr = wattr
        self.axis = axis
        self.by_rows = isinstance(axis, RowNumAxis)
        self.r = axis.span(range)
        self.s = axis.span(slide)
        if self.r <= 0 or self.s <= 0:
            raise ValueError(f"RANGE {range} SLIDE {slide}: both must be above 0")
        if self.by_rows and origin is not None:
            raise ValueError(f"ORIGIN {origin} on row-num: rows are numbered from 1, leave the origin out")
        if self.by_rows:
            self.m = Fraction(1)
        else:
            self.m = Fraction(0) if origin is None else axis.point(origin)
        self.numbered_from_0 = self.by_rows or origin is not None

    def __repr__(self) -> str:
        origin = f", m={self.m}" if self.numbered_from_0 else ""
        return f"ContextFreeWindow({self.wattr}: {self.axis.type}, r={self.r}, s={self.s}{origin})"

    def point_of(self, arrival: Mapping[str, Any]) -> Fraction | None:
        """t.a as an exact number; None if it is not a proper value."""
        return self.axis.point(arrival["seq"] if self.by_rows else arrival[self.wattr])

    def is_id(self, i: int) -> bool:
        """Whether there is a window i."""
        return i >= 0 or not self.numbered_from_0

    def end(self, i: int) -> Fraction:
        """e(i) = m + (i+1)s."""
        return self.m + (i + 1) * self.s

    def start(self, i: int) -> Fraction:
        """e(i) - r, cut at m where an origin is given."""
        uncut = self.end(i) - self.r
        return max(uncut, self.m) if self.numbered_from_0 else uncut

    def extent_holds(self, i: int, a: Fraction) -> bool:
        """Whether a lies in extent(i) = { e(i)-r <= a < e(i) }, cut at the origin."""
        return self.is_id(i) and self.start(i) <= a < self.end(i)

    def wids(self, a: Fraction | None) -> list[int]:
        """{ i : (a-m)/s - 1 < i <= (a-m+r)/s - 1 }; none for an improper value or one before the origin."""
        if a is None or (self.numbered_from_0 and a < self.m):
            return []
        above = (a - self.m) / self.s - 1
        up_to = (a - self.m + self.r) / self.s - 1
        return [i for i in range(math.floor(above) + 1, math.floor(up_to) + 1) if self.is_id(i)]
