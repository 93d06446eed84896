"""Replays a drawn case step by step on frames in memory: the same steps as a real replay, without Delta."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from jobs.micro_batches import Cut, MicroBatch
from jobs.punctuator import MARKS
from jobs.step import BatchCounts, State, StepRun, empty_state
from schemas.binding import bind_query
from schemas.language.parser import parse
from schemas.query import WindowQuery
from schemas.stream import declare_stream
from schemas.tables import archive_contract
from tests.oracle import comparable
from tests.oracle.strategies import Case, literal, query_text, stream_declaration

LATE_COLUMNS = ("seq", "missed_from", "missed_to", "missed", "behind")

Steps = Sequence[Sequence[int]]
"""The last seqs of micro-batches; each inner list is one Spark job."""


@dataclass
class Replayed:
    """What a replay in memory gave; `panes` and `marks` are the final state, as text."""

    results: list[dict[str, Any]] = field(default_factory=list)
    late: list[dict[str, Any]] = field(default_factory=list)
    counts: list[BatchCounts] = field(default_factory=list)
    panes: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)

    @property
    def ledger(self) -> dict[str, int]:
        """The ledger's totals."""
        return {
            "rows_in": sum(batch.rows_in for batch in self.counts),
            "rows_used": sum(batch.used for batch in self.counts),
            "rows_partly_late": sum(batch.partly_late for batch in self.counts),
            "rows_late": sum(batch.late for batch in self.counts),
            "rows_out_of_range": sum(batch.out_of_range for batch in self.counts),
            "rows_filtered": sum(batch.filtered for batch in self.counts),
        }

    @property
    def as_text(self) -> dict[str, Any]:
        """All of it to the last bit, apart from the columns that name the batch."""

        def texts(rows: list[dict[str, Any]]) -> list[str]:
            return sorted(repr({k: v for k, v in row.items() if k != "batch_id"}) for row in rows)

        return {
            "results": texts(self.results),
            "late": texts(self.late),
            "panes": self.panes,
            "marks": self.marks,
        }


def bind_case(case: Case) -> WindowQuery:
    stream = declare_stream(stream_declaration(case))
    return bind_query("q", parse(query_text(case)), {"S": stream}, lambda _: None)


def frames_of(spark: SparkSession, case: Case, query: WindowQuery) -> tuple[DataFrame, DataFrame]:
    """The case's archive and its punctuations, as the lakehouse would have them."""
    columns = [c for c in archive_contract(query.stream).columns if not c.name.startswith("source_")]
    schema = ", ".join(f"`{c.name}` {c.type}" for c in columns)
    rows = [
        (row["seq"], row["arrived_at"], *(row[name] for name in case.attributes)) for row in case.arrivals
    ]
    archive = spark.createDataFrame(rows, schema).coalesce(2).persist()
    said = [(p.seq, json.dumps(literal(p.pattern))) for p in case.punctuations]
    punctuations = spark.createDataFrame(said, "seq bigint, pattern string").coalesce(1).persist()
    return archive, punctuations


def replay_in_memory(spark: SparkSession, case: Case, steps: Steps, block: int | None = None) -> Replayed:
    """The case through `steps`; `block` is how many positions lateness judges together, if not as many as usual."""
    query = bind_case(case)
    archive, punctuations = frames_of(spark, case, query)
    state = empty_state(query, archive)
    pane_schema = state.panes.schema
    replayed = Replayed()
    first, batch_id = 1, 1
    for number, ends in enumerate(steps):
        batches = []
        for key, end in enumerate(ends):
            batches.append(MicroBatch(batch_id, first, end, key))
            first, batch_id = end + 1, batch_id + 1
        cut = DrawnCut(1, None, batches[0].first_seq, tuple(b.first_seq for b in batches))
        closes = case.close_at_end and number == len(steps) - 1
        run = StepRun(query, archive, punctuations, batches, cut, closes)
        if block is not None:
            run.block = block
        step = run.run(state)
        replayed.results += as_dicts(step.results.collect())
        if step.late is not None:
            replayed.late += as_dicts(step.late.select(*LATE_COLUMNS, "batch_id").collect())
        replayed.counts += step.counts.values()
        panes, marks = step.state.panes.collect(), step.state.marks.collect()
        step.release()
        # Frames of their own, as from a table: otherwise plans would grow from step to step.
        state = State(spark.createDataFrame(panes, pane_schema), spark.createDataFrame(marks, MARKS))
    replayed.panes, replayed.marks = sorted(map(repr, panes)), sorted(map(repr, marks))
    archive.unpersist()
    punctuations.unpersist()
    return replayed


@dataclass(frozen=True)
class DrawnCut(Cut):
    """Micro-batches at drawn positions: each row's batch is looked up by its seq."""

    bounds: tuple[int, ...] = ()

    @property
    def key_sql(self) -> str:
        descending = reversed(list(enumerate(self.bounds)))
        return (
            f"(case {' '.join(f'when seq >= {first} then {key}L' for key, first in descending)} else 0L end)"
        )


def as_dicts(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Collected rows, instants in UTC: Spark gives them in the process's own zone."""
    return [{name: _in_utc(value) for name, value in row.asDict().items()} for row in rows]


def _in_utc(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def nearly(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Comparable rows in one order, with averages of doubles to the last but a few bits: the oracle rounds once,
    the product rounds the sum first."""
    told = [
        {name: _rounded(value) if name.startswith("avg") else value for name, value in row.items()}
        for row in comparable(list(rows))
    ]
    return sorted(told, key=lambda row: repr(sorted(row.items())))


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple) and value[0] == "double" and value[1] not in ("NaN", "inf", "-inf"):
        number = float(value[1])
        return ("double", "0" if number == 0 or math.isinf(number) else f"{number:.13g}")
    return value
