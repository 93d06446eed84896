"""Declared types as Arrow types."""

from __future__ import annotations

import re

import pyarrow as pa

_SIMPLE = {
    "boolean": pa.bool_(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def arrow_type(declared: str) -> pa.DataType:
    """The Arrow type that holds values of a declared type.

    >>> arrow_type("array<decimal(5,2)>")
    ListType(list<element: decimal128(5, 2)>)
    """
    if declared in _SIMPLE:
        return _SIMPLE[declared]
    if decimal := _DECIMAL.fullmatch(declared):
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    if declared.startswith("array<"):
        # Spark calls a list's items `element`; another name would be another type to a cast.
        return pa.list_(pa.field("element", arrow_type(element_type(declared))))
    return pa.struct([pa.field(name, arrow_type(inner)) for name, inner in struct_fields(declared)])


def is_nested(declared: str) -> bool:
    return declared.startswith(("array<", "struct<"))


def element_type(declared: str) -> str:
    return declared[len("array<") : -1]


def struct_fields(declared: str) -> list[tuple[str, str]]:
    """Name and type of each field of a `struct<…>`.

    >>> struct_fields("struct<a:decimal(5,2),b:struct<c:integer,d:string>>")
    [('a', 'decimal(5,2)'), ('b', 'struct<c:integer,d:string>')]
    """
    text = declared[len("struct<") : -1]
    fields, depth, start = [], 0, 0
    for place, sign in enumerate(text + ","):
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and depth == 0:
            name, _, inner = text[start:place].partition(":")
            fields.append((name, inner))
            start = place + 1
    return fields


def nested_names(declared: str) -> list[str]:
    """The names of all fields inside a declared type."""
    if declared.startswith("array<"):
        return nested_names(element_type(declared))
    if declared.startswith("struct<"):
        return [n for name, inner in struct_fields(declared) for n in (name, *nested_names(inner))]
    return []
