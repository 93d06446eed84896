"""Flags that several commands share, and what they lead to. Each has a SLUICE_* variable."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schemas.project import Project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakehouse.layout import Lakehouse
    from schemas.query import WindowQuery
    from schemas.stream import Stream


class Output(StrEnum):
    """How rows are printed."""

    table = "table"
    json = "json"
    csv = "csv"


ProjectFlag = Annotated[
    Path, typer.Option("--project", envvar="SLUICE_PROJECT", help="Folder with streams/ and queries/.")
]
LakehouseFlag = Annotated[
    str | None,
    typer.Option(
        "--lakehouse", envvar="SLUICE_LAKEHOUSE", help="Path or URI (default: .lakehouse in the project)."
    ),
]
MasterFlag = Annotated[
    str | None, typer.Option("--master", envvar="SLUICE_MASTER", help="A Spark master (default: local).")
]
OutputFlag = Annotated[
    Output, typer.Option("--output", "-o", envvar="SLUICE_OUTPUT", help="How rows are printed.")
]
QuietFlag = Annotated[
    bool,
    typer.Option("--quiet", "-q", envvar="SLUICE_QUIET", help="No progress, only what matters: for logs."),
]
LimitFlag = Annotated[
    int, typer.Option("--limit", envvar="SLUICE_LIMIT", min=0, help="At most so many rows.")
]
DryRunFlag = Annotated[
    bool, typer.Option("--dry-run", envvar="SLUICE_DRY_RUN", help="Say what would be done; write nothing.")
]
HERE = Path()


class Workplace:
    """A project, its lakehouse and, once asked for, a Spark session."""

    def __init__(self, project: Path, lakehouse: str | None, master: str | None = None) -> None:
        from lakehouse.layout import Lakehouse

        self.project = Project.at(project)
        self.lakehouse: Lakehouse = Lakehouse.at(lakehouse or str(self.project.folder / ".lakehouse"))
        self._master = master
        self._spark: SparkSession | None = None

    @property
    def spark(self) -> SparkSession:
        if self._spark is None:
            from lakehouse.session import spark_session

            self._spark = spark_session(self._master, quiet=True)
        return self._spark

    def query(self, name: str) -> WindowQuery:
        """A query bound to its stream; a time without a date falls on the day of the stream's tuple 1."""
        from lakehouse.archive import first_day

        def day(stream: Stream):  # type: ignore[no-untyped-def]
            return first_day(self.spark, self.lakehouse, stream)

        return self.project.query(name, day)
