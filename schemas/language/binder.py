"""One walk over one expression: names to columns, types checked, Spark SQL out.

Nothing of a query's text goes into the SQL as it stands. Names become the columns they resolve to, in
backticks; constants are written anew (`literals`); operators and functions come from closed lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schemas.columns import quoted
from schemas.language import tree
from schemas.language.aggregates import AGGREGATES
from schemas.language.datatypes import (
    SIMPLE,
    UNKNOWN,
    arithmetic_type,
    common_type,
    is_decimal,
    is_numeric,
    is_ordered,
    known_type,
)
from schemas.language.errors import QueryError
from schemas.language.functions import FUNCTIONS, Bound, Misfit, coerced, shared_type
from schemas.language.literals import (
    date_sql,
    number_sql,
    quoted_text,
    read_date,
    read_timestamp,
    timestamp_sql,
)
from schemas.language.names import did_you_mean
from schemas.language.scope import Scope

_ARITHMETIC = frozenset("+-*/%")
_TRUTH = ("AND", "OR")


class Binder:
    """Binds an expression over a scope; `aggregates` says which columns hold aggregates' values."""

    def __init__(self, scope: Scope, text: str, aggregates: Mapping[tree.Call, Bound] | None) -> None:
        self._scope = scope
        self._text = text
        self._aggregates = aggregates

    def bind(self, expression: tree.Expression) -> Bound:
        match expression:
            case tree.Name():
                return self._name(expression)
            case tree.Literal():
                return self._literal(expression)
            case tree.Unary():
                return self._unary(expression)
            case tree.Binary(operator=operator) if operator in _TRUTH:
                left, right = self._condition(expression.left), self._condition(expression.right)
                return Bound(f"({left.sql} {operator} {right.sql})", "boolean")
            case tree.Binary(operator=operator) if operator in _ARITHMETIC:
                return self._arithmetic(expression)
            case tree.Binary(operator="||"):
                return self._concatenation(expression)
            case tree.Binary(operator=operator):
                left, right = self._comparable(
                    [expression.left, expression.right], equality=operator in ("=", "<>")
                )
                return Bound(f"({left.sql} {operator} {right.sql})", "boolean")
            case tree.Between(negated=negated):
                operand, low, high = self._comparable([expression.operand, expression.low, expression.high])
                sql = f"({operand.sql} {_not(negated)}BETWEEN {low.sql} AND {high.sql})"
                return Bound(sql, "boolean")
            case tree.InList(negated=negated):
                operand, *choices = self._comparable([expression.operand, *expression.choices], equality=True)
                listed = ", ".join(choice.sql for choice in choices)
                return Bound(f"({operand.sql} {_not(negated)}IN ({listed}))", "boolean")
            case tree.Like():
                return self._like(expression)
            case tree.IsNull(negated=negated):
                return Bound(f"({self.bind(expression.operand).sql} IS {_not(negated)}NULL)", "boolean")
            case tree.Case():
                return self._case(expression)
            case tree.Cast():
                return self._cast(expression)
            case tree.Call():
                return self._call(expression)

    def _error(self, node: tree.Node, problem: str, hint: str) -> QueryError:
        return QueryError.at(self._text, node.span, problem, hint)

    def _name(self, name: tree.Name) -> Bound:
        attribute = self._scope.resolve(name, self._text)
        return Bound(quoted(attribute.column), attribute.type)

    def _literal(self, literal: tree.Literal, wanted: str | None = None) -> Bound:
        """The constant; a text beside a timestamp or date (`wanted`) is one too."""
        value = literal.value
        if isinstance(value, str):
            kind = literal.kind if literal.kind is not tree.LiteralKind.TEXT else wanted
            if kind in (tree.LiteralKind.TIMESTAMP, "timestamp"):
                return self._timestamp(literal, value)
            if kind in (tree.LiteralKind.DATE, "date"):
                return self._date(literal, value)
            return Bound(quoted_text(value), "string", value)
        if value is None:
            return Bound("NULL", UNKNOWN)
        if isinstance(value, bool):
            return Bound("TRUE" if value else "FALSE", "boolean")
        sql, type_text = number_sql(value)
        return Bound(sql, type_text, value if isinstance(value, int) else None)

    def _timestamp(self, literal: tree.Literal, value: str) -> Bound:
        instant = read_timestamp(value)
        if instant is None:
            hint = "Write it as '2026-01-31 12:00:00' (in UTC), or with a zone: '2026-01-31 12:00:00+02:00'."
            raise self._error(literal, f"{value!r} is no timestamp.", hint)
        return Bound(timestamp_sql(instant), "timestamp")

    def _date(self, literal: tree.Literal, value: str) -> Bound:
        day = read_date(value)
        if day is None:
            raise self._error(literal, f"{value!r} is no date.", "Write it as '2026-01-31'.")
        return Bound(date_sql(day), "date")

    def _condition(self, expression: tree.Expression) -> Bound:
        bound = self.bind(expression)
        if bound.type not in ("boolean", UNKNOWN):
            hint = "Compare it with something, for instance by = or >."
            raise self._error(expression, f"a condition is needed here, and this is {bound.type}.", hint)
        return bound

    def _number(self, expression: tree.Expression) -> Bound:
        bound = self.bind(expression)
        if not is_numeric(bound.type):
            hint = "Use a number here, or CAST it to one."
            raise self._error(expression, f"a number is needed here, and this is {bound.type}.", hint)
        return bound

    def _unary(self, unary: tree.Unary) -> Bound:
        if unary.operator == "NOT":
            return Bound(f"(NOT {self._condition(unary.operand).sql})", "boolean")
        operand = self._number(unary.operand)
        constant = -operand.constant if isinstance(operand.constant, int) and unary.operator == "-" else None
        return Bound(f"({unary.operator} {operand.sql})", operand.type, constant)

    def _arithmetic(self, binary: tree.Binary) -> Bound:
        left, right = self._number(binary.left), self._number(binary.right)
        kind = arithmetic_type(binary.operator, left.type, right.type)
        sql = f"({left.sql} {binary.operator} {right.sql})"
        # Spark narrows whole constants beside decimals; the cast keeps the type to the rule that we state.
        return Bound(
            f"CAST({sql} AS {kind})" if is_decimal(kind) or UNKNOWN in (left.type, right.type) else sql, kind
        )

    def _concatenation(self, binary: tree.Binary) -> Bound:
        sides = []
        for side in (binary.left, binary.right):
            bound = self.bind(side)
            if bound.type not in ("string", UNKNOWN):
                raise self._error(side, f"|| joins texts, and this is {bound.type}.", "CAST it AS string.")
            sides.append(coerced(bound, "string"))
        return Bound(f"({sides[0]} || {sides[1]})", "string")

    def _aligned(self, expressions: Sequence[tree.Expression]) -> list[Bound]:
        """All bound; beside a timestamp or a date, a constant text is read as one."""
        bounds = [self.bind(expression) for expression in expressions]
        times = [bound.type for bound in bounds if bound.type in ("timestamp", "date")]
        if times:
            wanted = "timestamp" if "timestamp" in times else "date"
            for place, expression in enumerate(expressions):
                if isinstance(expression, tree.Literal) and bounds[place].type == "string":
                    bounds[place] = self._literal(expression, wanted)
        return bounds

    def _comparable(self, expressions: Sequence[tree.Expression], equality: bool = False) -> list[Bound]:
        """The first and what it is compared with, all of types that compare."""
        bounds = self._aligned(expressions)
        first = bounds[0]
        for expression, bound in zip(expressions, bounds, strict=True):
            if common_type(first.type, bound.type) is None:
                raise self._error(expression, *_why_not_compared(first, bound))
        for expression, bound in zip(expressions, bounds, strict=True):
            if not is_ordered(bound.type) and not equality:
                hint = "Compare it by = or <>, or compare a part of it."
                raise self._error(expression, f"{bound.type} has no order.", hint)
        return bounds

    def _like(self, like: tree.Like) -> Bound:
        sides = []
        for side in (like.operand, like.pattern):
            bound = self.bind(side)
            if bound.type not in ("string", UNKNOWN):
                raise self._error(
                    side, f"LIKE compares texts, and this is {bound.type}.", "CAST it AS string."
                )
            sides.append(bound)
        pattern = sides[1].constant
        if isinstance(pattern, str) and not _is_pattern(pattern):
            hint = "Write \\\\ for a backslash, \\% and \\_ for the signs themselves."
            raise self._error(like.pattern, "a backslash in LIKE stands before %, _ or \\.", hint)
        return Bound(f"({sides[0].sql} {_not(like.negated)}LIKE {sides[1].sql})", "boolean")

    def _case(self, case: tree.Case) -> Bound:
        conditions = [condition for condition, _ in case.branches]
        if case.operand is None:
            head, tests = "CASE", [self._condition(condition) for condition in conditions]
        else:
            operand, *tests = self._comparable([case.operand, *conditions], equality=True)
            head = f"CASE {operand.sql}"
        outcomes = [value for _, value in case.branches]
        if case.otherwise is not None:
            outcomes.append(case.otherwise)
        values = self._aligned(outcomes)
        try:
            kind = shared_type(values)
        except Misfit as misfit:
            raise self._error(outcomes[misfit.argument or 0], misfit.problem, misfit.hint) from None
        words = [
            f"WHEN {test.sql} THEN {coerced(value, kind)}" for test, value in zip(tests, values, strict=False)
        ]
        if case.otherwise is not None:
            words.append(f"ELSE {coerced(values[-1], kind)}")
        return Bound(f"{head} {' '.join(words)} END", kind)

    def _cast(self, cast: tree.Cast) -> Bound:
        kind = known_type(cast.type)
        if kind is None:
            hint = did_you_mean(cast.type, SIMPLE) or f"Types are {', '.join(SIMPLE)} and decimal(p,s)."
            raise self._error(cast, f"there is no type {cast.type}.", hint)
        if isinstance(cast.operand, tree.Literal) and kind in ("timestamp", "date"):
            operand = self._literal(cast.operand, kind)
        else:
            operand = self.bind(cast.operand)
        if not _casts(operand.type, kind):
            raise self._error(
                cast, f"{operand.type} cannot be made {kind}.", "Cast it to string, or leave CAST out."
            )
        return Bound(f"CAST({operand.sql} AS {kind})", kind)

    def _call(self, call: tree.Call) -> Bound:
        if call.function in AGGREGATES:
            held = (self._aggregates or {}).get(call)
            if held is not None:
                return held
            hint = "Aggregates stand in SELECT and HAVING, one not inside another."
            raise self._error(call, f"the aggregate {call.function} cannot stand here.", hint)
        function = FUNCTIONS.get(call.function)
        if function is None:
            raise self._error(
                call, f"there is no function {call.function}.", self._known_functions(call.function)
            )
        if call.star or call.distinct or call.filter is not None:
            hint = f"Write {call.function}(…) with plain arguments."
            raise self._error(call, "*, DISTINCT and FILTER are for aggregates.", hint)
        if len(call.arguments) < function.least or (function.most or len(call.arguments)) < len(
            call.arguments
        ):
            problem = f"{call.function} takes {function.arity}, and here are {len(call.arguments)}."
            raise self._error(call, problem, "Give it as many as it takes.")
        try:
            if function.aligns:
                return function.bind(call.function, self._aligned(call.arguments))
            return function.bind(call.function, [self.bind(argument) for argument in call.arguments])
        except Misfit as misfit:
            node = call if misfit.argument is None else call.arguments[misfit.argument]
            raise self._error(node, misfit.problem, misfit.hint) from None

    def _known_functions(self, name: str) -> str:
        if name == "aggr":
            return "AGGR holds the place of an aggregate: write sum, max or another instead."
        known = [*FUNCTIONS, *AGGREGATES]
        first, _, second = name.rpartition("-")
        if second in known and first:
            return f"For a minus, put spaces around it: {first} - {second}(…)."
        return did_you_mean(name, known) or f"Functions are {', '.join(FUNCTIONS)}."


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


def _is_pattern(pattern: str) -> bool:
    """Whether every backslash stands before a sign that it can escape."""
    return "\\" not in pattern.replace("\\\\", "").replace("\\%", "").replace("\\_", "")


def _casts(one: str, other: str) -> bool:
    """Whether ANSI mode knows the cast at all."""
    if one in (UNKNOWN, other) or "string" in (one, other):
        return one in (*SIMPLE, UNKNOWN) or is_decimal(one)
    if {one, other} == {"date", "timestamp"}:
        return True
    return all(is_numeric(kind) or kind == "boolean" for kind in (one, other))


def _why_not_compared(first: Bound, other: Bound) -> tuple[str, str]:
    problem = f"{first.type} cannot be compared with {other.type}."
    text = next((b.constant for b in (first, other) if isinstance(b.constant, str)), None)
    if text is not None and any(is_numeric(b.type) for b in (first, other)):
        return problem, "Write the number without quotes."
    return problem, "Compare values of one type, or CAST one of them."
