"""What a query says, as a tree. Nodes compare by what they say, never by where they stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import TypeAlias

from schemas.language.span import NOWHERE, Span
from schemas.policy import Lateness, Punctuation
from schemas.quantity import Quantity


@dataclass(frozen=True)
class Node:
    """Anything that stands somewhere in the text."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


# Expressions


class LiteralKind(Enum):
    """What a constant is. TEXT, TIMESTAMP and DATE hold a `str`, DECIMAL a `Decimal`, DOUBLE a `float`."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    DOUBLE = "double"
    TEXT = "string"
    BOOLEAN = "boolean"
    NULL = "null"
    TIMESTAMP = "timestamp"
    DATE = "date"


@dataclass(frozen=True)
class Name(Node):
    """An attribute as the query spells it, quotes removed."""

    name: str
    qualifier: str | None = None


@dataclass(frozen=True)
class Literal(Node):
    """A constant. Two are equal when kind and printed value are."""

    value: int | Decimal | float | str | bool | None
    kind: LiteralKind


@dataclass(frozen=True)
class Unary(Node):
    """`-`, `+` or `NOT` before an expression."""

    operator: str
    operand: Expression


@dataclass(frozen=True)
class Binary(Node):
    """One of `+ - * / % || = <> < <= > >= AND OR` between two expressions."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Between(Node):
    operand: Expression
    low: Expression
    high: Expression
    negated: bool = False


@dataclass(frozen=True)
class InList(Node):
    operand: Expression
    choices: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True)
class Like(Node):
    operand: Expression
    pattern: Expression
    negated: bool = False


@dataclass(frozen=True)
class IsNull(Node):
    operand: Expression
    negated: bool = False


@dataclass(frozen=True)
class Case(Node):
    """`CASE [operand] WHEN … THEN … [ELSE otherwise] END`."""

    operand: Expression | None
    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None


@dataclass(frozen=True)
class Cast(Node):
    """`type` is the type's text in lower case without spaces, not yet known to exist."""

    operand: Expression
    type: str


@dataclass(frozen=True)
class Call(Node):
    """A function or aggregate; `function` is in lower case, `star` is `count(*)`."""

    function: str
    arguments: tuple[Expression, ...] = ()
    star: bool = False
    distinct: bool = False
    filter: Expression | None = None


Expression: TypeAlias = (
    Name | Literal | Unary | Binary | Between | InList | Like | IsNull | Case | Cast | Call
)


# Windows


@dataclass(frozen=True)
class Rank(Node):
    """`SATTR rank(x)`."""

    attribute: Name


@dataclass(frozen=True)
class WindowClause(Node):
    """The words of one pair of brackets, each at most once; which go together is for the binding to say."""

    range: Quantity | None = None
    slide: Quantity | None = None
    wattr: Name | None = None
    rattr: Name | None = None
    sattr: Name | Rank | None = None
    origin: Literal | None = None
    pattr: tuple[Name, ...] = ()
    rows: int | None = None
    partition_by: tuple[Name, ...] = ()
    unbounded: bool = False
    start_at: Literal | None = None
    end_at: Literal | None = None
    now: bool = False
    lag: Quantity | None = None


# Queries


@dataclass(frozen=True)
class Star(Node):
    """`*` or `alias.*`."""

    qualifier: str | None = None


@dataclass(frozen=True)
class SelectItem(Node):
    expression: Expression | Star
    alias: str | None = None


class Distinct(Enum):
    """How duplicates go: a representative stays until it expires, or the youngest always replaces it."""

    KEEP = "KEEP"
    LATEST = "LATEST"


class JoinTimestamp(Enum):
    """Which of two timestamps a joined tuple has."""

    MIN = "MIN"
    MAX = "MAX"


@dataclass(frozen=True)
class StreamSource(Node):
    name: str
    window: WindowClause | None = None
    alias: str | None = None


@dataclass(frozen=True)
class SubquerySource(Node):
    query: Query
    window: WindowClause | None = None
    alias: str | None = None


Source: TypeAlias = StreamSource | SubquerySource


@dataclass(frozen=True)
class Select(Node):
    """`JOIN … ON` is already a source and a term of `where`; a window after GROUP BY is on its source."""

    items: tuple[SelectItem, ...]
    sources: tuple[Source, ...]
    distinct: Distinct | None = None
    where: Expression | None = None
    group_by: tuple[Expression, ...] = ()
    having: Expression | None = None
    join_timestamp: JoinTimestamp | None = None


class SetKind(Enum):
    UNION = "UNION"
    EXCEPT = "EXCEPT"


@dataclass(frozen=True)
class SetOperation(Node):
    """Both are of multisets; of several in a row the left ones bind first."""

    kind: SetKind
    left: Query
    right: Query


class RelationToStreamKind(Enum):
    ISTREAM = "ISTREAM"
    DSTREAM = "DSTREAM"
    RSTREAM = "RSTREAM"


@dataclass(frozen=True)
class RelationToStream(Node):
    kind: RelationToStreamKind
    query: Query


Query: TypeAlias = Select | SetOperation | RelationToStream


@dataclass(frozen=True)
class Statement(Node):
    """One query file. `text` is the file as written: spans count in it."""

    query: Query
    punctuation: Punctuation | None = None
    lateness: Lateness | None = None
    text: str = field(default="", compare=False, repr=False)
    punctuation_span: Span | None = field(default=None, compare=False, repr=False)
