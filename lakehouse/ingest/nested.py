"""Arrays and structs as their declared type: by one cast where that is exact, else value by value."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakehouse.ingest.arrow_types import arrow_type, element_type, struct_fields

_Convert = Callable[[Any, str], tuple[Any, Any]]


def convert_nested(values: pa.Array, declared: str, convert: _Convert) -> tuple[Any, Any]:
    """`values` as an `array<…>` or `struct<…>`; text is read as JSON. `convert` is for what is inside."""
    target = arrow_type(declared)
    is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    if not is_text and _exact(values.type, target):
        try:
            return pc.cast(values, target), np.zeros(len(values), bool)
        except pa.ArrowInvalid:
            pass
    converted: list[Any] = []
    bad = np.zeros(len(values), bool)
    for place, value in enumerate(values.to_pylist()):
        try:
            loaded = _load(value) if is_text and value is not None else value
            converted.append(_value(loaded, declared, convert))
        except (ValueError, TypeError, OverflowError, RecursionError, pa.ArrowException):
            converted.append(None)
            bad[place] = True
    return pa.array(converted, target), bad


def _load(text: str) -> Any:
    return json.loads(text, parse_float=Decimal) if text.strip() else None


def _exact(kind: pa.DataType, target: pa.DataType) -> bool:
    """Whether a cast keeps to our rules: the same field names, and inside only what casts as we convert."""
    if pa.types.is_struct(target):
        if not pa.types.is_struct(kind) or [f.name for f in kind] != [f.name for f in target]:
            return False
        return all(_exact(k.type, t.type) for k, t in zip(kind, target, strict=True))
    if pa.types.is_list(target):
        is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        return is_list and _exact(kind.value_type, target.value_type)
    both_whole = pa.types.is_integer(kind) and pa.types.is_integer(target)
    to_double = (pa.types.is_integer(kind) or pa.types.is_floating(kind)) and pa.types.is_floating(target)
    return bool(kind == target or both_whole or to_double)


def _value(value: Any, declared: str, convert: _Convert) -> Any:
    if value is None:
        return None
    if declared.startswith("array<"):
        if not isinstance(value, list):
            raise TypeError(declared)
        return [_value(item, element_type(declared), convert) for item in value]
    if declared.startswith("struct<"):
        if not isinstance(value, dict):
            raise TypeError(declared)
        given = {str(name).lower(): item for name, item in value.items()}
        return {
            name: _value(given.get(name.lower()), inner, convert) for name, inner in struct_fields(declared)
        }
    converted, bad = convert(pa.array([value]), declared)
    if bad[0]:
        raise ValueError(declared)
    return converted[0].as_py()
