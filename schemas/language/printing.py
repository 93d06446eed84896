"""One spelling for all texts of the same query: what a query's revision is hashed from.

Case, whitespace, comments, label, quotes that were not needed, `JOIN … ON` for comma and WHERE, the order of
a window's words: none of these is in it. Aliases keep their case, since they name columns of the results.
Reading a canonical text gives the same canonical text.
"""

from __future__ import annotations

from decimal import Decimal

from schemas.language.errors import QueryError
from schemas.language.names import print_name
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
    Query,
    Rank,
    RelationToStream,
    Select,
    SelectItem,
    SetOperation,
    Source,
    Star,
    Statement,
    StreamSource,
    Unary,
    WindowClause,
)


def canonical(statement: Statement) -> str:
    """The statement's canonical text, one line a clause."""
    try:
        lines = [_query(statement.query)]
    except RecursionError:
        raise too_deep(statement) from None
    if statement.punctuation is not None:
        lines.append(f"PUNCTUATED BY {statement.punctuation}")
    if statement.lateness is not None:
        lines.append(f"LATE {statement.lateness}")
    return "\n".join(lines) + "\n"


def print_expression(expression: Expression) -> str:
    """An expression's canonical text."""
    return _expression(expression)


def too_deep(statement: Statement) -> QueryError:
    """The error for a query nested beyond what can be walked."""
    return QueryError.at(
        statement.text,
        statement.span,
        "this query is nested too deeply.",
        "Write a long chain of OR as IN (…), or split the query by subqueries.",
    )


def _query(query: Query) -> str:
    if isinstance(query, SetOperation):
        return f"{_term(query.left, left=True)}\n{query.kind.value}\n{_term(query.right)}"
    if isinstance(query, RelationToStream):
        return f"{query.kind.value}({_query(query.query)})"
    return _select(query)


def _term(query: Query, left: bool = False) -> str:
    return f"({_query(query)})" if isinstance(query, SetOperation) and not left else _query(query)


def _select(select: Select) -> str:
    items = [_item(item) for item in select.items]
    if select.distinct is not None:
        first = select.items[0]
        # `KEEP -x` would read as a difference: parentheses keep the word apart from what follows.
        if not isinstance(first.expression, Star):
            items[0] = _operand(first.expression) + _alias(first.alias)
        items[0] = f"DISTINCT {select.distinct.value} {items[0]}"
    lines = [
        f"SELECT {', '.join(items)}",
        f"FROM {', '.join(map(_source, select.sources))}",
    ]
    if select.where is not None:
        lines.append(f"WHERE {_expression(select.where)}")
    if select.join_timestamp is not None:
        lines.append(f"JOIN TIMESTAMP {select.join_timestamp.value}")
    if select.group_by:
        lines.append(f"GROUP BY {', '.join(map(_expression, select.group_by))}")
    if select.having is not None:
        lines.append(f"HAVING {_expression(select.having)}")
    return "\n".join(lines)


def _item(item: SelectItem) -> str:
    if isinstance(item.expression, Star):
        qualifier = item.expression.qualifier
        return "*" if qualifier is None else f"{_name(qualifier)}.*"
    return _expression(item.expression) + _alias(item.alias)


def _source(source: Source) -> str:
    relation = _name(source.name) if isinstance(source, StreamSource) else f"({_query(source.query)})"
    window = f" {print_window(source.window)}" if source.window is not None else ""
    return relation + window + _alias(source.alias)


def _alias(alias: str | None) -> str:
    return "" if alias is None else f" AS {print_name(alias)}"


def print_window(window: WindowClause) -> str:
    """A window's words in a fixed order, in brackets."""
    sattr = window.sattr
    words = [
        ("UNBOUNDED", "" if window.unbounded else None),
        ("START AT", _point(window.start_at)),
        ("END AT", _point(window.end_at)),
        ("NOW", "" if window.now else None),
        ("PARTITION BY", _names(window.partition_by)),
        ("ROWS", None if window.rows is None else str(window.rows)),
        ("RANGE", None if window.range is None else str(window.range)),
        ("RATTR", _attribute(window.rattr)),
        ("SLIDE", None if window.slide is None else str(window.slide)),
        ("SATTR", f"rank({_attribute(sattr.attribute)})" if isinstance(sattr, Rank) else _attribute(sattr)),
        ("WATTR", _attribute(window.wattr)),
        ("PATTR", _names(window.pattr)),
        ("ORIGIN", _point(window.origin)),
        ("LAG", None if window.lag is None else str(window.lag)),
    ]
    return "[" + " ".join(f"{word} {value}".rstrip() for word, value in words if value is not None) + "]"


def _names(names: tuple[Name, ...]) -> str | None:
    return ", ".join(_expression(name) for name in names) or None


def _attribute(name: Name | None) -> str | None:
    return None if name is None else _expression(name)


def _point(literal: Literal | None) -> str | None:
    return None if literal is None else _literal(literal)


def _expression(expression: Expression) -> str:
    match expression:
        case Name(name=name, qualifier=qualifier):
            return _name(name) if qualifier is None else f"{_name(qualifier)}.{_name(name)}"
        case Literal():
            return _literal(expression)
        case Unary(operator=operator, operand=operand):
            return f"{operator} {_operand(operand)}" if operator == "NOT" else operator + _operand(operand)
        case Binary(operator=operator, left=left, right=right):
            return f"{_operand(left)} {operator} {_operand(right)}"
        case Between(operand=operand, low=low, high=high, negated=negated):
            return f"{_operand(operand)}{_not(negated)} BETWEEN {_operand(low)} AND {_operand(high)}"
        case InList(operand=operand, choices=choices, negated=negated):
            return f"{_operand(operand)}{_not(negated)} IN ({', '.join(map(_expression, choices))})"
        case Like(operand=operand, pattern=pattern, negated=negated):
            return f"{_operand(operand)}{_not(negated)} LIKE {_operand(pattern)}"
        case IsNull(operand=operand, negated=negated):
            return f"{_operand(operand)} IS{_not(negated)} NULL"
        case Case():
            return _case(expression)
        case Cast(operand=operand, type=type_text):
            return f"CAST({_expression(operand)} AS {type_text})"
        case Call():
            return _call(expression)


def _operand(expression: Expression) -> str:
    """An operand, in parentheses unless it holds together by itself."""
    printed = _expression(expression)
    return printed if isinstance(expression, Name | Literal | Call | Cast) else f"({printed})"


def _not(negated: bool) -> str:
    return " NOT" if negated else ""


def _case(case: Case) -> str:
    words = ["CASE"] if case.operand is None else ["CASE", _operand(case.operand)]
    for condition, value in case.branches:
        words += ["WHEN", _expression(condition), "THEN", _expression(value)]
    if case.otherwise is not None:
        words += ["ELSE", _expression(case.otherwise)]
    return " ".join([*words, "END"])


def _call(call: Call) -> str:
    inside = "*" if call.star else ", ".join(map(_expression, call.arguments))
    distinct = "DISTINCT " if call.distinct else ""
    condition = f" FILTER (WHERE {_expression(call.filter)})" if call.filter is not None else ""
    return f"{_name(call.function)}({distinct}{inside}){condition}"


def _name(name: str) -> str:
    return print_name(name.lower())


def _literal(literal: Literal) -> str:
    value = literal.value
    if isinstance(value, str):
        quoted = "'" + value.replace("'", "''") + "'"
        return quoted if literal.kind is LiteralKind.TEXT else f"{literal.kind.name} {quoted}"
    if isinstance(value, bool) or value is None:
        return {True: "TRUE", False: "FALSE", None: "NULL"}[value]
    if isinstance(value, Decimal):
        printed = format(value, "f")
        return printed if "." in printed else printed + "."
    if isinstance(value, float):
        return repr(value) if "e" in repr(value) else f"{value!r}e0"
    return str(value)
