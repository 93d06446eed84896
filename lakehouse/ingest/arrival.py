"""Arrival: the order of a file's rows, and when each arrived."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

RUN_ROWS = 1_000_000
RUN_BYTES = 256 << 20
_MERGE_ROWS = 1_000_000
_LEAST_PIECE = 1024


class ArrivalClock:
    """`arrived_at` of tuples in arrival order, in microseconds: never before the one before."""

    def __init__(self, last: int | None) -> None:
        self.last = last

    def stamp(self, instants: pa.Array) -> pa.Array:
        micros = np.maximum.accumulate(instants.cast(pa.int64()).to_numpy(zero_copy_only=False))
        if self.last is not None:
            micros = np.maximum(micros, self.last)
        if len(micros):
            self.last = int(micros[-1])
        return pa.array(micros).cast(instants.type)


def sort_by(tables: Iterable[pa.Table], key: str, system: Any, folder: str) -> Iterator[pa.Table]:
    """All rows by `key`, equal ones as they came. Memory holds a run; more runs wait below `folder`.

    A run is what fits; sorted runs are merged a piece at a time.
    """
    runs: list[str] = []
    held: list[pa.Table] = []
    rows = size = 0
    for table in tables:
        held.append(table)
        rows += table.num_rows
        size += table.nbytes
        if rows >= RUN_ROWS or size >= RUN_BYTES:
            runs.append(_spill(held, key, system, f"{folder}/run-{len(runs):06d}.parquet"))
            held, rows, size = [], 0, 0
    if not runs:
        if rows:
            yield _sorted(held, key)
        return
    if rows:
        runs.append(_spill(held, key, system, f"{folder}/run-{len(runs):06d}.parquet"))
    yield from _merge(runs, key, system)
    for run in runs:
        system.delete_file(run)


def _sorted(tables: list[pa.Table], key: str) -> pa.Table:
    table = pa.concat_tables(tables)
    order = np.arange(table.num_rows)
    # Arrow's sort does not promise to keep equals in place: the position breaks ties.
    numbered = pa.table({"key": table.column(key), "place": order})
    return table.take(pc.sort_indices(numbered, [("key", "ascending"), ("place", "ascending")]))


def _spill(tables: list[pa.Table], key: str, system: Any, path: str) -> str:
    system.create_dir(path.rpartition("/")[0], recursive=True)
    with system.open_output_stream(path) as out:
        pq.write_table(_sorted(tables, key), out, row_group_size=65_536, compression="lz4")
    return path


def _merge(runs: list[str], key: str, system: Any) -> Iterator[pa.Table]:
    """Order is (key, run, place in run): runs follow one another in the file, so equals keep their order."""
    piece_rows = max(_LEAST_PIECE, _MERGE_ROWS // len(runs))
    files = [system.open_input_file(run) for run in runs]
    pieces = [pq.ParquetFile(file).iter_batches(batch_size=piece_rows) for file in files]
    waiting: dict[int, pa.Table] = {}

    def refill(run: int) -> None:
        waiting.pop(run, None)
        for piece in pieces[run]:
            if piece.num_rows:
                waiting[run] = pa.Table.from_batches([piece])
                return

    for run in range(len(runs)):
        refill(run)
    while waiting:
        # Whatever comes later from any run is above the least of the last rows held.
        limit, limit_run = min((table.column(key)[-1].as_py(), run) for run, table in waiting.items())
        due = []
        for run in sorted(waiting):
            table = waiting[run]
            keys = table.column(key)
            bound = pa.scalar(limit, keys.type)
            below = pc.less_equal(keys, bound) if run <= limit_run else pc.less(keys, bound)
            count = pc.sum(below).as_py() or 0
            due.append(table.slice(0, count))
            waiting[run] = table.slice(count)
        yield _sorted(due, key)
        for run in [run for run, table in waiting.items() if table.num_rows == 0]:
            refill(run)
    for file in files:
        file.close()
