"""Making a project and data to try it on. Needs no Spark."""

from __future__ import annotations

from datetime import timedelta
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from jobs.cli.options import QuietFlag
from jobs.cli.progress import progress_bar, say
from schemas.errors import SluiceError
from schemas.language import parse_quantity


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to make.")],
    quiet: QuietFlag = False,
) -> None:
    """Make a project folder with an example stream and queries.

    Example: sluice init traffic
    """
    for name in ("streams", "queries"):
        if (folder / name).exists():
            raise SluiceError(f"{folder} is a project already.", "Name another folder.")
    (folder / "streams").mkdir(parents=True)
    (folder / "queries").mkdir()
    stream = (resources.files("jobs.generator") / "traffic.yaml").read_text(encoding="utf-8")
    (folder / "streams" / "Traffic.yaml").write_text(stream, encoding="utf-8")
    for query in sorted(resources.files("jobs.demo").joinpath("queries").iterdir(), key=lambda q: q.name):
        (folder / "queries" / query.name).write_text(query.read_text(encoding="utf-8"), encoding="utf-8")
    say(f"Made {folder} with stream Traffic and queries {', '.join(_names(folder))}.", quiet)
    say(
        f"Next: sluice generate Traffic --rows 100000 --disorder bounded --out {folder}/traffic.parquet",
        quiet,
    )


def _names(folder: Path) -> list[str]:
    return sorted(path.stem for path in (folder / "queries").glob("*.cql"))


def generate(
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="A stream that we can make: Traffic.")],
    out: Annotated[
        str,
        typer.Option("--out", envvar="SLUICE_OUT", help=".parquet, .csv, .jsonl (also .gz), or a folder/."),
    ],
    rows: Annotated[int, typer.Option("--rows", envvar="SLUICE_ROWS", help="How many readings.")] = 100_000,
    disorder: Annotated[
        str,
        typer.Option(
            "--disorder", envvar="SLUICE_DISORDER", help="none, bounded, blocks, sources or clocks."
        ),
    ] = "none",
    seed: Annotated[
        int, typer.Option("--seed", envvar="SLUICE_SEED", help="Another seed, other readings.")
    ] = 0,
    segments: Annotated[
        int, typer.Option("--segments", envvar="SLUICE_SEGMENTS", help="How many sensors.")
    ] = 200,
    start: Annotated[
        str, typer.Option("--start", envvar="SLUICE_START", help="The first instant, UTC.")
    ] = "2026-01-01 00:00:00",
    interval: Annotated[
        str, typer.Option("--interval", envvar="SLUICE_INTERVAL", help="How often a sensor reports.")
    ] = "20 seconds",
    max_delay: Annotated[
        str, typer.Option("--max-delay", envvar="SLUICE_MAX_DELAY", help="The longest delay on the way.")
    ] = "60 seconds",
    punctuations: Annotated[
        Path | None,
        typer.Option(
            "--punctuations", envvar="SLUICE_PUNCTUATIONS", help="Write true promises to this file."
        ),
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option("--punctuation-scope", envvar="SLUICE_PUNCTUATION_SCOPE", help="stream, or source."),
    ] = None,
    quiet: QuietFlag = False,
) -> None:
    """Make a stream to try things on: readings of traffic sensors, in an order of your choice.

    Example: sluice generate Traffic --rows 1000000 --disorder blocks --out traffic.parquet
    """
    from datetime import datetime

    from jobs.generator import STREAMS
    from jobs.generator.disorder import Disorder
    from jobs.generator.punctuations import PunctuationScope

    kind = next((made for name, made in STREAMS.items() if name.lower() == stream.lower()), None)
    if kind is None:
        raise SluiceError(f"We cannot generate {stream}.", f"We can: {', '.join(STREAMS)}.")
    try:
        instant = datetime.fromisoformat(start)
    except ValueError:
        raise SluiceError(f"--start {start!r} is no instant.", "Write e.g. '2026-01-01 00:00:00'.") from None
    try:
        chosen = Disorder(disorder)
    except ValueError:
        raise SluiceError(
            f"--disorder {disorder!r} is none that we know.",
            f"There are: {', '.join(d.value for d in Disorder)}.",
        ) from None
    spec = kind.spec(
        rows=rows,
        segments=segments,
        disorder=chosen,
        seed=seed,
        start=instant,
        interval=_span(interval),
        max_delay=_span(max_delay),
        punctuation_scope=None if scope is None else PunctuationScope(scope),
    )
    with progress_bar("Generating", quiet) as tell:
        made = kind.generate(spec, out, punctuations, lambda done: tell(done, rows))
    say(
        f"{made.rows:,} readings from {made.first_ts} to {made.last_ts} in {', '.join(map(str, made.paths))}.",
        quiet,
    )
    if punctuations is not None:
        say(f"{made.punctuations:,} punctuations in {punctuations}.", quiet)


def _span(words: str) -> timedelta:
    micros = parse_quantity(words).microseconds
    if micros is None:
        raise SluiceError(f"{words!r} is no span of time.", "Write e.g. '20 seconds'.")
    return timedelta(microseconds=float(micros))
