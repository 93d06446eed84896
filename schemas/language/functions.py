"""The closed list of functions of single values: nothing else reaches Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from schemas.language.datatypes import (
    UNKNOWN,
    arithmetic_type,
    common_type,
    decimal_of,
    decimal_type,
    is_decimal,
    is_numeric,
    is_ordered,
    is_whole,
)


@dataclass(frozen=True)
class Bound:
    """An expression bound to columns: its Spark SQL and its type; `constant` is the value of a literal."""

    sql: str
    type: str
    constant: int | str | None = None


class Misfit(Exception):
    """An argument that a function cannot take: which one (None: the call as a whole), why, and what to do."""

    def __init__(self, argument: int | None, problem: str, hint: str) -> None:
        super().__init__(problem)
        self.argument = argument
        self.problem = problem
        self.hint = hint


Binder = Callable[[str, list[Bound]], Bound]


@dataclass(frozen=True)
class Function:
    """A function, the number of arguments that it takes, and how a call of it is bound."""

    name: str
    least: int
    most: int | None
    bind: Binder
    aligns: bool = False
    """Whether its arguments are values of one kind, so that a text beside a timestamp is one too."""

    @property
    def arity(self) -> str:
        if self.most is None:
            return f"{self.least} or more arguments"
        if self.least == self.most:
            return f"{self.least} argument{'' if self.least == 1 else 's'}"
        return f"{self.least} to {self.most} arguments"


def coerced(bound: Bound, type_text: str) -> str:
    """The SQL of a value as that type."""
    return bound.sql if bound.type == type_text else f"CAST({bound.sql} AS {type_text})"


def call_sql(name: str, arguments: list[str]) -> str:
    return f"{name}({', '.join(arguments)})"


def _require(
    fits: Callable[[str], bool], what: str, arguments: list[Bound], places: range | None = None
) -> None:
    for place in places if places is not None else range(len(arguments)):
        found = arguments[place].type
        if found != UNKNOWN and not fits(found):
            raise Misfit(
                place, f"{what} is needed here, and this is {found}.", f"Give it {what}, or CAST it."
            )


def _is_text(type_text: str) -> bool:
    return type_text == "string"


def _is_time(type_text: str) -> bool:
    return type_text in ("date", "timestamp")


def _numeric_to(result: str) -> Binder:
    def bind(name: str, arguments: list[Bound]) -> Bound:
        _require(is_numeric, "a number", arguments)
        return Bound(call_sql(name, [coerced(argument, "double") for argument in arguments]), result)

    return bind


def _same_number(name: str, arguments: list[Bound]) -> Bound:
    _require(is_numeric, "a number", arguments)
    kind = "double" if arguments[0].type == UNKNOWN else arguments[0].type
    return Bound(call_sql(name, [coerced(arguments[0], kind)]), kind)


def _to_whole(name: str, arguments: list[Bound]) -> Bound:
    """floor and ceil: a decimal keeps its digits before the point, all else is a bigint."""
    _require(is_numeric, "a number", arguments)
    kind = arguments[0].type
    if is_decimal(kind):
        precision, scale = decimal_of(kind)
        result = decimal_type(precision - scale + 1, 0)
    else:
        result = "bigint"
    return Bound(f"CAST({name}({arguments[0].sql}) AS {result})", result)


def _round(name: str, arguments: list[Bound]) -> Bound:
    _require(is_numeric, "a number", arguments, range(1))
    places = 0
    if len(arguments) == 2:
        constant = arguments[1].constant
        if not isinstance(constant, int) or abs(constant) > 30:
            raise Misfit(1, "round takes a plain number of places.", "Write for instance round(speed, 2).")
        places = constant
    kind = "double" if arguments[0].type == UNKNOWN else arguments[0].type
    if is_decimal(kind):
        precision, scale = decimal_of(kind)
        kept = min(scale, max(places, 0))
        kind = decimal_type(precision - scale + kept + 1, kept)
    return Bound(f"CAST(round({arguments[0].sql}, {places}) AS {kind})", kind)


def _mod(name: str, arguments: list[Bound]) -> Bound:
    _require(is_numeric, "a number", arguments)
    kind = arithmetic_type("%", arguments[0].type, arguments[1].type)
    return Bound(f"CAST(({arguments[0].sql} % {arguments[1].sql}) AS {kind})", kind)


def _text_to(result: str) -> Binder:
    def bind(name: str, arguments: list[Bound]) -> Bound:
        _require(_is_text, "text", arguments)
        return Bound(call_sql(name, [coerced(argument, "string") for argument in arguments]), result)

    return bind


def _substring(name: str, arguments: list[Bound]) -> Bound:
    _require(_is_text, "text", arguments, range(1))
    _require(is_whole, "a whole number", arguments, range(1, len(arguments)))
    places = [coerced(argument, "integer") for argument in arguments[1:]]
    return Bound(call_sql(name, [coerced(arguments[0], "string"), *places]), "string")


def shared_type(arguments: list[Bound]) -> str:
    """The type that holds every argument's values."""
    kind: str = UNKNOWN
    for place, argument in enumerate(arguments):
        common = common_type(kind, argument.type)
        if common is None:
            hint = "Use values of one type, or CAST one of them."
            raise Misfit(place, f"this is {argument.type}, and what stands before it is {kind}.", hint)
        kind = common
    return kind


def _shared(name: str, arguments: list[Bound]) -> Bound:
    kind = shared_type(arguments)
    if name != "coalesce":
        _require(is_ordered, "a value that can be ordered", arguments)
    return Bound(call_sql(name, [coerced(argument, kind) for argument in arguments]), kind)


def _nullif(name: str, arguments: list[Bound]) -> Bound:
    shared_type(arguments)
    return Bound(call_sql(name, [argument.sql for argument in arguments]), arguments[0].type)


def _if(name: str, arguments: list[Bound]) -> Bound:
    _require(lambda kind: kind == "boolean", "a condition", arguments, range(1))
    try:
        kind = shared_type(arguments[1:])
    except Misfit as misfit:
        raise Misfit(2, misfit.problem, misfit.hint) from None
    return Bound(call_sql("if", [arguments[0].sql, *(coerced(a, kind) for a in arguments[1:])]), kind)


def _part_of_time(name: str, arguments: list[Bound]) -> Bound:
    fits, what = (
        (_is_time, "a date or a timestamp")
        if name in ("year", "month", "day")
        else (
            lambda kind: kind == "timestamp",
            "a timestamp",
        )
    )
    _require(fits, what, arguments)
    return Bound(call_sql(name, [arguments[0].sql]), "integer")


_TRUNCATIONS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond")


def _date_trunc(name: str, arguments: list[Bound]) -> Bound:
    unit = arguments[0].constant
    if not isinstance(unit, str) or unit.lower() not in _TRUNCATIONS:
        raise Misfit(
            0, "date_trunc takes one of its units in quotes first.", f"Units are {', '.join(_TRUNCATIONS)}."
        )
    _require(_is_time, "a date or a timestamp", arguments, range(1, 2))
    return Bound(f"date_trunc('{unit.lower()}', {arguments[1].sql})", "timestamp")


FUNCTIONS = {
    function.name: function
    for function in (
        Function("abs", 1, 1, _same_number),
        Function("round", 1, 2, _round),
        Function("floor", 1, 1, _to_whole),
        Function("ceil", 1, 1, _to_whole),
        *(Function(name, 1, 1, _numeric_to("double")) for name in ("sqrt", "exp", "ln", "log10")),
        Function("power", 2, 2, _numeric_to("double")),
        Function("mod", 2, 2, _mod),
        *(Function(name, 1, 1, _text_to("string")) for name in ("lower", "upper", "trim")),
        Function("length", 1, 1, _text_to("integer")),
        Function("concat", 1, None, _text_to("string")),
        Function("substring", 2, 3, _substring),
        Function("coalesce", 1, None, _shared, aligns=True),
        Function("greatest", 2, None, _shared, aligns=True),
        Function("least", 2, None, _shared, aligns=True),
        Function("nullif", 2, 2, _nullif, aligns=True),
        Function("if", 3, 3, _if, aligns=True),
        *(
            Function(name, 1, 1, _part_of_time)
            for name in ("year", "month", "day", "hour", "minute", "second")
        ),
        Function("date_trunc", 2, 2, _date_trunc),
    )
}
