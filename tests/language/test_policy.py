"""Policies read from and print as the words of their clauses."""

from __future__ import annotations

from fractions import Fraction

import pytest

from schemas.language import parse, parse_lateness, parse_punctuation
from schemas.policy import (
    NO_SLACK,
    Archive,
    EachInOrder,
    End,
    Heartbeat,
    Lateness,
    Punctuation,
    SlackRows,
    SlackSpan,
)
from schemas.quantity import Quantity, Unit

POLICIES = [
    ("slack 60 seconds", SlackSpan(Quantity(Fraction(60), Unit.SECOND)), "SLACK 60 seconds"),
    ("SLACK 1 minute", SlackSpan(Quantity(Fraction(1), Unit.MINUTE)), "SLACK 1 minute"),
    ("slack 0.5 hours", SlackSpan(Quantity(Fraction(1, 2), Unit.HOUR)), "SLACK 0.5 hours"),
    ("slack 5", SlackSpan(Quantity(Fraction(5))), "SLACK 5"),
    ("slack 0", NO_SLACK, "SLACK 0"),
    ("slack 10 rows", SlackRows(10), "SLACK 10 rows"),
    ("slack 1 tuple", SlackRows(1), "SLACK 1 row"),
    ("archive", Archive(), "ARCHIVE"),
    ("each seg-id in order", EachInOrder(("seg-id",)), "EACH seg-id IN ORDER"),
    (
        "each a, `b c` in order idle 5 minutes",
        EachInOrder(("a", "b c"), Quantity(Fraction(5), Unit.MINUTE)),
        'EACH a, "b c" IN ORDER IDLE 5 minutes',
    ),
    (
        "each order in order idle 20 rows",
        EachInOrder(("order",), Quantity(Fraction(20), Unit.ROWS)),
        "EACH order IN ORDER IDLE 20 rows",
    ),
    (
        "heartbeat every 10 seconds",
        Heartbeat(Quantity(Fraction(10), Unit.SECOND)),
        "HEARTBEAT EVERY 10 seconds",
    ),
    ("end", End(), "END"),
]


@pytest.mark.parametrize(("words", "policy", "printed"), POLICIES)
def test_policy_reads_and_prints(words: str, policy: Punctuation, printed: str) -> None:
    assert parse_punctuation(words) == policy
    assert str(policy) == printed
    assert parse_punctuation(printed) == policy
    statement = parse(f"SELECT a FROM t PUNCTUATED BY {words} LATE GENEROUS;")
    assert (statement.punctuation, statement.lateness) == (policy, Lateness.GENEROUS)
    assert parse(f"SELECT a FROM t LATE GENEROUS PUNCTUATED BY {words}") == statement


def test_clause_has_a_span() -> None:
    text = "SELECT a FROM t PUNCTUATED BY SLACK 5 rows LATE GENEROUS"
    span = parse(text).punctuation_span
    assert span is not None
    assert text[span.offset : span.end] == "PUNCTUATED BY SLACK 5 rows"


@pytest.mark.parametrize("lateness", list(Lateness))
def test_lateness_reads_and_prints(lateness: Lateness) -> None:
    assert parse_lateness(str(lateness).lower()) is lateness
