"""Expressions bound to attributes: SQL, types, and refusals that point at the text."""

from __future__ import annotations

import pytest

from schemas.language import QueryError, parse
from schemas.language.expressions import (
    Bound,
    Scope,
    aggregate_calls,
    bind,
    bind_aggregate,
    bind_condition,
    default_name,
)
from schemas.language.tree import Call, Expression, Select, Star

TYPES = {
    "seg-id": "integer",
    "Speed": "double",
    "ts": "timestamp",
    "d": "date",
    "name": "string",
    "price": "decimal(10,2)",
    "rate": "decimal(2,1)",
    "ok": "boolean",
    "a": "integer",
    "b": "integer",
    "big": "bigint",
    "arr": "array<integer>",
}
COLUMNS = {name: (kind, name) for name, kind in TYPES.items()} | {
    "seq": ("integer", "seq_"),
    "w`x": ("string", "w`x"),
}
SCOPE = Scope.of(COLUMNS, "T")


def expression(text: str) -> tuple[Expression, str]:
    query = f"SELECT {text} AS x FROM T"
    select = parse(query).query
    assert isinstance(select, Select)
    found = select.items[0].expression
    assert not isinstance(found, Star)
    return found, query


def bound(text: str) -> Bound:
    return bind(expression(text)[0], SCOPE, expression(text)[1])


@pytest.mark.parametrize(
    ("text", "sql", "kind"),
    [
        ("SPEED", "`Speed`", "double"),
        ("t.Seg-ID", "`seg-id`", "integer"),
        ("row-num", "`seq`", "bigint"),
        ("ROW-NUM + seq", "(`seq` + `seq_`)", "bigint"),
        ('"W`X"', "`w``x`", "string"),
        ("a + b", "(`a` + `b`)", "integer"),
        ("a / b", "(`a` / `b`)", "double"),
        ("a * big", "(`a` * `big`)", "bigint"),
        ("-a", "(- `a`)", "integer"),
        ("price + rate", "CAST((`price` + `rate`) AS decimal(11,2))", "decimal(11,2)"),
        ("price * 3", "CAST((`price` * 3) AS decimal(21,2))", "decimal(21,2)"),
        ("price * Speed", "(`price` * `Speed`)", "double"),
        ("0.50", "0.50BD", "decimal(2,2)"),
        ("3000000000", "3000000000L", "bigint"),
        ("1e3", "1000.0D", "double"),
        ("ts >= '2026-01-01 12:00'", "(`ts` >= TIMESTAMP '2026-01-01 12:00:00+00:00')", "boolean"),
        ("'2026-01-01 02:00+02:00' < ts", "(TIMESTAMP '2026-01-01 00:00:00+00:00' < `ts`)", "boolean"),
        ("ts > '2026-01-01T00:00:00.5Z'", "(`ts` > TIMESTAMP '2026-01-01 00:00:00.500000+00:00')", "boolean"),
        ("d IN ('2026-01-01', '2026-1-2')", "(`d` IN (DATE '2026-01-01', DATE '2026-01-02'))", "boolean"),
        ("d = '2026-01-01' OR NOT ok", "((`d` = DATE '2026-01-01') OR (NOT `ok`))", "boolean"),
        ("name LIKE 'a\\_%'", "(`name` LIKE 'a\\\\_%')", "boolean"),
        ("name || 'x'", "(`name` || 'x')", "string"),
        ("a NOT BETWEEN 1 AND 2.5", "(`a` NOT BETWEEN 1 AND 2.5BD)", "boolean"),
        ("a IS NOT NULL", "(`a` IS NOT NULL)", "boolean"),
        (
            "CASE WHEN ok THEN 1 ELSE Speed END",
            "CASE WHEN `ok` THEN CAST(1 AS double) ELSE `Speed` END",
            "double",
        ),
        ("CASE name WHEN 'x' THEN a END", "CASE `name` WHEN 'x' THEN `a` END", "integer"),
        ("CAST(name AS decimal(10, 2))", "CAST(`name` AS decimal(10,2))", "decimal(10,2)"),
        ("coalesce(ts, '2026-01-01')", "coalesce(`ts`, TIMESTAMP '2026-01-01 00:00:00+00:00')", "timestamp"),
        ("if(ok, a, big)", "if(`ok`, CAST(`a` AS bigint), `big`)", "bigint"),
        ("round(price, 1)", "CAST(round(`price`, 1) AS decimal(10,1))", "decimal(10,1)"),
        ("date_trunc('HOUR', ts)", "date_trunc('hour', `ts`)", "timestamp"),
        ("substring(name, 2)", "substring(`name`, 2)", "string"),
        ("Hour(ts)", "hour(`ts`)", "integer"),
    ],
)
def test_sql_and_type(text: str, sql: str, kind: str) -> None:
    found = bound(text)
    assert (found.sql, found.type) == (sql, kind)


# The stretch beneath which the carets stand is in ⟨…⟩.
REFUSED = [
    ("⟨sped⟩ + 1", "there is no attribute sped.", "Did you mean Speed?"),
    ("⟨T.sped⟩", "there is no attribute sped.", "Did you mean Speed?"),
    ("⟨Q.Speed⟩", "there is no input Q here.", "Inputs are T."),
    ("⟨a-b⟩", "there is no attribute a-b.", "For a minus, put spaces around it: a - b."),
    ("⟨row_num⟩", "there is no attribute row_num.", "Did you mean row-num?"),
    (
        "name = ⟨3⟩",
        "string cannot be compared with integer.",
        "Compare values of one type, or CAST one of them.",
    ),
    ("a = ⟨'3'⟩", "integer cannot be compared with string.", "Write the number without quotes."),
    ("a IN (1, ⟨'x'⟩)", "integer cannot be compared with string.", "Write the number without quotes."),
    (
        "ts = ⟨name⟩",
        "timestamp cannot be compared with string.",
        "Compare values of one type, or CAST one of them.",
    ),
    (
        "arr > ⟨3⟩",
        "array<integer> cannot be compared with integer.",
        "Compare values of one type, or CAST one of them.",
    ),
    ("⟨arr⟩ > arr", "array<integer> has no order.", "Compare it by = or <>, or compare a part of it."),
    ("⟨name⟩ + 1", "a number is needed here, and this is string.", "Use a number here, or CAST it to one."),
    (
        "NOT ⟨Speed⟩",
        "a condition is needed here, and this is double.",
        "Compare it with something, for instance by = or >.",
    ),
    (
        "ts > ⟨'yesterday'⟩",
        "'yesterday' is no timestamp.",
        "Write it as '2026-01-31 12:00:00' (in UTC), or with a zone: '2026-01-31 12:00:00+02:00'.",
    ),
    ("d = ⟨'2026-02-30'⟩", "'2026-02-30' is no date.", "Write it as '2026-01-31'."),
    ("d = ⟨'2026-02-01 12:00'⟩", "'2026-02-01 12:00' is no date.", "Write it as '2026-01-31'."),
    ("⟨uper(name)⟩", "there is no function uper.", "Did you mean upper?"),
    (
        "⟨Speed-abs(a)⟩",
        "there is no function speed-abs.",
        "For a minus, put spaces around it: speed - abs(…).",
    ),
    (
        "⟨AGGR(a)⟩",
        "there is no function aggr.",
        "AGGR holds the place of an aggregate: write sum, max or another instead.",
    ),
    ("upper(⟨a⟩)", "text is needed here, and this is integer.", "Give it text, or CAST it."),
    ("⟨upper(name, name)⟩", "upper takes 1 argument, and here are 2.", "Give it as many as it takes."),
    (
        "⟨upper(DISTINCT name)⟩",
        "*, DISTINCT and FILTER are for aggregates.",
        "Write upper(…) with plain arguments.",
    ),
    (
        "1 + ⟨sum(a)⟩",
        "the aggregate sum cannot stand here.",
        "Aggregates stand in SELECT and HAVING, one not inside another.",
    ),
    (
        "⟨CAST(a AS varchar)⟩",
        "there is no type varchar.",
        "Types are boolean, integer, bigint, double, string, date, timestamp and decimal(p,s).",
    ),
    ("⟨CAST(ts AS integer)⟩", "timestamp cannot be made integer.", "Cast it to string, or leave CAST out."),
    (
        "CASE WHEN ok THEN 1 ELSE ⟨name⟩ END",
        "this is string, and what stands before it is integer.",
        "Use values of one type, or CAST one of them.",
    ),
    (
        "name LIKE ⟨'a\\b'⟩",
        "a backslash in LIKE stands before %, _ or \\.",
        "Write \\\\ for a backslash, \\% and \\_ for the signs themselves.",
    ),
]


@pytest.mark.parametrize(("marked", "problem", "hint"), REFUSED, ids=[text for text, *_ in REFUSED])
def test_refused(marked: str, problem: str, hint: str) -> None:
    text = marked.replace("⟨", "").replace("⟩", "")
    with pytest.raises(QueryError) as raised:
        bound(text)
    error = raised.value
    assert (error.summary, error.hint) == (problem, hint)
    assert error.column == len("SELECT ") + marked.index("⟨") + 1
    assert len(error.caret.strip()) == marked.index("⟩") - marked.index("⟨") - 1


def test_condition_needs_truth() -> None:
    found, text = expression("a + 1")
    with pytest.raises(QueryError, match="HAVING needs a condition, and this is integer"):
        bind_condition(found, SCOPE, text, clause="HAVING")


def test_name_in_several_inputs_needs_its_alias() -> None:
    both = Scope.of({"k": ("integer", "k")}, "A") + Scope.of({"K": ("integer", "k_B")}, "B", row_num="seq_B")
    with pytest.raises(QueryError) as raised:
        bind(*_in("k", both))
    assert (raised.value.summary, raised.value.hint) == ("k is in several inputs.", "Write A.k or B.K.")
    assert bind(*_in("b.k", both)).sql == "`k_B`"
    assert bind(*_in("b.row-num", both)).sql == "`seq_B`"


def _in(text: str, scope: Scope) -> tuple[Expression, Scope, str]:
    found, query = expression(text)
    return found, scope, query


def test_declared_row_num_hides_ours() -> None:
    assert bind(*_in("row-num", Scope.of({"row-num": ("string", "row-num")}))) == Bound("`row-num`", "string")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("max(speed)", "max_Speed"),
        ("MAX(T.SEG-ID)", "max_seg-id"),
        ("count(*)", "count"),
        ("count(DISTINCT a)", "count_distinct_a"),
        ("sum(speed * 2)", "sum_Speed_times_2"),
        ("sum((a + b) / 0.5)", "sum_a_plus_b_over_0_5"),
        ("avg(abs(-a))", "avg_abs_minus_a"),
        ("max(a) - min(a)", "max_a_minus_min_a"),
        ("t.A", "a"),
        ("count(a) FILTER (WHERE b > 1)", "count_a"),
    ],
)
def test_default_names(text: str, name: str) -> None:
    found, query = expression(text)
    assert default_name(found, query, SCOPE) == name


def test_what_cannot_be_read_out_needs_a_name() -> None:
    found, query = expression("max(CASE WHEN ok THEN a END)")
    with pytest.raises(QueryError, match="needs a name of its own"):
        default_name(found, query, SCOPE)
    assert isinstance(found, Call)
    assert bind_aggregate(found, SCOPE, query).name is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("count(*)", "bigint"),
        ("count(name)", "bigint"),
        ("sum(a)", "bigint"),
        ("sum(price)", "decimal(20,2)"),
        ("sum(speed)", "double"),
        ("avg(a)", "double"),
        ("avg(price)", "decimal(14,6)"),
        ("min(name)", "string"),
        ("max(ts)", "timestamp"),
    ],
)
def test_aggregate_types(text: str, kind: str) -> None:
    found, query = expression(text)
    assert isinstance(found, Call)
    assert bind_aggregate(found, SCOPE, query).type == kind


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sum(name)", "sum needs a number, and this is string."),
        ("avg(ts)", "avg needs a number, and this is timestamp."),
        ("max(arr)", "max needs a value that can be ordered, and this is array<integer>."),
        ("max(a, b)", "max takes one argument."),
        ("max(*)", "max takes one argument."),
        ("median(a)", "the aggregate median is not there yet."),
        ("count(DISTINCT a)", "the aggregate count(DISTINCT …) is not there yet."),
        ("sum(max(a))", "the aggregate max cannot stand here."),
        ("count(*) FILTER (WHERE a)", "FILTER needs a condition, and this is integer."),
    ],
)
def test_aggregates_refused(text: str, problem: str) -> None:
    found, query = expression(text)
    assert isinstance(found, Call)
    with pytest.raises(QueryError) as raised:
        bind_aggregate(found, SCOPE, query)
    assert raised.value.summary == problem


def test_expression_over_aggregates() -> None:
    found, query = expression("max(a) - min(a) + max(A)")
    calls = aggregate_calls(found)
    assert [call.function for call in calls] == ["max", "min", "max"]
    held = {call: Bound(f"`agg_{place}`", "integer") for place, call in enumerate(calls)}
    assert bind(found, SCOPE, query, held).sql == "((`agg_0` - `agg_1`) + `agg_2`)"


def test_too_deep_to_bind() -> None:
    found, query = expression(" + ".join(["a"] * 3000))
    with pytest.raises(QueryError, match="nested too deeply"):
        bind(found, SCOPE, query)
