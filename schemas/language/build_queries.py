"""The parser's raw tree to ours: policies, sources and whole queries, with joins flattened."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lark import Token, v_args
from lark.tree import Meta

from schemas.language import tree
from schemas.language.build_expressions import Part, has, kept
from schemas.language.build_windows import WindowBuilder
from schemas.policy import Archive, EachInOrder, End, Heartbeat, Lateness, Punctuation, SlackRows, SlackSpan
from schemas.quantity import Quantity, Unit


@v_args(meta=True)
class TreeBuilder(WindowBuilder):
    """Everything else; what the parser uses."""

    # Policies

    def slack(self, meta: Meta, children: list[Any]) -> Punctuation:
        amount: Quantity = children[1]
        return SlackRows(int(amount.value)) if amount.unit is Unit.ROWS else SlackSpan(amount)

    def archive(self, meta: Meta, children: list[Any]) -> Punctuation:
        return Archive()

    def each_in_order(self, meta: Meta, children: list[Any]) -> Punctuation:
        attributes, *idle = kept(children)
        if idle and (idle[0].unit is None or idle[0].value <= 0):
            raise self._error(
                idle[0].span,
                "IDLE takes rows or a span of time above 0.",
                "Write for instance IDLE 10 minutes.",
            )
        return EachInOrder(attributes, idle[0] if idle else None)

    def heartbeat(self, meta: Meta, children: list[Any]) -> Punctuation:
        every: Quantity = children[2]
        if every.unit is None or not every.unit.is_time or every.value <= 0:
            raise self._error(
                every.span,
                "HEARTBEAT EVERY takes a span of arrival time above 0.",
                "Write for instance HEARTBEAT EVERY 10 seconds.",
            )
        return Heartbeat(every)

    def end(self, meta: Meta, children: list[Any]) -> Punctuation:
        return End()

    def lateness(self, meta: Meta, children: list[Token]) -> Lateness:
        return Lateness(children[0].upper())

    def punctuated_by(self, meta: Meta, children: list[Any]) -> Part:
        return Part("PUNCTUATED BY", children[2], self._span(meta))

    def late(self, meta: Meta, children: list[Any]) -> Part:
        return Part("LATE", children[1], self._span(meta))

    # Sources

    def stream(self, meta: Meta, children: list[Any]) -> tree.StreamSource:
        return tree.StreamSource(children[0].name, span=self._span(meta))

    def subquery(self, meta: Meta, children: list[Any]) -> tree.SubquerySource:
        return tree.SubquerySource(children[0], span=self._span(meta))

    def source(self, meta: Meta, children: list[Any]) -> tree.Source:
        source: tree.Source = children[0]
        for part in children[1:]:
            if isinstance(part, tree.WindowClause):
                source = replace(source, window=part)
            else:
                source = replace(source, alias=part.value)
        return replace(source, span=self._span(meta))

    def on(self, meta: Meta, children: list[Any]) -> Part:
        return Part("on", children[1], self._span(meta))

    def sources(self, meta: Meta, children: list[Any]) -> Part:
        listed = kept(children)
        sources = tuple(child for child in listed if not isinstance(child, Part))
        conditions = [child.value for child in listed if isinstance(child, Part)]
        return Part("sources", (sources, conditions), self._span(meta))

    # Clauses of SELECT

    def distinct(self, meta: Meta, children: list[Any]) -> Part:
        policy = tree.Distinct.LATEST if has(children, "LATEST") else tree.Distinct.KEEP
        return Part("distinct", policy, self._span(meta))

    def star(self, meta: Meta, children: list[Any]) -> tree.SelectItem:
        names = kept(children)
        qualifier = names[0].name if names else None
        return tree.SelectItem(tree.Star(qualifier, span=self._span(meta)), span=self._span(meta))

    def item(self, meta: Meta, children: list[Any]) -> tree.SelectItem:
        alias = children[1].value if len(children) == 2 else None
        return tree.SelectItem(children[0], alias, span=self._span(meta))

    def items(self, meta: Meta, children: list[Any]) -> Part:
        return Part("items", tuple(children), self._span(meta))

    def where(self, meta: Meta, children: list[Any]) -> Part:
        return Part("where", children[1], self._span(meta))

    def join_timestamp(self, meta: Meta, children: list[Any]) -> Part:
        return Part("join_timestamp", tree.JoinTimestamp(children[1].upper()), self._span(meta))

    def group_by(self, meta: Meta, children: list[Any]) -> Part:
        return Part("group_by", kept(children), self._span(meta))

    def having(self, meta: Meta, children: list[Any]) -> Part:
        return Part("having", children[1], self._span(meta))

    def select(self, meta: Meta, children: list[Any]) -> tree.Select:
        parts = {part.part: part.value for part in kept(children)}
        sources, conditions = parts["sources"]
        grouping = parts.get("group_by", [])
        windows = [part for part in grouping if isinstance(part, tree.WindowClause)]
        if windows:
            sources = self._with_window(sources, windows)
        terms = conditions + ([parts["where"]] if "where" in parts else [])
        where: Any = terms[0] if terms else None
        for term in terms[1:]:
            where = tree.Binary("AND", where, term, span=term.span)
        return tree.Select(
            items=parts["items"],
            sources=sources,
            distinct=parts.get("distinct"),
            where=where,
            group_by=tuple(part for part in grouping if not isinstance(part, tree.WindowClause)),
            having=parts.get("having"),
            join_timestamp=parts.get("join_timestamp"),
            span=self._span(meta),
        )

    def _with_window(
        self, sources: tuple[tree.Source, ...], windows: list[tree.WindowClause]
    ) -> tuple[tree.Source, ...]:
        """The single source under the window that stands at GROUP BY."""
        if len(sources) > 1:
            raise self._error(
                windows[0].span,
                "a window at GROUP BY belongs to a single input, and here are several.",
                "Put the window after the name of its stream in FROM.",
            )
        if len(windows) > 1 or sources[0].window is not None:
            raise self._error(windows[-1].span, "this input has two windows.", "Keep one of them.")
        return (replace(sources[0], window=windows[0]),)

    # Queries

    def union(self, meta: Meta, children: list[Any]) -> tree.SetOperation:
        left, right = kept(children)
        return tree.SetOperation(tree.SetKind.UNION, left, right, span=self._span(meta))

    def except_(self, meta: Meta, children: list[Any]) -> tree.SetOperation:
        left, right = kept(children)
        return tree.SetOperation(tree.SetKind.EXCEPT, left, right, span=self._span(meta))

    def relation_to_stream(self, meta: Meta, children: list[Any]) -> tree.RelationToStream:
        kind, query = children
        return tree.RelationToStream(tree.RelationToStreamKind(kind.upper()), query, span=self._span(meta))

    def statement(self, meta: Meta, children: list[Any]) -> tree.Statement:
        query, *clauses = children
        said: dict[str, Part] = {}
        for clause in clauses:
            if clause.part in said:
                raise self._error(
                    clause.span,
                    f"this query says {clause.part} twice.",
                    f"Keep one {clause.part} at its end.",
                )
            said[clause.part] = clause
        punctuated, late = said.get("PUNCTUATED BY"), said.get("LATE")
        return tree.Statement(
            query,
            punctuated.value if punctuated else None,
            late.value if late else None,
            text=self._text,
            punctuation_span=punctuated.span if punctuated else None,
            span=self._span(meta),
        )
