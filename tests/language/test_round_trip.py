"""Printing any tree and reading it again gives the same tree."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.language import QueryError, canonical, parse
from schemas.language.names import RESERVED
from schemas.language.tree import (
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Distinct,
    InList,
    IsNull,
    JoinTimestamp,
    Like,
    Literal,
    LiteralKind,
    Name,
    Rank,
    RelationToStream,
    RelationToStreamKind,
    Select,
    SelectItem,
    SetKind,
    SetOperation,
    Star,
    Statement,
    StreamSource,
    SubquerySource,
    Unary,
    WindowClause,
)
from schemas.policy import Archive, EachInOrder, End, Heartbeat, Lateness, SlackRows, SlackSpan
from schemas.quantity import Quantity, Unit

WORDS = "timestamp rows range slide start at origin lag now rank min max second row x seg-id größe"
PIECES = "SELECT a FROM t [ ] ( ) , RANGE 5 ' ; -- \" ="
names = st.one_of(
    st.sampled_from([*WORDS.split(), *sorted(RESERVED)]),
    st.text(min_size=1, max_size=6).map(str.lower).filter(lambda name: name == name.lower()),
)
aliases = st.one_of(
    st.sampled_from(["X", "topSpeed", "Rows", "late"]), st.from_regex(r"[A-Za-z$#_-]+", fullmatch=True)
)
maybe_alias = st.none() | aliases

amounts = st.decimals(min_value=0, max_value=10**6, places=3, allow_nan=False).map(Fraction)
units = st.sampled_from([unit for unit in Unit if unit.is_time])
time_spans = st.builds(Quantity, amounts.filter(bool), units)
quantities = st.one_of(
    time_spans,
    st.builds(Quantity, amounts.filter(bool)),
    st.builds(Quantity, st.integers(1, 10**6).map(Fraction), st.just(Unit.ROWS)),
)

texts = st.text(max_size=8)
literals = st.one_of(
    st.builds(Literal, st.integers(0, 10**37), st.just(LiteralKind.INTEGER)),
    st.builds(Literal, st.decimals(0, 10**6, places=4).map(Decimal), st.just(LiteralKind.DECIMAL)),
    st.builds(Literal, st.floats(0, 1e300), st.just(LiteralKind.DOUBLE)),
    st.builds(Literal, texts, st.sampled_from([LiteralKind.TEXT, LiteralKind.DATE, LiteralKind.TIMESTAMP])),
    st.builds(Literal, st.booleans(), st.just(LiteralKind.BOOLEAN)),
    st.just(Literal(None, LiteralKind.NULL)),
)
points = st.one_of(
    st.builds(Literal, st.integers(-(10**9), 10**9), st.just(LiteralKind.INTEGER)),
    st.builds(Literal, texts, st.just(LiteralKind.TEXT)),
)
attributes = st.builds(Name, names, st.none() | names)


def _compound(inner: st.SearchStrategy) -> st.SearchStrategy:  # type: ignore[type-arg]
    some = st.lists(inner, min_size=1, max_size=3).map(tuple)
    flag = st.booleans()
    operators = st.sampled_from(["+", "-", "*", "/", "%", "||", "=", "<>", "<", "<=", ">", ">=", "AND", "OR"])
    return st.one_of(
        st.builds(Unary, st.sampled_from(["-", "+", "NOT"]), inner),
        st.builds(Binary, operators, inner, inner),
        st.builds(Between, inner, inner, inner, flag),
        st.builds(InList, inner, some, flag),
        st.builds(Like, inner, inner, flag),
        st.builds(IsNull, inner, flag),
        st.builds(
            Case,
            st.none() | inner,
            st.lists(st.tuples(inner, inner), min_size=1, max_size=2).map(tuple),
            st.none() | inner,
        ),
        st.builds(Cast, inner, st.sampled_from(["integer", "decimal(10,2)", "timestamp"])),
        st.builds(Call, names, some, st.just(False), flag, st.none() | inner),
        st.builds(Call, names, st.just(()), flag),
    )


expressions = st.recursive(attributes | literals, _compound, max_leaves=6)

windows = st.builds(
    WindowClause,
    range=st.none() | quantities,
    slide=st.none() | quantities,
    wattr=st.none() | attributes,
    rattr=st.none() | attributes,
    sattr=st.none() | attributes | st.builds(Rank, attributes),
    origin=st.none() | points,
    pattr=st.lists(attributes, max_size=2).map(tuple),
    rows=st.none() | st.integers(1, 10**9),
    partition_by=st.lists(attributes, max_size=2).map(tuple),
    unbounded=st.booleans(),
    start_at=st.none() | points,
    end_at=st.none() | points,
    now=st.booleans(),
    lag=st.none() | quantities,
).filter(lambda window: window != WindowClause())

items = st.builds(SelectItem, expressions, maybe_alias) | st.builds(
    SelectItem, st.builds(Star, st.none() | names)
)
streams = st.builds(StreamSource, names, st.none() | windows, maybe_alias)


def _selects(sources: st.SearchStrategy) -> st.SearchStrategy:  # type: ignore[type-arg]
    return st.builds(
        Select,
        items=st.lists(items, min_size=1, max_size=3).map(tuple),
        sources=st.lists(sources, min_size=1, max_size=2).map(tuple),
        distinct=st.none() | st.sampled_from(Distinct),
        where=st.none() | expressions,
        group_by=st.lists(expressions, max_size=2).map(tuple),
        having=st.none() | expressions,
        join_timestamp=st.none() | st.sampled_from(JoinTimestamp),
    )


queries = st.recursive(
    _selects(streams),
    lambda inner: st.one_of(
        st.builds(SetOperation, st.sampled_from(SetKind), inner, inner),
        st.builds(RelationToStream, st.sampled_from(RelationToStreamKind), inner),
        _selects(st.builds(SubquerySource, inner, st.none() | windows, maybe_alias)),
    ),
    max_leaves=3,
)
punctuations = st.one_of(
    st.builds(SlackSpan, st.builds(Quantity, amounts, st.none() | units)),
    st.builds(SlackRows, st.integers(0, 10**6)),
    st.just(Archive()),
    st.builds(EachInOrder, st.lists(names, min_size=1, max_size=2).map(tuple), st.none() | time_spans),
    st.builds(Heartbeat, time_spans),
    st.just(End()),
)
statements = st.builds(Statement, queries, st.none() | punctuations, st.none() | st.sampled_from(Lateness))


@given(statements)
@settings(max_examples=80, deadline=None)
def test_printed_tree_reads_back_as_itself(statement: Statement) -> None:
    printed = canonical(statement)
    read = parse(printed)
    assert read == statement
    assert canonical(read) == printed


@given(st.text(max_size=40) | st.lists(st.sampled_from(PIECES.split(" "))).map(" ".join))
@settings(max_examples=100, deadline=None)
def test_any_text_parses_or_is_refused_with_a_remedy(text: str) -> None:
    error = refusal(text)
    if error is not None:
        assert error.summary.endswith(".")
        assert error.hint
        assert 1 <= error.line <= text.count("\n") + 1


def refusal(text: str) -> QueryError | None:
    try:
        parse(text)
    except QueryError as error:
        return error
    return None
