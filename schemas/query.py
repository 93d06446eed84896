"""A query bound to its stream: what the replay computes, with every name resolved and every window exact."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from schemas.columns import quoted
from schemas.policy import Lateness, Punctuation
from schemas.stream import Attribute, Stream
from schemas.window import SlidingWindow


@dataclass(frozen=True)
class Aggregate:
    """One aggregate call: its function, and its argument as SQL over the archive's columns, with its type."""

    function: str
    argument: str
    type: str


@dataclass(frozen=True)
class Group:
    """A grouping attribute and the column of the results that shows it."""

    attribute: Attribute
    column: str

    @property
    def sql(self) -> str:
        return quoted(self.attribute.column)

    @property
    def type(self) -> str:
        return self.attribute.type


@dataclass(frozen=True)
class Output:
    """A column of the results: SQL over `answer_0`, `answer_1`, … and the groups' columns."""

    column: str
    sql: str


@dataclass(frozen=True)
class WindowQuery:
    """One aggregate over one windowed stream."""

    name: str
    text: str
    stream: Stream
    window: SlidingWindow
    groups: tuple[Group, ...]
    where: str | None
    aggregates: tuple[Aggregate, ...]
    outputs: tuple[Output, ...]
    having: str | None
    punctuation: Punctuation
    lateness: Lateness
    policy_is_default: bool

    @property
    def revision(self) -> str:
        """Names the tables of this very query: another text or policy has tables of its own."""
        said = f"{self.text}\n{self.punctuation}\n{self.lateness}\n{self.stream.timestamp}\n{self.stream.granule}"
        return hashlib.sha256(said.encode()).hexdigest()[:12]
