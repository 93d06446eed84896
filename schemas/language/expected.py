"""The grammar's terminals in users' words."""

from __future__ import annotations

from collections.abc import Iterable

_WINDOW_WORDS_TEXT = """
RANGE SLIDE WATTR RATTR SATTR PATTR ORIGIN ROWS PARTITION UNBOUNDED START END NOW LAG
"""
WINDOW_WORDS = frozenset(_WINDOW_WORDS_TEXT.split())

# In the order in which a message lists them.
_KEYWORDS_TEXT = """
SELECT DISTINCT KEEP LATEST ALL AS FROM CROSS INNER JOIN ON WHERE JOIN_TIMESTAMP GROUP BY HAVING
UNION EXCEPT ISTREAM DSTREAM RSTREAM MIN MAX PUNCTUATED LATE GENEROUS CONSISTENT SLACK ARCHIVE EACH
ORDER IDLE HEARTBEAT EVERY RANGE SLIDE WATTR RATTR SATTR PATTR ORIGIN ROWS PARTITION UNBOUNDED START
END AT NOW LAG RANK AND OR NOT BETWEEN IN LIKE IS NULL TRUE FALSE CASE WHEN THEN ELSE CAST FILTER
TIMESTAMP DATE
"""
_KEYWORDS = tuple(_KEYWORDS_TEXT.split())
KEYWORDS = frozenset(_KEYWORDS)

_WORDS = {
    "JOIN_TIMESTAMP": "JOIN TIMESTAMP",
    "GROUP": "GROUP BY",
    "PARTITION": "PARTITION BY",
    "PUNCTUATED": "PUNCTUATED BY",
    "START": "START AT",
}
_SIGNS = {
    "COMMA": "a comma",
    "LPAR": "(",
    "RPAR": ")",
    "LSQB": "a window in [brackets]",
    "RSQB": "]",
    "NUMBER": "a number",
    "STRING": "text in single quotes",
    "NAME": "a name",
    "UNIT": "a unit",
}
# What may begin an expression, and what may go on after one: never listed one by one.
_EXPRESSION_TEXT = """
NAME NUMBER STRING CASE CAST TRUE FALSE NULL TIMESTAMP DATE LPAR PLUS MINUS
"""
_EXPRESSION = frozenset(_EXPRESSION_TEXT.split())
_OPERATORS_TEXT = """
COMPARE PLUS MINUS STAR SLASH PERCENT CONCAT AND OR NOT BETWEEN IN LIKE IS DOT FILTER
"""
_OPERATORS = frozenset(_OPERATORS_TEXT.split())
_SILENT = frozenset({"QUOTED_NAME", "$END", "DOT", "CROSS", "INNER"})
_MOST = 9

_EXAMPLES = {
    "RANGE": "Write for instance RANGE 300 seconds.",
    "SLIDE": "Write for instance SLIDE 60 seconds.",
    "LAG": "Write for instance LAG 10 minutes.",
    "ROWS": "Write for instance ROWS 100.",
    "SLACK": "Write for instance SLACK 60 seconds, or SLACK 10 rows.",
    "IDLE": "Write for instance IDLE 10 minutes.",
    "EVERY": "Write for instance HEARTBEAT EVERY 10 seconds.",
    "HEARTBEAT": "Write for instance HEARTBEAT EVERY 10 seconds.",
    "WATTR": "Write the attribute that the window goes by: WATTR ts.",
    "RATTR": "Write the attribute that the range is of: RATTR ts.",
    "SATTR": "Write SATTR row-num, or SATTR rank(ts).",
    "PATTR": "Write the attributes that part the stream: PATTR seg-id.",
    "ORIGIN": "Write for instance ORIGIN '2026-01-01 12:00:00'.",
    "START": "Write for instance START AT '2026-01-01 07:00:00'.",
    "END": "Write for instance END AT '2026-01-01 19:00:00'.",
    "AT": "Write for instance START AT '2026-01-01 07:00:00'.",
    "LATE": "Write LATE GENEROUS or LATE CONSISTENT.",
    "EACH": "Write for instance EACH seg-id IN ORDER.",
    "FROM": "Write the name of a stream after FROM.",
    "JOIN": "Write for instance JOIN B [ROWS 10] ON A.key = B.key.",
    "WHERE": "Write a condition: WHERE speed > 30.",
    "HAVING": "Write a condition: HAVING max(speed) > 30.",
    "IN": "Write for instance IN (1, 2, 3).",
    "IS": "Write IS NULL or IS NOT NULL.",
    "LIKE": "Write for instance LIKE 'A%'.",
    "BY": "Write one or more names after BY.",
    "SELECT": "Write what to select: SELECT seg-id, max(speed).",
    "[": "Write for instance [RANGE 300 seconds SLIDE 60 seconds].",
}
_GENERAL = (
    "A query is SELECT … FROM stream [window] WHERE … GROUP BY … HAVING …, then PUNCTUATED BY … and LATE …."
)

NOT_IN_THE_LANGUAGE = {
    "ORDER": "Answers have no order of their own; `sluice show` sorts them.",
    "LIMIT": "Leave it out; `sluice show --limit N` cuts what is shown.",
    "OFFSET": "Leave it out; `sluice show --limit N` cuts what is shown.",
    "OVER": "Put the window in brackets after the stream's name.",
    "WITH": "Write the inner query as a subquery in FROM.",
    "INTERSECT": "Write it as a join, or by EXCEPT twice.",
    "MINUS": "Write EXCEPT.",
    "LEFT": "Joins are inner joins: write JOIN … ON.",
    "RIGHT": "Joins are inner joins: write JOIN … ON.",
    "FULL": "Joins are inner joins: write JOIN … ON.",
    "NATURAL": "Write JOIN … ON with the condition.",
    "INSERT": "A query begins with SELECT.",
    "UPDATE": "A query begins with SELECT.",
    "DELETE": "A query begins with SELECT.",
    "CREATE": "A query begins with SELECT.",
    "DROP": "A query begins with SELECT.",
}
"""Words that other query languages have, and what to do here instead."""


def spelled(terminals: Iterable[str]) -> tuple[str, ...]:
    """The keywords among the terminals, as one types their first word."""
    chosen = set(terminals)
    return tuple(word for word in _KEYWORDS if word in chosen and word != "JOIN_TIMESTAMP")


def describe(terminals: frozenset[str]) -> str:
    """What may stand there: `FROM, a comma or an operator`."""
    left = set(terminals)
    parts: list[str] = []
    if {"NAME", "NUMBER", "STRING"} <= left:
        parts.append("a name or an expression")
        left.difference_update(_EXPRESSION, {"NOT"})
    operator = "COMPARE" in left
    if operator:
        left.difference_update(_OPERATORS, {"LPAR"})
    if {"RANGE", "SLIDE"} <= left:
        left.difference_update(WINDOW_WORDS)
        parts.append("a window word (RANGE, SLIDE, WATTR, …)")
    left -= _SILENT
    parts += [_WORDS.get(word, word) for word in _KEYWORDS if word in left]
    parts += [_SIGNS[sign] for sign in _SIGNS if sign in left]
    if operator:
        parts.append("an operator")
    if "$END" in terminals and len(parts) < _MOST:
        parts.append("the end of the query")
    if len(parts) > _MOST:
        parts = [*parts[: _MOST - 1], "…"]
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " or " + parts[-1]


def example_after(word: str, terminals: frozenset[str]) -> str:
    """How to go on after a word of the language."""
    if "ON" in terminals:
        return _EXAMPLES["JOIN"]
    if terminals & {"AND", "OR"} == {"AND"}:
        return "Write BETWEEN … AND …."
    return _EXAMPLES.get(word.upper(), _GENERAL)
