"""Commands that write: ingest, replay, check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobs.cli.options import (
    HERE,
    DryRunFlag,
    LakehouseFlag,
    MasterFlag,
    Output,
    OutputFlag,
    ProjectFlag,
    QuietFlag,
    Workplace,
)
from jobs.cli.printing import print_rows
from jobs.cli.progress import progress_bar, say
from schemas.errors import DEFINITE_NO, SluiceError
from schemas.language import parse_quantity

if TYPE_CHECKING:
    from expectations.gate import Report
    from schemas.query import WindowQuery


def ingest(
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="A declared stream.")],
    paths: Annotated[list[str] | None, typer.Argument(metavar="PATH…", help="Files, folders, globs.")] = None,
    punctuations: Annotated[
        list[str] | None,
        typer.Option("--punctuations", envvar="SLUICE_PUNCTUATIONS", help="JSON lines of punctuations."),
    ] = None,
    project: ProjectFlag = HERE,
    lakehouse: LakehouseFlag = None,
    master: MasterFlag = None,
    output: OutputFlag = Output.table,
    dry_run: DryRunFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Bring files into the archive, in the order in which their rows arrived.

    Parquet, CSV and JSON lines, also gzipped. A content that is in already adds nothing; rows that cannot be tuples
    go to the quarantine with file, line and reason.

    Example: sluice ingest Traffic traffic.parquet
    """
    from lakehouse.ingest import ingest as bring_in

    if not paths and not punctuations:
        raise SluiceError("There is nothing to ingest.", "Name files, folders or globs after the stream.")
    place = Workplace(project, lakehouse, master)
    declared = place.project.stream(stream)
    with progress_bar(f"Ingesting {declared.name}", quiet) as tell:
        report = bring_in(
            place.spark,
            place.lakehouse,
            declared,
            paths or [],
            punctuations=punctuations or None,
            progress=lambda done, total, _: tell(done, total),
            dry_run=dry_run,
        )
    rows = [
        (file.path, file.rows, file.quarantined, file.first_seq, file.last_seq, file.skipped)
        for file in [*report.files, *report.punctuation_files]
    ]
    print_rows(("file", "rows", "quarantined", "first_seq", "last_seq", "skipped"), rows, output)
    for ignored in report.ignored:
        say(f"Left alone, in no format we read: {ignored}", quiet)
    if report.quarantined:
        say(f"{report.quarantined:,} rows are in {place.lakehouse.quarantine(declared.name)}.", quiet)


def replay(
    queries: Annotated[list[str], typer.Argument(metavar="QUERY…", help="Queries of the project.")],
    batch_rows: Annotated[
        int | None,
        typer.Option("--batch-rows", envvar="SLUICE_BATCH_ROWS", min=1, help="Rows a micro-batch."),
    ] = None,
    batch_span: Annotated[
        str | None,
        typer.Option(
            "--batch-span", envvar="SLUICE_BATCH_SPAN", help="Arrival time a micro-batch: '10 minutes'."
        ),
    ] = None,
    fuse: Annotated[
        int | None,
        typer.Option(
            "--fuse", envvar="SLUICE_FUSE", min=1, help="Micro-batches a Spark job (default: by size)."
        ),
    ] = None,
    until: Annotated[
        int | None, typer.Option("--until", envvar="SLUICE_UNTIL", min=1, help="Last arrival (seq) to take.")
    ] = None,
    close_at_end: Annotated[
        bool,
        typer.Option("--close-at-end", envvar="SLUICE_CLOSE_AT_END", help="Close what is open at the end."),
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", envvar="SLUICE_FRESH", help="From the start, instead of going on.")
    ] = False,
    gate: Annotated[
        bool, typer.Option("--gate/--no-gate", envvar="SLUICE_GATE", help="Check the archive first.")
    ] = True,
    project: ProjectFlag = HERE,
    lakehouse: LakehouseFlag = None,
    master: MasterFlag = None,
    output: OutputFlag = Output.table,
    dry_run: DryRunFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Answer queries over their archive, from where the ledger ends.

    Example: sluice replay speeds --batch-rows 50000
    """
    from jobs.replay import ReplayOptions
    from jobs.replay import replay as replay_query

    if batch_rows and batch_span:
        raise SluiceError("--batch-rows and --batch-span exclude each other.", "Give one of them.")
    place = Workplace(project, lakehouse, master)
    options = ReplayOptions(
        batch_rows=batch_rows,
        batch_span=None if batch_span is None else _micros(batch_span),
        fuse=fuse,
        until=until,
        close_at_end=close_at_end,
        fresh=fresh,
    )
    bound = [place.query(name) for name in dict.fromkeys(queries)]
    reports = []
    gated: set[tuple[str, int, int, int]] = set()
    for query in bound:
        if query.policy_is_default and not query.window.axis.is_row_num:
            say(f"{query.name}: neither query nor stream says PUNCTUATED BY: SLACK 0, LATE {query.lateness}.")

        def check(version: int, first: int, last: int, query: WindowQuery = query) -> None:
            asked = (query.stream.name, version, first, last)
            if asked not in gated:
                _gate_archive(place, query, version, first, last, quiet)
                gated.add(asked)

        with progress_bar(f"Replaying {query.name}", quiet) as tell:
            reports.append(
                replay_query(
                    place.spark,
                    place.lakehouse,
                    query,
                    options,
                    check=check if gate else None,
                    progress=tell,
                    dry_run=dry_run,
                )
            )
    columns = (
        "query",
        "run_id",
        "archive_version",
        "first_seq",
        "last_seq",
        "batches",
        "steps",
        "rows",
        "results",
        "late",
        "partly_late",
    )
    print_rows(columns, [tuple(getattr(report, name) for name in columns) for report in reports], output)
    for report in reports:
        if not report.batches:
            say(f"{report.query}: nothing new to replay.", quiet)
        elif not dry_run:
            say(f"Look at it with `sluice show {report.query}` and `sluice late {report.query}`.", quiet)


def _micros(words: str) -> int:
    micros = parse_quantity(words).microseconds
    if micros is None or micros < 1:
        raise SluiceError(f"--batch-span {words!r} is no span of time.", "Write e.g. '10 minutes'.")
    return int(micros)


def _gate_archive(
    place: Workplace, query: WindowQuery, version: int, first: int, last: int, quiet: bool
) -> None:
    from expectations.gate import check_archive, require

    say(f"Checking arrivals {first:,} to {last:,} of {query.stream.name} …", quiet)
    require(
        check_archive(
            place.spark, place.lakehouse, query.stream, version=version, first_seq=first, last_seq=last
        )
    )


def check(
    name: Annotated[
        str | None, typer.Argument(metavar="[STREAM|QUERY]", help="One of them; all if left out.")
    ] = None,
    project: ProjectFlag = HERE,
    lakehouse: LakehouseFlag = None,
    master: MasterFlag = None,
    output: OutputFlag = Output.table,
    quiet: QuietFlag = False,
) -> None:
    """Check archives and results against what is expected of them; exit 1 if one that stops fails.

    Example: sluice check Traffic
    """
    place = Workplace(project, lakehouse, master)
    reports = _check_all(place, name, quiet)
    rows = [
        (report.subject, report.suite, one.expectation, one.success, one.stops, one.checked, one.failures)
        for report in reports
        for one in report.outcomes
    ]
    columns = ("subject", "suite", "expectation", "success", "stops", "checked", "failures")
    print_rows(columns, rows, output)
    for report in reports:
        for outcome in report.failed:
            say(f"{report.subject}: {outcome.expectation} Broken by {outcome.failures:,}:")
            for example in outcome.examples:
                say(f"    {json.dumps(example, ensure_ascii=False, default=str)}")
    docs = next((report.data_docs for report in reports if report.data_docs), None)
    if docs:
        say(f"Data Docs: {docs}", quiet)
    if not all(report.passed for report in reports):
        raise typer.Exit(DEFINITE_NO)


def _check_all(place: Workplace, name: str | None, quiet: bool) -> list[Report]:
    from lakehouse import delta_table

    streams = {s.name.lower(): s for s in place.project.streams.values()}
    if name is not None and name.lower() in streams:
        return [_check_stream(place, streams[name.lower()].name)]
    if name is not None:
        return [_check_query(place, name)]
    reports = []
    for stream in place.project.streams.values():
        if delta_table.exists(place.spark, place.lakehouse.archive(stream.name)):
            say(f"Checking stream {stream.name} …", quiet)
            reports.append(_check_stream(place, stream.name))
    for query in place.project.query_files:
        bound = place.query(query)
        if delta_table.exists(
            place.spark, place.lakehouse.of_query("ledger/batches", bound.name, bound.revision)
        ):
            say(f"Checking query {query} …", quiet)
            reports.append(_check_query(place, query))
    return reports


def _check_stream(place: Workplace, name: str) -> Report:
    from expectations.gate import check_archive

    return check_archive(place.spark, place.lakehouse, place.project.stream(name))


def _check_query(place: Workplace, name: str) -> Report:
    from expectations.gate import ResultPaths, check_results

    query = place.query(name)
    paths = ResultPaths(
        place.lakehouse.of_query("results", query.name, query.revision),
        place.lakehouse.of_query("ledger/batches", query.name, query.revision),
    )
    groups = [group.column for group in query.groups]
    return check_results(
        place.spark, place.lakehouse, query.name, paths, groups, query.window.axis.is_row_num
    )


def pin(
    streams: Annotated[list[str] | None, typer.Argument(metavar="STREAM…", help="All if left out.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", envvar="SLUICE_OUT", help="Write the JSON here instead of stdout.")
    ] = None,
    project: ProjectFlag = HERE,
    lakehouse: LakehouseFlag = None,
    master: MasterFlag = None,
    quiet: QuietFlag = False,
) -> None:
    """Say how far each archive reaches, so that several replays can take the same stretch.

    Example: sluice pin Traffic --out pinned.json
    """
    from lakehouse import delta_table
    from lakehouse.archive import last_seq

    place = Workplace(project, lakehouse, master)
    pinned = {}
    for name in streams or list(place.project.streams):
        stream = place.project.stream(name)
        path = place.lakehouse.archive(stream.name)
        if delta_table.exists(place.spark, path):
            version = delta_table.latest_version(place.spark, path)
            reach = last_seq(place.spark, place.lakehouse, stream, version)
            pinned[stream.name] = {"version": version, "last_seq": reach}
    text = json.dumps(pinned, indent=2)
    if out is None:
        print(text)
    else:
        out.write_text(text + "\n", encoding="utf-8")
        say(f"Pinned {', '.join(pinned) or 'nothing'} in {out}.", quiet)
