"""Aggregates as mergeable partials: what a pane keeps, how panes merge, what a window answers from them.

Every partial is the same whatever the order of its rows: counts and whole sums are exact, sums of doubles go by
limbs, and the two zeros of a double count as one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.exact_sum import cut_into_limbs, limb_columns, merge_expressions, put_together
from schemas.query import Aggregate


@dataclass
class _Term:
    """One argument of aggregates, computed once a row."""

    column: str
    sql: str
    type: str


@dataclass
class Partials:
    """The partials that a list of aggregates needs, each kept once however many aggregates use it."""

    aggregates: tuple[Aggregate, ...]
    _terms: dict[str, _Term] = field(default_factory=dict)
    _kept: dict[str, tuple[str, str]] = field(default_factory=dict)
    _limbs: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for aggregate in self.aggregates:
            self._keep(aggregate)

    @property
    def columns(self) -> list[str]:
        return [*self._kept, *(column for name in self._limbs for column in limb_columns(name))]

    def prepare(self, rows: DataFrame) -> DataFrame:
        """`rows` with every argument, and the limbs of those that are summed as doubles."""
        rows = rows.withColumns({term.column: F.expr(term.sql) for term in self._terms.values()})
        return cut_into_limbs(rows, self._limbs) if self._limbs else rows

    def collect(self, rows: DataFrame, *by: str) -> DataFrame:
        """Partials of prepared rows."""
        first = {column: collected for column, (collected, _) in self._kept.items()}
        return self._group(rows, by, first)

    def merge(self, partials: DataFrame, *by: str) -> DataFrame:
        """Partials of partials."""
        again = {column: merged for column, (_, merged) in self._kept.items()}
        return self._group(partials, by, again)

    def _group(self, rows: DataFrame, by: tuple[str, ...], expressions: dict[str, str]) -> DataFrame:
        for name in self._limbs:
            expressions |= merge_expressions(name)
        return rows.groupBy(*by).agg(*(F.expr(sql).alias(column) for column, sql in expressions.items()))

    def finish(self, partials: DataFrame) -> DataFrame:
        """`partials` with the answer of aggregate k in the column `answer_k`."""
        return put_together(partials, self._limbs).withColumns(
            {answer_column(k): F.expr(self._answer(one)) for k, one in enumerate(self.aggregates)}
        )

    def _keep(self, aggregate: Aggregate) -> None:
        column = self._term(aggregate)
        if aggregate.function in ("count", "avg"):
            self._kept[f"{column}_count"] = (f"count({column})", f"sum({column}_count)")
        if aggregate.function in ("sum", "avg"):
            if aggregate.type == "double":
                if column not in self._limbs:
                    self._limbs.append(column)
            else:
                type_ = sum_type(aggregate.type)
                # Adding up sums would widen a decimal again and again.
                self._kept[f"{column}_sum"] = (
                    f"cast(sum({column}) as {type_})",
                    f"cast(sum({column}_sum) as {type_})",
                )
        if aggregate.function in ("min", "max"):
            kept = f"{column}_{aggregate.function}"
            self._kept[kept] = (f"{aggregate.function}({column})", f"{aggregate.function}({kept})")

    def _term(self, aggregate: Aggregate) -> str:
        sql = aggregate.argument
        if aggregate.type == "double":
            # -0.0 equals 0.0, so which of them `min` keeps would depend on the order.
            sql = f"if(({sql}) = 0D, 0D, {sql})"
        if sql not in self._terms:
            self._terms[sql] = _Term(f"term_{len(self._terms)}", sql, aggregate.type)
        return self._terms[sql].column

    def _answer(self, aggregate: Aggregate) -> str:
        column = self._term(aggregate)
        if aggregate.function != "avg":
            return f"{column}_{aggregate.function}"
        total, count = f"{column}_sum", f"{column}_count"
        if aggregate.type.startswith("decimal"):
            return f"cast(if({count} = 0, null, {total} / {count}) as {average_type(aggregate.type)})"
        return f"if({count} = 0, null, cast({total} as double) / {count})"


def answer_column(place: int) -> str:
    return f"answer_{place}"


def sum_type(type_: str) -> str:
    """The type of a sum, as Spark SQL has it."""
    if type_.startswith("decimal"):
        precision, scale = (int(part) for part in type_[8:-1].split(","))
        return f"decimal({min(38, precision + 10)},{scale})"
    return "double" if type_ == "double" else "bigint"


def average_type(type_: str) -> str:
    """The type of an average, as Spark SQL has it."""
    if type_.startswith("decimal"):
        precision, scale = (int(part) for part in type_[8:-1].split(","))
        return f"decimal({min(38, precision + 4)},{min(38, scale + 4)})"
    return "double"
