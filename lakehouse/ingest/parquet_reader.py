"""Parquet: batches of the wanted columns; a row's line is its position in the file."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lakehouse.ingest.batch import RawBatch, Wanted, match_columns
from lakehouse.ingest.files import Plain

BATCH_ROWS = 131_072


def read_parquet(
    stream: Plain, wanted: Sequence[Wanted], path: str, timestamp: str, size: int
) -> Iterator[RawBatch]:
    file = pq.ParquetFile(stream.file)
    seen = file.schema_arrow.names
    names = {
        want.name: seen[place]
        for want, place in zip(wanted, match_columns(wanted, seen, path, timestamp), strict=True)
    }
    total = file.metadata.num_rows
    done = 0
    for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=list(dict.fromkeys(names.values()))):
        lines = np.arange(done + 1, done + 1 + batch.num_rows, dtype=np.int64)
        columns = {name: batch.column(column) for name, column in names.items()}
        yield RawBatch(columns, lines, lambda rows, batch=batch: _raw(batch, rows))  # type: ignore[misc]
        done += batch.num_rows
        stream.tell_progress(size * done // max(total, 1))


def _raw(batch: pa.RecordBatch, rows: Sequence[int]) -> list[str]:
    """The rows as JSON, as near to the file as JSON can say it."""
    chosen = batch.take(pa.array(rows, pa.int64()))
    return [json.dumps(row, default=_shown, ensure_ascii=False) for row in _plain_rows(chosen)]


def _plain_rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = batch.to_pylist()
        return rows
    except (ValueError, OverflowError, pa.ArrowException, UnicodeDecodeError):
        # Instants beyond Python's years, or text that is none: one value at a time, as Arrow prints it.
        return [
            {name: str(batch.column(name)[place]) for name in batch.schema.names}
            for place in range(batch.num_rows)
        ]


def _shown(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)
