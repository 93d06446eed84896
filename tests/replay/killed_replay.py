"""`sluice replay …` that kills itself and its JVM at a write: `killed_replay.py before|after TABLE NTH ARGUMENT…`."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

from jobs.cli import main
from lakehouse.query_tables import QueryTables


def die_at(when: str, table: str, nth: int) -> None:
    """Have the n-th append to `table` be the last thing that this process tries, or does."""
    append, seen, lock = QueryTables.append, [0], threading.Lock()

    def deadly(self: QueryTables, name: str, rows: Any, version: int) -> None:
        with lock:
            seen[0] += name == table
            due = name == table and seen[0] == nth
        if due and when == "before":
            os.killpg(os.getpgid(0), signal.SIGKILL)
        append(self, name, rows, version)
        if due:
            os.killpg(os.getpgid(0), signal.SIGKILL)

    QueryTables.append = deadly  # type: ignore[method-assign]


if __name__ == "__main__":
    die_at(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    sys.argv = ["sluice", *sys.argv[4:]]
    main()
