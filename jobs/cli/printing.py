"""Rows for people and for programs: a table, one JSON document, or CSV."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from jobs.cli.options import Output


def print_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]], output: Output) -> None:
    """Rows on stdout. JSON is one valid document, `[]` when there are none; instants are ISO 8601 in UTC."""
    if output is Output.json:
        listed = [dict(zip(columns, map(_plain, row), strict=True)) for row in rows]
        json.dump(listed, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
        print()
    elif output is Output.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_text(value) for value in row] for row in rows)
    else:
        _print_table(columns, rows)


def _print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    cells = [[_text(value) if value is not None else "·" for value in row] for row in rows]
    widths = [max([len(name), *(len(row[place]) for row in cells)]) for place, name in enumerate(columns)]
    right = [
        all(isinstance(row[place], int | float | Decimal) or row[place] is None for row in rows)
        for place in range(len(columns))
    ]

    def line(values: Sequence[str]) -> str:
        aligned = zip(values, widths, right, strict=True)
        return "  ".join(v.rjust(w) if r else v.ljust(w) for v, w, r in aligned).rstrip()

    print(line(list(columns)))
    print("  ".join("─" * width for width in widths))
    for row in cells:
        print(line(row))
    if not rows:
        print("(no rows)", file=sys.stderr)


def _plain(value: Any) -> Any:
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else _text(value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        # Spark gives instants in the process's own zone, without naming it.
        instant = value.astimezone(UTC) if value.tzinfo is None else value
        return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        if value != value:
            return "NaN"
        return "Infinity" if value == float("inf") else "-Infinity" if value == -float("inf") else repr(value)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
