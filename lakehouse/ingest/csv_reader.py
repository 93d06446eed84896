"""CSV: the first record names the columns; an empty field is NULL, a quoted empty one an empty string."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from lakehouse.ingest.batch import BadRow, RawBatch, Wanted, match_columns
from lakehouse.ingest.records import Block, ByteStream, read_blocks

# Below this many records a block that Arrow refuses is read one by one.
_ONE_BY_ONE = 512


def read_csv(
    stream: ByteStream, wanted: Sequence[Wanted], path: str, timestamp: str, delimiter: str = ","
) -> Iterator[RawBatch]:
    """The wanted columns, all as text."""
    places: list[int] | None = None
    width = 0
    for block in read_blocks(stream, delimiter.encode()):
        if places is None:
            header = (_fields(block.text(0), delimiter) if len(block) else None) or []
            width, places = len(header), match_columns(wanted, header, path, timestamp)
            rows = block.slice(1, len(block))
        else:
            rows = block
        if block.broken:
            yield RawBatch.of_broken(block.broken)
        yield from _parse(rows, width, places, wanted, delimiter)


def _parse(
    block: Block, width: int, places: Sequence[int], wanted: Sequence[Wanted], delimiter: str
) -> Iterator[RawBatch]:
    if not len(block):
        return
    misfits: list[tuple[int, int]] = []

    def skip(row: arrow_csv.InvalidRow) -> str:
        misfits.append((row.number - 1, row.actual_columns))
        return "skip"

    names = [f"c{place}" for place in range(width)]
    data = block.span()
    try:
        table = arrow_csv.read_csv(
            pa.py_buffer(data),
            # One thread and one piece: only then are misfits numbered.
            read_options=arrow_csv.ReadOptions(
                use_threads=False, column_names=names, block_size=len(data) + 1
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=skip
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: pa.string() for name in names},
                include_columns=list(dict.fromkeys(names[place] for place in places)),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        fits = table.num_rows + len(misfits) == len(block)
    except pa.ArrowInvalid:
        fits = False
    if not fits:
        # Arrow and we disagree about where records end (a lone carriage return does that).
        if len(block) <= _ONE_BY_ONE:
            yield _one_by_one(block, width, places, wanted, delimiter)
        else:
            middle = len(block) // 2
            yield from _parse(block.slice(0, middle), width, places, wanted, delimiter)
            yield from _parse(block.slice(middle, len(block)), width, places, wanted, delimiter)
        return
    kept = np.ones(len(block), bool)
    kept[[place for place, _ in misfits]] = False
    broken = [
        BadRow(int(block.lines[place]), block.text(place), _misfit(found, width)) for place, found in misfits
    ]
    columns = {
        want.name: table.column(names[place]).combine_chunks()
        for want, place in zip(wanted, places, strict=True)
    }
    where = np.flatnonzero(kept)
    yield RawBatch(
        columns, block.lines[kept], lambda rows: [block.text(int(where[row])) for row in rows], broken
    )


def _one_by_one(
    block: Block, width: int, places: Sequence[int], wanted: Sequence[Wanted], delimiter: str
) -> RawBatch:
    rows, broken, where = [], [], []
    for place in range(len(block)):
        fields = _fields(block.text(place), delimiter)
        if fields is None or len(fields) != width:
            why = "not one CSV record" if fields is None else _misfit(len(fields), width)
            broken.append(BadRow(int(block.lines[place]), block.text(place), why))
        else:
            rows.append(fields)
            where.append(place)
    columns = {
        want.name: pa.array([row[place] or None for row in rows], pa.string())
        for want, place in zip(wanted, places, strict=True)
    }
    lines = block.lines[np.array(where, np.int64)]
    return RawBatch(columns, lines, lambda chosen: [block.text(where[row]) for row in chosen], broken)


def _fields(record: str, delimiter: str) -> list[str] | None:
    """The fields of a record; None where a carriage return or the like makes it more than one."""
    try:
        records = list(csv.reader([record], delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return records[0] if len(records) == 1 else None


def _misfit(found: int, width: int) -> str:
    return f"{found} field{'s' if found != 1 else ''}, but the header has {width}"
