"""`sluice explain`: what a query is, and how it will be replayed, without running anything."""

from __future__ import annotations

from typing import Annotated

import typer

from jobs.cli.options import HERE, Output, OutputFlag, ProjectFlag
from jobs.cli.printing import print_rows
from schemas.binding import bind_query
from schemas.errors import SluiceError
from schemas.explanation import explain_query
from schemas.language import parse
from schemas.project import Project


def explain(
    query: Annotated[str | None, typer.Argument(metavar="[QUERY]", help="A query of the project.")] = None,
    text: Annotated[
        str | None, typer.Option("--text", envvar="SLUICE_TEXT", help="A query's text instead.")
    ] = None,
    project: ProjectFlag = HERE,
    output: OutputFlag = Output.table,
) -> None:
    """Explain a query: its window class, update pattern, strategy, state and plan, and why.

    Example: sluice explain --text 'SELECT count(*) FROM Traffic [RANGE 10 minutes SLIDE 1 minute]'
    """
    declared = Project.at(project)
    if (query is None) == (text is None):
        raise SluiceError("Explain what?", "Name a query, or give one with --text '…'.")
    name = query or "query"
    statement = parse(declared.query_text(name) if query else text or "", name)
    bound = bind_query(name, statement, declared.streams, lambda _: None)
    print_rows(("what", "answer"), explain_query(bound), output)
