"""Text to tree."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TypeVar

from lark import Lark
from lark.exceptions import UnexpectedInput, VisitError

from schemas.language.build_queries import TreeBuilder
from schemas.language.diagnosis import diagnose
from schemas.language.errors import QueryError
from schemas.language.layout import bare_query
from schemas.language.tree import Statement
from schemas.policy import Lateness, Punctuation
from schemas.quantity import Quantity

_Read = TypeVar("_Read")


def parse(text: str, name: str = "query") -> Statement:
    """The tree of a query's text; `name` is what errors call it. Raises QueryError."""
    return _read(text, "statement", Statement, name)


def parse_punctuation(words: str) -> Punctuation:
    """The policy that the words of a PUNCTUATED BY clause name: `slack 60 seconds`."""
    return _read(words, "punctuation", Punctuation, "punctuated by")  # type: ignore[arg-type]


def parse_lateness(words: str) -> Lateness:
    """The policy that the word of a LATE clause names: `generous`."""
    return _read(words, "lateness", Lateness, "late")


def parse_quantity(words: str) -> Quantity:
    """An amount with its unit: `0.5 seconds`."""
    return _read(words, "quantity", Quantity, "quantity")


def _read(text: str, start: str, kind: type[_Read], name: str) -> _Read:
    bare = bare_query(text, name)
    parser = _parser()
    try:
        tree = parser.parse(bare, start=start)
    except UnexpectedInput:
        raise diagnose(parser, start, text, bare, name) from None
    try:
        read = TreeBuilder(text).transform(tree)
    except VisitError as error:
        if isinstance(error.orig_exc, QueryError):
            raise error.orig_exc.named(name) from None
        raise
    assert isinstance(read, kind)
    return read


@cache
def _parser() -> Lark:
    """Built once a process, in about a fifth of a second."""
    grammar = files("schemas.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start=["statement", "punctuation", "lateness", "quantity"],
        propagate_positions=True,
        maybe_placeholders=False,
    )
