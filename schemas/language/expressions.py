"""Expressions bound to attributes: names resolved, types checked, rendered as Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schemas.language import tree
from schemas.language.aggregates import (
    AGGREGATES,
    aggregate_calls,
    aggregate_type,
    check_argument,
    default_name,
    is_aggregate,
)
from schemas.language.binder import Binder
from schemas.language.datatypes import UNKNOWN
from schemas.language.errors import QueryError
from schemas.language.functions import Bound
from schemas.language.scope import Scope, ScopedAttribute

__all__ = [
    "AGGREGATES",
    "Bound",
    "BoundAggregate",
    "Scope",
    "ScopedAttribute",
    "aggregate_calls",
    "bind",
    "bind_aggregate",
    "bind_condition",
    "default_name",
    "is_aggregate",
]


@dataclass(frozen=True)
class BoundAggregate:
    """An aggregate bound: `argument` is None for `count(*)`, `name` where only AS can name it."""

    function: str
    argument: Bound | None
    type: str
    name: str | None
    distinct: bool = False
    filter: Bound | None = None


def bind(
    expression: tree.Expression, scope: Scope, text: str, aggregates: Mapping[tree.Call, Bound] | None = None
) -> Bound:
    """The expression over the scope's columns.

    `text` is the statement's, for errors. An aggregate may stand in the expression only if `aggregates` says
    which column holds its value.
    """
    try:
        return Binder(scope, text, aggregates).bind(expression)
    except RecursionError:
        raise QueryError.at(
            text,
            expression.span,
            "this expression is nested too deeply.",
            "Write a long chain of OR as IN (…), or split the query by subqueries.",
        ) from None


def bind_condition(
    expression: tree.Expression,
    scope: Scope,
    text: str,
    aggregates: Mapping[tree.Call, Bound] | None = None,
    clause: str = "WHERE",
) -> Bound:
    """The same for a condition: true or false is needed."""
    bound = bind(expression, scope, text, aggregates)
    if bound.type not in ("boolean", UNKNOWN):
        raise QueryError.at(
            text,
            expression.span,
            f"{clause} needs a condition, and this is {bound.type}.",
            "Compare it with something, for instance by = or >.",
        )
    return bound


def bind_aggregate(call: tree.Call, scope: Scope, text: str) -> BoundAggregate:
    """An aggregate call, its argument and filter bound; one that is not there yet is refused."""
    aggregate = AGGREGATES[call.function]
    if not aggregate.available or call.distinct:
        spelled = "count(DISTINCT …)" if call.distinct and call.function == "count" else call.function
        there = ", ".join(name for name, one in AGGREGATES.items() if one.available)
        raise QueryError.at(
            text, call.span, f"the aggregate {spelled} is not there yet.", f"There are {there}."
        )
    name = default_name(tree.Call("count"), text) if call.star else _argument_name(call, text, scope)
    condition = None if call.filter is None else bind_condition(call.filter, scope, text, clause="FILTER")
    if call.star and call.function == "count":
        return BoundAggregate("count", None, "bigint", name, filter=condition)
    if call.star or len(call.arguments) != aggregate.arguments:
        count = "one argument" if aggregate.arguments == 1 else f"{aggregate.arguments} arguments"
        raise QueryError.at(
            text, call.span, f"{call.function} takes {count}.", f"Write for instance {call.function}(speed)."
        )
    argument = bind(call.arguments[0], scope, text)
    check_argument(call, argument.type, text)
    return BoundAggregate(
        call.function, argument, aggregate_type(call.function, argument.type), name, filter=condition
    )


def _argument_name(call: tree.Call, text: str, scope: Scope) -> str | None:
    """The default name, or None where only AS can give it."""
    try:
        return default_name(call, text, scope)
    except QueryError:
        return None
