"""Where in a query's text something stands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the text: `offset` counts from 0, `line` and `column` from 1, all in characters."""

    offset: int
    length: int
    line: int
    column: int

    @classmethod
    def between(cls, text: str, start: int, end: int) -> Span:
        """The span of `text[start:end]`."""
        line_start = text.rfind("\n", 0, start) + 1
        return cls(start, end - start, text.count("\n", 0, start) + 1, start - line_start + 1)

    @property
    def end(self) -> int:
        return self.offset + self.length


NOWHERE = Span(0, 0, 1, 1)
"""The span of what was not read from a text."""
