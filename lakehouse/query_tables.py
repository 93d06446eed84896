"""The tables of one revision of a query, and what the ledger says has been done."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

import pyarrow as pa
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from lakehouse import delta_table
from lakehouse.layout import Lakehouse
from schemas.tables import BATCHES_CONTRACT, RUNS_CONTRACT, TableContract

TABLES = ("results", "expirations", "late", "state", "ledger/batches", "ledger/runs")


@dataclass(frozen=True)
class Run:
    """One run as the ledger has it, written before its first micro-batch: enough to finish it as it was planned."""

    run_id: str
    query: str
    query_text: str
    stream: str
    archive_version: int
    punctuations_version: int | None
    first_seq: int
    last_seq: int
    first_batch: int
    last_batch: int
    batch_rows: int | None
    batch_span: int | None
    fuse: int
    punctuation_first: bool
    close_at_end: bool
    started_at: datetime


@dataclass(frozen=True)
class Ledger:
    """Where a query stands: its last micro-batch that is done, and its last run."""

    last_batch: int = 0
    last_seq: int = 0
    run: Run | None = None

    @property
    def interrupted(self) -> bool:
        return self.run is not None and self.last_batch < self.run.last_batch

    @property
    def finished(self) -> bool:
        """Closed at its end: there is no going on."""
        return self.run is not None and self.run.close_at_end and not self.interrupted


class QueryTables:
    """Reads and writes one query's tables. Writes carry (application, version), so that redoing one adds nothing."""

    def __init__(self, spark: SparkSession, lakehouse: Lakehouse, query: str, revision: str) -> None:
        self.spark, self.query, self.revision = spark, query, revision
        self.paths = {table: lakehouse.of_query(table, query, revision) for table in TABLES}

    def exists(self, table: str) -> bool:
        return delta_table.exists(self.spark, self.paths[table])

    def ensure(self, contracts: dict[str, TableContract]) -> None:
        """Make the tables that are not there yet, side by side: each costs seconds, mostly waiting."""
        with ThreadPoolExecutor(len(contracts)) as pool:
            list(pool.map(lambda t: delta_table.ensure(self.spark, self.paths[t], contracts[t]), contracts))

    def read(self, table: str) -> DataFrame:
        return delta_table.read(self.spark, self.paths[table])

    def append(self, table: str, rows: DataFrame, version: int) -> None:
        application = f"sluice/{self.query}/{self.revision}/{table}"
        delta_table.append(rows, self.paths[table], (application, version))

    def append_all(self, frames: dict[str, DataFrame], version: int) -> None:
        """Several tables side by side."""
        with ThreadPoolExecutor(max(1, len(frames))) as pool:
            list(pool.map(lambda table: self.append(table, frames[table], version), frames))

    def remove(self) -> None:
        """Take all of them away: the ledger first, so that one cut short is a replay not begun."""
        for table in reversed(TABLES):
            delta_table.remove(self.spark, self.paths[table])

    def ledger(self) -> Ledger:
        if not self.exists("ledger/runs"):
            return Ledger()
        runs = self.read("ledger/runs").orderBy("first_batch", "started_at").tail(1)
        run = Run(**{field.name: runs[0][field.name] for field in fields(Run)}) if runs else None
        if not self.exists("ledger/batches"):
            return Ledger(run=run)
        last = self.read("ledger/batches").selectExpr("max(batch_id)", "max(last_seq)").head()
        assert last is not None
        return Ledger(last[0] or 0, last[1] or 0, run)

    def begin(self, run: Run) -> None:
        """Write the run down before its first micro-batch."""
        self.ensure({"ledger/runs": RUNS_CONTRACT, "ledger/batches": BATCHES_CONTRACT})
        row = asdict(run)
        self.append("ledger/runs", self._rows(RUNS_CONTRACT, [row]), run.first_batch)

    def commit(self, batches: Sequence[dict[str, Any]]) -> None:
        """Write micro-batches into the ledger, after everything else of theirs: from here on they are done."""
        self.append("ledger/batches", self._rows(BATCHES_CONTRACT, batches), batches[-1]["batch_id"])

    def drop_old_state(self, step: int) -> None:
        """State of steps that no redoing can need any more."""
        if self.exists("state"):
            DeltaTable.forPath(self.spark, self.paths["state"]).delete(f"step < {step}")

    def _rows(self, contract: TableContract, rows: Sequence[dict[str, Any]]) -> DataFrame:
        """Through Arrow: a list of rows would go by way of Python workers."""
        named = [{column.name: row[column.name] for column in contract.columns} for row in rows]
        types = {"bigint": pa.int64(), "string": pa.string(), "boolean": pa.bool_()}
        schema = pa.schema(
            [
                (column.name, types.get(column.type) or pa.timestamp("us", "UTC"))
                for column in contract.columns
            ]
        )
        return self.spark.createDataFrame(pa.Table.from_pylist(named, schema)).coalesce(1)
