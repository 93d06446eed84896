"""What is wrong with a query, shown on its own text."""

from __future__ import annotations

from schemas.errors import SluiceError
from schemas.language.span import Span

_WIDEST = 100


class QueryError(SluiceError):
    """A mistake in a query's text.

    `summary` says what is wrong, `hint` what to do; `source_line` is the offending line and `caret` the
    carets that belong beneath it. `problem` (and the message) puts them together with line and column.
    """

    def __init__(self, text: str, span: Span, summary: str, hint: str, name: str | None = None) -> None:
        self.span = span
        self.line = span.line
        self.column = span.column
        self.summary = summary
        self.hint = hint
        self.name = name
        self.text = text
        self.source_line, self.caret = _excerpt(text, span)
        where = f"line {self.line}, column {self.column}"
        where = f"{name}, {where}" if name else where[0].upper() + where[1:]
        super().__init__(f"{where}: {summary}\n  {self.source_line}\n  {self.caret}", hint)

    @classmethod
    def at(cls, text: str, span: Span, problem: str, hint: str, name: str | None = None) -> QueryError:
        """The error for what stands at `span` (a tree node's) of the statement's text."""
        return cls(text, span, problem, hint, name)

    def named(self, name: str) -> QueryError:
        """The same error, said of the query `name`."""
        return QueryError(self.text, self.span, self.summary, self.hint, name)


def _excerpt(text: str, span: Span) -> tuple[str, str]:
    """The line of the span, cut to a readable width around it, and the carets beneath."""
    start = span.offset - (span.column - 1)
    end = text.find("\n", start)
    line = text[start : end if end >= 0 else len(text)].rstrip("\r")
    column = span.column - 1
    width = max(1, min(span.length, len(line) - column))
    if len(line) > _WIDEST:
        first = max(0, min(column - _WIDEST // 2, len(line) - _WIDEST))
        before, after = "…" if first else "", "…" if first + _WIDEST < len(line) else ""
        line = before + line[first : first + _WIDEST] + after
        column = column - first + len(before)
        width = max(1, min(width, _WIDEST))
    # Tabs stay tabs, so that the caret stands right whatever their width.
    return line, "".join("\t" if sign == "\t" else " " for sign in line[:column].ljust(column)) + "^" * width
