"""Hypothesis strategies that draw a whole case: stream, arrivals, punctuations, query, micro-batch cuts.

A case is plain Python data. `query_text`, `stream_declaration`, `arrival_lines` and `punctuation_lines`
render it as INTERFACE has it; `case.query` is the same query as the oracle takes it.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from .aggregates import Aggregate
from .punctuation import Archive, End, Policy, Punctuation, SlackRows, SlackSpan
from .query import NO_SLACK, Lateness, OracleQuery
from .values import axis_of, sort_key
from .windows import ContextFreeWindow

FIRST_INSTANT = datetime(2026, 1, 1, 12, tzinfo=UTC)
TIME_UNITS = {
    "microsecond": timedelta(microseconds=1),
    "millisecond": timedelta(milliseconds=1),
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
}
AXIS_TYPES = ("integer", "bigint", "decimal(9,2)", "double", "date", "timestamp", "row-num")
ARGUMENT_TYPES = ("integer", "double", "decimal(7,2)")


@dataclass(frozen=True)
class Grid:
    """Whole numbers laid on the windowing attribute's type: positions, lengths, and how they are written."""

    type: str
    unit: str = "second"

    def point(self, n: int) -> Any:
        match self.type:
            case "decimal(9,2)":
                return Decimal(n) * Decimal("0.25")
            case "double":
                return float(Decimal(n).scaleb(-1))
            case "date":
                return date(2026, 1, 1) + timedelta(days=n)
            case "timestamp":
                return FIRST_INSTANT + n * TIME_UNITS[self.unit]
        return n

    def span(self, n: int) -> Any:
        match self.type:
            case "decimal(9,2)" | "double":
                return Decimal(n) * Decimal("0.25" if self.type != "double" else "0.1")
            case "date":
                return timedelta(days=n)
            case "timestamp":
                return n * TIME_UNITS[self.unit]
        return n

    def point_text(self, n: int) -> str:
        value = self.point(n)
        return f"'{literal(value)}'" if isinstance(value, date) else str(value)

    def span_text(self, n: int) -> str:
        words = {"date": "day", "timestamp": self.unit, "row-num": "row"}
        word = words.get(self.type)
        return str(self.span(n)) if word is None else f"{n} {word}{'' if n == 1 else 's'}"


@dataclass(frozen=True)
class Where:
    """`attribute operator constant`, as SQL has it: NULL is unknown, NaN is greater than any number."""

    attribute: str
    operator: str
    constant: Any

    def __call__(self, arrival: Mapping[str, Any]) -> bool | None:
        value = arrival[self.attribute]
        if value is None:
            return None
        left, right = sort_key(value), sort_key(self.constant)
        return {">": left > right, "<=": left <= right, "=": left == right, "<>": left != right}[
            self.operator
        ]

    @property
    def text(self) -> str:
        constant = f"'{self.constant}'" if isinstance(self.constant, str) else str(self.constant)
        return f"{self.attribute} {self.operator} {constant}"


@dataclass(frozen=True)
class Case:
    """One archive and one query. Numbers of the window are positions and lengths on `grid`.

    `policy` and `lateness` are None where the query says nothing (then: no slack, generous).
    `cuts` are the last seqs of the micro-batches, rising, the last of them the last seq; `until` may be None.
    """

    grid: Grid
    attributes: dict[str, str]
    arrivals: list[dict[str, Any]]
    punctuations: list[Punctuation]
    range_n: int
    slide_n: int
    origin_n: int | None
    group_by: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    where: Where | None
    policy: Policy | None
    policy_text: str | None
    lateness: Lateness | None
    cuts: list[int]
    until: int | None
    close_at_end: bool

    @property
    def wattr(self) -> str:
        return wattr_of(self.grid.type)

    @property
    def query(self) -> OracleQuery:
        """The query as the oracle takes it."""
        grid = self.grid
        return OracleQuery(
            window=ContextFreeWindow(
                self.wattr,
                axis_of(grid.type),
                grid.span(self.range_n),
                grid.span(self.slide_n),
                None if self.origin_n is None else grid.point(self.origin_n),
            ),
            aggregates=self.aggregates,
            attributes=self.attributes,
            group_by=self.group_by,
            where=self.where,
            policy=self.policy or NO_SLACK,
            lateness=self.lateness or Lateness.GENEROUS,
        )


def wattr_of(axis_type: str) -> str:
    return {"timestamp": "ts", "row-num": "row-num"}.get(axis_type, "a")


def query_text(case: Case) -> str:
    """The case's query in Sluice's words."""
    grid = case.grid
    selected = [*case.group_by, *(f"{each.function}({each.argument or '*'})" for each in case.aggregates)]
    window = f"RANGE {grid.span_text(case.range_n)} SLIDE {grid.span_text(case.slide_n)} WATTR {case.wattr}"
    if case.origin_n is not None:
        window += f" ORIGIN {grid.point_text(case.origin_n)}"
    clauses = [
        f"SELECT {', '.join(selected)} FROM S [{window}]",
        f"WHERE {case.where.text}" if case.where else "",
        f"GROUP BY {', '.join(case.group_by)}" if case.group_by else "",
        f"PUNCTUATED BY {case.policy_text}" if case.policy_text else "",
        f"LATE {case.lateness.name}" if case.lateness else "",
    ]
    return " ".join(clause for clause in clauses if clause)


def stream_declaration(case: Case) -> dict[str, Any]:
    """The case's stream in the shape of INTERFACE's YAML; arrived_at is the greatest `ts` so far."""
    return {"stream": "S", "attributes": dict(case.attributes), "timestamp": "ts"}


def literal(value: Any) -> Any:
    """A value as JSON and queries write it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)  # few digits: prints as the same decimal
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {name: literal(each) for name, each in value.items()}
    return [literal(each) for each in value] if isinstance(value, list) else value


def arrival_lines(case: Case) -> list[str]:
    """The arrivals as JSON lines, attributes only, in order of arrival."""
    return [json.dumps({name: literal(row[name]) for name in case.attributes}) for row in case.arrivals]


def punctuation_lines(case: Case) -> list[str]:
    """The archived punctuations as JSON lines; ingest them together with the rows."""
    return [
        json.dumps({"seq": p.seq, "pattern": literal(p.pattern), "arrived_at": literal(p.arrived_at)})
        for p in case.punctuations
    ]


def improper_values(axis_type: str) -> st.SearchStrategy[Any]:
    return st.sampled_from([None, math.nan, math.inf, -math.inf] if axis_type == "double" else [None])


def rarely(draw: st.DrawFn, one_in: int = 12) -> bool:
    return draw(st.integers(1, one_in)) == one_in


def argument_values(type_name: str) -> st.SearchStrategy[Any]:
    """Values of x: small numbers, NULLs, and for doubles what makes sums depend on their order."""
    if type_name == "integer":
        return st.none() | st.integers(-5, 9)
    if type_name == "double":
        odd = [0.1, 0.2, 0.7, -0.3, 1e16, -1e16, 1e-9, 2.5]
        special = [None, math.nan, math.inf, -math.inf]
        return st.sampled_from(odd) | st.integers(-5, 9).map(float) | st.sampled_from(odd + special)
    return st.none() | st.integers(-500, 900).map(lambda cents: Decimal(cents).scaleb(-2))


@st.composite
def positions(draw: st.DrawFn, greatest_count: int) -> list[int]:
    """Positions on the grid in arrival order: rising with ties, gaps (some huge), and stragglers."""
    high = draw(st.integers(-8, 8))
    found = []
    for _ in range(draw(st.integers(0, greatest_count))):
        high += draw(st.integers(0, 3))
        if rarely(draw, 25):
            high += draw(st.sampled_from([20, 5_000]))
        behind = draw(st.integers(1, 9)) if draw(st.booleans()) else 0
        found.append(high - behind)
    return found


@st.composite
def patterns(draw: st.DrawFn, grid: Grid, near: int, without_wattr: bool) -> dict[str, Any]:
    """A punctuation's pattern, never empty; `near` is a position around which it promises things."""

    def point() -> Any:
        return grid.point(near + draw(st.integers(-4, 4)))

    pattern: dict[str, Any] = {}
    kinds = ["below", "below", "below", "up to", "band", "constant", "set"] + ["none"] * without_wattr
    kind = "none" if grid.type == "row-num" else draw(st.sampled_from(kinds))
    wattr = wattr_of(grid.type)
    match kind:
        case "below":
            pattern[wattr] = {"to": point()}
        case "up to":
            pattern[wattr] = {"to": point(), "to_closed": True}
        case "band":
            pattern[wattr] = {"from": grid.point(near - 9), "to": point(), "from_open": draw(st.booleans())}
        case "constant":
            pattern[wattr] = point()
        case "set":
            pattern[wattr] = [grid.point(near), grid.point(near + 1)]
    if draw(st.booleans()) or kind == "none":
        pattern["g"] = draw(st.sampled_from(["p", "q", ["p", "q"], ["r"]]))
    if rarely(draw, 4):
        ranges = [{"from": 1, "to": 2, "to_closed": True}, {"to": 2}, {"from": 1, "from_open": True}]
        pattern["h"] = draw(st.sampled_from([1, [1, 2], *ranges]))
    if rarely(draw):
        pattern["x"] = 1
    return pattern


@st.composite
def policies(draw: st.DrawFn, grid: Grid) -> tuple[Policy | None, str | None]:
    """A punctuation policy and how a query writes it."""
    kind = draw(st.sampled_from(["span", "span", "rows", "archive", "archive", "end", "unsaid"]))
    if kind == "span" and grid.type != "row-num":
        n = draw(st.integers(0, 8))
        return SlackSpan(grid.span(n)), f"SLACK {grid.span_text(n)}"
    if kind in ("span", "rows"):
        n = draw(st.integers(0, 4))
        return SlackRows(n), f"SLACK {n} {'row' if n == 1 else 'rows'}"
    if kind == "archive":
        return Archive(), "ARCHIVE"
    return (End(), "END") if kind == "end" else (None, None)


@st.composite
def cases(
    draw: st.DrawFn,
    axis_types: tuple[str, ...] = AXIS_TYPES,
    greatest_count: int = 24,
    argument_types: tuple[str, ...] = ARGUMENT_TYPES,
    without_wattr: bool = True,
) -> Case:
    """A whole case. `without_wattr` lets patterns leave the windowing attribute out ("the group is over")."""
    grid = Grid(draw(st.sampled_from(axis_types)), draw(st.sampled_from(list(TIME_UNITS))))
    argument_type = draw(st.sampled_from(argument_types))
    attributes = {"ts": "timestamp", "g": "string", "h": "integer", "x": argument_type}
    wattr = wattr_of(grid.type)
    if wattr == "a":
        attributes["a"] = grid.type

    arrivals: list[dict[str, Any]] = []
    places = draw(positions(greatest_count))
    for seq, place in enumerate(places, start=1):
        ts = grid.point(place) if wattr == "ts" else FIRST_INSTANT + timedelta(seconds=seq // 2 - place % 3)
        row = {
            "ts": ts,
            "g": draw(st.sampled_from(["p", "p", "q", "r", None])),
            "h": draw(st.sampled_from([1, 2, None])),
            "x": draw(argument_values(argument_type)),
        }
        if wattr == "a":
            row["a"] = draw(improper_values(grid.type)) if rarely(draw) else grid.point(place)
        before = arrivals[-1]["arrived_at"] if arrivals else ts
        arrivals.append(row | {"seq": seq, "arrived_at": max(before, ts)})

    policy, policy_text = draw(policies(grid))
    last = len(arrivals)
    punctuations = []
    if policy == Archive() or rarely(draw, 5):
        for seq in sorted(draw(st.lists(st.integers(0, last), max_size=6))):
            near = max(places[:seq], default=0)
            arrived_at = arrivals[seq - 1]["arrived_at"] if seq else FIRST_INSTANT - timedelta(days=400)
            punctuations.append(Punctuation(seq, draw(patterns(grid, near, without_wattr)), arrived_at))

    slide_n = draw(st.integers(1, 6))
    range_n = draw(st.one_of(st.just(slide_n), st.integers(1, 12)))
    with_origin = grid.type != "row-num" and draw(st.booleans())
    wheres = [Where("x", ">", 3), Where("x", "<=", 3), Where("g", "=", "p"), Where("h", "<>", 2)]
    functions = [Aggregate("count"), *(Aggregate(f, "x") for f in ("count", "sum", "avg", "min", "max"))]
    cuts = {seq for seq in range(1, last) if draw(st.booleans())} if draw(st.booleans()) else set()
    return Case(
        grid=grid,
        attributes=attributes,
        arrivals=arrivals,
        punctuations=punctuations,
        range_n=range_n,
        slide_n=slide_n,
        origin_n=draw(st.integers(-5, 10)) if with_origin else None,
        group_by=draw(st.sampled_from([(), ("g",), ("g",), ("h",), ("g", "h")])),
        aggregates=tuple(draw(st.lists(st.sampled_from(functions), min_size=1, max_size=6, unique=True))),
        where=draw(st.none() | st.sampled_from(wheres)),
        policy=policy,
        policy_text=policy_text,
        lateness=draw(st.sampled_from([None, Lateness.GENEROUS, Lateness.CONSISTENT])),
        cuts=sorted(cuts | {last} - {0}),
        until=draw(st.none() | st.integers(1, last)) if last else None,
        close_at_end=draw(st.booleans()),
    )
