"""The vocabulary of aggregates, where they stand in an expression, and what their columns are called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schemas.language.datatypes import UNKNOWN, decimal_of, decimal_type, is_decimal, is_numeric, is_ordered
from schemas.language.errors import QueryError
from schemas.language.scope import Scope
from schemas.language.tree import (
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    LiteralKind,
    Name,
    Unary,
)


@dataclass(frozen=True)
class Aggregate:
    """An aggregate function. One not `available` is known, so that binding can say it is not there yet."""

    name: str
    arguments: int = 1
    available: bool = False
    needs_number: bool = True


AGGREGATES = {
    aggregate.name: aggregate
    for aggregate in (
        Aggregate("count", available=True, needs_number=False),
        Aggregate("sum", available=True),
        Aggregate("avg", available=True),
        Aggregate("min", available=True, needs_number=False),
        Aggregate("max", available=True, needs_number=False),
        *(Aggregate(name) for name in ("variance", "stddev", "var_pop", "stddev_pop", "median")),
        Aggregate("quantile", arguments=2),
        Aggregate("mode", needs_number=False),
        Aggregate("heavy_hitters", arguments=2, needs_number=False),
        Aggregate("first", needs_number=False),
        Aggregate("last", needs_number=False),
        Aggregate("centre_of_mass", arguments=2),
    )
}


def is_aggregate(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.function in AGGREGATES


def aggregate_calls(expression: Expression) -> tuple[Call, ...]:
    """The aggregates in an expression, outermost only, in the order in which they stand, each once."""
    return tuple(dict.fromkeys(_calls(expression)))


def _calls(expression: Expression) -> Iterator[Call]:
    if isinstance(expression, Call) and expression.function in AGGREGATES:
        yield expression
        return
    for part in parts_of(expression):
        yield from _calls(part)


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """The expressions of which an expression is made."""
    match expression:
        case Name() | Literal():
            return ()
        case Unary(operand=operand) | IsNull(operand=operand) | Cast(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case Between(operand=operand, low=low, high=high):
            return (operand, low, high)
        case InList(operand=operand, choices=choices):
            return (operand, *choices)
        case Like(operand=operand, pattern=pattern):
            return (operand, pattern)
        case Case(operand=operand, branches=branches, otherwise=otherwise):
            inner = (part for branch in branches for part in branch)
            return tuple(part for part in (operand, *inner, otherwise) if part is not None)
        case Call(arguments=arguments, filter=condition):
            return arguments if condition is None else (*arguments, condition)


def aggregate_type(function: str, argument: str) -> str:
    """The type of an available aggregate over values of a type, as Spark has it."""
    if function == "count":
        return "bigint"
    if function in ("min", "max"):
        return argument
    if is_decimal(argument):
        precision, scale = decimal_of(argument)
        if function == "sum":
            return decimal_type(min(precision + 10, 38), scale)
        return decimal_type(precision + 4, scale + 4)
    return "bigint" if function == "sum" and argument in ("integer", "bigint") else "double"


def check_argument(call: Call, argument: str, text: str) -> None:
    """Refuses an argument of a type that the aggregate cannot take."""
    aggregate = AGGREGATES[call.function]
    if argument == UNKNOWN or call.function == "count":
        return
    if aggregate.needs_number and not is_numeric(argument):
        raise QueryError.at(
            text,
            call.arguments[0].span,
            f"{call.function} needs a number, and this is {argument}.",
            "Give it a number, CAST it to one, or use count, min or max.",
        )
    if not is_ordered(argument):
        raise QueryError.at(
            text,
            call.arguments[0].span,
            f"{call.function} needs a value that can be ordered, and this is {argument}.",
            "Use an attribute of a single value.",
        )


# Names of columns

_SPELLED = {"+": "plus", "-": "minus", "*": "times", "/": "over", "%": "mod"}


def default_name(expression: Expression, text: str, scope: Scope | None = None) -> str:
    """The column's name for an item of SELECT without AS.

    An attribute is named as declared; `max(speed)` is `max_speed`, `count(*)` is `count`, `count(DISTINCT x)`
    is `count_distinct_x`. An argument that is an expression is read out: `sum(speed * 2)` is
    `sum_speed_times_2`, `max(a.x - b.y)` is `max_x_minus_y`, `avg(abs(x))` is `avg_abs_x`. Qualifiers, casts
    and parentheses go, so two columns can get one name: who lays out a results table must refuse that.
    Anything that cannot be read out so (text, conditions, CASE) must be named with AS.
    """
    words = _words(expression, scope)
    if words is None:
        raise QueryError.at(
            text, expression.span, "this column needs a name of its own.", "Add AS and a name after it."
        )
    return "_".join(words)


def _words(expression: Expression, scope: Scope | None) -> list[str] | None:
    match expression:
        case Name(name=name):
            found = scope.find(expression) if scope is not None else []
            return [found[0].name if found else name]
        case Literal(value=value, kind=LiteralKind.INTEGER):
            return [str(value)]
        case Literal(value=value, kind=LiteralKind.DECIMAL):
            return [f"{value:f}".replace(".", "_")]
        case Cast(operand=operand) | Unary(operator="+", operand=operand):
            return _words(operand, scope)
        case Unary(operator="-", operand=operand):
            return _joined(["minus"], [operand], scope)
        case Binary(operator=operator, left=left, right=right) if operator in _SPELLED:
            before, after = _words(left, scope), _words(right, scope)
            return None if before is None or after is None else [*before, _SPELLED[operator], *after]
        case Call(function=function, arguments=arguments, distinct=distinct):
            return _joined([function, "distinct"] if distinct else [function], list(arguments), scope)
    return None


def _joined(words: list[str], expressions: list[Expression], scope: Scope | None) -> list[str] | None:
    for expression in expressions:
        more = _words(expression, scope)
        if more is None:
            return None
        words = words + more
    return words
