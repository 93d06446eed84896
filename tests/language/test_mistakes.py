"""Mistakes are told with line, column, carets and what to do."""

from __future__ import annotations

import pytest

from schemas.errors import NO_ANSWER, SluiceError
from schemas.language import QueryError, parse, parse_lateness, parse_punctuation, parse_quantity

UNITS = (
    "Units are microsecond, millisecond, second, minute, hour, day, week (or their plurals), rows, tuples, "
    "or none for plain numbers."
)

# The text; the stretch beneath which the carets stand (⟨…⟩ in the text); the problem; the hint.
MISTAKES = [
    (
        "SELECT a ⟨FORM⟩ t",
        "expected AS, FROM, a comma, a name or an operator, found 'FORM'.",
        "Did you mean FROM?",
    ),
    (
        "⟨SELET⟩ a FROM t",
        "expected SELECT, ISTREAM, DSTREAM, RSTREAM or (, found 'SELET'.",
        "Did you mean SELECT?",
    ),
    (
        "SELECT a\nFROM t [RANGE 5 seconds\n  ⟨SLDE⟩ 4 seconds]",
        "expected a window word (RANGE, SLIDE, WATTR, …) or ], found 'SLDE'.",
        "Did you mean SLIDE?",
    ),
    (
        "SELECT a FROM t [⟨RNAGE⟩ 5 seconds]",
        "expected a window word (RANGE, SLIDE, WATTR, …), found 'RNAGE'.",
        "Did you mean RANGE?",
    ),
    (
        "SELECT a FROM t WHERE a >= 3 ⟨GRUOP⟩ BY a",
        "expected JOIN TIMESTAMP, GROUP BY, HAVING, UNION, EXCEPT, PUNCTUATED BY, LATE, AND or OR, "
        "found 'GRUOP'.",
        "Did you mean GROUP?",
    ),
    (
        "SELECT a FROM t PUNCTUATED BY ⟨SLAK⟩ 3 seconds",
        "expected SLACK, ARCHIVE, EACH, HEARTBEAT or END, found 'SLAK'.",
        "Did you mean SLACK?",
    ),
    (
        "SELECT a FROM t LATE ⟨GENRUOUS⟩",
        "expected GENEROUS or CONSISTENT, found 'GENRUOUS'.",
        "Did you mean GENEROUS?",
    ),
    ("SELECT a FROM t [RANGE 5 ⟨secnods⟩]", "'secnods' is no unit.", "Did you mean seconds?"),
    ("SELECT a FROM t [RANGE 5 ⟨fortnights⟩ SLIDE 4 days]", "'fortnights' is no unit.", UNITS),
    ("SELECT a FROM t PUNCTUATED BY SLACK 5 ⟨furlongs⟩", "'furlongs' is no unit.", UNITS),
    (
        "SELECT a FROM t [RANGE ⟨seconds⟩ SLIDE 4 seconds]",
        "expected a number after RANGE, found 'seconds'.",
        "Write for instance RANGE 300 seconds.",
    ),
    (
        "SELECT a FROM t [RANGE 5 seconds SLIDE⟨]⟩",
        "expected a number after SLIDE, found ']'.",
        "Write for instance SLIDE 60 seconds.",
    ),
    ("SELECT a FROM t [ROWS ⟨2.5⟩]", "ROWS takes a whole number above 0.", "Write for instance ROWS 100."),
    (
        "SELECT a FROM t [RANGE ⟨2.5 rows⟩]",
        "rows are counted in whole numbers.",
        "Write a whole number of rows.",
    ),
    (
        "SELECT a FROM t [RANGE ⟨0 seconds⟩]",
        "RANGE must be more than 0.",
        "Write for instance RANGE 10 seconds.",
    ),
    ("SELECT a FROM t [SLIDE ⟨0⟩]", "SLIDE must be more than 0.", "Write for instance SLIDE 10."),
    ("SELECT a FROM t [RANGE 5 days ⟨RANGE 3 days⟩]", "this window says RANGE twice.", "Keep one RANGE."),
    (
        "SELECT a FROM t [⟨]⟩",
        "expected a window word (RANGE, SLIDE, WATTR, …), found ']'.",
        "Write for instance [RANGE 300 seconds SLIDE 60 seconds].",
    ),
    (
        "SELECT a FROM t [RANGE 5 seconds⟨,⟩ SLIDE 4 seconds]",
        "there is a comma too many here.",
        "Leave the comma out.",
    ),
    ("SELECT a FROM t [RANGE 5 seconds ⟨GROUP⟩ BY x", "] is missing here.", "Put ] after 'seconds'."),
    ("SELECT a FROM t [RANGE 5 seconds⟨⟩", "] is missing here.", "Put ] after 'seconds'."),
    ("SELECT max(a ⟨FROM⟩ t", ") is missing here.", "Put ) after 'a'."),
    ("SELECT count(* ⟨FROM⟩ t", ") is missing here.", "Put ) after '*'."),
    ("SELECT a⟨)⟩ FROM t", "this ) closes nothing.", "Leave it out, or put the missing ( before it."),
    ("SELECT a⟨,⟩ FROM t WHERE x = 3", "there is a comma too many here.", "Leave the comma out."),
    ("SELECT a b ⟨c⟩ FROM t", "a comma is missing here.", "Put , after 'b'."),
    (
        "SELECT a FROM t ⟨RANGE⟩ 5 seconds",
        "a window stands in brackets, and [ is missing before RANGE.",
        "Write [RANGE …] with the brackets.",
    ),
    (
        "SELECT a FROM t [WATTR RANGE ⟨4⟩ seconds]",
        "expected a window word (RANGE, SLIDE, WATTR, …) or ], found '4'.",
        "RANGE was read as a name here: is something missing before it?",
    ),
    ("SELECT a FROM t ⟨GROUP⟩ a", "BY is missing after GROUP.", "Write GROUP BY."),
    ("SELECT a FROM t [⟨PARTITION⟩ a ROWS 4]", "BY is missing after PARTITION.", "Write PARTITION BY."),
    ("SELECT a FROM t ⟨PUNCTUATED⟩ SLACK 4 rows", "BY is missing after PUNCTUATED.", "Write PUNCTUATED BY."),
    (
        "SELECT a FROM t WHERE a = ⟨'⟩x",
        "this ' opens a text that is never closed.",
        "Put another ' where the text ends (inside it, write '' for ').",
    ),
    (
        'SELECT ⟨"⟩a FROM t',
        'this " opens a name that is never closed.',
        'Put another " where the name ends (inside it, write "" for ").',
    ),
    ("SELECT a FROM t WHERE a = ⟨“⟩x”", "'“' is a typographic sign.", 'Write " instead.'),
    ("SELECT a FROM t WHERE x =⟨=⟩ 3", "a comparison is written with one =.", "Write = once."),
    (
        "SELECT a FROM t⟨;⟩ SELECT b",
        "the query ends at this semicolon, but more follows.",
        "Keep one query in one file.",
    ),
    (
        "SELECT a FROM t LATE GENEROUS ⟨LATE CONSISTENT⟩",
        "this query says LATE twice.",
        "Keep one LATE at its end.",
    ),
    (
        "SELECT a FROM t ⟨LEFT⟩ JOIN s ON a = b",
        "LEFT is not part of the language.",
        "Joins are inner joins: write JOIN … ON.",
    ),
    (
        "SELECT a FROM t ⟨ORDER⟩ BY a",
        "ORDER is not part of the language.",
        "Answers have no order of their own; `sluice show` sorts them.",
    ),
    ("⟨INSERT⟩ INTO t VALUES (1)", "INSERT is not part of the language.", "A query begins with SELECT."),
    (
        "SELECT a FROM t JOIN s ⟨WHERE⟩ a = b",
        "expected AS, ON, a window in [brackets] or a name, found 'WHERE'.",
        "Write for instance JOIN B [ROWS 10] ON A.key = B.key.",
    ),
    (
        "SELECT a FROM⟨⟩",
        "expected ( or a name after FROM, but the text ends here.",
        "Write the name of a stream after FROM.",
    ),
    (
        "SELECT a FROM t WHERE⟨⟩",
        "expected a name or an expression after WHERE, but the text ends here.",
        "Write a condition: WHERE speed > 30.",
    ),
    (
        "SELECT FROM t⟨⟩",
        "expected FROM or a comma, but the text ends here.",
        "FROM was read as a name here: is something missing before it?",
    ),
    (
        "SELECT a FROM t, u GROUP BY a ⟨[ROWS 3]⟩",
        "a window at GROUP BY belongs to a single input, and here are several.",
        "Put the window after the name of its stream in FROM.",
    ),
    ("SELECT a FROM t [NOW] GROUP BY a ⟨[ROWS 3]⟩", "this input has two windows.", "Keep one of them."),
    (
        'SELECT a AS ⟨"b c"⟩ FROM t',
        "a column cannot be named with ' ' in it.",
        "Leave out spaces and any of ,;{}()= in the name after AS.",
    ),
    (
        "SELECT a FROM t PUNCTUATED BY HEARTBEAT EVERY ⟨5 rows⟩",
        "HEARTBEAT EVERY takes a span of arrival time above 0.",
        "Write for instance HEARTBEAT EVERY 10 seconds.",
    ),
]


@pytest.mark.parametrize(("marked", "problem", "hint"), MISTAKES, ids=[text for text, *_ in MISTAKES])
def test_mistake(marked: str, problem: str, hint: str) -> None:
    text = marked.replace("⟨", "").replace("⟩", "")
    start, width = marked.index("⟨"), marked.index("⟩") - marked.index("⟨") - 1
    line_start = text.rfind("\n", 0, start) + 1
    with pytest.raises(QueryError) as raised:
        parse(text, "slow")
    error = raised.value
    assert (error.summary, error.hint) == (problem, hint)
    assert (error.line, error.column) == (text.count("\n", 0, start) + 1, start - line_start + 1)
    assert error.source_line == text.split("\n")[error.line - 1]
    assert error.caret == " " * (error.column - 1) + "^" * max(1, width)


def test_message_puts_it_all_together() -> None:
    with pytest.raises(QueryError) as raised:
        parse("-- the slow ones\nSELECT seg-id\n\tFORM Traffic", "slow")
    assert isinstance(raised.value, SluiceError)
    assert raised.value.exit_code == NO_ANSWER
    assert str(raised.value) == (
        "slow, line 3, column 2: expected AS, FROM, a comma, a name or an operator, found 'FORM'.\n"
        "  \tFORM Traffic\n"
        "  \t^^^^\n"
        "Did you mean FROM?"
    )


def test_long_line_is_cut_around_the_mistake() -> None:
    text = "SELECT " + ", ".join(f"attribute{n}" for n in range(60)) + " FORM t WHERE a = 1"
    with pytest.raises(QueryError) as raised:
        parse(text)
    error = raised.value
    assert len(error.source_line) <= 102
    assert error.source_line[error.caret.index("^") :].startswith("FORM")


@pytest.mark.parametrize("text", ["", "   ", "-- nothing", ";", "Q1:"])
def test_empty_text(text: str) -> None:
    with pytest.raises(QueryError, match="expected SELECT"):
        parse(text)


@pytest.mark.parametrize(
    ("read", "words", "hint"),
    [
        (parse_punctuation, "slak 5 seconds", "Did you mean SLACK?"),
        (parse_punctuation, "slack 5 parsecs", UNITS),
        (parse_lateness, "generos", "Did you mean GENEROUS?"),
        (parse_quantity, "5 secs", UNITS),
    ],
)
def test_words_of_a_declaration(read, words: str, hint: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(QueryError) as raised:
        read(words)
    assert raised.value.hint == hint
