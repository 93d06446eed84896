"""The commands, gathered. Heavy imports stay inside them: `--help` answers at once."""

from __future__ import annotations

import typer

from jobs.cli import explaining, looking, projects, writing

app = typer.Typer(
    name="sluice",
    help="Replays archived streams: what a continuous window query would have answered.\n\n"
    "Begin with `sluice init DIR`, then `generate`, `ingest`, `replay` and `show`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

for command in (
    projects.init,
    projects.generate,
    writing.ingest,
    writing.replay,
    writing.check,
    writing.pin,
    explaining.explain,
    looking.show,
    looking.late,
    looking.tables,
    looking.streams,
    looking.queries,
    looking.runs,
):
    app.command()(command)
