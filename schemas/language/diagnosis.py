"""From a text that does not parse to an error in users' words.

The lexer is contextual, so the place where parsing stops is not always where the mistake is: `SELECT a FORM
t` stops at `t`, since FORM may be an alias. So small repairs are tried near that place (a keyword spelled
right, a missing bracket, a comma dropped), and the one that lets the parser read furthest becomes the hint.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from schemas.language.errors import QueryError
from schemas.language.expected import (
    KEYWORDS,
    NOT_IN_THE_LANGUAGE,
    WINDOW_WORDS,
    describe,
    example_after,
    spelled,
)
from schemas.language.names import closest
from schemas.language.span import Span
from schemas.quantity import UNIT_WORDS, Unit

_UNITS = "microsecond, millisecond, second, minute, hour, day, week (or their plurals), rows, tuples"
_TYPOGRAPHIC = {
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "–": "-",
    "—": "-",
    "−": "-",
    "≤": "<=",
    "≥": ">=",
    "≠": "<>",
}
_LOOK_BACK = 3
_BEFORE_BY = frozenset({"GROUP", "PARTITION", "PUNCTUATED"})
_WORD_OR_SIGN = re.compile(r"\w+|.", re.DOTALL)


@dataclass(frozen=True)
class _Read:
    """A token and what could have stood in its place."""

    text: str
    type: str
    start: int
    end: int
    expected: frozenset[str]

    @property
    def is_word(self) -> bool:
        return self.text[:1].isalpha() or self.text[:1] == "_"


@dataclass(frozen=True)
class _Repair:
    """A change of the text near the mistake, where it stands, and how to tell of it."""

    text: str
    start: int
    end: int
    problem: str
    hint: str


def diagnose(parser: Lark, start: str, text: str, bare: str, name: str) -> QueryError:
    """The error for `bare` (the text without its label and comments), which the parser refuses."""
    tokens, stop = _read_until_stop(parser, start, bare)
    told = (
        _plain_mistake(tokens, stop)
        or _best_repair(parser, start, bare, tokens, stop)
        or _explain(tokens, stop)
    )
    return QueryError.at(text, Span.between(text, told.start, told.end), told.problem, told.hint, name)


def _read_until_stop(parser: Lark, start: str, bare: str) -> tuple[list[_Read], _Read]:
    """The tokens read, and the one (or the end, or the stray sign) that could not be."""
    interactive = parser.parse_interactive(bare, start=start)
    lexed = interactive.lexer_thread.lex(interactive.parser_state)  # type: ignore[no-untyped-call]
    tokens: list[_Read] = []
    while True:
        expected = frozenset(interactive.accepts())  # type: ignore[no-untyped-call]
        try:
            token = next(lexed)
        except StopIteration:
            # Nothing is left: point just behind the last word.
            end = len(bare.rstrip())
            return tokens, _Read("", "$END", end, end, expected)
        except UnexpectedToken as unexpected:
            token = unexpected.token
        except UnexpectedCharacters as unexpected:
            place = unexpected.pos_in_stream or 0
            found = _WORD_OR_SIGN.match(bare, place)
            end = found.end() if found else place + 1
            return tokens, _Read(bare[place:end], "?", place, end, expected)
        read = _read(token, expected)
        if token.type not in expected:
            return tokens, read
        interactive.feed_token(token)
        tokens.append(read)


def _read(token: Token, expected: frozenset[str]) -> _Read:
    start = token.start_pos or 0
    return _Read(str(token), token.type, start, start + len(token), expected)


def _best_repair(parser: Lark, start: str, bare: str, tokens: list[_Read], stop: _Read) -> _Repair | None:
    """The repair after which the parser reads furthest, if any takes it past the place where it stopped."""
    best, furthest = None, stop.end if stop.type != "$END" else len(bare)
    for repair in _repairs(bare, tokens, stop):
        shift = len(repair.text) - len(bare)
        reached = _reach(parser, start, repair.text) - shift
        if reached > furthest:
            best, furthest = repair, reached
    return best


def _reach(parser: Lark, start: str, text: str) -> int:
    """Where the parser stops; one more than the end if all is well."""
    try:
        parser.parse(text, start=start)
    except UnexpectedToken as unexpected:
        return len(text) if unexpected.token.type == "$END" else unexpected.token.start_pos or 0
    except UnexpectedInput as unexpected:
        return unexpected.pos_in_stream or 0
    return len(text) + 1


def _repairs(bare: str, tokens: list[_Read], stop: _Read) -> Iterator[_Repair]:
    """Repairs to try, the likeliest first: of two that reach equally far the first counts."""
    recent = [*tokens[-_LOOK_BACK:], stop]
    yield from _respellings(bare, recent)
    for word in recent:
        upper = word.text.upper()
        if upper in _BEFORE_BY:
            repaired = f"{bare[: word.end]} BY {bare[word.end :]}"
            yield _Repair(
                repaired, word.start, word.end, f"BY is missing after {upper}.", f"Write {upper} BY."
            )
        if word.type == "NAME" and upper in WINDOW_WORDS and word is not stop:
            repaired = f"{bare[: word.start]} [ {bare[word.start :]}"
            problem = f"a window stands in brackets, and [ is missing before {word.text}."
            yield _Repair(
                repaired, word.start, word.end, problem, f"Write [{word.text} …] with the brackets."
            )
        if word.text == ",":
            repaired = f"{bare[: word.start]} {bare[word.end :]}"
            yield _Repair(
                repaired, word.start, word.end, "there is a comma too many here.", "Leave the comma out."
            )
    if tokens:
        before = tokens[-1]
        for sign, terminal in (("]", "RSQB"), (")", "RPAR"), (",", "COMMA")):
            if terminal in stop.expected:
                repaired = f"{bare[: before.end]} {sign} {bare[before.end :]}"
                problem = f"{'a comma' if sign == ',' else sign} is missing here."
                yield _Repair(repaired, stop.start, stop.end, problem, f"Put {sign} after {before.text!r}.")


def _respellings(bare: str, words: list[_Read]) -> Iterator[_Repair]:
    """A keyword or unit in place of a word that is spelled much like it."""
    for word in words:
        known = list(spelled(word.expected))
        if not word.is_word or word.text.upper() in known:
            continue
        if "UNIT" in word.expected:
            known += UNIT_WORDS
        for right in closest(word.text, known):
            repaired = bare[: word.start] + right + bare[word.end :]
            problem = f"expected {describe(word.expected)}, found {word.text!r}."
            if Unit.named(right):
                problem = f"{word.text!r} is no unit."
            yield _Repair(repaired, word.start, word.end, problem, f"Did you mean {right}?")


def _plain_mistake(tokens: list[_Read], stop: _Read) -> _Repair | None:
    """Mistakes that need no trial to be told."""
    before = tokens[-1] if tokens else None
    opened = sum((token.text in "([") - (token.text in ")]") for token in tokens)
    for word in [stop, *tokens[-1:]]:
        upper = word.text.upper()
        if word.type in ("NAME", "?", "ORDER") and upper in NOT_IN_THE_LANGUAGE:
            problem = f"{upper} is not part of the language."
            return _Repair("", word.start, word.end, problem, NOT_IN_THE_LANGUAGE[upper])
    if stop.text in _TYPOGRAPHIC:
        problem, hint = f"{stop.text!r} is a typographic sign.", f"Write {_TYPOGRAPHIC[stop.text]} instead."
    elif stop.text == ";":
        problem, hint = "the query ends at this semicolon, but more follows.", "Keep one query in one file."
    elif stop.text in (")", "]") and opened == 0:
        opening = {")": "(", "]": "["}[stop.text]
        problem = f"this {stop.text} closes nothing."
        hint = f"Leave it out, or put the missing {opening} before it."
    elif before is not None and before.text == stop.text == "=":
        problem, hint = "a comparison is written with one =.", "Write = once."
    elif "UNIT" in stop.expected and stop.is_word and not _is_near(stop):
        problem, hint = f"{stop.text!r} is no unit.", f"Units are {_UNITS}, or none for plain numbers."
    elif before is not None and before.text == "[" and stop.is_word and not _is_near(stop):
        problem = f"a window does not begin with {stop.text!r}."
        hint = f"Fill in a window; its words are {', '.join(sorted(WINDOW_WORDS))}."
    else:
        return None
    return _Repair("", stop.start, stop.end, problem, hint)


def _is_near(word: _Read) -> bool:
    """Whether the word is a keyword, or spelled much like one (or a unit) that could stand there."""
    known = [*spelled(word.expected), *(UNIT_WORDS if "UNIT" in word.expected else ())]
    return word.text.upper() in KEYWORDS or bool(closest(word.text, known))


def _explain(tokens: list[_Read], stop: _Read) -> _Repair:
    """What was expected, where nothing better is known."""
    wanted = describe(stop.expected)
    found = f"found {stop.text!r}" if stop.text else "but the text ends here"
    if not tokens:
        return _Repair(
            "", stop.start, stop.end, f"expected {wanted}, {found}.", example_after("", stop.expected)
        )
    before = tokens[-1]
    after = f" after {before.text.upper()}" if before.type in KEYWORDS else ""
    hint = example_after(before.text if before.type != "NAME" else "", stop.expected)
    for word in tokens[-_LOOK_BACK:]:
        if word.type == "NAME" and word.text.upper() in KEYWORDS:
            hint = f"{word.text} was read as a name here: is something missing before it?"
    return _Repair("", stop.start, stop.end, f"expected {wanted}{after}, {found}.", hint)
