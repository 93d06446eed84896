"""Values of any Arrow type as a declared type, column by column, each with whether it converted.

What converts: text that spells the value (numbers, ISO 8601 dates and instants, true/false, t/f, yes/no, 1/0;
nested types as JSON), and values of a kindred type that lose nothing by it (5.0 as an integer, but not 5.5).
Text without a zone is UTC. Fractions of a second beyond microseconds are cut, since time here has no finer
step. A blank text is NULL, but for strings. Numbers and booleans are no strings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakehouse.ingest.arrow_types import arrow_type, is_nested
from lakehouse.ingest.nested import convert_nested

Flags: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"
# Values of the target type (NULL where one did not convert) and the flags of those.
Converted: TypeAlias = "tuple[pa.Array, Flags]"

_WHOLE = r"^[+-]?[0-9]+(\.0*)?$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_DOUBLE = (
    r"^[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[nN][aA][nN]|[iI][nN][fF]([iI][nN][iI][tT][yY])?)$"
)
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_INSTANT = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([T ][0-9]{2}(:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?$"
)
_ZONED = r"[T ].*(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"
_US = pa.timestamp("us")
_UTC = pa.timestamp("us", "UTC")
_DAY = 86_400_000_000
# Years 1 to 9999: what Python, Spark and ISO 8601 with four digits all know.
_FIRST_INSTANT, _LAST_INSTANT = -62_135_596_800_000_000, 253_402_300_799_999_999


def convert(values: pa.Array, declared: str) -> Converted:
    """`values` as the declared type. NULL converts to NULL."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    target = arrow_type(declared)
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), target), np.zeros(len(values), bool)
    if _is_binary(values.type):
        values, bad = _cast_each(values, pa.string())
        converted, worse = convert(values, declared)
        return converted, bad | worse
    if is_nested(declared):
        return convert_nested(values, declared, convert)
    if _is_text(values.type) and declared != "string":
        values = pc.utf8_trim_whitespace(values.cast(pa.string()))
        return _FROM_TEXT[declared.partition("(")[0]](values, target)
    return _FROM_VALUES[declared.partition("(")[0]](values, target)


def reason(name: str, value: Any, declared: str) -> str:
    """Why a value was refused.

    >>> reason("speed", "fast", "double")
    "speed: 'fast' is no double"
    >>> reason("n", 3000000000, "integer")
    'n: 3000000000 does not fit integer'
    """
    seen = repr(value) if isinstance(value, str) else str(value)
    seen = seen if len(seen) <= 80 else seen[:77] + "…" + seen[-1]
    spelled = str(value).strip()
    pattern = _WHOLE if declared in ("integer", "bigint") else _NUMBER
    numeric = declared in ("integer", "bigint", "double") or declared.startswith("decimal")
    if numeric and not isinstance(value, bool) and re.match(pattern, spelled):
        return f"{name}: {seen} does not fit {declared}"
    return f"{name}: {seen} is no {declared}"


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _flags(mask: pa.Array) -> Flags:
    return np.asarray(pc.fill_null(mask, False).to_numpy(zero_copy_only=False), dtype=bool)


def _none_bad(values: pa.Array) -> Converted:
    return values, np.zeros(len(values), bool)


def _all_bad(values: pa.Array, target: pa.DataType) -> Converted:
    return pa.nulls(len(values), target), _flags(values.is_valid())


def _without(values: pa.Array, bad: Flags) -> pa.Array:
    return pc.if_else(pa.array(bad), pa.scalar(None, values.type), values) if bad.any() else values


def _cast_each(values: pa.Array, target: pa.DataType) -> Converted:
    """Cast, narrowing down by halves to the values that do not: one call where all do."""
    try:
        return _none_bad(pc.cast(values, target))
    except pa.ArrowNotImplementedError:
        return _all_bad(values, target)
    except pa.ArrowInvalid:
        if len(values) == 1:
            return pa.nulls(1, target), np.ones(1, bool)
        middle = len(values) // 2
        parts = [_cast_each(part, target) for part in (values[:middle], values[middle:])]
        return pa.concat_arrays([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _matching(text: pa.Array, pattern: str) -> Converted:
    """The text that matches, NULL for blanks, and the flags of what is neither."""
    text = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    bad = _flags(pc.invert(pc.match_substring_regex(text, pattern)))
    return _without(text, bad), bad


def _spelled(
    text: pa.Array, pattern: str, target: pa.DataType, tidy: Callable[[pa.Array], pa.Array]
) -> Converted:
    matching, bad = _matching(text, pattern)
    converted, worse = _cast_each(tidy(matching), target)
    return converted, bad | worse


def _boolean_text(text: pa.Array, target: pa.DataType) -> Converted:
    matching, bad = _matching(pc.utf8_lower(text), "^(true|false|t|f|yes|no|1|0)$")
    says_yes = pc.is_in(matching, pa.array(["true", "t", "yes", "1"]))
    return pc.if_else(matching.is_valid(), says_yes, pa.scalar(None, target)), bad


def _integer_text(text: pa.Array, target: pa.DataType) -> Converted:
    try:
        # Arrow reads 0x10 as sixteen.
        if not pc.any(pc.match_substring(text, "x", ignore_case=True)).as_py():
            return _integer_values(pc.cast(text, pa.int64()), target)
    except pa.ArrowInvalid:
        pass
    whole, bad = _spelled(
        text,
        _WHOLE,
        pa.int64(),
        lambda t: pc.replace_substring_regex(pc.utf8_ltrim(t, "+"), r"\.0*$", ""),
    )
    converted, worse = _integer_values(whole, target)
    return converted, bad | worse


def _integer_values(values: pa.Array, target: pa.DataType) -> Converted:
    if pa.types.is_floating(values.type):
        floats = values.cast(pa.float64())
        inside = pc.and_(pc.greater_equal(floats, -(2.0**63)), pc.less(floats, 2.0**63))
        bad = _flags(pc.invert(pc.and_(inside, pc.equal(pc.floor(floats), floats))))
        values = pc.cast(_without(floats, bad), pa.int64(), safe=False)
        converted, worse = _cast_each(values, target)
        return converted, bad | worse
    if pa.types.is_integer(values.type) or pa.types.is_decimal(values.type):
        return _cast_each(values, target)
    return _all_bad(values, target)


def _double_text(text: pa.Array, target: pa.DataType) -> Converted:
    try:
        doubles, bad = _none_bad(pc.cast(text, target))
    except pa.ArrowInvalid:
        doubles, bad = _spelled(text, _DOUBLE, target, lambda t: t)
    # 1e999 reads as infinite: only what says so is.
    infinite = pc.is_inf(doubles)
    if not pc.any(infinite).as_py():
        return doubles, bad
    too_big = _flags(pc.and_(infinite, pc.match_substring_regex(text, "[0-9]")))
    return _without(doubles, too_big), bad | too_big


def _double_values(values: pa.Array, target: pa.DataType) -> Converted:
    kind = values.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return _none_bad(pc.cast(values, target, safe=False))
    return _all_bad(values, target)


def _decimal_text(text: pa.Array, target: pa.DataType) -> Converted:
    try:
        return _none_bad(pc.cast(text, target))
    except pa.ArrowInvalid:
        return _spelled(text, _NUMBER, target, lambda t: t)


def _decimal_values(values: pa.Array, target: pa.DataType) -> Converted:
    kind = values.type
    if pa.types.is_decimal128(kind):
        return _cast_each(values, target)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        # By way of text: a double is the decimal that it prints as.
        return _decimal_text(pc.cast(values, pa.string()), target)
    return _all_bad(values, target)


def _date_text(text: pa.Array, target: pa.DataType) -> Converted:
    dates, bad = _spelled(text, _DATE, target, lambda t: t)
    before = _flags(pc.less(dates.cast(pa.int32()), _FIRST_INSTANT // _DAY))
    return _without(dates, before), bad | before


def _date_values(values: pa.Array, target: pa.DataType) -> Converted:
    if pa.types.is_date(values.type):
        return _cast_each(values, target)
    if pa.types.is_timestamp(values.type):
        instants, bad = _timestamp_values(values, _UTC)
        micros = instants.cast(pa.int64())
        days = pc.floor(pc.divide(micros.cast(pa.float64(), safe=False), float(_DAY))).cast(pa.int64())
        inside_a_day = _flags(pc.not_equal(pc.multiply(days, _DAY), micros))
        dates = _without(days.cast(pa.int32()), inside_a_day).cast(target)
        return dates, bad | inside_a_day
    return _all_bad(values, target)


def _timestamp_text(text: pa.Array, target: pa.DataType) -> Converted:
    for kind in (_US, _UTC):  # a column is mostly all without a zone or all with one
        try:
            return _in_years(pc.cast(text, kind).cast(pa.int64()))
        except pa.ArrowInvalid:
            continue
    text = pc.replace_substring_regex(text, " ?(UTC|Z)$", "Z")
    text = pc.replace_substring_regex(text, " ([+-][0-9:]+)$", r"\1")
    text = pc.replace_substring_regex(text, r"(\.[0-9]{6})[0-9]+", r"\1")
    text, bad = _matching(text, _INSTANT)
    zoned = _flags(pc.match_substring_regex(text, _ZONED))
    with_zone, bad_zoned = _cast_each(_without(text, ~zoned), _UTC)
    without, bad_plain = _cast_each(_without(text, zoned), _US)
    converted, far = _in_years(pc.coalesce(with_zone.cast(pa.int64()), without.cast(pa.int64())))
    return converted, bad | bad_zoned | bad_plain | far


def _timestamp_values(values: pa.Array, target: pa.DataType) -> Converted:
    kind = values.type
    if pa.types.is_date(kind):
        values, kind = values.cast(pa.timestamp("ms")), pa.timestamp("ms")
    if not pa.types.is_timestamp(kind):
        return _all_bad(values, target)
    ticks = values.cast(pa.timestamp(kind.unit)).cast(pa.int64())  # a zone changes how it prints only
    if kind.unit == "ns":
        # Floor, not towards zero: instants before 1970 must not move forward.
        floored = np.floor_divide(pc.fill_null(ticks, 0).to_numpy(zero_copy_only=False), 1000)
        return _in_years(_without(pa.array(floored), _flags(ticks.is_null())))
    scale = {"s": 1_000_000, "ms": 1000, "us": 1}[kind.unit]
    last = _LAST_INSTANT // scale
    far = _flags(pc.or_(pc.greater(ticks, last), pc.less(ticks, _FIRST_INSTANT // scale)))
    converted, _ = _in_years(pc.multiply(_without(ticks, far), scale))
    return converted, far


def _in_years(micros: pa.Array) -> Converted:
    far = _flags(pc.or_(pc.less(micros, _FIRST_INSTANT), pc.greater(micros, _LAST_INSTANT)))
    return _without(micros, far).cast(_UTC), far


def _string_values(values: pa.Array, target: pa.DataType) -> Converted:
    return _cast_each(values, target) if _is_text(values.type) else _all_bad(values, target)


def _boolean_values(values: pa.Array, target: pa.DataType) -> Converted:
    return _none_bad(values) if pa.types.is_boolean(values.type) else _all_bad(values, target)


_FROM_TEXT: dict[str, Callable[[pa.Array, pa.DataType], Converted]] = {
    "boolean": _boolean_text,
    "integer": _integer_text,
    "bigint": _integer_text,
    "double": _double_text,
    "decimal": _decimal_text,
    "date": _date_text,
    "timestamp": _timestamp_text,
}
_FROM_VALUES: dict[str, Callable[[pa.Array, pa.DataType], Converted]] = {
    "boolean": _boolean_values,
    "integer": _integer_values,
    "bigint": _integer_values,
    "double": _double_values,
    "decimal": _decimal_values,
    "string": _string_values,
    "date": _date_values,
    "timestamp": _timestamp_values,
}
