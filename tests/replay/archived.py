"""A stream archived in a lakehouse of its own, with replays over it and their tables as plain rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from jobs.replay import ReplayOptions, ReplayReport, replay
from lakehouse.ingest import ingest
from lakehouse.layout import Lakehouse
from lakehouse.query_tables import QueryTables
from schemas.binding import bind_query
from schemas.language.parser import parse
from schemas.query import WindowQuery
from schemas.stream import Stream
from tests.replay.in_memory import as_dicts

OF_THE_RUN = ("run_id", "finished_at", "started_at")
OF_THE_CUT = (*OF_THE_RUN, "batch_id", "step")


@dataclass
class Archived:
    """Rows arrive and queries are replayed. Tables come back without the columns that name the run."""

    spark: SparkSession
    lakehouse: Lakehouse
    stream: Stream
    inbox: Path

    def arrive(self, rows: Sequence[dict[str, Any]], promises: Sequence[dict[str, Any]] = ()) -> None:
        """Rows, in their order, and punctuations."""
        number = len(list(self.inbox.glob("*")))
        written: dict[str, list[Path]] = {"rows": [], "promises": []}
        for kind, lines in (("rows", rows), ("promises", promises)):
            if lines:
                path = self.inbox / f"{number:03}_{kind}.jsonl"
                path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
                written[kind].append(path)
        ingest(self.spark, self.lakehouse, self.stream, written["rows"], written["promises"] or None)

    def query(self, name: str, text: str) -> WindowQuery:
        return bind_query(name, parse(text, name), {self.stream.name: self.stream}, lambda _: None)

    def replay(self, query: WindowQuery, **options: Any) -> ReplayReport:
        return replay(self.spark, self.lakehouse, query, ReplayOptions(**options))

    def tables(self, query: WindowQuery) -> QueryTables:
        return QueryTables(self.spark, self.lakehouse, query.name, query.revision)

    def rows(
        self, query: WindowQuery, table: str, without: Sequence[str] = OF_THE_RUN
    ) -> list[dict[str, Any]]:
        """All rows of a table, in one order."""
        order = {
            "results": ("released_seq", "window_id", "answer_id"),
            "late": ("seq",),
            "ledger/batches": ("batch_id",),
            "ledger/runs": ("first_batch",),
        }
        found = [
            {name: value for name, value in row.items() if name not in without}
            for row in as_dicts(self.tables(query).read(table).collect())
        ]
        if table not in order:
            return sorted(found, key=repr)
        return sorted(found, key=lambda row: tuple(row[name] for name in order[table]))

    def outcome(self, query: WindowQuery, without: Sequence[str] = OF_THE_CUT) -> dict[str, list[str]]:
        """What the replay law is about, as text to the last bit."""
        return {
            table: sorted(map(repr, self.rows(query, table, without)))
            for table in ("results", "expirations", "late", "state")
        }

    def constraints(self, query: WindowQuery, table: str) -> set[str]:
        detail = DeltaTable.forPath(self.spark, self.tables(query).paths[table]).detail().head()
        assert detail is not None
        prefix = "delta.constraints."
        return {name.removeprefix(prefix) for name in detail["properties"] if name.startswith(prefix)}


def at(clock: str, day: str = "2026-01-01") -> datetime:
    """An instant in UTC: `12:01:10`."""
    return datetime.fromisoformat(f"{day} {clock}").replace(tzinfo=UTC)
