"""Rows as read, told apart: tuples of the stream, of the declared types, and rows for the quarantine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakehouse.ingest.batch import BadRow, RawBatch, Wanted
from lakehouse.ingest.convert import convert, reason
from schemas.stream import Stream

LINE = "source_line"
# Columns of the file that are no attributes: they order or time arrivals and are not stored.
ORDER, TIME = "__order", "__time"


class Screen:
    """What a file must hold to be this stream. `order_type` is for an order column that is no attribute."""

    def __init__(self, stream: Stream, order_type: str | None = None) -> None:
        self._stream = stream
        self._needed = {stream.timestamp.column: "NULL, but it is the stream's timestamp"}
        self._columns = [(a.column, Wanted(a.name, a.type)) for a in stream.attributes]
        self.time_column = self._role(stream.arrival_time, TIME, "timestamp", "the arrival time")
        self.order_column = self._role(stream.arrival_order, ORDER, order_type, "the order of arrival")

    def _role(self, name: str | None, own: str, kind: str | None, role: str) -> str | None:
        if name is None:
            return None
        # An attribute may have the role, and one column both roles.
        column = next((c for c, wanted in self._columns if wanted.name.lower() == name.lower()), own)
        if column == own:
            self._columns.append((own, Wanted(name, kind)))
        self._needed.setdefault(column, f"NULL, but it is {role}")
        return column

    @property
    def wanted(self) -> list[Wanted]:
        return [wanted for _, wanted in self._columns]

    def sift(self, batch: RawBatch) -> tuple[pa.Table, list[BadRow]]:
        """The good rows, and the bad ones in file order with every reason there is."""
        values: dict[str, pa.Array] = {}
        faults: dict[int, list[str]] = {}
        if len(batch.lines) == 0:
            return pa.table({LINE: pa.array([], pa.int64())}), batch.broken
        for column, wanted in self._columns:
            read = batch.columns[wanted.name]
            assert wanted.type is not None
            values[column], bad = convert(read, wanted.type)
            for place in map(int, np.flatnonzero(bad)):
                faults.setdefault(place, []).append(reason(wanted.name, _shown(read[place]), wanted.type))
            if column in self._needed:
                for row, why in self._missing(values[column], ~bad, column):
                    faults.setdefault(row, []).append(f"{wanted.name}: {why}")
        good = pa.table({**values, LINE: pa.array(batch.lines)})
        if not faults:
            return good, batch.broken
        places = sorted(faults)
        kept = np.ones(len(batch.lines), bool)
        kept[places] = False
        bad_rows = [
            BadRow(int(batch.lines[place]), raw, "; ".join(faults[place]))
            for place, raw in zip(places, batch.raw(places), strict=True)
        ]
        return good.filter(pa.array(kept)), sorted([*batch.broken, *bad_rows], key=lambda row: row.line)

    def _missing(self, values: pa.Array, converted: Any, column: str) -> list[tuple[int, str]]:
        missing = values.is_null().to_numpy(zero_copy_only=False) & converted
        found = [(int(place), self._needed[column]) for place in np.flatnonzero(missing)]
        if pa.types.is_floating(values.type):
            odd = pc.fill_null(pc.invert(pc.is_finite(values)), False).to_numpy(zero_copy_only=False)
            needed = self._needed[column].removeprefix("NULL, ")
            found += [(int(place), f"{values[place]}, {needed}") for place in np.flatnonzero(odd)]
        return found


def infer_type(batches: Sequence[pa.Array] | Any) -> str:
    """The type of an order column that nobody declares: of most of its values, text if there is none."""
    kinds = {"bigint": 0, "double": 0, "timestamp": 0}
    given = 0
    for values in batches:
        valid = len(values) - values.null_count
        given += valid
        for kind in kinds:
            kinds[kind] += valid - int(convert(values, kind)[1].sum())
    best = max(kinds, key=lambda kind: kinds[kind])  # the first of equals: whole numbers before fractions
    return best if 2 * kinds[best] > given else "string"


def _shown(value: Any) -> Any:
    try:
        return value.as_py()
    except (ValueError, OverflowError, UnicodeDecodeError):
        return str(value)
