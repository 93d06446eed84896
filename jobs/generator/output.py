"""Where generated rows go: Parquet, CSV or JSON lines by extension, or Parquet parts in a folder.

Files appear under their names only when all is written; what fails leaves nothing behind.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from jobs.generator.punctuations import Punctuations
from schemas.errors import SluiceError

EXTENSIONS = (".parquet", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz")
MOST_PART_ROWS = 1 << 20
FEWEST_PARTS = 4


class RowWriter(Protocol):
    """Takes batches in file order."""

    def write(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


class _ParquetWriter:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._writer = pq.ParquetWriter(path, schema, compression="zstd", version="2.6")

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch, row_group_size=batch.num_rows)

    def close(self) -> None:
        self._writer.close()


class _TextWriter:
    """CSV or JSON lines: one template a line, filled column by column without touching rows in Python."""

    def __init__(self, path: Path, schema: pa.Schema, form: str) -> None:
        compression = "gzip" if form.endswith(".gz") else None
        self._stream = pa.output_stream(str(path), compression=compression)
        if form.startswith(".csv"):
            self._around = ["", *[","] * (len(schema) - 1), "\n"]
            self._stream.write((",".join(schema.names) + "\n").encode())
            quote = ""
        else:
            names = [json.dumps(name) for name in schema.names]
            self._around = ["{" + names[0] + ":", *[f",{name}:" for name in names[1:]], "}\n"]
            quote = '"'
        self._quotes = [quote if pa.types.is_timestamp(field.type) else "" for field in schema]

    def write(self, batch: pa.RecordBatch) -> None:
        columns = [_text(column, quote) for column, quote in zip(batch.columns, self._quotes, strict=True)]
        _write_lines(self._stream, self._around, columns)

    def close(self) -> None:
        self._stream.close()


class _PartsWriter:
    """A folder of Parquet files, each of the same number of rows but the last."""

    def __init__(self, hidden: list[Path], schema: pa.Schema, part_rows: int) -> None:
        self._files = iter(hidden)
        self._schema = schema
        self._part_rows = part_rows
        self._room = 0
        self._part: _ParquetWriter | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        done = 0
        while done < batch.num_rows:
            if self._part is None:
                self._part, self._room = _ParquetWriter(next(self._files), self._schema), self._part_rows
            piece = batch.slice(done, self._room)
            self._part.write(piece)
            done += piece.num_rows
            self._room -= piece.num_rows
            if not self._room:
                self.close()

    def close(self) -> None:
        if self._part is not None:
            self._part.close()
            self._part = None


class Output:
    """The files of one generation. A context: leaving it without an error gives them their names."""

    def __init__(
        self, out: str | Path, schema: pa.Schema, rows: int, punctuations: str | Path | None
    ) -> None:
        target = Path(out)
        if str(out).endswith(("/", os.sep)) or target.is_dir():
            part_rows = min(MOST_PART_ROWS, -(-rows // FEWEST_PARTS))
            parts = range(-(-rows // part_rows))
            self.paths = tuple(target / f"part-{part:05d}.parquet" for part in parts)
            if target.is_dir() and any(target.iterdir()):
                raise SluiceError(
                    f"The folder {target} is not empty, and parts must not mix with other files.",
                    "Empty it or name a new one.",
                )
            form = "folder"
        else:
            form = form_of(target)
            self.paths = (target,)
            part_rows = rows
        self._punctuations = None if punctuations is None else Path(punctuations)
        if self._punctuations is not None:
            _check_apart(self._punctuations, target)
        self._form, self._schema, self._part_rows = form, schema, part_rows
        self._rows: RowWriter
        self._promises: Any = None

    def __enter__(self) -> Output:
        with _told(self.paths[0].parent):
            self.paths[0].parent.mkdir(parents=True, exist_ok=True)
        hidden = [_hidden(path) for path in self.paths]
        with _told(self.paths[0]):
            if self._form == "folder":
                self._rows = _PartsWriter(hidden, self._schema, self._part_rows)
            elif self._form == ".parquet":
                self._rows = _ParquetWriter(hidden[0], self._schema)
            else:
                self._rows = _TextWriter(hidden[0], self._schema, self._form)
        if self._punctuations is not None:
            with _told(self._punctuations):
                self._punctuations.parent.mkdir(parents=True, exist_ok=True)
                self._promises = pa.output_stream(str(_hidden(self._punctuations)), compression=None)
        return self

    def write(self, batch: pa.RecordBatch) -> None:
        """Adds rows."""
        with _told(self.paths[0]):
            self._rows.write(batch)

    def promise(self, punctuations: Punctuations, source: str | None) -> None:
        """Adds punctuations; `source` is the attribute that names their source, none for the whole stream."""
        if not len(punctuations) or self._punctuations is None:
            return
        to = pa.array(punctuations.to // 1_000_000).cast(pa.timestamp("s"))
        arrived = pa.array(punctuations.arrived).cast(pa.timestamp("us"))
        columns = [(pa.array(punctuations.seq), ""), (to, '"'), (arrived, '"')]
        around = ['{"seq": ', ', "pattern": {"ts": {"to": ', '}}, "arrived_at": ', "}\n"]
        if source is not None:
            columns.insert(1, (pa.array(punctuations.source), ""))
            around[1:2] = [f', "pattern": {{{json.dumps(source)}: ', ', "ts": {"to": ']
        texts = [_text(column, quote) for column, quote in columns]
        with _told(self._punctuations):
            _write_lines(self._promises, around, texts)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        published = [*self.paths, *([] if self._punctuations is None else [self._punctuations])]
        with ExitStack() as tidy:
            for path in published:
                tidy.callback(_hidden(path).unlink, missing_ok=True)
            with _told(self.paths[0]):
                self._rows.close()
                if self._promises is not None:
                    self._promises.close()
                if kind is None:
                    for path in published:
                        os.replace(_hidden(path), path)


def form_of(path: Path) -> str:
    """The extension that decides the format.

    >>> form_of(Path("a/traffic.csv.gz"))
    '.csv.gz'
    """
    for extension in EXTENSIONS:
        if path.name.lower().endswith(extension):
            return extension
    raise SluiceError(
        f"Cannot tell a format from the name {path.name or path}.",
        f"End it in one of {', '.join(EXTENSIONS)}, or in / for a folder of Parquet parts.",
    )


def _hidden(path: Path) -> Path:
    return path.with_name(f".{path.name}.unfinished")


def _check_apart(punctuations: Path, target: Path) -> None:
    if punctuations.is_dir():
        raise SluiceError(f"{punctuations} is a folder.", "Name a file for the punctuations.")
    place = punctuations.resolve()
    if place == target.resolve() or target.resolve() in place.parents:
        raise SluiceError(
            f"The punctuations would go to {punctuations}, among the rows.",
            "Name a file outside of what --out names: a folder is ingested whole.",
        )


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Tells a failure of the file system as a user's error."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise SluiceError(
            f"Cannot write {path}: {reason}.", "Check that the place exists, has room and may be written."
        ) from error


def _text(column: pa.Array, quote: str) -> pa.Array:
    """A column as text; timestamps in ISO 8601, UTC."""
    if not pa.types.is_timestamp(column.type):
        return column.cast(pa.string())
    # Through a timestamp without zone: arrow would look zones up, and print a space for the T.
    spaced = column.cast(pa.timestamp(column.type.unit)).cast(pa.string())
    instant = pc.binary_replace_slice(spaced, 10, 11, "T")
    return pc.binary_join_element_wise(quote, instant, f"Z{quote}", "")


def _write_lines(stream: Any, around: list[str], columns: list[pa.Array]) -> None:
    """Writes around[0] column[0] around[1] … for every row."""
    pieces = [around[0]]
    for column, after in zip(columns, around[1:], strict=True):
        pieces += [column, after]
    lines = pc.binary_join_element_wise(*pieces, "")
    # The lines lie end to end in the array's own memory.
    length = pc.sum(pc.binary_length(lines)).as_py()
    stream.write(lines.buffers()[2].slice(0, length))
