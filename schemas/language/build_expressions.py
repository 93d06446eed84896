"""The parser's raw tree to ours: names, constants and expressions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from lark import Token, v_args
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive

from schemas.language import tree
from schemas.language.errors import QueryError
from schemas.language.names import unquote_name
from schemas.language.span import Span

# What a results column may not hold in its name (Delta), and so an alias neither.
_UNFIT_IN_ALIAS = re.compile(r"[ ,;{}()\n\t=]")
_MOST_DIGITS = 38


@dataclass(frozen=True)
class Part:
    """A part of a larger node: which part, its value, and where it stands."""

    part: str
    value: Any
    span: Span


def kept(children: Iterable[Any]) -> list[Any]:
    """What is no keyword or sign."""
    return [child for child in children if not isinstance(child, Token)]


def has(children: Iterable[Any], terminal: str) -> bool:
    return any(isinstance(child, Token) and child.type == terminal for child in children)


@v_args(meta=True)
class ExpressionBuilder(Transformer_NonRecursive[Token, Any]):
    """One method a rule of the grammar. Not recursive, so that no text is too deep for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def _error(self, span: Span, problem: str, hint: str) -> QueryError:
        return QueryError.at(self._text, span, problem, hint)

    def _span(self, meta: Meta) -> Span:
        return Span(meta.start_pos, meta.end_pos - meta.start_pos, meta.line, meta.column)

    # Names and constants

    def name(self, meta: Meta, children: list[Token]) -> tree.Name:
        return tree.Name(unquote_name(str(children[0])), span=self._span(meta))

    def attribute(self, meta: Meta, children: list[tree.Name]) -> tree.Name:
        qualifier = children[0].name if len(children) == 2 else None
        return tree.Name(children[-1].name, qualifier, span=self._span(meta))

    def attributes(self, meta: Meta, children: list[tree.Name]) -> tuple[tree.Name, ...]:
        return tuple(children)

    def name_list(self, meta: Meta, children: list[tree.Name]) -> tuple[str, ...]:
        return tuple(child.name for child in children)

    def alias(self, meta: Meta, children: list[Any]) -> Part:
        name = kept(children)[0]
        unfit = _UNFIT_IN_ALIAS.search(name.name)
        if unfit:
            raise self._error(
                name.span,
                f"a column cannot be named with {unfit[0]!r} in it.",
                "Leave out spaces and any of ,;{}()= in the name after AS.",
            )
        return Part("alias", name.name, name.span)

    def number(self, meta: Meta, children: list[Token]) -> tree.Literal:
        spelled = str(children[-1])
        span = self._span(meta)
        if "e" in spelled.lower():
            value = float(spelled)
            if value in (float("inf"), float("-inf")):
                raise self._error(span, f"the number {spelled} is too great.", "Write one below 1.7e308.")
            return tree.Literal(value, tree.LiteralKind.DOUBLE, span=span)
        if sum(sign.isdigit() for sign in spelled.lstrip("0")) > _MOST_DIGITS:
            raise self._error(
                span,
                f"a number has at most {_MOST_DIGITS} digits.",
                "Write it shorter, or with an exponent (1e40).",
            )
        if "." in spelled:
            return tree.Literal(Decimal(spelled), tree.LiteralKind.DECIMAL, span=span)
        return tree.Literal(int(spelled), tree.LiteralKind.INTEGER, span=span)

    def negative_number(self, meta: Meta, children: list[Token]) -> tree.Literal:
        positive = self.number(meta, children)
        assert isinstance(positive.value, int | Decimal | float)
        return replace(positive, value=-positive.value)

    def text(self, meta: Meta, children: list[Token]) -> tree.Literal:
        return tree.Literal(_unquote(children[0]), tree.LiteralKind.TEXT, span=self._span(meta))

    def timestamp(self, meta: Meta, children: list[Token]) -> tree.Literal:
        return tree.Literal(_unquote(children[1]), tree.LiteralKind.TIMESTAMP, span=self._span(meta))

    def date(self, meta: Meta, children: list[Token]) -> tree.Literal:
        return tree.Literal(_unquote(children[1]), tree.LiteralKind.DATE, span=self._span(meta))

    def true(self, meta: Meta, children: list[Token]) -> tree.Literal:
        return tree.Literal(True, tree.LiteralKind.BOOLEAN, span=self._span(meta))

    def false(self, meta: Meta, children: list[Token]) -> tree.Literal:
        return tree.Literal(False, tree.LiteralKind.BOOLEAN, span=self._span(meta))

    def null(self, meta: Meta, children: list[Token]) -> tree.Literal:
        return tree.Literal(None, tree.LiteralKind.NULL, span=self._span(meta))

    # Expressions

    def binary(self, meta: Meta, children: list[Any]) -> tree.Binary:
        left, sign, right = children
        operator = "<>" if sign == "!=" else sign.upper()
        return tree.Binary(operator, left, right, span=self._span(meta))

    def unary(self, meta: Meta, children: list[Any]) -> tree.Unary:
        return tree.Unary(children[0].upper(), children[1], span=self._span(meta))

    def between(self, meta: Meta, children: list[Any]) -> tree.Between:
        operand, low, high = kept(children)
        return tree.Between(operand, low, high, has(children, "NOT"), span=self._span(meta))

    def in_list(self, meta: Meta, children: list[Any]) -> tree.InList:
        operand, *choices = kept(children)
        return tree.InList(operand, tuple(choices), has(children, "NOT"), span=self._span(meta))

    def like(self, meta: Meta, children: list[Any]) -> tree.Like:
        operand, pattern = kept(children)
        return tree.Like(operand, pattern, has(children, "NOT"), span=self._span(meta))

    def is_null(self, meta: Meta, children: list[Any]) -> tree.IsNull:
        return tree.IsNull(children[0], has(children, "NOT"), span=self._span(meta))

    def operand(self, meta: Meta, children: list[Any]) -> Part:
        return Part("operand", children[0], self._span(meta))

    def branch(self, meta: Meta, children: list[Any]) -> Part:
        return Part("branch", tuple(kept(children)), self._span(meta))

    def otherwise(self, meta: Meta, children: list[Any]) -> Part:
        return Part("otherwise", children[1], self._span(meta))

    def case(self, meta: Meta, children: list[Any]) -> tree.Case:
        words: list[Part] = kept(children)
        single = {word.part: word.value for word in words}
        branches = tuple(word.value for word in words if word.part == "branch")
        return tree.Case(single.get("operand"), branches, single.get("otherwise"), span=self._span(meta))

    def type(self, meta: Meta, children: list[Any]) -> str:
        name, *numbers = children
        return str(name.name).lower() + (f"({','.join(numbers)})" if numbers else "")

    def cast(self, meta: Meta, children: list[Any]) -> tree.Cast:
        operand, type_text = kept(children)
        return tree.Cast(operand, type_text, span=self._span(meta))

    def filter(self, meta: Meta, children: list[Any]) -> Part:
        return Part("filter", kept(children)[0], self._span(meta))

    def call(self, meta: Meta, children: list[Any]) -> tree.Call:
        function, *rest = kept(children)
        condition = rest.pop().value if rest and isinstance(rest[-1], Part) else None
        return tree.Call(
            function.name.lower(),
            tuple(rest),
            star=has(children, "STAR"),
            distinct=has(children, "DISTINCT"),
            filter=condition,
            span=self._span(meta),
        )


def _unquote(token: Token) -> str:
    return str(token)[1:-1].replace("''", "'")
