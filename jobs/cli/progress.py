"""Progress on stderr: a bar for people, nothing where it is quiet or no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def say(message: str, quiet: bool = False) -> None:
    """A message on stderr."""
    if not quiet:
        print(message, file=sys.stderr, flush=True)


@contextmanager
def progress_bar(what: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Yields a callable(done, total). A log gets a line at every tenth instead of a bar."""
    if quiet:
        yield lambda done, total: None
        return
    if not sys.stderr.isatty():
        told = -1

        def tell(done: int, total: int) -> None:
            nonlocal told
            tenth = 10 * done // max(1, total)
            if tenth > told:
                told = tenth
                say(f"{what}: {done:,} of {total:,}")

        yield tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)
