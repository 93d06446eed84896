"""Replays a drawn case step by step on frames in memory: the same steps as a real replay, without Delta."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from jobs.micro_batches import Cut, MicroBatch
from jobs.step import State, StepRun
from jobs.aggregates import Partials
from jobs.punctuator import MARKS
from schemas.binding import bind_query
from schemas.language.parser import parse
from schemas.query import WindowQuery
from schemas.stream import declare_stream
from schemas.tables import archive_contract
from tests.oracle import comparable
from tests.oracle.strategies import Case, literal, query_text, stream_declaration

RESULT_EXTRAS = ("answer_id", "sign", "batch_id")


def bind_case(case: Case) -> WindowQuery:
    stream = declare_stream(stream_declaration(case))
    return bind_query("q", parse(query_text(case)), {"S": stream}, lambda _: None)


def frames_of(spark: SparkSession, case: Case, query: WindowQuery) -> tuple[Any, Any]:
    columns = [c for c in archive_contract(query.stream).columns if not c.name.startswith("source_")]
    schema = ", ".join(f"`{c.name}` {c.type}" for c in columns)
    rows = [
        (row["seq"], row["arrived_at"], *(row[name] for name in case.attributes)) for row in case.arrivals
    ]
    archive = spark.createDataFrame(rows, schema).coalesce(2).persist()
    said = [(p.seq, json.dumps(literal(p.pattern))) for p in case.punctuations]
    punctuations = spark.createDataFrame(said, "seq bigint, pattern string").coalesce(1).persist()
    return archive, punctuations


def replay_in_memory(
    spark: SparkSession, case: Case, steps: Sequence[Sequence[int]], until: int | None
) -> dict[str, Any]:
    """`steps` are lists of the last seqs of micro-batches; each list is one Spark job."""
    query = bind_case(case)
    archive, punctuations = frames_of(spark, case, query)
    last = until if until is not None else len(case.arrivals)
    state = empty_state(spark, query)
    results, late, counts = [], [], []
    first, batch_id = 1, 1
    for number, ends in enumerate(steps):
        batches = []
        for end in ends:
            batches.append(MicroBatch(batch_id, first, end, None))
            first, batch_id = end + 1, batch_id + 1
        run = _SeveralCuts(query, archive, punctuations, batches, case.close_at_end and number == len(steps) - 1)
        step = run.run(state)
        results += [row.asDict() for row in step.results.collect()]
        if step.late is not None:
            late += [row.asDict() for row in step.late.collect()]
        counts.append(step.counts)
        panes = spark.createDataFrame(step.state.panes.collect(), state.panes.schema)
        marks = spark.createDataFrame(step.state.marks.collect(), MARKS)
        step.release()
        state = State(panes, marks)
    archive.unpersist()
    punctuations.unpersist()
    assert first == last + 1
    return {
        "results": results,
        "late": late,
        "counts": counts,
        "panes": sorted(map(repr, state.panes.collect())),
        "marks": sorted(map(repr, state.marks.collect())),
    }


def empty_state(spark: SparkSession, query: WindowQuery) -> State:
    """State of the right types: that of a step over nothing."""
    columns = [c for c in archive_contract(query.stream).columns]
    nothing = spark.createDataFrame([], ", ".join(f"`{c.name}` {c.type}" for c in columns))
    partials = Partials(query.aggregates)
    groups = [f"group_{place}" for place in range(len(query.groups))]
    keyed = nothing.selectExpr(
        "*",
        *(f"{g.sql} as {c}" for g, c in zip(query.groups, groups, strict=True)),
        "0L as first_id",
        "0L as last_id",
    )
    panes = partials.collect(partials.prepare(keyed), *groups, "first_id", "last_id")
    return State(spark.createDataFrame([], panes.schema), spark.createDataFrame([], MARKS))


class _SeveralCuts(StepRun):
    """Micro-batches at drawn positions: each row's batch is looked up by its seq."""

    def __init__(self, query: Any, archive: Any, punctuations: Any, batches: Any, close: bool) -> None:
        bounds = [b.first_seq for b in batches]
        keyed = [MicroBatch(b.batch_id, b.first_seq, b.last_seq, k) for k, b in enumerate(batches)]
        super().__init__(query, archive, punctuations, keyed, _DrawnCut(tuple(bounds)), close)


class _DrawnCut(Cut):
    def __init__(self, bounds: tuple[int, ...]) -> None:
        object.__setattr__(self, "rows", 1)
        object.__setattr__(self, "span", None)
        object.__setattr__(self, "first_seq", bounds[0])
        object.__setattr__(self, "bounds", bounds)

    @property
    def key_sql(self) -> str:
        cases = " ".join(
            f"when seq >= {bound} then {key}L" for key, bound in reversed(list(enumerate(self.bounds)))  # type: ignore[attr-defined]
        )
        return f"(case {cases} else 0L end)"


def nearly(rows: Any) -> Any:
    """Comparable rows, with averages to the last but a few bits: rounding the sum first costs one."""
    return [
        {name: _rounded(value) if name.startswith("avg") else value for name, value in row.items()}
        for row in comparable(rows)
    ]


def _rounded(value: Any) -> Any:
    if isinstance(value, list | tuple) and value[0] == "double" and value[1] not in ("NaN", "inf", "-inf"):
        number = float(value[1])
        return ("double", "0" if number == 0 or math.isinf(number) else f"{number:.13g}")
    return value
