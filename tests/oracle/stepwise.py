"""The second witness: the same replay, simulated one tuple at a time with windows open in a dict.

Shares with the declarative replay only the exact axis and the shape of query and answer: it finds windows by
walking, keeps high-water marks, and aggregates as tuples come.
"""

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any

from .answer import Fate, OracleAnswer, order_open, order_results
from .punctuation import Archive, End, Punctuation, SlackRows, SlackSpan
from .query import Lateness, OracleQuery
from .values import decimal_shape, group_value
from .windows import ContextFreeWindow


class RunningColumn:
    """Count, total and extremes of one attribute, growing value by value."""

    def __init__(self, type_name: str) -> None:
        self.type = type_name
        self.count = 0
        self.total = Fraction(0)
        self.specials: set[str] = set()
        self.least: Any = None
        self.greatest: Any = None

    def add(self, value: Any) -> None:
        if value is None:
            return
        first = self.count == 0
        self.count += 1
        if isinstance(value, float):
            value = 0.0 if value == 0 else value
            if not math.isfinite(value):
                self.specials.add("NaN" if math.isnan(value) else "+" if value > 0 else "-")
        if isinstance(value, int | Decimal) or (isinstance(value, float) and math.isfinite(value)):
            self.total += Fraction(value)
        if first or self.below(value, self.least):
            self.least = value
        if first or self.below(self.greatest, value):
            self.greatest = value

    @staticmethod
    def below(left: Any, right: Any) -> bool:
        if isinstance(left, float) and math.isnan(left):
            return False
        if isinstance(right, float) and math.isnan(right):
            return True
        return left < right

    def special_total(self) -> float | None:
        if "NaN" in self.specials or {"+", "-"} <= self.specials:
            return math.nan
        if self.specials:
            return math.inf if "+" in self.specials else -math.inf
        return None

    def value_of(self, function: str) -> Any:
        if function == "count":
            return self.count
        if self.count == 0:
            return None
        if function in ("min", "max"):
            return self.least if function == "min" else self.greatest
        special = self.special_total()
        if special is not None:
            return special
        if shape := decimal_shape(self.type):
            return self.decimal_of(function, shape[1])
        if function == "sum":
            return self.nearest_double(self.total) if self.type == "double" else int(self.total)
        return self.nearest_double(self.total / self.count)

    def decimal_of(self, function: str, scale: int) -> Decimal:
        with localcontext() as context:
            context.prec = 200
            total = Decimal(self.total.numerator) / Decimal(self.total.denominator)
            if function == "sum":
                return total
            return (total / self.count).quantize(Decimal(1).scaleb(-scale - 4), rounding=ROUND_HALF_UP)

    @staticmethod
    def nearest_double(number: Fraction) -> float:
        try:
            return float(number)
        except OverflowError:
            return math.inf if number > 0 else -math.inf


class OpenWindow:
    """A window of one group that has taken tuples and is not closed."""

    def __init__(self, query: OracleQuery) -> None:
        self.query = query
        self.tuples = 0
        self.columns = {
            each.argument: RunningColumn(query.attributes[each.argument])
            for each in query.aggregates
            if each.argument is not None
        }

    def take(self, arrival: Mapping[str, Any]) -> None:
        self.tuples += 1
        for attribute, column in self.columns.items():
            column.add(arrival[attribute])

    def values(self) -> dict[str, Any]:
        return {
            each.column: self.tuples
            if each.argument is None
            else self.columns[each.argument].value_of(each.function)
            for each in self.query.aggregates
        }


class Marks:
    """High-water marks: told of every tuple and punctuation, it knows the bound of each group."""

    def __init__(self, query: OracleQuery) -> None:
        self.query = query
        self.window = query.window
        self.tops: list[Fraction | float] = [-math.inf]  # after tuple 0, 1, 2, …
        self.promises: list[tuple[Mapping[str, Any], Fraction | float]] = []

    def tell_tuple(self, point: Fraction | None) -> None:
        self.tops.append(self.tops[-1] if point is None else max(self.tops[-1], point))

    def tell_punctuation(self, pattern: Mapping[str, Any]) -> None:
        others = {name: entry for name, entry in pattern.items() if name != self.window.wattr}
        entry = pattern.get(self.window.wattr, {})
        if not isinstance(entry, Mapping) or entry.get("from") is not None:
            return
        if entry.get("to") is None:
            self.promises.append((others, math.inf))
            return
        reach = self.window.axis.point(entry["to"])
        if entry.get("to_closed", False):
            reach += self.window.axis.step or 0
        self.promises.append((others, reach))

    def bound(self, group: tuple) -> Fraction | float:
        match self.query.policy:
            case SlackSpan(span):
                top = self.tops[-1]
                return top if top == -math.inf else top - self.window.axis.span(span)
            case SlackRows(rows):
                return self.tops[max(0, len(self.tops) - 1 - rows)]
            case End():
                return -math.inf
            case Archive():
                own = dict(zip(self.query.group_by, group, strict=True))
                return max((b for others, b in self.promises if self.is_for(others, own)), default=-math.inf)
        raise ValueError(f"{self.query.policy} is a policy that the stepwise replay does not know")

    @staticmethod
    def is_for(others: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
        for name, entry in others.items():
            if isinstance(entry, Mapping):
                low, high = group_value(entry.get("from")), group_value(entry.get("to"))
                if low is None and high is None:
                    continue
                value = own.get(name)
                if value is None or (isinstance(value, float) and math.isnan(value)):
                    return False
                if low is not None and (value < low or (value == low and entry.get("from_open"))):
                    return False
                if high is not None and (value > high or (value == high and not entry.get("to_closed"))):
                    return False
            else:
                choices = entry if isinstance(entry, list) else [entry]
                if name not in own or own[name] not in [group_value(choice) for choice in choices]:
                    return False
        return True


def walk_windows(window: ContextFreeWindow, point: Fraction | None) -> dict[int, Fraction]:
    """The windows of a point with their ends: the first end after it, and on while windows reach back."""
    if point is None or (window.numbered_from_0 and point < window.m):
        return {}
    steps = (point - window.m) // window.s + 1
    end = window.m + steps * window.s
    found = {}
    while end - window.r <= point:
        found[int(steps) - 1] = end
        steps, end = steps + 1, end + window.s
    return found


class Simulation:
    """Everything that a replay remembers between two arrivals."""

    def __init__(self, query: OracleQuery) -> None:
        self.query = query
        self.window = query.window
        self.marks = Marks(query)
        self.open: dict[tuple[tuple, int], OpenWindow] = {}
        self.results: list[dict[str, Any]] = []
        self.late: list[dict[str, Any]] = []
        self.fates: dict[int, Fate] = {}
        self.seq = 0
        self.now: Any = None

    def is_done(self, group: tuple, end: Fraction) -> bool:
        """Whether a window with this end is closed for the group by what has come so far."""
        if self.window.by_rows:
            return self.seq >= end - 1
        return self.marks.bound(group) >= end

    def take_tuple(self, arrival: Mapping[str, Any]) -> None:
        group = self.query.group_of(arrival)
        raw = arrival["seq"] if self.window.by_rows else arrival[self.window.wattr]
        point = self.window.axis.point(raw)
        mine = walk_windows(self.window, point)
        gone = [i for i, end in mine.items() if self.is_done(group, end)]
        left = [i for i in mine if i not in gone]
        if gone and self.query.lateness is Lateness.CONSISTENT:
            left = []
        wanted = self.query.where is None or self.query.where(arrival) is True
        if gone:
            bound = self.marks.bound(group)
            behind = None if bound == math.inf else self.window.axis.distance(bound - point)
            self.late.append(
                {
                    "seq": arrival["seq"],
                    "missed_from": gone[0],
                    "missed_to": gone[-1],
                    "missed": len(gone),
                    "behind": behind,
                }
            )
        if not mine:
            fate = Fate.OUT_OF_RANGE
        elif gone:
            fate = Fate.PARTLY_LATE if left else Fate.LATE
        else:
            fate = Fate.USED if wanted else Fate.FILTERED
        self.fates[arrival["seq"]] = fate
        if wanted:
            for i in left:
                self.open.setdefault((group, i), OpenWindow(self.query)).take(arrival)
        self.marks.tell_tuple(point)
        self.seq, self.now = arrival["seq"], arrival["arrived_at"]

    def close_windows(self, all_of_them: bool = False) -> None:
        for group, i in list(self.open):
            if all_of_them or self.is_done(group, self.window.m + (i + 1) * self.window.s):
                self.results.append(self.row_of(group, i, self.open.pop((group, i))))

    def row_of(self, group: tuple, i: int, held: OpenWindow) -> dict[str, Any]:
        window, value = self.window, self.window.axis.value
        end = window.m + (i + 1) * window.s
        start = end - window.r
        if window.numbered_from_0 and start < window.m:
            start = window.m
        names = ("admitted", "expires_order") if window.by_rows else ("valid_from", "expires_at")
        shift = 1 if window.by_rows else 0
        return {
            "window_id": i,
            "window_start": value(start),
            "window_end": value(end),
            **dict(zip(self.query.group_by, group, strict=True)),
            **held.values(),
            names[0]: value(end - shift),
            names[1]: value(end + window.s - shift),
            "released_seq": self.seq,
            "released_at": self.now,
        }


def replay_stepwise(
    arrivals: Sequence[Mapping[str, Any]],
    punctuations: Sequence[Punctuation],
    query: OracleQuery,
    until: int | None = None,
    close_at_end: bool = False,
) -> OracleAnswer:
    """As `replay`, by simulation."""
    simulation = Simulation(query)
    coming = [(p.seq, 1, p) for p in punctuations] + [(a["seq"], 0, a) for a in arrivals]
    stop = len(arrivals) if until is None else min(until, len(arrivals))
    for seq, kind, event in sorted(coming, key=lambda each: each[:2]):
        if seq > stop:
            break
        if kind == 1:
            simulation.marks.tell_punctuation(event.pattern)
        else:
            simulation.take_tuple(event)
        simulation.close_windows()
    if close_at_end and not query.window.by_rows:
        simulation.close_windows(all_of_them=True)
    return OracleAnswer(
        results=order_results(simulation.results, query.group_by),
        late=simulation.late,
        fates=simulation.fates,
        open_windows=order_open(list(simulation.open)),
    )
