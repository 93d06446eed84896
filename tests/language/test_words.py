"""Names, keywords, numbers and the other words of the language."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from schemas.language import canonical, parse, parse_quantity
from schemas.language.names import closest, print_name
from schemas.language.printing import print_expression, print_window
from schemas.language.tree import (
    Binary,
    Distinct,
    Expression,
    JoinTimestamp,
    Literal,
    LiteralKind,
    Name,
    RelationToStream,
    RelationToStreamKind,
    Select,
    SetKind,
    SetOperation,
    Star,
    StreamSource,
    SubquerySource,
    Unary,
)
from schemas.policy import Lateness, SlackRows
from schemas.quantity import Quantity, Unit


def select(text: str) -> Select:
    query = parse(text).query
    assert isinstance(query, Select)
    return query


def expression(text: str) -> Expression:
    found = select(f"SELECT {text} FROM t").items[0].expression
    assert not isinstance(found, Star)
    return found


A, B = Name("a"), Name("b")
ONE = Literal(1, LiteralKind.INTEGER)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a-b", Name("a-b")),
        ("a-b-c", Name("a-b-c")),
        ("a2-b2", Name("a2-b2")),
        ("a - b", Binary("-", A, B)),
        ("a -b", Binary("-", A, B)),
        ("a- b", Binary("-", A, B)),
        ("a-1", Binary("-", A, ONE)),
        ("a-b-1", Binary("-", Name("a-b"), ONE)),
        ("a-_b", Binary("-", A, Name("_b"))),
        ("1-a", Binary("-", ONE, A)),
        ("-a", Unary("-", A)),
        ("t.a-b", Name("a-b", "t")),
        ('"a"-b', Binary("-", A, B)),
        ("a-b -- and a comment\n", Name("a-b")),
        ("a--b", A),
        ("größe-ä", Name("größe-ä")),
    ],
)
def test_hyphen_belongs_to_the_name_when_a_letter_follows(text: str, meant: Expression) -> None:
    assert expression(text + "\n") == meant


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('"select"', "select"),
        ('"a ""b"" `c`"', 'a "b" `c`'),
        ("`from`", "from"),
        ("`a``b`", "a`b"),
        ("`it's`", "it's"),
        ('"-- no comment"', "-- no comment"),
    ],
)
def test_names_in_quotes(text: str, name: str) -> None:
    assert expression(text) == Name(name)


KEYWORDS_AS_NAMES = (
    "timestamp time start end row rows late origin at range slide wattr lag now unbounded rank partition "
    "date latest keep min max slack archive each heartbeat idle every order generous group by on join "
    "filter select union istream where as from"
)
NAMES_OF_INPUTS = "timestamp time start row rows origin at range slide lag now rank min"


@pytest.mark.parametrize("word", KEYWORDS_AS_NAMES.split())
def test_keywords_are_names_where_no_keyword_can_stand(word: str) -> None:
    query = select(
        f"SELECT x, {word}, t.{word}, max({word}) AS {word} FROM {word} "
        f"[RANGE 5 rows WATTR {word} PATTR {word}, {word}] AS {word} WHERE {word} > 3 GROUP BY x, {word}"
    )
    assert query.items[1].expression == Name(word)
    assert query.items[3].alias == word
    source = query.sources[0]
    assert isinstance(source, StreamSource)
    assert (source.name, source.alias) == (word, word)
    assert source.window is not None
    assert source.window.pattr == (Name(word), Name(word))
    assert query.group_by[1] == Name(word)


@pytest.mark.parametrize("word", NAMES_OF_INPUTS.split())
def test_keywords_are_aliases_without_as(word: str) -> None:
    query = select(f"SELECT a {word}, b FROM t {word}, u {word} WHERE a = 1")
    assert query.items[0].alias == word
    assert [source.alias for source in query.sources] == [word, word]


def test_attribute_late_before_the_clause_late() -> None:
    statement = parse("SELECT late FROM late GROUP BY late LATE CONSISTENT PUNCTUATED BY SLACK 3 rows")
    assert statement.lateness is Lateness.CONSISTENT
    assert statement.punctuation == SlackRows(3)


@pytest.mark.parametrize(
    ("text", "distinct", "first"),
    [
        ("DISTINCT a", Distinct.KEEP, "a"),
        ("DISTINCT KEEP a", Distinct.KEEP, "a"),
        ("distinct latest a", Distinct.LATEST, "a"),
        ("DISTINCT latest", Distinct.KEEP, "latest"),
        ("DISTINCT latest, a", Distinct.KEEP, "latest"),
        ("DISTINCT LATEST latest", Distinct.LATEST, "latest"),
        ("distinct, a", None, "distinct"),
    ],
)
def test_distinct(text: str, distinct: Distinct | None, first: str) -> None:
    query = select(f"SELECT {text} FROM t")
    assert query.distinct is distinct
    assert query.items[0].expression == Name(first)


@pytest.mark.parametrize(
    ("words", "value", "unit"),
    [
        ("300 seconds", Fraction(300), Unit.SECOND),
        ("1 SECOND", Fraction(1), Unit.SECOND),
        ("0.5 hours", Fraction(1, 2), Unit.HOUR),
        (".25 week", Fraction(1, 4), Unit.WEEK),
        ("10 tuples", Fraction(10), Unit.ROWS),
        ("1 tuple", Fraction(1), Unit.ROWS),
        ("2 microseconds", Fraction(2), Unit.MICROSECOND),
        ("7", Fraction(7), None),
        ("300seconds", Fraction(300), Unit.SECOND),
    ],
)
def test_quantities(words: str, value: Fraction, unit: Unit | None) -> None:
    assert parse_quantity(words) == Quantity(value, unit)
    assert parse_quantity(str(parse_quantity(words))) == Quantity(value, unit)


def test_quantity_in_microseconds() -> None:
    assert parse_quantity("0.5 milliseconds").microseconds == 500
    assert parse_quantity("5 rows").microseconds is None
    assert str(parse_quantity("1.0 minutes")) == "1 minute"


@pytest.mark.parametrize(
    ("window", "printed"),
    [
        ("[slide 60 seconds wattr ts range 300 seconds]", "[RANGE 300 seconds SLIDE 60 seconds WATTR ts]"),
        ("[ORIGIN '2026-01-01' RANGE 5 SLIDE 2]", "[RANGE 5 SLIDE 2 ORIGIN '2026-01-01']"),
        ("[RANGE 10 ORIGIN -5]", "[RANGE 10 ORIGIN -5]"),
        ("[ROWS 5 PARTITION BY a, b]", "[PARTITION BY a, b ROWS 5]"),
        ("[START AT '07:00:00' UNBOUNDED]", "[UNBOUNDED START AT '07:00:00']"),
        ("[END AT 30 START AT 10]", "[START AT 10 END AT 30]"),
        ("[END AT '2026-01-01']", "[END AT '2026-01-01']"),
        ("[Now]", "[NOW]"),
        ("[LAG 10 minutes RANGE 5 minutes]", "[RANGE 5 minutes LAG 10 minutes]"),
        (
            "[SATTR RANK (ts) SLIDE 1 ROW RATTR ts RANGE 5 days]",
            "[RANGE 5 days RATTR ts SLIDE 1 row SATTR rank(ts)]",
        ),
        ("[RANGE 5 LAG 3 ROWS 10]", "[ROWS 10 RANGE 5 LAG 3]"),
    ],
)
def test_words_of_a_window_come_in_any_order(window: str, printed: str) -> None:
    source = select(f"SELECT a FROM t {window}").sources[0]
    assert source.window is not None
    assert print_window(source.window) == printed


def test_window_at_group_by_belongs_to_the_single_input() -> None:
    after = parse("SELECT count(*) FROM bids GROUP BY item [ROWS 5]")
    before = parse("SELECT count(*) FROM bids GROUP BY [ROWS 5] item")
    assert after == before == parse("SELECT count(*) FROM bids [ROWS 5] GROUP BY item")


@pytest.mark.parametrize("text", ["A [ROWS 1] AS X", "A [ROWS 1] X", "A AS X [ROWS 1]", "A X[ROWS 1]"])
def test_alias_beside_the_window(text: str) -> None:
    source = select(f"SELECT a FROM {text}").sources[0]
    assert (source.alias, source.window is not None) == ("X", True)


def test_join_on_is_a_source_and_a_term_of_where() -> None:
    joined = parse(
        "SELECT * FROM A [ROWS 1] JOIN B [ROWS 2] ON A.k = B.k INNER JOIN C ON C.k = B.k WHERE A.x > 1"
    )
    comma = parse("SELECT * FROM A [ROWS 1], B [ROWS 2], C WHERE A.k = B.k AND C.k = B.k AND A.x > 1")
    assert joined == comma


def test_join_timestamp() -> None:
    assert select("SELECT * FROM A, B WHERE A.k = B.k JOIN TIMESTAMP MIN").join_timestamp is JoinTimestamp.MIN
    joined = select(
        "SELECT * FROM A JOIN timestamp ON A.k = timestamp.k join -- so\n timestamp max GROUP BY k"
    )
    assert joined.join_timestamp is JoinTimestamp.MAX
    assert isinstance(joined.sources[1], StreamSource)
    assert joined.sources[1].name == "timestamp"


def test_set_operations_bind_from_the_left() -> None:
    query = parse("SELECT a FROM A UNION SELECT a FROM B EXCEPT SELECT a FROM C LATE GENEROUS").query
    assert isinstance(query, SetOperation)
    assert query.kind is SetKind.EXCEPT
    assert isinstance(query.left, SetOperation)
    grouped = parse("SELECT a FROM A UNION (SELECT a FROM B EXCEPT SELECT a FROM C)").query
    assert isinstance(grouped, SetOperation)
    assert grouped.kind is SetKind.UNION


def test_relation_to_stream_and_subquery() -> None:
    query = parse("IStream (SELECT x.* FROM (SELECT a FROM t WHERE a > 1) [ROWS 3] AS x)").query
    assert isinstance(query, RelationToStream)
    assert query.kind is RelationToStreamKind.ISTREAM
    assert isinstance(query.query, Select)
    source = query.query.sources[0]
    assert isinstance(source, SubquerySource)
    assert source.window is not None
    assert query.query.items[0].expression == Star("x")


@pytest.mark.parametrize(
    "text",
    [
        "Q1: SELECT a FROM t",
        "[Q2']: SELECT a FROM t;",
        "[Q2’]: SELECT a FROM t ; ",
        "Query 1: SELECT a FROM t",
        "-- it's [a] comment: really\nQ1:\nSELECT a -- \"more\nFROM t;; -- the end",
        "select A from T",
        'SELECT\n"a"\nFROM `t`',
    ],
)
def test_what_is_printed_around_a_query_is_ignored(text: str) -> None:
    assert canonical(parse(text)) == "SELECT a\nFROM t\n"


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("12", 12, LiteralKind.INTEGER),
        ("1.50", Decimal("1.50"), LiteralKind.DECIMAL),
        ("1.", Decimal(1), LiteralKind.DECIMAL),
        ("1e3", 1000.0, LiteralKind.DOUBLE),
        ("'it''s'", "it's", LiteralKind.TEXT),
        ("'-- no comment'", "-- no comment", LiteralKind.TEXT),
        ("TIMESTAMP '2026-01-01'", "2026-01-01", LiteralKind.TIMESTAMP),
        ("true", True, LiteralKind.BOOLEAN),
        ("NULL", None, LiteralKind.NULL),
    ],
)
def test_literals(text: str, value: object, kind: LiteralKind) -> None:
    found = expression(text)
    assert isinstance(found, Literal)
    assert (found.value, found.kind) == (value, kind)


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("a OR b AND NOT c = d + e * -f", "a OR (b AND (NOT (c = (d + (e * (-f))))))"),
        ("a - b - c", "(a - b) - c"),
        ("a BETWEEN 1 AND 2 AND b", "(a BETWEEN 1 AND 2) AND b"),
        ("a NOT IN (1, 2) OR b NOT LIKE 'x' OR c IS NOT NULL", None),
        ("a != b", "a <> b"),
        ("CASE a WHEN 1 THEN end ELSE 2 END", 'CASE a WHEN 1 THEN "end" ELSE 2 END'),
        ("count(DISTINCT a) FILTER (WHERE b > 1)", "count(DISTINCT a) FILTER (WHERE b > 1)"),
        ("CAST(a AS DECIMAL(10, 2))", "CAST(a AS decimal(10,2))"),
    ],
)
def test_precedence(text: str, grouped: str | None) -> None:
    wanted = grouped or "((a NOT IN (1, 2)) OR (b NOT LIKE 'x')) OR (c IS NOT NULL)"
    assert print_expression(expression(text)) == wanted


def test_spans_count_in_the_text_as_written() -> None:
    text = "Q1: -- label\nSELECT a,\n  max(speed) FROM t"
    item = select(text).items[1]
    assert (item.span.line, item.span.column, item.span.offset) == (3, 3, text.index("max"))
    assert text[item.span.offset : item.span.end] == "max(speed)"


def test_close_words() -> None:
    assert closest("SLDE", ["RANGE", "SLIDE"]) == ["SLIDE"]
    assert closest("Q", ["T", "S"]) == []
    assert print_name("seg-id") == "seg-id"
    assert print_name("seg id") == '"seg id"'


def test_very_long_chains_are_read() -> None:
    terms = " + ".join(["a"] * 3000)
    assert parse(f"SELECT {terms} FROM t").query is not None
