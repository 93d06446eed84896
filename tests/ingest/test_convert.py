"""Every declared type from text and from kindred values; what does not convert is flagged, not guessed."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lakehouse.ingest.convert import convert, reason

INF = float("inf")
BAD = object()


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


def outcome(values: pa.Array, declared: str) -> list[Any]:
    converted, bad = convert(values, declared)
    assert len(converted) == len(values)
    assert not any(valid and flag for valid, flag in zip(converted.is_valid().to_pylist(), bad, strict=True))
    return [BAD if flag else value for value, flag in zip(converted.to_pylist(), bad, strict=True)]


@pytest.mark.parametrize(
    ("declared", "text", "expected"),
    [
        ("boolean", ["true", "FALSE", "t", "no", "1", "", None, "2", " yes "],
         [True, False, True, False, True, None, None, BAD, True]),
        ("integer",
         ["5", "+5", " 5", "5.0", "-7.", "", "5.5", "0x10", "1e3", "2147483647", "2147483648", "x"],
         [5, 5, 5, 5, -7, None, BAD, BAD, BAD, 2147483647, BAD, BAD]),
        ("bigint", ["9223372036854775807", "9223372036854775808", "-9223372036854775808"],
         [2**63 - 1, BAD, -(2**63)]),
        ("double", ["1.5", "1e3", ".5", "inf", "-Infinity", "1e999", "fast", "", "0x1"],
         [1.5, 1000.0, 0.5, INF, -INF, BAD, BAD, None, BAD]),
        ("decimal(5,2)", ["1.5", "1.500", "999.99", "1000", "1.505", "1e2", "", "one"],
         [Decimal("1.50"), Decimal("1.50"), Decimal("999.99"), BAD, BAD, Decimal("100.00"), None, BAD]),
        ("decimal(38,10)", ["1234567890123456789012345678.0123456789", "0.1"],
         [Decimal("1234567890123456789012345678.0123456789"), Decimal("0.1")]),
        ("date", ["2026-02-28", "2026-02-30", "2026-2-1", "0000-01-01", "2026-01-01T00:00:00", ""],
         [date(2026, 2, 28), BAD, BAD, BAD, BAD, None]),
        ("timestamp",
         ["2026-01-01 12:00:00", "2026-01-01T12:00:00.5", "2026-01-01T12:00:00Z", "2026-01-01T12:00:00+02:00",
          "2026-01-01 12:00:00 -05:30", "2026-01-01 12:00:00.123456789", "2026-01-01", "2026-01-01 12:00",
          "2026-01-01 12:00:00 UTC", "1969-12-31T23:59:59.9999999", "", None],
         [at(2026, 1, 1, 12), at(2026, 1, 1, 12, 0, 0, 500000), at(2026, 1, 1, 12), at(2026, 1, 1, 10),
          at(2026, 1, 1, 17, 30), at(2026, 1, 1, 12, 0, 0, 123456), at(2026, 1, 1), at(2026, 1, 1, 12),
          at(2026, 1, 1, 12), at(1969, 12, 31, 23, 59, 59, 999999), None, None]),
        ("timestamp", ["noon", "NaN", "inf", "2026-13-01", "2026-01-01 24:00:00", "0000-12-31", "1700000000",
                       "2026-01-01 12:00:00", "9999-12-31T23:59:59.999999Z"],
         [BAD] * 7 + [at(2026, 1, 1, 12), at(9999, 12, 31, 23, 59, 59, 999999)]),
        ("string", ["", " a ", None], ["", " a ", None]),
        ("array<integer>", ["[1, 2]", "[1, \"x\"]", "", "{}", "[1,", "[null, 3.0]"],
         [[1, 2], BAD, None, BAD, BAD, [None, 3]]),
        ("struct<a:decimal(4,2),b:timestamp>", ['{"A": 1.25, "b": "2026-01-01"}', '{"a": 1.255}', "{}"],
         [{"a": Decimal("1.25"), "b": at(2026, 1, 1)}, BAD, {"a": None, "b": None}]),
    ],
)  # fmt: skip
def test_text_converts_value_by_value(declared: str, text: list[str | None], expected: list[Any]) -> None:
    assert outcome(pa.array(text, pa.string()), declared) == expected


def test_all_good_columns_take_the_fast_path_to_the_same_values() -> None:
    assert outcome(pa.array(["1", None, "3"]), "integer") == [1, None, 3]
    assert outcome(pa.array(["2026-01-01T00:00:00Z", None]), "timestamp") == [at(2026, 1, 1), None]
    assert outcome(pa.array(["2026-01-01T00:00:00", None]), "timestamp") == [at(2026, 1, 1), None]
    assert outcome(pa.array([None, None], pa.null()), "double") == [None, None]


def test_not_a_number_text_is_a_double() -> None:
    converted, bad = convert(pa.array(["NaN", "nan"]), "double")
    assert not bad.any()
    assert all(value != value for value in converted.to_pylist())


@pytest.mark.parametrize(
    ("declared", "values", "expected"),
    [
        ("integer", pa.array([1, 2**31, -(2**31)], pa.int64()), [1, BAD, -(2**31)]),
        ("bigint", pa.array([1, 2**63], pa.uint64()), [1, BAD]),
        ("bigint", pa.array([5.0, 5.5, INF, None, 1e30]), [5, BAD, BAD, None, BAD]),
        ("integer", pa.array([Decimal("5.00"), Decimal("5.50")]), [5, BAD]),
        ("integer", pa.array([True, None]), [BAD, None]),
        ("double", pa.array([2**60 + 1, None], pa.int64()), [float(2**60), None]),
        ("double", pa.array([True]), [BAD]),
        ("decimal(4,2)", pa.array([0.1, 12.345, 1e-7]), [Decimal("0.10"), BAD, BAD]),
        ("decimal(4,2)", pa.array([1, 100]), [Decimal("1.00"), BAD]),
        ("decimal(4,2)", pa.array([Decimal("1.200"), Decimal("1.205")]), [Decimal("1.20"), BAD]),
        ("boolean", pa.array([1, 0]), [BAD, BAD]),
        ("string", pa.array([5, None]), [BAD, None]),
        ("string", pa.array(["a", None]).dictionary_encode(), ["a", None]),
        ("string", pa.array([b"a", b"\xff"]), ["a", BAD]),
        ("string", pa.array(["a"], pa.large_string()), ["a"]),
        ("date", pa.array([at(2026, 1, 1), at(2026, 1, 1, 1), at(1960, 5, 5)]),
         [date(2026, 1, 1), BAD, date(1960, 5, 5)]),
        ("timestamp", pa.array([1700000000]), [BAD]),
        ("timestamp", pa.array([date(2026, 1, 1)]), [at(2026, 1, 1)]),
        ("timestamp", pa.array([-1, 1001, None], pa.timestamp("ns")),
         [at(1970, 1, 1) - timedelta(microseconds=1), at(1970, 1, 1, 0, 0, 0, 1), None]),
        ("timestamp", pa.array([1, 2**60], pa.timestamp("s")), [at(1970, 1, 1, 0, 0, 1), BAD]),
        ("timestamp", pa.array([1500], pa.timestamp("ms", "Europe/Berlin")),
         [at(1970, 1, 1, 0, 0, 1, 500000)]),
        ("array<integer>", pa.array([[1, 2], None, [2**40]]), [[1, 2], None, BAD]),
        ("struct<x:double>", pa.array([{"X": 1}, {"X": None}]), [{"x": 1.0}, {"x": None}]),
    ],
)  # fmt: skip
def test_kindred_values_convert_where_nothing_is_lost(
    declared: str, values: Any, expected: list[Any]
) -> None:
    assert outcome(values, declared) == expected


def test_one_bad_value_among_many_is_found() -> None:
    text = ["1.25"] * 10_000
    text[7777] = "99999.99"
    converted, bad = convert(pa.array(text), "decimal(4,2)")
    assert bad.nonzero()[0].tolist() == [7777]
    assert converted.null_count == 1


def test_reasons_name_attribute_value_and_type() -> None:
    assert reason("speed", "fast", "double") == "speed: 'fast' is no double"
    assert reason("n", "3000000000", "integer") == "n: '3000000000' does not fit integer"
    assert reason("n", "3.5", "integer") == "n: '3.5' is no integer"
    assert reason("price", "1.505", "decimal(4,2)") == "price: '1.505' does not fit decimal(4,2)"
    assert len(reason("note", "x" * 500, "double")) < 120
