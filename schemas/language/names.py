"""How names are spelled in a query, and which known name a misspelled one is close to."""

from __future__ import annotations

import re
from collections.abc import Iterable

PLAIN_NAME = re.compile(r"[^\W\d]\w*(?:-[^\W\d_]\w*)*")
"""A name that needs no quotes: a hyphen belongs to it when a letter follows."""

# Words that the grammar may take for itself where a name could stand: names spelled so are printed in quotes.
_RESERVED_TEXT = """
all and as between case cast date distinct dstream each else end except false filter from group
having in inner is istream join keep late latest like not null on or partition punctuated rank
rstream select then timestamp true union when where
"""
RESERVED = frozenset(_RESERVED_TEXT.split())


def print_name(name: str) -> str:
    """The name as a query may spell it: bare where it reads back as the same name, else in double quotes."""
    if PLAIN_NAME.fullmatch(name) and name.lower() not in RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def unquote_name(spelled: str) -> str:
    """The name that a query's spelling stands for."""
    quote = spelled[0]
    if quote in '"`':
        return spelled[1:-1].replace(quote * 2, quote)
    return spelled


def distance(one: str, other: str) -> int:
    """Edits (insert, drop, replace, swap two neighbours) that turn one word into the other."""
    before: list[int] = []
    previous = list(range(len(other) + 1))
    for row, left in enumerate(one, start=1):
        current = [row]
        for column, right in enumerate(other, start=1):
            cost = min(previous[column] + 1, current[column - 1] + 1, previous[column - 1] + (left != right))
            if row > 1 and column > 1 and left == other[column - 2] and one[row - 2] == right:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        before, previous = previous, current
    return previous[-1]


def closest(word: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """The known words nearest to `word`, best first: at most a third of the letters (and one) differ."""
    lowered = word.lower()
    ranked = []
    for candidate in dict.fromkeys(known):
        edits = distance(lowered, candidate.lower())
        shorter = min(len(word), len(candidate))
        if edits <= max(1, (shorter + 1) // 3) and edits < shorter:
            ranked.append((edits, candidate))
    return [candidate for _, candidate in sorted(ranked)][:limit]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`Did you mean a or b?`, or nothing when no known word is close."""
    near = closest(word, known)
    return f"Did you mean {' or '.join(near)}?" if near else ""
