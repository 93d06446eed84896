"""What readers hand on: a bounded batch of rows as they were read, each with its line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from schemas.errors import SluiceError

Lines: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"


@dataclass(frozen=True)
class BadRow:
    """A row for the quarantine."""

    line: int
    raw: str
    reason: str


@dataclass(frozen=True)
class RawBatch:
    """Rows in file order. `columns` are by wanted name, not yet of the declared types.

    `raw` gives the text of the rows at some places. `broken` are rows that are no rows at all.
    """

    columns: Mapping[str, pa.Array]
    lines: Lines
    raw: Callable[[Sequence[int]], list[str]]
    broken: list[BadRow] = field(default_factory=list)

    @classmethod
    def of_broken(cls, broken: list[BadRow]) -> RawBatch:
        return cls({}, np.zeros(0, np.int64), lambda _: [], broken)


@dataclass(frozen=True)
class Wanted:
    """A column to read: an attribute, or one that orders or times arrivals. None: of any type."""

    name: str
    type: str | None


def match_columns(wanted: Sequence[Wanted], seen: Sequence[str], path: str, timestamp: str) -> list[int]:
    """Where each wanted column is among those of the file: same spelling first, else any case."""
    places = []
    lowered = [name.strip().lower() for name in seen]
    for name in (w.name for w in wanted):
        same = [place for place, column in enumerate(seen) if column.strip() == name]
        found = same or [place for place, column in enumerate(lowered) if column == name.lower()]
        if not found:
            near = get_close_matches(name.lower(), lowered, n=1)
            role = "the stream's timestamp " if name == timestamp else ""
            hint = f"Did you mean {seen[lowered.index(near[0])].strip()}? " if near else ""
            columns = ", ".join(column.strip() for column in seen) or "none"
            raise SluiceError(
                f"{path} has no column for {role}{name}; its columns are {columns}.",
                f"{hint}Rename the column in the file, or declare the stream as the file has it.",
            )
        if len(found) > 1:
            raise SluiceError(
                f"{path} has {len(found)} columns named {name}.", "Names match in any case: keep one of them."
            )
        places.append(found[0])
    return places
