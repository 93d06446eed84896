"""One ingest from paths to tables: find, skip what is known, stage, commit, finish."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from lakehouse.ingest.arrival import ArrivalClock, sort_by
from lakehouse.ingest.batch import BadRow, RawBatch, Wanted
from lakehouse.ingest.csv_reader import read_csv
from lakehouse.ingest.files import Format, InputFile, find_files
from lakehouse.ingest.json_reader import read_json
from lakehouse.ingest.parquet_reader import read_parquet
from lakehouse.ingest.punctuation import Placement, punctuations_table, read_punctuations
from lakehouse.ingest.report import FileReport, IngestReport
from lakehouse.ingest.screening import LINE, Screen, infer_type
from lakehouse.ingest.staging import Staging, discard
from lakehouse.layout import Lakehouse
from schemas.errors import SluiceError
from schemas.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakehouse.ingest.commit import Archived

# bytes done, bytes in all, the file at hand
Progress: TypeAlias = Callable[[int, int, str], None]
Paths: TypeAlias = str | Path | Sequence[str | Path]
_PUNCTUATIONS_AT_A_TIME = 50_000


def ingest(
    spark: SparkSession,
    lakehouse: Lakehouse,
    stream: Stream,
    paths: Paths,
    punctuations: Paths | None = None,
    progress: Progress | None = None,
    dry_run: bool = False,
) -> IngestReport:
    """The files behind `paths` are in the archive, each content once; bad rows are in the quarantine.

    All of it lands or nothing does. After a kill the same call ends the same. `dry_run` only reports.
    """
    # Only the commit needs Spark: readers stay importable without it.
    from lakehouse.ingest import commit

    files, ignored = find_files(_listed(paths))
    promises, _ = find_files(_listed(punctuations))
    for file in promises:
        if file.format is not Format.JSON:
            raise SluiceError(
                f"{file.path} is no JSON lines.", "Punctuations come as .json, .jsonl or .ndjson."
            )
    with _only_one(lakehouse, stream, dry_run):
        archived = commit.read_archived(spark, lakehouse, stream)
        if not dry_run:
            commit.recover(spark, lakehouse, stream, archived)
        ingest_id = uuid.uuid4().hex
        work = _Ingest(lakehouse, stream, archived, ingest_id, dry_run, progress)
        try:
            metadata = work.stage(files, promises)
        except BaseException:
            discard(lakehouse.staging(stream.name), ingest_id)
            raise
        report = replace(work.report, ignored=ignored)
        if dry_run or not (metadata["files"] or metadata["punctuations"]):
            return report
        commit.commit(spark, lakehouse, stream, metadata)
        commit.finish(spark, lakehouse, stream, ingest_id)
        return replace(report, ingest_id=ingest_id)


class _Ingest:
    """The staging of one ingest: positions and arrival times carried from file to file."""

    def __init__(
        self,
        lakehouse: Lakehouse,
        stream: Stream,
        archived: Archived,
        ingest_id: str,
        dry_run: bool,
        progress: Progress | None,
    ) -> None:
        self._stream, self._archived, self._ingest_id = stream, archived, ingest_id
        self._dry_run, self._progress = dry_run, progress
        self._last_seq = archived.last_seq
        self._clock = ArrivalClock(archived.last_arrived_at)
        self._staging = Staging(lakehouse.staging(stream.name), stream, ingest_id, archived.last_seq + 1)
        self.report = IngestReport()

    def stage(self, files: list[InputFile], promises: list[InputFile]) -> dict[str, Any]:
        """All rows and punctuations are in staging; what the commit is to say of them."""
        total, done = sum(file.size for file in files), 0
        landed = []
        for file, sha256 in self._unknown(files, self._archived.contents, self.report.files):
            report = self._stage_file(file, partial(self._tell, file, done, total))
            file.check_unchanged()
            self.report.files.append(report)
            landed.append(_entry(report, sha256))
            done += file.size
        self._staging.good.close()
        placement = Placement(
            self._archived.last_seq, self._last_seq, self._archived.last_arrived_at, self._arrived_at
        )
        promised = []
        for file, sha256 in self._unknown(
            promises, self._archived.punctuations, self.report.punctuation_files
        ):
            report = self._stage_punctuations(file, placement)
            file.check_unchanged()
            self.report.punctuation_files.append(report)
            promised.append(_entry(report, sha256))
        self._staging.close()
        self.report = replace(self.report, punctuations=sum(f.rows for f in self.report.punctuation_files))
        latest = max((at for at in (self._clock.last, placement.latest) if at is not None), default=None)
        return {
            "ingest_id": self._ingest_id,
            "number": self._archived.number + 1,
            "files": landed,
            "punctuations": promised,
            "last_seq": self._last_seq,
            "last_arrived_at": latest,
        }

    def _unknown(
        self, files: list[InputFile], known: dict[str, str], reports: list[FileReport]
    ) -> Iterator[tuple[InputFile, str]]:
        """The files whose content is not in yet, each with its hash; the others are reported as skipped."""
        known = dict(known)
        for file in files:
            sha256 = file.content_hash()
            if sha256 in known:
                same = known[sha256]
                why = "already ingested" if same == file.path else f"same content as {same}, already ingested"
                reports.append(FileReport(file.path, skipped=why))
                continue
            known[sha256] = file.path
            yield file, sha256

    def _stage_file(self, file: InputFile, progress: Callable[[int], None]) -> FileReport:
        screen = Screen(self._stream, self._order_type(file))
        first, quarantined = self._last_seq + 1, 0

        def good_rows() -> Iterator[pa.Table]:
            nonlocal quarantined
            with file.open(progress) as source:
                for batch in read_batches(file, source, screen.wanted, self._stream):
                    good, bad = screen.sift(batch)
                    quarantined += len(bad)
                    self._quarantine(file, bad)
                    if good.num_rows:
                        yield good

        arrivals: Iterable[pa.Table] = good_rows()
        # Order changes no count, and a dry run writes nothing, so it needs no room to sort.
        if screen.order_column and not self._dry_run:
            runs = f"{self._staging.folder}/runs"
            arrivals = sort_by(arrivals, screen.order_column, self._staging.system, runs)
        for table in arrivals:
            self._arrive(table, file, screen)
        landed = self._last_seq >= first
        return FileReport(
            file.path,
            rows=self._last_seq - first + 1,
            quarantined=quarantined,
            first_seq=first if landed else None,
            last_seq=self._last_seq if landed else None,
        )

    def _arrive(self, table: pa.Table, file: InputFile, screen: Screen) -> None:
        """The next tuples of the stream get their positions and their arrival times."""
        rows = table.num_rows
        instants = table.column(screen.time_column or self._stream.timestamp.column).combine_chunks()
        arrived_at = self._clock.stamp(instants)
        seq = np.arange(self._last_seq + 1, self._last_seq + 1 + rows, dtype=np.int64)
        self._last_seq += rows
        if self._dry_run:
            return
        columns = {attribute.column: table.column(attribute.column) for attribute in self._stream.attributes}
        own = {
            "seq": pa.array(seq),
            "arrived_at": arrived_at,
            "source_file": pa.repeat(pa.scalar(file.path, pa.string()), rows),
            "source_line": table.column(LINE),
        }
        self._staging.good.write(pa.table({**columns, **own}))

    def _order_type(self, file: InputFile) -> str | None:
        """The type of an order column that is no attribute, by a look at all of it."""
        name = self._stream.arrival_order
        if name is None or self._stream.find(name) is not None:
            return None
        if self._stream.arrival_time is not None and name.lower() == self._stream.arrival_time.lower():
            return "timestamp"
        with file.open() as source:
            batches = read_batches(file, source, [Wanted(name, None)], self._stream)
            return infer_type(batch.columns[name] for batch in batches if len(batch.lines))

    def _stage_punctuations(self, file: InputFile, placement: Placement) -> FileReport:
        staged, quarantined = 0, 0
        held: list[Any] = []

        def flush() -> None:
            if not self._dry_run:
                self._staging.punctuations.write(punctuations_table(held, file.path))
            held.clear()

        with file.open() as source:
            for line in read_punctuations(self._stream, source):
                if isinstance(line, BadRow):
                    quarantined += 1
                    self._quarantine(file, [line])
                    continue
                placement.check(line, file.path)
                arrived_at = placement.settle(line)
                if arrived_at is None and not self._dry_run:
                    quarantined += 1
                    why = "arrived_at: missing, and there is no tuple yet to take it from"
                    self._quarantine(file, [BadRow(line.line, line.raw, why)])
                    continue
                held.append((line, arrived_at))
                staged += 1
                if len(held) >= _PUNCTUATIONS_AT_A_TIME:
                    flush()
            flush()
        return FileReport(file.path, rows=staged, quarantined=quarantined)

    def _quarantine(self, file: InputFile, rows: list[BadRow]) -> None:
        if rows and not self._dry_run:
            self._staging.quarantine(file.path, rows)

    def _arrived_at(self, seq: int) -> int | None:
        return None if self._dry_run else self._staging.arrived_at(seq)

    def _tell(self, file: InputFile, before: int, total: int, read: int) -> None:
        if self._progress:
            self._progress(min(before + read, total), total, file.path)


def read_batches(
    file: InputFile, source: Any, wanted: Sequence[Wanted], stream: Stream
) -> Iterator[RawBatch]:
    """The file's rows as its format has them."""
    timestamp = stream.timestamp.name
    if file.format is Format.PARQUET:
        return read_parquet(source, wanted, file.path, timestamp, file.size)
    if file.format is Format.JSON:
        return read_json(source, wanted)
    delimiter = "\t" if file.format is Format.TSV else ","
    return read_csv(source, wanted, file.path, timestamp, delimiter)


@contextmanager
def _only_one(lakehouse: Lakehouse, stream: Stream, dry_run: bool) -> Iterator[None]:
    """One ingest of a stream at a time on one machine; across machines Delta's log refuses the second."""
    root = lakehouse.staging(stream.name)
    if dry_run or "://" in root:
        yield
        return
    import fcntl

    Path(root).mkdir(parents=True, exist_ok=True)
    with open(f"{root}/.lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SluiceError(
                f"Another ingest of {stream.name} is running.",
                "Wait until it is done, then run this one again.",
            ) from None
        yield


def _listed(paths: Paths | None) -> list[str | Path]:
    if paths is None:
        return []
    return [paths] if isinstance(paths, str | Path) else list(paths)


def _entry(report: FileReport, sha256: str) -> dict[str, Any]:
    return {
        "name": report.path,
        "sha256": sha256,
        "first_seq": report.first_seq,
        "last_seq": report.last_seq,
        "rows": report.rows,
        "quarantined": report.quarantined,
    }
