"""The types of attributes, and which type an operation on them has: Spark's own rules (ANSI mode)."""

from __future__ import annotations

import re

UNKNOWN = "void"
"""The type of NULL: it goes with every other."""

SIMPLE = ("boolean", "integer", "bigint", "double", "string", "date", "timestamp")
_SYNONYMS = {"int": "integer", "long": "bigint", "text": "string"}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_MOST_DIGITS = 38
_LEAST_SCALE = 6
_WHOLE = {"integer": (10, 0), "bigint": (20, 0)}


def known_type(text: str) -> str | None:
    """The type that a CAST names, spelled as ours; None if there is no such type of single values."""
    spelled = _SYNONYMS.get(text, text)
    if spelled in SIMPLE:
        return spelled
    decimal = _DECIMAL.fullmatch(spelled)
    if decimal and 1 <= int(decimal[1]) <= _MOST_DIGITS and int(decimal[2]) <= int(decimal[1]):
        return spelled
    return None


def is_decimal(type_text: str) -> bool:
    return _DECIMAL.fullmatch(type_text) is not None


def is_numeric(type_text: str) -> bool:
    return type_text in ("integer", "bigint", "double", UNKNOWN) or is_decimal(type_text)


def is_whole(type_text: str) -> bool:
    return type_text in _WHOLE


def is_ordered(type_text: str) -> bool:
    """Whether values can be compared by `<`: everything but arrays and structs."""
    return type_text in SIMPLE or type_text == UNKNOWN or is_decimal(type_text)


def decimal_of(type_text: str) -> tuple[int, int]:
    """Precision and scale of a decimal, or of the decimal that holds a whole number."""
    decimal = _DECIMAL.fullmatch(type_text)
    return (int(decimal[1]), int(decimal[2])) if decimal else _WHOLE[type_text]


def decimal_type(precision: int, scale: int) -> str:
    """That decimal, or the nearest that fits in 38 digits: the fraction gives way first, down to 6 places."""
    if precision > _MOST_DIGITS:
        scale = max(_MOST_DIGITS - (precision - scale), min(scale, _LEAST_SCALE))
        precision = _MOST_DIGITS
    return f"decimal({precision},{scale})"


def common_type(one: str, other: str) -> str | None:
    """The type that holds values of both; None if there is none."""
    if one == other or other == UNKNOWN:
        return one
    if one == UNKNOWN:
        return other
    if is_numeric(one) and is_numeric(other):
        if "double" in (one, other):
            return "double"
        if is_whole(one) and is_whole(other):
            return "bigint"
        (p1, s1), (p2, s2) = decimal_of(one), decimal_of(other)
        scale = max(s1, s2)
        return decimal_type(max(p1 - s1, p2 - s2) + scale, scale)
    if {one, other} == {"date", "timestamp"}:
        return "timestamp"
    return None


def arithmetic_type(operator: str, one: str, other: str) -> str:
    """The type of `one operator other`, both numeric."""
    if UNKNOWN in (one, other):
        known = other if one == UNKNOWN else one
        return "double" if known == UNKNOWN or (operator == "/" and is_whole(known)) else known
    if "double" in (one, other):
        return "double"
    if is_whole(one) and is_whole(other):
        return "double" if operator == "/" else "bigint" if "bigint" in (one, other) else "integer"
    (p1, s1), (p2, s2) = decimal_of(one), decimal_of(other)
    if operator == "*":
        return decimal_type(p1 + p2 + 1, s1 + s2)
    if operator == "/":
        scale = max(_LEAST_SCALE, s1 + p2 + 1)
        return decimal_type(p1 - s1 + s2 + scale, scale)
    scale = max(s1, s2)
    if operator == "%":
        return decimal_type(min(p1 - s1, p2 - s2) + scale, scale)
    return decimal_type(max(p1 - s1, p2 - s2) + scale + 1, scale)
