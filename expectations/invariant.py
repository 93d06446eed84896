"""An invariant and the fact measured about it: what is expected, how much was looked at, what broke it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

EXAMPLES = 5

# Without these, to_json drops the very NULL that is the failure, and cuts instants to milliseconds.
_JSON_OPTIONS = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]XXX"}


@dataclass(frozen=True)
class Invariant:
    """What must hold, in words. `stops`: a failure stops the run; else it is only told."""

    name: str
    words: str
    stops: bool = True


@dataclass(frozen=True)
class Fact:
    """What was measured: `failures` of `checked` rows (or columns, or micro-batches) break the invariant."""

    invariant: Invariant
    checked: int
    failures: int
    examples: tuple[dict[str, Any], ...] = ()

    def shown_by(self, rows: DataFrame) -> Fact:
        """The same fact with the first of `rows`, in their order, as its examples."""
        return replace(self, examples=tuple(example_rows(rows)))


def example_rows(rows: DataFrame) -> list[dict[str, Any]]:
    """Up to five rows as JSON objects: instants in ISO 8601, NULLs shown."""
    shown = rows.limit(EXAMPLES).select(fn.to_json(fn.struct("*"), _JSON_OPTIONS).alias("row"))
    return [json.loads(row["row"]) for row in shown.collect()]


def sum_of(number: Column | str) -> Column:
    """The sum as a bigint: 0, not NULL, where there are no rows."""
    return fn.coalesce(fn.sum(number), fn.lit(0)).cast("bigint")
