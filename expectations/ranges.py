"""Declared ranges: which rows break them, and how they read."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as fn

from schemas.columns import quoted
from schemas.stream import Attribute, Range


def breaks_range(declared: Range) -> Column:
    """True where the value is outside; both ends belong to the range, NULL passes, NaN does not."""
    value = fn.col(quoted(declared.attribute.column))
    broken = fn.lit(False)
    if declared.least is not None:
        broken |= value < _end(declared.attribute, declared.least)
    if declared.greatest is not None:
        broken |= value > _end(declared.attribute, declared.greatest)
    if declared.attribute.type == "double":
        broken |= fn.isnan(value)
    return broken


def range_words(declared: Range) -> str:
    name, least, greatest = declared.attribute.name, declared.least, declared.greatest
    if least is None and greatest is None:
        return f"{name} is any value."
    if greatest is None:
        return f"{name} is at least {_told(least)}."
    if least is None:
        return f"{name} is at most {_told(greatest)}."
    return f"{name} is from {_told(least)} to {_told(greatest)}."


def _end(attribute: Attribute, value: Any) -> Column:
    """A declared end as a literal that compares exactly with the attribute."""
    if attribute.type in ("timestamp", "date"):
        # As text, so that an end without a zone is UTC (the session's) and never the machine's own zone.
        return fn.lit(_told(value)).cast(attribute.type)
    if attribute.type == "double":
        return fn.lit(float(value))
    if attribute.type in ("integer", "bigint") or attribute.type.startswith("decimal"):
        # The decimal as written: a cast to the attribute's type would round the end.
        return fn.lit(Decimal(str(value)))
    return fn.lit(value)


def _told(value: Any) -> str:
    return value.isoformat() if isinstance(value, (date, datetime)) else str(value)
