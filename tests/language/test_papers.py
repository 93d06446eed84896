"""Every query that WID, UPDATE and PANES print, as printed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from schemas.language import QueryError, parse
from schemas.language.tree import (
    Binary,
    Call,
    Distinct,
    Expression,
    Literal,
    LiteralKind,
    Name,
    Rank,
    Select,
    SelectItem,
    Star,
    StreamSource,
    WindowClause,
)
from schemas.quantity import Quantity, Unit


def seconds(count: int) -> Quantity:
    return Quantity(Fraction(count), Unit.SECOND)


def minutes(count: int) -> Quantity:
    return Quantity(Fraction(count), Unit.MINUTE)


def rows(count: int) -> Quantity:
    return Quantity(Fraction(count), Unit.ROWS)


def items(*expressions: Expression | Star) -> tuple[SelectItem, ...]:
    return tuple(SelectItem(expression) for expression in expressions)


def call(function: str, argument: str, qualifier: str | None = None) -> Call:
    return Call(function, (Name(argument, qualifier),))


COUNT = Call("count", star=True)
SEGMENT = Name("seg-id")
PAST_HOUR = WindowClause(range=minutes(60), slide=minutes(1))
HOT = Binary(">=", Name("Temperature"), Literal(30, LiteralKind.INTEGER))

WID = {
    """Q1: SELECT      seg-id, max(speed), min(speed)
    FROM          Traffic [RANGE 300 seconds
                        SLIDE 60 seconds
                        WATTR ts]
    GROUP BY     seg-id
    """: Select(
        items(SEGMENT, call("max", "speed"), call("min", "speed")),
        (StreamSource("Traffic", WindowClause(range=seconds(300), slide=seconds(60), wattr=Name("ts"))),),
        group_by=(SEGMENT,),
    ),
    """Q2: SELECT      seg-id, count(*)
      FROM      Traffic [RANGE 1000 rows
                        SLIDE 10 rows
                        WATTR row-num]
      GROUP BY  seg-id
    """: Select(
        items(SEGMENT, COUNT),
        (StreamSource("Traffic", WindowClause(range=rows(1000), slide=rows(10), wattr=Name("row-num"))),),
        group_by=(SEGMENT,),
    ),
    """Q3: SELECT      seg-id, count(*)
      FROM      Traffic [RANGE 300 seconds
                        RATTR ts
                        SLIDE 1 row
                        SATTR row-num]
    """: Select(
        items(SEGMENT, COUNT),
        (
            StreamSource(
                "Traffic",
                WindowClause(range=seconds(300), rattr=Name("ts"), slide=rows(1), sattr=Name("row-num")),
            ),
        ),
    ),
    """Q4: SELECT      seg-id, count(*)
      FROM      Traffic [RANGE 1000 rows
                        SLIDE 10 rows
                        WATTR row-num
                        PATTR seg-id]
    """: Select(
        items(SEGMENT, COUNT),
        (
            StreamSource(
                "Traffic",
                WindowClause(range=rows(1000), slide=rows(10), wattr=Name("row-num"), pattr=(SEGMENT,)),
            ),
        ),
    ),
    """Q5: SELECT      seg-id, count(*)
      FROM      Traffic [RANGE 300 seconds
                        RATTR ts
                        SLIDE 5 rows
                        SATTR rank(ts)]
    """: Select(
        items(SEGMENT, COUNT),
        (
            StreamSource(
                "Traffic",
                WindowClause(range=seconds(300), rattr=Name("ts"), slide=rows(5), sattr=Rank(Name("ts"))),
            ),
        ),
    ),
}

UPDATE = {
    """Q1: SELECT AVG(Temperature)
     FROM Readings [RANGE 60 MINUTES SLIDE 1 MINUTE]
    """: Select(items(call("avg", "Temperature")), (StreamSource("Readings", PAST_HOUR),)),
    """Q2: SELECT * FROM Readings
     WHERE Temperature >= 30
    """: Select(items(Star()), (StreamSource("Readings"),), where=HOT),
    """[Q2']: SELECT *
        FROM Readings [RANGE 60 MINUTES SLIDE 1 MINUTE]
        WHERE Temperature >= 30
    """: Select(items(Star()), (StreamSource("Readings", PAST_HOUR),), where=HOT),
    """[Q3]: SELECT P.stationID, MAX(P.humidity), AVG(S.temperature)
FROM P [UNBOUNDED START AT '07:00:00'],
S [RANGE 60 MINUTES SLIDE 1 MINUTE]
WHERE P.stationID = S.stationID AND S.Temperature >= 30
GROUP BY P.stationID
    """: Select(
        items(Name("stationID", "P"), call("max", "humidity", "P"), call("avg", "temperature", "S")),
        (
            StreamSource("P", WindowClause(unbounded=True, start_at=Literal("07:00:00", LiteralKind.TEXT))),
            StreamSource("S", PAST_HOUR),
        ),
        where=Binary(
            "AND",
            Binary("=", Name("stationID", "P"), Name("stationID", "S")),
            Binary(">=", Name("Temperature", "S"), Literal(30, LiteralKind.INTEGER)),
        ),
        group_by=(Name("stationID", "P"),),
    ),
}

FILLED = {
    """[Q4]: SELECT DISTINCT protocol, localIP, remoteIP
      FROM NetTrace [ROWS 1000];
    """: Select(
        items(Name("protocol"), Name("localIP"), Name("remoteIP")),
        (StreamSource("NetTrace", WindowClause(rows=1000)),),
        distinct=Distinct.KEEP,
    ),
    """[Q5]: SELECT localIP, SUM(duration)
      FROM NetTrace [PARTITION BY protocol ROWS 1000]
      GROUP BY localIP;
    """: Select(
        items(Name("localIP"), call("sum", "duration")),
        (StreamSource("NetTrace", WindowClause(partition_by=(Name("protocol"),), rows=1000)),),
        group_by=(Name("localIP"),),
    ),
    """[Q6]: SELECT *
      FROM TraceA [RANGE 60 MINUTES SLIDE 1 MINUTE], TraceB [RANGE 60 MINUTES SLIDE 1 MINUTE]
      WHERE TraceA.localIP = TraceB.remoteIP;
    """: Select(
        items(Star()),
        (StreamSource("TraceA", PAST_HOUR), StreamSource("TraceB", PAST_HOUR)),
        where=Binary("=", Name("localIP", "TraceA"), Name("remoteIP", "TraceB")),
    ),
}

FOUR_MINUTES = WindowClause(range=minutes(4), slide=minutes(1), wattr=Name("timestamp"))
PANES = {
    """SELECT max(bid-price)
FROM bids[WATTR timestamp
          RANGE 4 minutes
          SLIDE 1 minute]
    """: Select(items(call("max", "bid-price")), (StreamSource("bids", FOUR_MINUTES),)),
    """SELECT max (bid-price)
FROM bids [WATTR timestamp
           RANGE 4 minutes
           SLIDE 1 tuple]
    """: Select(
        items(call("max", "bid-price")),
        (StreamSource("bids", WindowClause(range=minutes(4), slide=rows(1), wattr=Name("timestamp"))),),
    ),
    """SELECT count(*) FROM bids
GROUP BY item-id [WATTR timestamp
                  RANGE 4 minutes
                  SLIDE 1 minute]
    """: Select(items(COUNT), (StreamSource("bids", FOUR_MINUTES),), group_by=(Name("item-id"),)),
}


@pytest.mark.parametrize(
    ("printed", "meant"), [pair for paper in (WID, UPDATE, FILLED, PANES) for pair in paper.items()]
)
def test_query_as_printed_gives_its_tree(printed: str, meant: Select) -> None:
    statement = parse(printed)
    assert statement.query == meant
    assert statement.punctuation is None
    assert statement.lateness is None


@pytest.mark.parametrize("printed", [text for paper in (WID, UPDATE, FILLED, PANES) for text in paper])
def test_case_is_free(printed: str) -> None:
    lowered, raised = parse(printed.lower()), parse(printed.upper())
    from schemas.language import canonical

    assert canonical(lowered) == canonical(raised) == canonical(parse(printed))


def test_placeholder_for_a_window_is_refused() -> None:
    with pytest.raises(QueryError, match="a window does not begin with 'Window'"):
        parse("[Q4]: SELECT DISTINCT protocol FROM NetTrace [Window signature];")
