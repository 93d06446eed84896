"""The parser's raw tree to ours: amounts and the words of a window."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from lark import Token, v_args
from lark.tree import Meta

from schemas.language import tree
from schemas.language.build_expressions import ExpressionBuilder, Part, kept
from schemas.quantity import Quantity, Unit


@v_args(meta=True)
class WindowBuilder(ExpressionBuilder):
    """What stands in brackets."""

    def quantity_value(self, meta: Meta, children: list[Token]) -> Part:
        return Part("value", Fraction(str(children[0])), self._span(meta))

    def quantity(self, meta: Meta, children: list[Any]) -> Quantity:
        unit = Unit.named(children[1]) if len(children) == 2 else None
        amount = Quantity(children[0].value, unit, span=self._span(meta))
        if unit is Unit.ROWS and amount.value.denominator != 1:
            raise self._error(
                amount.span, "rows are counted in whole numbers.", "Write a whole number of rows."
            )
        return amount

    def rank(self, meta: Meta, children: list[Any]) -> tree.Rank:
        return tree.Rank(kept(children)[0], span=self._span(meta))

    def _word(self, part: str, meta: Meta, value: Any) -> Part:
        return Part(part, value, self._span(meta))

    def _amount(self, part: str, meta: Meta, children: list[Any]) -> Part:
        amount = children[1]
        if amount.value <= 0:
            unit = amount.unit.value + "s" if amount.unit else ""
            raise self._error(
                amount.span,
                f"{part.upper()} must be more than 0.",
                f"Write for instance {part.upper()} 10 {unit}".rstrip() + ".",
            )
        return self._word(part, meta, amount)

    def range(self, meta: Meta, children: list[Any]) -> Part:
        return self._amount("range", meta, children)

    def slide(self, meta: Meta, children: list[Any]) -> Part:
        return self._amount("slide", meta, children)

    def lag(self, meta: Meta, children: list[Any]) -> Part:
        return self._word("lag", meta, children[1])

    def rows(self, meta: Meta, children: list[Any]) -> Part:
        count = children[1]
        if count.value <= 0 or count.value.denominator != 1:
            raise self._error(
                count.span, "ROWS takes a whole number above 0.", "Write for instance ROWS 100."
            )
        return self._word("rows", meta, int(count.value))

    def wattr(self, meta: Meta, children: list[Any]) -> Part:
        return self._word("wattr", meta, children[1])

    def rattr(self, meta: Meta, children: list[Any]) -> Part:
        return self._word("rattr", meta, children[1])

    def sattr(self, meta: Meta, children: list[Any]) -> Part:
        return self._word("sattr", meta, children[1])

    def pattr(self, meta: Meta, children: list[Any]) -> Part:
        return self._word("pattr", meta, children[1])

    def partition_by(self, meta: Meta, children: list[Any]) -> Part:
        return self._word("partition_by", meta, children[2])

    def origin(self, meta: Meta, children: list[Any]) -> Part:
        return self._word("origin", meta, children[1])

    def start_at(self, meta: Meta, children: list[Any]) -> Part:
        return self._word("start_at", meta, children[2])

    def end_at(self, meta: Meta, children: list[Any]) -> Part:
        return self._word("end_at", meta, children[2])

    def unbounded(self, meta: Meta, children: list[Any]) -> Part:
        return self._word("unbounded", meta, True)

    def now(self, meta: Meta, children: list[Any]) -> Part:
        return self._word("now", meta, True)

    def window(self, meta: Meta, children: list[Part]) -> tree.WindowClause:
        parts: dict[str, Any] = {}
        for word in kept(children):
            if word.part in parts:
                spelled = word.part.replace("_", " ").upper()
                raise self._error(word.span, f"this window says {spelled} twice.", f"Keep one {spelled}.")
            parts[word.part] = word.value
        return tree.WindowClause(**parts, span=self._span(meta))
