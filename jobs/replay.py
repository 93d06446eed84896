"""The replay of a query: from where its ledger ends to the end of the archive, step by step.

A step writes its results, late tuples and state, each once however often it is redone, and then its micro-batches into
the ledger. A run that was cut short is finished first, with the micro-batches that it had planned.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from jobs.micro_batches import DEFAULT_BATCH_ROWS, Cut, MicroBatch, choose_fuse, fuse, plan_batches
from jobs.step import State, Step, StepRun, empty_state
from lakehouse import delta_table
from lakehouse.layout import Lakehouse
from lakehouse.query_tables import Ledger, QueryTables, Run
from schemas.errors import SluiceError
from schemas.policy import Archive
from schemas.query import WindowQuery
from schemas.tables import (
    Column,
    expirations_contract,
    late_contract,
    results_contract,
    state_contract,
)

ReportProgress = Callable[[int, int], None]
"""Called with the rows done and the rows to do."""

CheckArchive = Callable[[int, int, int], None]
"""The gate: called with the archive's version and the seq range before anything is written; raises to stop."""


@dataclass(frozen=True)
class ReplayOptions:
    """What a user chooses of a replay. `batch_span` is in microseconds."""

    batch_rows: int | None = None
    batch_span: int | None = None
    fuse: int | None = None
    until: int | None = None
    close_at_end: bool = False
    fresh: bool = False


@dataclass
class ReplayReport:
    """What a replay did, or would do."""

    query: str
    run_id: str | None
    archive_version: int
    first_seq: int
    last_seq: int
    batches: int
    steps: int
    rows: int = 0
    results: int = 0
    late: int = 0
    partly_late: int = 0


def replay(
    spark: SparkSession,
    lakehouse: Lakehouse,
    query: WindowQuery,
    options: ReplayOptions,
    *,
    check: CheckArchive | None = None,
    progress: ReportProgress | None = None,
    dry_run: bool = False,
) -> ReplayReport:
    """Replay `query` up to the end of its archive (or `options.until`)."""
    return _Replay(spark, lakehouse, query, options).run(check, progress, dry_run)


class _Replay:
    def __init__(
        self, spark: SparkSession, lakehouse: Lakehouse, query: WindowQuery, options: ReplayOptions
    ) -> None:
        self.spark, self.lakehouse, self.query, self.options = spark, lakehouse, query, options
        self.tables = QueryTables(spark, lakehouse, query.name, query.revision)

    def run(self, check: CheckArchive | None, progress: ReportProgress | None, dry_run: bool) -> ReplayReport:
        ledger = Ledger() if self.options.fresh else self.tables.ledger()
        if ledger.last_batch == 0:
            ledger = Ledger()
        archive_version = self._pin()
        punctuations_version = self._pin_punctuations()
        archive = self._read(archive_version)
        if ledger.interrupted:
            assert ledger.run is not None
            if dry_run:
                raise SluiceError(
                    f"The last run of {self.query.name} was cut short.",
                    "Replay once without --dry-run to finish it.",
                )
            ledger = self._finish_interrupted_step(ledger.run, ledger)
        last_archived = archive.agg(F.max("seq")).head()
        assert last_archived is not None
        last_seq = min(last_archived[0] or 0, self.options.until or 2**62)
        run, batches = self._plan(ledger, archive, archive_version, punctuations_version, last_seq)
        report = ReplayReport(
            self.query.name,
            run.run_id,
            archive_version,
            run.first_seq,
            run.last_seq,
            len(batches),
            -(-len(batches) // run.fuse),
        )
        if ledger.finished and (batches or self.options.close_at_end):
            if not batches:
                return report
            raise SluiceError(
                f"{self.query.name} was closed at its end and is finished.",
                "Replay it again from the start with --fresh.",
            )
        if not batches or dry_run:
            return report
        if check is not None and run.first_seq <= run.last_seq:
            check(archive_version, run.first_seq, run.last_seq)
        if ledger.last_batch == 0:
            # Nothing vouches for what an earlier attempt may have left behind.
            self.tables.remove()
        self.tables.begin(run)
        self._steps(run, batches, ledger.last_batch, report, progress)
        return report

    # What there is to do

    def _pin(self) -> int:
        path = self.lakehouse.archive(self.query.stream.name)
        if not delta_table.exists(self.spark, path):
            raise SluiceError(
                f"Stream {self.query.stream.name} has no archive in {self.lakehouse.root}.",
                f"Fill it with `sluice ingest {self.query.stream.name} PATH`.",
            )
        return delta_table.latest_version(self.spark, path)

    def _pin_punctuations(self) -> int | None:
        path = self.lakehouse.punctuations(self.query.stream.name)
        if not isinstance(self.query.punctuation, Archive) or not delta_table.exists(self.spark, path):
            return None
        return delta_table.latest_version(self.spark, path)

    def _read(self, version: int) -> DataFrame:
        return delta_table.read(self.spark, self.lakehouse.archive(self.query.stream.name), version)

    def _read_punctuations(self, version: int | None) -> DataFrame | None:
        if version is None:
            return None
        return delta_table.read(self.spark, self.lakehouse.punctuations(self.query.stream.name), version)

    def _plan(
        self,
        ledger: Ledger,
        archive: DataFrame,
        archive_version: int,
        punctuations_version: int | None,
        last_seq: int,
    ) -> tuple[Run, list[MicroBatch]]:
        options = self.options
        first_seq = ledger.last_seq + 1
        rows = None if options.batch_span else options.batch_rows or DEFAULT_BATCH_ROWS
        cut = Cut(rows, options.batch_span, first_seq)
        promised = self._promised_since(ledger, punctuations_version) and last_seq >= ledger.last_seq
        batches = plan_batches(archive, cut, last_seq, ledger.last_batch + 1, promised)
        closes = options.close_at_end and not ledger.finished
        if not batches and closes and ledger.last_batch > 0:
            batches = [MicroBatch(ledger.last_batch + 1, first_seq, first_seq - 1, None)]
        run = Run(
            run_id=uuid.uuid4().hex[:12],
            query=self.query.name,
            query_text=self.query.text,
            stream=self.query.stream.name,
            archive_version=archive_version,
            punctuations_version=punctuations_version,
            first_seq=first_seq,
            last_seq=max(last_seq, first_seq - 1),
            first_batch=ledger.last_batch + 1,
            last_batch=ledger.last_batch + len(batches),
            batch_rows=cut.rows,
            batch_span=cut.span,
            fuse=options.fuse or choose_fuse(cut, len(batches), last_seq - first_seq + 1),
            punctuation_first=bool(batches) and batches[0].rows == 0,
            close_at_end=options.close_at_end,
            started_at=datetime.now(UTC),
        )
        return run, batches

    def _promised_since(self, ledger: Ledger, version: int | None) -> bool:
        """Whether punctuations have come since that stand right after the last row replayed."""
        if version is None or ledger.run is None or ledger.last_seq == 0:
            return False
        known = ledger.run.punctuations_version

        def standing(at: int | None) -> int:
            read = self._read_punctuations(at)
            return 0 if read is None else read.where(f"seq = {ledger.last_seq}").count()

        return known != version and standing(version) > standing(known)

    # Doing it

    def _finish_interrupted_step(self, run: Run, ledger: Ledger) -> Ledger:
        """Redo the step that was cut short with its own micro-batches: what it had written is not written twice."""
        archive = self._read(run.archive_version)
        cut = Cut(run.batch_rows, run.batch_span, run.first_seq)
        batches = plan_batches(archive, cut, run.last_seq, run.first_batch, run.punctuation_first)
        if not batches:
            batches = [MicroBatch(run.first_batch, run.first_seq, run.first_seq - 1, None)]
        for step in fuse(batches, run.fuse):
            if step[-1].batch_id > ledger.last_batch:
                self._step(run, cut, step, ledger.last_batch)
                break
        finished = self.tables.ledger()
        self.tables.drop_old_state(finished.last_batch)
        return finished

    def _steps(
        self,
        run: Run,
        batches: list[MicroBatch],
        state_of: int,
        report: ReplayReport,
        progress: ReportProgress | None,
    ) -> None:
        cut = Cut(run.batch_rows, run.batch_span, run.first_seq)
        total = sum(batch.rows for batch in batches)
        for batches_of_step in fuse(batches, run.fuse):
            rows = self._step(run, cut, batches_of_step, state_of)
            state_of = batches_of_step[-1].batch_id
            for row in rows:
                report.rows += row["rows_in"]
                report.results += row["results_written"]
                report.late += row["rows_late"]
                report.partly_late += row["rows_partly_late"]
            if progress is not None:
                progress(report.rows, total)
        self.tables.drop_old_state(state_of)

    def _step(self, run: Run, cut: Cut, batches: list[MicroBatch], state_of: int) -> list[dict]:  # type: ignore[type-arg]
        archive = self._read(run.archive_version)
        closes = run.close_at_end and batches[-1].batch_id == run.last_batch
        job = StepRun(
            self.query, archive, self._read_punctuations(run.punctuations_version), batches, cut, closes
        )
        step = job.run(self._state(archive, state_of))
        try:
            return self._write(run, batches, step)
        finally:
            step.release()

    def _state(self, archive: DataFrame, step: int) -> State:
        empty = empty_state(self.query, archive)
        if step == 0:
            return empty
        kept = self.tables.read("state").where(f"step = {step}")
        return State(
            kept.where("kind = 'pane'").select(*empty.panes.columns),
            kept.where("kind = 'mark'").select(*empty.marks.columns),
        )

    def _write(self, run: Run, batches: list[MicroBatch], step: Step) -> list[dict]:  # type: ignore[type-arg]
        version = batches[-1].batch_id
        results = step.results.withColumn("run_id", F.lit(run.run_id)).persist()
        try:
            written = {row[0]: row[1] for row in results.groupBy("batch_id").count().collect()}
            self._ensure(results.schema, step)
            frames = {"state": self._state_rows(step, version)}
            if written:
                frames["results"] = results
            if step.late is not None:
                frames["late"] = self._late_rows(step.late, run)
            self.tables.append_all(frames, version)
        finally:
            results.unpersist()
        rows = [
            {
                "query": self.query.name,
                "batch_id": batch.batch_id,
                "first_seq": batch.first_seq,
                "last_seq": batch.last_seq,
                "rows_in": step.counts[batch.batch_id].rows_in,
                "rows_used": step.counts[batch.batch_id].used,
                "rows_partly_late": step.counts[batch.batch_id].partly_late,
                "rows_late": step.counts[batch.batch_id].late,
                "rows_out_of_range": step.counts[batch.batch_id].out_of_range,
                "rows_filtered": step.counts[batch.batch_id].filtered,
                "results_written": written.get(batch.batch_id, 0),
                "run_id": run.run_id,
                "finished_at": datetime.now(UTC),
            }
            for batch in batches
        ]
        self.tables.commit(rows)
        return rows

    def _state_rows(self, step: Step, version: int) -> DataFrame:
        panes = step.state.panes.withColumns(
            {
                "kind": F.lit("pane"),
                **{name: F.lit(None).cast("string") for name in ("mark_pattern", "mark_high")},
            }
        )
        marks = step.state.marks.withColumn("kind", F.lit("mark"))
        rows = panes.unionByName(marks, allowMissingColumns=True)
        # One file a step is what the next one reads fastest.
        return rows.withColumn("step", F.lit(version).cast("bigint")).coalesce(1)

    def _late_rows(self, late: DataFrame, run: Run) -> DataFrame:
        attributes = [attribute.column for attribute in self.query.stream.attributes]
        own = ("seq", "arrived_at", "missed_from", "missed_to", "missed", "behind", "batch_id")
        return late.select(*(f"`{name}`" for name in (*attributes, *own))).withColumn(
            "run_id", F.lit(run.run_id)
        )

    def _ensure(self, results: StructType, step: Step) -> None:
        axis = self.query.window.axis
        groups = [Column(g.column, g.type, f"group {g.attribute.name}") for g in self.query.groups]
        values = [
            Column(o.column, results[o.column].dataType.simpleString(), "answer") for o in self.query.outputs
        ]
        panes = step.state.panes.schema
        kept = {f"group_{place}": g.attribute.name for place, g in enumerate(self.query.groups)}
        own = [
            Column(name, panes[name].dataType.simpleString(), f"pane: group {of}")
            for name, of in kept.items()
        ]
        partials = [
            Column(field.name, field.dataType.simpleString(), "pane: a partial aggregate")
            for field in panes.fields
            if field.name not in (*kept, "first_id", "last_id")
        ]
        missing = {
            "results": results_contract(groups, values, axis.type, axis.is_row_num),
            "expirations": expirations_contract(groups, axis.type, axis.is_row_num),
            "late": late_contract(self.query.stream, axis.behind_type),
            "state": state_contract(own, partials),
        }
        self.tables.ensure(
            {table: contract for table, contract in missing.items() if not self.tables.exists(table)}
            or {"state": missing["state"]}
        )
