"""From a query's tree to what the replay computes: names resolved, the window exact, the policy decided."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from difflib import get_close_matches
from fractions import Fraction

from schemas.axis import Axis, DoesNotFit
from schemas.columns import quoted, storage_name
from schemas.errors import SluiceError
from schemas.language import tree
from schemas.language.errors import QueryError
from schemas.language.expressions import (
    Bound,
    Scope,
    aggregate_calls,
    bind,
    bind_aggregate,
    bind_condition,
    default_name,
)
from schemas.language.printing import canonical
from schemas.language.span import Span
from schemas.policy import NO_SLACK, EachInOrder, Heartbeat, Lateness, Punctuation, SlackSpan
from schemas.quantity import Quantity, Unit
from schemas.query import Aggregate, Group, Output, WindowQuery
from schemas.stream import Attribute, Stream
from schemas.window import SlidingWindow

_TIME_OF_DAY = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?")
_ORDERED = ("timestamp", "date", "integer", "bigint", "double")

FirstDay = Callable[[Stream], date | None]
"""The UTC day of a stream's tuple 1, on which a time without a date falls; None while there is none."""


def bind_query(
    name: str, statement: tree.Statement, streams: Mapping[str, Stream], first_day: FirstDay
) -> WindowQuery:
    """The query over its stream. What cannot be replayed yet is refused in a sentence that points at it."""
    return _Binding(name, statement, streams, first_day).bind()


class _Binding:
    def __init__(
        self, name: str, statement: tree.Statement, streams: Mapping[str, Stream], first_day: FirstDay
    ) -> None:
        self.name, self.statement, self.streams, self.first_day = name, statement, streams, first_day
        self.text = statement.text

    def bind(self) -> WindowQuery:
        select = self.statement.query
        if not isinstance(select, tree.Select):
            kind = select.kind.value
            raise self._not_yet(select.span, f"{kind} is", "Replay its parts as queries of their own.")
        if len(select.sources) != 1:
            raise self._not_yet(select.sources[1].span, "joining streams is", "Use one stream.")
        source = select.sources[0]
        if isinstance(source, tree.SubquerySource):
            raise self._not_yet(source.span, "a subquery in FROM is", "Use a stream and WHERE.")
        if select.distinct is not None:
            raise self._not_yet(select.span, "SELECT DISTINCT is", "GROUP BY the same attributes instead.")
        self.stream = self._stream(source)
        self.scope = Scope.of(
            {a.name: (a.type, a.column) for a in self.stream.attributes}, source.alias or source.name
        )
        punctuation, lateness, said = self._policy()
        window = self._window(source, punctuation)
        groups = self._groups(select)
        aggregates, outputs, having = self._answers(select, groups)
        where = None if select.where is None else bind_condition(select.where, self.scope, self.text).sql
        query = WindowQuery(
            name=self.name,
            text=canonical(self.statement),
            stream=self.stream,
            window=window,
            groups=groups,
            where=where,
            aggregates=aggregates,
            outputs=outputs,
            having=having,
            punctuation=punctuation,
            lateness=lateness,
            policy_is_default=not said,
        )
        self._check_names(select, query)
        return query

    def _not_yet(self, span: Span, what: str, instead: str) -> QueryError:
        return QueryError.at(self.text, span, f"{what} not there yet.", instead, self.name)

    def _stream(self, source: tree.StreamSource) -> Stream:
        found = next((s for s in self.streams.values() if s.name.lower() == source.name.lower()), None)
        if found is None:
            near = get_close_matches(source.name, [s.name for s in self.streams.values()], n=1)
            known = ", ".join(sorted(s.name for s in self.streams.values())) or "none"
            hint = (
                f"Did you mean {near[0]}?"
                if near
                else f"Declared are: {known}. Add streams/{source.name}.yaml."
            )
            raise QueryError.at(self.text, source.span, f"there is no stream {source.name}.", hint, self.name)
        return found

    def _policy(self) -> tuple[Punctuation, Lateness, bool]:
        """What the query says, else the stream, else slack 0 and generous."""
        punctuation = self.statement.punctuation or self.stream.punctuated_by
        lateness = self.statement.lateness or self.stream.late or Lateness.GENEROUS
        span = self.statement.punctuation_span or self.statement.span
        if isinstance(punctuation, EachInOrder | Heartbeat):
            words = "EACH … IN ORDER" if isinstance(punctuation, EachInOrder) else "HEARTBEAT"
            raise self._not_yet(
                span, f"PUNCTUATED BY {words} is", "Use SLACK n rows, SLACK n unit, ARCHIVE or END."
            )
        return punctuation or NO_SLACK, lateness, punctuation is not None

    # The window

    def _window(self, source: tree.StreamSource, punctuation: Punctuation) -> SlidingWindow:
        clause = source.window
        if clause is None:
            raise self._not_yet(
                source.span, "a query without a window is", "Add [RANGE … SLIDE …] to the stream."
            )
        self._refuse_other_kinds(clause)
        assert clause.range is not None
        assert clause.slide is not None
        axis = self._axis(clause)
        slack = punctuation.quantity if isinstance(punctuation, SlackSpan) else None
        if slack is not None and ((slack.value == 0 and slack.unit is None) or axis.is_row_num):
            slack = None
        origin = None if clause.origin is None else self._origin(axis, clause.origin)
        axis = axis.resolving(
            clause.range, clause.slide, slack, origin if isinstance(origin, Fraction) else None
        )
        range_, slide = self._steps(axis, clause.range), self._steps(axis, clause.slide)
        if slack is not None:
            self._fit_slack(axis, slack)
        elif axis.is_row_num:
            self._refuse_row_slack()
        for quantity, steps in ((clause.range, range_), (clause.slide, slide)):
            if steps <= 0:
                raise QueryError.at(
                    self.text, quantity.span, "a window needs a length above 0.", "Use 1 or more."
                )
        if axis.is_row_num:
            return SlidingWindow(axis, range_, slide, 1, True)
        position = int(origin * 10**axis.places) if isinstance(origin, Fraction) else origin
        return SlidingWindow(axis, range_, slide, position or 0, origin is not None)

    def _refuse_other_kinds(self, clause: tree.WindowClause) -> None:
        span = clause.span
        sliding = "Use [RANGE … SLIDE … WATTR …] in the attribute's own unit."
        slides_by_tuple = clause.slide is not None and clause.slide.unit is Unit.ROWS
        ranges_by_rows = clause.range is not None and clause.range.unit is Unit.ROWS
        kinds = (
            (
                clause.rattr or clause.sattr or (slides_by_tuple and not ranges_by_rows),
                "a slide-by-tuple window is",
            ),
            (clause.pattr, "a partitioned window (PATTR) is"),
            (clause.rows is not None, "a count window (ROWS n) is"),
            (clause.unbounded or clause.start_at or clause.end_at, "a landmark window is"),
            (clause.now, "a NOW window is"),
            (clause.lag is not None, "LAG is"),
            (clause.range is not None and clause.slide is None, "a window without SLIDE is"),
        )
        for there, what in kinds:
            if there:
                raise self._not_yet(span, what, sliding)
        if clause.range is None or clause.slide is None:
            raise QueryError.at(self.text, span, "this window has no RANGE and SLIDE.", sliding, self.name)

    def _axis(self, clause: tree.WindowClause) -> Axis:
        rows = clause.range is not None and clause.range.unit is Unit.ROWS
        if clause.wattr is None:
            return Axis(None) if rows else self._axis_of(self.stream.timestamp)
        if clause.wattr.name.lower() == "row-num" and self.stream.find("row-num") is None:
            return Axis(None)
        found = self.scope.resolve(clause.wattr, self.text)
        attribute = self.stream.attribute(found.name)
        if attribute.type not in _ORDERED and not attribute.type.startswith("decimal"):
            raise QueryError.at(
                self.text,
                clause.wattr.span,
                f"{attribute.name} is {attribute.type}, which has no steps to window on.",
                "Use a timestamp, date or number, or row-num.",
                self.name,
            )
        return self._axis_of(attribute)

    def _axis_of(self, attribute: Attribute) -> Axis:
        granule = self.stream.granule if attribute == self.stream.timestamp else None
        micros = (
            1
            if granule is None
            else granule.days * 86_400_000_000 + granule.seconds * 10**6 + granule.microseconds
        )
        return Axis(attribute, granule=micros)

    def _steps(self, axis: Axis, quantity: Quantity) -> int:
        scale = axis.scale
        try:
            steps = axis.steps(quantity)
            if scale >= 0 and axis.places > scale and steps % 10 ** (axis.places - scale):
                raise DoesNotFit(
                    f"`{quantity}` is finer than the steps of {axis.name}, which is {axis.type}.",
                    "Use a whole number of its steps.",
                )
        except DoesNotFit as error:
            raise QueryError.at(self.text, quantity.span, error.problem, error.remedy, self.name) from None
        return steps

    def _fit_slack(self, axis: Axis, slack: Quantity) -> None:
        try:
            if axis.steps(slack) < 0:
                raise DoesNotFit("a slack cannot be less than 0.", "Use 0 or more.")
        except DoesNotFit as error:
            if self.statement.punctuation is None:
                raise SluiceError(
                    f"{self.name}: stream {self.stream.name} is punctuated by slack {slack}. {error.problem}",
                    "Say PUNCTUATED BY in the query.",
                ) from None
            span = self.statement.punctuation_span or self.statement.span
            raise QueryError.at(self.text, span, error.problem, error.remedy, self.name) from None

    def _refuse_row_slack(self) -> None:
        policy = self.statement.punctuation
        if isinstance(policy, SlackSpan) and policy.quantity.unit is not None:
            raise QueryError.at(
                self.text,
                self.statement.punctuation_span or self.statement.span,
                f"`{policy}` does not fit row-num, the arrival position.",
                "Leave it out: row windows close when their last row arrives.",
                self.name,
            )

    def _origin(self, axis: Axis, literal: tree.Literal) -> int | Fraction:
        value = literal.value
        if axis.is_row_num:
            raise QueryError.at(
                self.text, literal.span, "row windows begin at row 1.", "Leave ORIGIN out.", self.name
            )
        try:
            if axis.type == "timestamp" and _TIME_OF_DAY.fullmatch(str(value)):
                day = self.first_day(self.stream) or date(1970, 1, 1)
                hours, _, rest = str(value).partition(":")
                value = f"{day.isoformat()} {hours.rjust(2, '0')}:{rest}"
            if axis.type in ("timestamp", "date"):
                return axis.position(value)
            exact = Fraction(str(value))
        except ValueError:
            raise QueryError.at(
                self.text,
                literal.span,
                f"ORIGIN {value!r} is no {axis.type}.",
                f"Write a value of {axis.name}.",
                self.name,
            ) from None
        if axis.scale >= 0 and (exact * 10**axis.scale).denominator != 1:
            raise QueryError.at(
                self.text,
                literal.span,
                f"ORIGIN {value} is finer than the steps of {axis.name}.",
                "Round it.",
                self.name,
            )
        return exact

    # What is answered

    def _groups(self, select: tree.Select) -> tuple[Group, ...]:
        """GROUP BY, and the plain attributes that stand beside an aggregate."""
        aliases = {}
        named = []
        for item in select.items:
            if isinstance(item.expression, tree.Name):
                found = self.scope.resolve(item.expression, self.text).name
                named.append(item.expression)
                aliases[found] = item.alias or found
        groups: dict[str, Group] = {}
        for expression in (*select.group_by, *named):
            if not isinstance(expression, tree.Name):
                raise self._not_yet(expression.span, "GROUP BY an expression is", "Group by attributes.")
            resolved = self.scope.resolve(expression, self.text)
            if resolved.column == "seq":
                raise QueryError.at(
                    self.text, expression.span, "row-num is another in every row.", "Leave it out.", self.name
                )
            attribute = self.stream.attribute(resolved.name)
            groups.setdefault(
                resolved.name, Group(attribute, storage_name(aliases.get(resolved.name, resolved.name)))
            )
        return tuple(groups.values())

    def _answers(
        self, select: tree.Select, groups: tuple[Group, ...]
    ) -> tuple[tuple[Aggregate, ...], tuple[Output, ...], str | None]:
        aggregates: dict[tree.Call, Aggregate] = {}
        columns: dict[tree.Call, Bound] = {}
        expressions = [item.expression for item in select.items] + ([select.having] if select.having else [])
        for expression in expressions:
            if isinstance(expression, tree.Star):
                raise self._not_yet(expression.span, "SELECT * is", "Name attributes and aggregates.")
            for call in aggregate_calls(expression):
                if call not in aggregates:
                    bound = bind_aggregate(call, self.scope, self.text)
                    argument = "1" if bound.argument is None else bound.argument.sql
                    if bound.filter is not None:
                        argument = f"case when {bound.filter.sql} then {argument} end"
                    type_ = "integer" if bound.argument is None else bound.argument.type
                    columns[call] = Bound(quoted(f"answer_{len(aggregates)}"), bound.type)
                    aggregates[call] = Aggregate(bound.function, argument, type_)
        if not aggregates:
            raise self._not_yet(
                select.span, "a query without an aggregate is", "Select count(*), for instance."
            )
        inside = Scope.of(
            {g.attribute.name: (g.type, g.column) for g in groups}, self.scope.qualifiers[0], row_num=None
        )
        outputs = []
        for item in select.items:
            assert not isinstance(item.expression, tree.Star)
            if isinstance(item.expression, tree.Name):
                continue
            column = item.alias or default_name(item.expression, self.text, self.scope)
            outputs.append(
                Output(storage_name(column), bind(item.expression, inside, self.text, columns).sql)
            )
        having = select.having
        condition = (
            None if having is None else bind_condition(having, inside, self.text, columns, "HAVING").sql
        )
        return tuple(aggregates.values()), tuple(outputs), condition

    def _check_names(self, select: tree.Select, query: WindowQuery) -> None:
        seen: set[str] = set()
        for column in [g.column for g in query.groups] + [o.column for o in query.outputs]:
            if column.lower() in seen:
                raise QueryError.at(
                    self.text,
                    select.span,
                    f"two columns are called {column}.",
                    "Name one with AS.",
                    self.name,
                )
            seen.add(column.lower())
