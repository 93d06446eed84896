"""Gates: measure a table, let Great Expectations judge, keep the outcomes, stop a run that must not go on."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from expectations.archive import measure_archive
from expectations.arrival_order import SeqRange
from expectations.invariant import Fact
from expectations.results import measure_results
from lakehouse import delta_table
from lakehouse.layout import Lakehouse
from schemas.columns import quoted
from schemas.errors import GateClosed, SluiceError
from schemas.stream import Stream
from schemas.tables import VALIDATIONS_CONTRACT

ARCHIVE_SUITE = "archive"
RESULTS_SUITE = "results"


@dataclass(frozen=True)
class Outcome:
    """One expectation, in words, and what was found: `failures` of `checked` rows, and some of those rows."""

    expectation: str
    success: bool
    stops: bool
    checked: int
    failures: int
    examples: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Report:
    """What a suite found of a stream's archive or a query's results. `data_docs`: its site's first page."""

    subject: str
    suite: str
    outcomes: list[Outcome]
    data_docs: str | None

    @property
    def passed(self) -> bool:
        return not any(outcome.stops for outcome in self.failed)

    @property
    def failed(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if not outcome.success]


@dataclass(frozen=True)
class ResultPaths:
    """Where a revision of a query's results and its ledger of micro-batches are."""

    results: str
    batches: str


def check_archive(
    spark: SparkSession,
    lakehouse: Lakehouse,
    stream: Stream,
    *,
    version: int | None = None,
    first_seq: int | None = None,
    last_seq: int | None = None,
    run_id: str | None = None,
    docs: bool = True,
) -> Report:
    """Check the arrivals from `first_seq` to `last_seq` in `version`; by default all of the latest."""
    path = lakehouse.archive(stream.name)
    if not delta_table.exists(spark, path):
        raise SluiceError(
            f"Stream {stream.name} has no archive at {path}.",
            f"Run `sluice ingest {stream.name} PATH` first.",
        )
    pinned = delta_table.latest_version(spark, path) if version is None else version
    archive = delta_table.read(spark, path, pinned)
    facts = measure_archive(archive, stream, SeqRange(first_seq or 1, last_seq))
    return _report(spark, lakehouse, stream.name, ARCHIVE_SUITE, facts, pinned, run_id, docs)


def check_results(
    spark: SparkSession,
    lakehouse: Lakehouse,
    query_name: str,
    paths: ResultPaths,
    group_columns: Sequence[str],
    physical: bool,
    *,
    run_id: str | None = None,
    first_batch: int | None = None,
    docs: bool = True,
) -> Report:
    """Check a query's answers and ledger, from `first_batch` on where one is given (a run's own part)."""
    for path in (paths.results, paths.batches):
        if not delta_table.exists(spark, path):
            raise SluiceError(
                f"Query {query_name} has no table at {path}.", f"Run `sluice replay {query_name}` first."
            )
    # The ledger is written last, so it is read first: what it tells of is then in the results read after it.
    batches = delta_table.read(spark, paths.batches, delta_table.latest_version(spark, paths.batches))
    pinned = delta_table.latest_version(spark, paths.results)
    results = delta_table.read(spark, paths.results, pinned)
    facts = measure_results(results, batches, group_columns, physical, first_batch)
    return _report(spark, lakehouse, query_name, RESULTS_SUITE, facts, pinned, run_id, docs)


def require(report: Report) -> None:
    """Nothing, if no expectation that stops has failed; else GateClosed, saying which rows closed it."""
    if report.passed:
        return
    failed = [outcome for outcome in report.failed if outcome.stops]
    of_what = "The archive of stream" if report.suite == ARCHIVE_SUITE else "The results of query"
    lines = [f"{of_what} {report.subject} did not pass its gate: {len(failed)} expectation(s) failed."]
    for outcome in failed:
        lines.append(
            f"- {outcome.expectation} Broken by {outcome.failures:,} (of {outcome.checked:,} checked):"
        )
        lines += [f"    {json.dumps(example, ensure_ascii=False)}" for example in outcome.examples]
        if outcome.failures > len(outcome.examples):
            lines.append("    …")
    raise GateClosed("\n".join(lines), _remedy(report))


def _remedy(report: Report) -> str:
    name = report.subject
    again = f"`sluice check {name}` checks again"
    shown = f"; Data Docs: {report.data_docs}" if report.data_docs else ""
    if report.suite == ARCHIVE_SUITE:
        return (
            f"If the declaration in streams/ is wrong, mend it; if the rows are, mend their files and run"
            f" `sluice ingest {name} PATH` into a new lakehouse. {again}{shown}."
        )
    return f"Run `sluice replay {name} --fresh` to make them again. {again}{shown}."


def _report(
    spark: SparkSession,
    lakehouse: Lakehouse,
    subject: str,
    suite: str,
    facts: Sequence[Fact],
    version: int,
    run_id: str | None,
    docs: bool,
) -> Report:
    from expectations.data_docs import judge_facts, quality_folder

    with quality_folder(spark, lakehouse) if docs else nullcontext() as quality:
        held = judge_facts(spark, facts, suite, subject, quality)
    outcomes = [
        Outcome(
            fact.invariant.words,
            held[fact.invariant.name],
            fact.invariant.stops,
            fact.checked,
            fact.failures,
            fact.examples,
        )
        for fact in facts
    ]
    report = Report(subject, suite, outcomes, f"{lakehouse.data_docs()}/index.html" if docs else None)
    _keep(spark, lakehouse, report, version, run_id)
    return report


def _keep(
    spark: SparkSession, lakehouse: Lakehouse, report: Report, version: int, run_id: str | None
) -> None:
    now = datetime.now(UTC)
    rows = [
        (
            now,
            report.subject,
            report.suite,
            outcome.expectation,
            outcome.success,
            outcome.stops,
            outcome.checked,
            outcome.failures,
            json.dumps(outcome.examples, ensure_ascii=False),
            version,
            run_id,
        )
        for outcome in report.outcomes
    ]
    schema = ", ".join(f"{quoted(c.name)} {c.type}" for c in VALIDATIONS_CONTRACT.columns)
    path = lakehouse.validations(report.subject)
    delta_table.ensure(spark, path, VALIDATIONS_CONTRACT)
    # Checking twice is two checks, so each append is a transaction of its own.
    delta_table.append(spark.createDataFrame(rows, schema).coalesce(1), path, (str(uuid.uuid4()), 0))
