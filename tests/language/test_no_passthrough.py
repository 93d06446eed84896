"""A query's text cannot run code, reach other tables, or read settings."""

from __future__ import annotations

import re

import pytest

from schemas.language import QueryError, parse
from schemas.language.expressions import Scope, bind
from schemas.language.literals import quoted_text
from schemas.language.tree import Select

SCOPE = Scope.of({"name": ("string", "name"), "a": ("integer", "a")})


def where_sql(condition: str) -> str:
    text = f"SELECT a FROM t WHERE {condition}"
    query = parse(text).query
    assert isinstance(query, Select)
    assert query.where is not None
    return bind(query.where, SCOPE, text).sql


@pytest.mark.parametrize(
    ("condition", "sql"),
    [
        ("name = 'x''; DROP TABLE t; --'", r"(`name` = 'x\'; DROP TABLE t; --')"),
        ("name = '\\'", r"(`name` = '\\')"),
        ("name = '\\'' OR 1=1 --'", r"(`name` = '\\\' OR 1=1 --')"),
        ("name = '${env:HOME}'", r"(`name` = '\u0024{env:HOME}')"),
        ("name = '${spark.app.id}'", r"(`name` = '\u0024{spark.app.id}')"),
        ("name = '/* */'", "(`name` = '/* */')"),
        ("name = 'a\nb'", r"(`name` = 'a\nb')"),
    ],
)
def test_text_stays_text(condition: str, sql: str) -> None:
    assert where_sql(condition) == sql


@pytest.mark.parametrize("text", ["", "'", "\\", "\\'", "''", "\\\\'", "${x}", "$", "a\n'b", "\0", "“"])
def test_quoted_text_is_one_literal(text: str) -> None:
    quoted = quoted_text(text)
    assert re.fullmatch(r"'(?:[^'\\$\n]|\\.)*'", quoted)


@pytest.mark.parametrize(
    "condition",
    [
        "reflect('java.lang.System', 'exit', 1)",
        "java_method('java.lang.System', 'getenv', 'HOME') = 'x'",
        "read_files('/etc/passwd') = 'x'",
        "current_user() = 'x'",
        "input_file_name() = 'x'",
        "from_json(name, 'a int') IS NULL",
        "`reflect`('java.lang.System', 'exit') = 1",
        '"a`) OR (1=1" = 1',
        "name = (SELECT name FROM secrets)",
        "EXISTS (SELECT 1 FROM secrets)",
        "secrets.name = 'x'",
        "name = $$x$$",
        "name = ${env:HOME}",
        "a = 1; DROP TABLE t",
        "a = 1 UNION SELECT 1 FROM t WHERE b = 1",
        "CAST(name AS map<string,string>) IS NULL",
        "a = :param",
        "a = ?",
    ],
)
def test_refused(condition: str) -> None:
    with pytest.raises((QueryError, AssertionError)):
        where_sql(condition)


@pytest.mark.parametrize("alias", ["${env:HOME}", "a b", "x)", "a;b", "a=b", "a,b", "a\tb"])
def test_alias_holds_nothing_that_a_column_or_spark_would_trip_over(alias: str) -> None:
    with pytest.raises(QueryError, match="a column cannot be named"):
        parse(f'SELECT a AS "{alias}" FROM t')
