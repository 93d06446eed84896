"""What a replay gives: results, late rows, the ledger, and what stays open."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

from .values import as_utc, group_sort_key


class Fate(Enum):
    """Where a tuple counts in the ledger, in the order in which they are tried (SEMANTICS §8)."""

    OUT_OF_RANGE = "rows_out_of_range"
    LATE = "rows_late"
    PARTLY_LATE = "rows_partly_late"
    FILTERED = "rows_filtered"
    USED = "rows_used"


@dataclass(frozen=True)
class OracleAnswer:
    """Rows are dicts named as INTERFACE's tables have it, less the columns that name batch, run and answer.

    `results` in the order of `show` (released_seq, window_id, group); `late` in the order of seq;
    `open_windows` are (group, window id) that would have given a row.
    """

    results: list[dict[str, Any]]
    late: list[dict[str, Any]]
    fates: dict[int, Fate]
    open_windows: list[tuple[tuple, int]]

    def ledger(self, first_seq: int = 1, last_seq: int | None = None) -> dict[str, int]:
        """The ledger's totals for the tuples first_seq…last_seq, both included."""
        last = max(self.fates, default=0) if last_seq is None else last_seq
        fates = [fate for seq, fate in self.fates.items() if first_seq <= seq <= last]
        return {"rows_in": len(fates)} | {fate.value: fates.count(fate) for fate in Fate}

    def released(self, first_seq: int, last_seq: int) -> list[dict[str, Any]]:
        """The results that the positions first_seq…last_seq release."""
        return [row for row in self.results if first_seq <= row["released_seq"] <= last_seq]


def order_results(rows: Sequence[dict[str, Any]], group_by: Sequence[str]) -> list[dict[str, Any]]:
    def place(row: dict[str, Any]) -> tuple:
        return row["released_seq"], row["window_id"], group_sort_key(tuple(row[name] for name in group_by))

    return sorted(rows, key=place)


def order_open(open_windows: Sequence[tuple[tuple, int]]) -> list[tuple[tuple, int]]:
    return sorted(open_windows, key=lambda each: (each[1], group_sort_key(each[0])))


def comparable(value: Any) -> Any:
    """The value, or rows of them, in a form in which `==` means the same to the last bit.

    NaN equals itself, -0.0 is 0.0, 1 and 1.0 differ, decimals compare by value, instants in UTC.
    """
    if isinstance(value, Mapping):
        return {name: comparable(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [comparable(each) for each in value]
    if isinstance(value, float):
        return ("double", "NaN" if math.isnan(value) else repr(value + 0.0))
    if isinstance(value, Decimal):
        return ("decimal", Fraction(value))
    if isinstance(value, datetime):
        return ("timestamp", as_utc(value).replace(tzinfo=None))
    return value


def comparable_answer(answer: OracleAnswer) -> dict[str, Any]:
    """All of an answer, for `==`."""
    return {
        "results": comparable(answer.results),
        "late": comparable(answer.late),
        "fates": answer.fates,
        "open_windows": comparable(answer.open_windows),
    }
