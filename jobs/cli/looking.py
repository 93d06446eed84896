"""Commands that look around. None of them writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from jobs.cli.options import (
    HERE,
    LakehouseFlag,
    LimitFlag,
    MasterFlag,
    Output,
    OutputFlag,
    ProjectFlag,
    QuietFlag,
    Workplace,
)
from jobs.cli.printing import print_rows
from jobs.cli.progress import say
from schemas.axis import parse_timestamp
from schemas.columns import quoted
from schemas.errors import SluiceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lakehouse.query_tables import QueryTables
    from schemas.query import WindowQuery

QueryArgument = Annotated[str, typer.Argument(metavar="QUERY", help="A query of the project.")]


def show(
    query: QueryArgument,
    at: Annotated[
        str | None,
        typer.Option("--at", envvar="SLUICE_AT", help="What was current then; row windows: at a seq."),
    ] = None,
    limit: LimitFlag = 20,
    project: ProjectFlag = HERE,
    lakehouse: LakehouseFlag = None,
    master: MasterFlag = None,
    output: OutputFlag = Output.table,
    quiet: QuietFlag = False,
) -> None:
    """Show answers, in the order of their release; with --at, those that were current at an instant.

    Example: sluice show speeds --at '2026-01-01 00:10:00'
    """
    place = Workplace(project, lakehouse, master)
    bound = place.query(query)
    tables = _tables(place, bound)
    answers = _replayed(tables, "results")
    groups = [quoted(group.column) for group in bound.groups]
    if at is not None:
        answers = _current(answers, tables, bound, at, quiet)
    ordered = answers.orderBy("released_seq", "window_id", *groups)
    _print(ordered, limit, output, quiet)


def _current(answers: DataFrame, tables: QueryTables, query: WindowQuery, at: str, quiet: bool) -> DataFrame:
    """What was current at an instant of the windowing attribute, or at an arrival for row windows."""
    if query.window.axis.is_row_num:
        if not at.isdigit():
            raise SluiceError(f"--at {at!r} is no seq.", "A row window is asked at an arrival position.")
        known = tables.read("ledger/batches").selectExpr("max(last_seq)").head()
        reach = known[0] if known is not None and known[0] is not None else 0
        if int(at) > reach:
            say(f"Only arrivals up to {reach:,} have been replayed: this is what is known.", quiet)
        return answers.where(f"sign = 1 and released_seq <= {at} and expires_order > {at}")
    instant = _instant(query, at)
    last = answers.selectExpr(f"max(expires_at) <= {instant}").head()
    if last is not None and last[0]:
        say("That is beyond the last answer: this is what is known.", quiet)
    current = answers.where(
        f"sign = 1 and valid_from <= {instant} and (expires_at is null or expires_at > {instant})"
    )
    ended = tables.read("expirations").where(f"ended_at <= {instant}").select("answer_id")
    return current.join(ended, "answer_id", "left_anti").select(*answers.columns)


def _instant(query: WindowQuery, at: str) -> str:
    """SQL for a value of the windowing attribute."""
    axis = query.window.axis
    try:
        if axis.type == "timestamp":
            return f"timestamp_micros({parse_timestamp(at)})"
        if axis.type == "date":
            return f"date_from_unix_date({axis.position(at)})"
        float(at)
    except ValueError:
        raise SluiceError(f"--at {at!r} is no {axis.type}.", f"Give a value of {axis.name}.") from None
    return f"cast('{at}' as {axis.type})"


def late(
    query: QueryArgument,
    limit: LimitFlag = 20,
    project: ProjectFlag = HERE,
    lakehouse: LakehouseFlag = None,
    master: MasterFlag = None,
    output: OutputFlag = Output.table,
    quiet: QuietFlag = False,
) -> None:
    """Show tuples that came after a window of theirs had closed, and what they missed.

    Example: sluice late speeds --limit 5
    """
    place = Workplace(project, lakehouse, master)
    tables = _tables(place, place.query(query))
    _print(_replayed(tables, "late").orderBy("seq"), limit, output, quiet)


def tables(
    query: QueryArgument,
    project: ProjectFlag = HERE,
    lakehouse: LakehouseFlag = None,
    output: OutputFlag = Output.table,
) -> None:
    """Show where the tables of a query are.

    Example: sluice tables speeds -o json
    """
    from lakehouse.query_tables import TABLES

    place = Workplace(project, lakehouse)
    bound = place.query(query)
    rows = [(name, place.lakehouse.of_query(name, bound.name, bound.revision)) for name in TABLES]
    stream = bound.stream.name
    rows += [
        ("archive", place.lakehouse.archive(stream)),
        ("punctuations", place.lakehouse.punctuations(stream)),
        ("quarantine", place.lakehouse.quarantine(stream)),
        ("quality/validations", place.lakehouse.validations(bound.name)),
    ]
    print_rows(("table", "path"), rows, output)


def streams(
    project: ProjectFlag = HERE,
    lakehouse: LakehouseFlag = None,
    master: MasterFlag = None,
    output: OutputFlag = Output.table,
) -> None:
    """Show the declared streams and how many rows of each are archived.

    Example: sluice streams
    """
    from lakehouse.archive import last_seq

    place = Workplace(project, lakehouse, master)
    rows = [
        (
            stream.name,
            ", ".join(f"{a.name} {a.type}" for a in stream.attributes),
            stream.timestamp.name,
            None if stream.punctuated_by is None else str(stream.punctuated_by),
            last_seq(place.spark, place.lakehouse, stream),
        )
        for stream in place.project.streams.values()
    ]
    print_rows(("stream", "attributes", "timestamp", "punctuated_by", "rows"), rows, output)


def queries(project: ProjectFlag = HERE, output: OutputFlag = Output.table) -> None:
    """Show the queries of the project, and which of them cannot be replayed.

    Example: sluice queries
    """
    place = Workplace(project, None)
    rows: list[tuple[str | None, ...]] = []
    for name in place.project.query_files:
        try:
            bound = place.project.query(name, lambda _: None)
            window = bound.window
            words = f"{bound.punctuation}, {bound.lateness}"
            rows.append((name, bound.stream.name, window.axis.name, words, None))
        except SluiceError as error:
            rows.append((name, None, None, None, getattr(error, "summary", error.problem)))
    print_rows(("query", "stream", "wattr", "policy", "problem"), rows, output)


def runs(
    query: Annotated[
        str | None, typer.Argument(metavar="[QUERY]", help="One query; all if left out.")
    ] = None,
    limit: LimitFlag = 20,
    project: ProjectFlag = HERE,
    lakehouse: LakehouseFlag = None,
    master: MasterFlag = None,
    output: OutputFlag = Output.table,
    quiet: QuietFlag = False,
) -> None:
    """Show the runs, newest first: what each took, and whether it got to its end.

    Example: sluice runs speeds
    """
    place = Workplace(project, lakehouse, master)
    rows: list[tuple[object, ...]] = []
    columns = (
        "run_id",
        "query",
        "started_at",
        "finished_at",
        "state",
        "first_seq",
        "last_seq",
        "batches",
        "rows",
        "results",
        "archive_version",
    )
    for name in [query] if query else list(place.project.query_files):
        bound = tables_of = None
        try:
            bound = place.query(name)
        except SluiceError:
            if query:
                raise
            continue
        tables_of = _tables(place, bound)
        if not tables_of.exists("ledger/runs"):
            continue
        done = (
            tables_of.read("ledger/batches")
            .groupBy("run_id")
            .agg({"batch_id": "max", "rows_in": "sum", "results_written": "sum", "finished_at": "max"})
        )
        for row in tables_of.read("ledger/runs").join(done, "run_id", "left").collect():
            complete = (row["max(batch_id)"] or 0) >= row["last_batch"]
            rows.append(
                (
                    row["run_id"],
                    row["query"],
                    row["started_at"],
                    row["max(finished_at)"],
                    "done" if complete else "cut short",
                    row["first_seq"],
                    row["last_seq"],
                    row["last_batch"] - row["first_batch"] + 1,
                    row["sum(rows_in)"] or 0,
                    row["sum(results_written)"] or 0,
                    row["archive_version"],
                )
            )
    rows.sort(key=lambda row: str(row[2]), reverse=True)
    print_rows(columns, rows[:limit], output)


def _tables(place: Workplace, query: WindowQuery) -> QueryTables:
    from lakehouse.query_tables import QueryTables

    return QueryTables(place.spark, place.lakehouse, query.name, query.revision)


def _replayed(tables: QueryTables, table: str) -> DataFrame:
    if not tables.exists(table):
        raise SluiceError(
            f"{tables.query} has not been replayed as it is now.",
            f"Run `sluice replay {tables.query}` first.",
        )
    return tables.read(table)


def _print(rows: DataFrame, limit: int, output: Output, quiet: bool) -> None:
    found = rows.limit(limit + 1).collect()
    print_rows(rows.columns, found[:limit], output)
    if len(found) > limit:
        say(f"… and more: --limit {limit} shows the first of them.", quiet)
