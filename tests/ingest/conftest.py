"""Streams and files that ingest tests share, and reading a file without Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakehouse.ingest.batch import BadRow
from lakehouse.ingest.files import find_files
from lakehouse.ingest.run import read_batches
from lakehouse.ingest.screening import LINE, Screen
from schemas.stream import Stream, declare_stream

Read = Callable[..., tuple[list[dict[str, Any]], list[BadRow]]]


def traffic(**changes: Any) -> Stream:
    declared = {
        "stream": "Traffic",
        "attributes": {"seg-id": "integer", "speed": "double", "ts": "timestamp"},
        "timestamp": "ts",
    }
    return declare_stream(declared | changes)


@pytest.fixture
def read_rows() -> Read:
    """Good rows (attributes by column, and `source_line`) and bad rows of one file."""

    def read(stream: Stream, path: Path) -> tuple[list[dict[str, Any]], list[BadRow]]:
        [file], _ = find_files([path])
        screen = Screen(stream)
        good: list[dict[str, Any]] = []
        bad: list[BadRow] = []
        with file.open() as source:
            for batch in read_batches(file, source, screen.wanted, stream):
                rows, refused = screen.sift(batch)
                good += rows.to_pylist() if rows.num_rows else []
                bad += refused
        assert all(row[LINE] >= 1 for row in good)
        return good, bad

    return read
