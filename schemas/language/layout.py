"""What is printed around a query and is no part of it: a label, comments, a closing semicolon."""

from __future__ import annotations

import re

from schemas.language.errors import QueryError
from schemas.language.span import Span

# `Q1:`, `Query 1:`, `[Q2']:` — a prime may be straight or typographic.
_LABEL = re.compile(
    r"\A((?:\s|--[^\n]*)*)((?:\[[^\]\n]{1,40}\]|(?:query\s+)?\w[\w'’′.-]{0,40})\s*:)", re.IGNORECASE
)
_QUOTED_OR_COMMENT = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*` | --[^\n]* | ['"`]""", re.VERBOSE
)
_CLOSING = re.compile(r";[\s;]*\Z")


def bare_query(text: str, name: str | None = None) -> str:
    """The text with all that blanked out by spaces, so that every position stays as it was."""
    label = _LABEL.match(text)
    if label and label[2].rstrip(": \t\n").lower() not in ("select", "from", "where"):
        text = label[1] + _blank(label[2]) + text[label.end() :]

    def blank_comment(match: re.Match[str]) -> str:
        found = match[0]
        if found in ("'", '"', "`"):
            kind = "text" if found == "'" else "name"
            raise QueryError.at(
                text,
                Span.between(text, match.start(), match.start() + 1),
                f"this {found} opens a {kind} that is never closed.",
                f"Put another {found} where the {kind} ends (inside it, write {found * 2} for {found}).",
                name,
            )
        return _blank(found) if found.startswith("--") else found

    return _CLOSING.sub(lambda match: _blank(match[0]), _QUOTED_OR_COMMENT.sub(blank_comment, text))


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
