"""Staging: the rows of one ingest on their way, in Parquet files that follow one another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from lakehouse.ingest.arrow_types import arrow_type
from lakehouse.ingest.batch import BadRow
from lakehouse.ingest.files import filesystem
from schemas.stream import Stream
from schemas.tables import TableContract, archive_contract, punctuations_contract, quarantine_contract

FILE_ROWS = 1_000_000
GROUP_ROWS = 131_072
GROUP_BYTES = 64 << 20


class Parts:
    """Rows written to files of bounded size, each named for its first row's number."""

    def __init__(self, system: Any, folder: str, contract: TableContract, first: int = 1) -> None:
        self._system, self._folder, self._next = system, folder, first
        self.schema = pa.schema([(column.name, arrow_type(column.type)) for column in contract.columns])
        self.files: list[tuple[int, str]] = []
        self.rows = 0
        self._held: list[pa.Table] = []
        self._held_rows = self._held_bytes = self._file_rows = 0
        self._out: Any = None
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        ready = table.select(self.schema.names).cast(self.schema)
        for start in range(0, ready.num_rows, GROUP_ROWS):  # a sorted run comes in one piece
            self._hold(ready.slice(start, GROUP_ROWS))

    def _hold(self, table: pa.Table) -> None:
        self._held.append(table)
        self._held_rows += table.num_rows
        self._held_bytes += table.nbytes
        self.rows += table.num_rows
        if self._held_rows >= GROUP_ROWS or self._held_bytes >= GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._end_file()

    def _flush(self) -> None:
        if not self._held_rows:
            return
        if self._writer is None:
            path = f"{self._folder}/part-{self._next:020d}.parquet"
            self._system.create_dir(self._folder, recursive=True)
            self.files.append((self._next, path))
            self._out = self._system.open_output_stream(path)
            self._writer = pq.ParquetWriter(self._out, self.schema)
        self._writer.write_table(pa.concat_tables(self._held), row_group_size=GROUP_ROWS)
        self._next += self._held_rows
        self._file_rows += self._held_rows
        self._held, self._held_rows, self._held_bytes = [], 0, 0
        if self._file_rows >= FILE_ROWS:
            self._end_file()

    def _end_file(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._out.close()
        self._writer = self._out = None
        self._file_rows = 0


class Staging:
    """The folder of one ingest: `good`, `bad` and `punctuations`, each to be appended to its table."""

    def __init__(self, root: str, stream: Stream, ingest_id: str, first_seq: int) -> None:
        self.place = f"{root}/{ingest_id}"
        self.system, self.folder = filesystem(self.place)
        self.first_seq = first_seq
        self.good = Parts(self.system, f"{self.folder}/good", archive_contract(stream), first_seq)
        self.bad = Parts(self.system, f"{self.folder}/bad", quarantine_contract(stream))
        self.punctuations = Parts(self.system, f"{self.folder}/punctuations", punctuations_contract(stream))
        self._arrivals = lru_cache(maxsize=4)(self._read_arrivals)

    def quarantine(self, path: str, rows: Iterable[BadRow]) -> None:
        listed = list(rows)
        now = datetime.now(UTC)
        columns = {
            "raw": pa.array([row.raw for row in listed], pa.string()),
            "reason": pa.array([row.reason for row in listed], pa.string()),
            "source_file": pa.array([path] * len(listed), pa.string()),
            "source_line": pa.array([row.line for row in listed], pa.int64()),
            "ingested_at": pa.array([now] * len(listed), pa.timestamp("us", "UTC")),
        }
        self.bad.write(pa.table(columns))

    def arrived_at(self, seq: int) -> int | None:
        """When a staged tuple arrived, in microseconds; None for one that is not staged."""
        place = bisect_right(self.good.files, seq, key=lambda part: part[0]) - 1
        if place < 0 or seq >= self.first_seq + self.good.rows:
            return None
        first, path = self.good.files[place]
        return int(self._arrivals(path)[seq - first])

    def _read_arrivals(self, path: str) -> Any:
        with self.system.open_input_file(path) as file:
            column = pq.read_table(file, columns=["arrived_at"]).column("arrived_at")
            return column.cast(pa.int64()).to_numpy()

    def close(self) -> None:
        for parts in (self.good, self.bad, self.punctuations):
            parts.close()


def leftovers(root: str) -> list[str]:
    """The ids of ingests that left something in staging."""
    system, folder = filesystem(root)
    found = system.get_file_info(fs.FileSelector(folder, allow_not_found=True))
    return sorted(info.base_name for info in found if info.type == fs.FileType.Directory)


def holds_rows(root: str, ingest_id: str, part: str) -> bool:
    system, folder = filesystem(f"{root}/{ingest_id}/{part}")
    return bool(system.get_file_info(folder).type.name == "Directory")


def discard(root: str, ingest_id: str) -> None:
    system, folder = filesystem(f"{root}/{ingest_id}")
    if system.get_file_info(folder).type.name == "Directory":
        system.delete_dir(folder)
