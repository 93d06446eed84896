"""The replay, declaratively: each window recomputed from its extent, each bound from the whole prefix."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from .answer import Fate, OracleAnswer, order_open, order_results
from .punctuation import EVERYTHING, Bound, Heard, Punctuation
from .query import Lateness, OracleQuery


class Replay:
    """One archive and one query; every method is a definition of SEMANTICS."""

    def __init__(self, heard: Heard, query: OracleQuery, close_at_end: bool) -> None:
        self.heard = heard
        self.query = query
        self.window = query.window
        self.close_at_end = close_at_end
        self.last = len(heard.arrivals)
        # remembered only because they are asked for again and again
        self.bound = cache(self.bound)
        self.closing_position = cache(self.closing_position)

    def bound(self, q: int, group: tuple) -> Bound:
        """bound(q), as far as it concerns the group."""
        return self.query.policy.bound(q, group, self.heard, self.window, self.query.group_by)

    def closing_position(self, i: int, group: tuple) -> int | None:
        """The position at which window i closes for the group; None if it stays open."""
        if self.window.by_rows:
            last_row = self.window.end(i) - 1
            return int(last_row) if last_row <= self.last else None
        end = self.window.end(i)
        for q in range(self.last + 1):
            bound = self.bound(q, group)
            if bound is not None and bound >= end:
                return q
        return self.last if self.close_at_end else None

    def wids(self, arrival: Mapping[str, Any]) -> list[int]:
        return self.window.wids(self.window.point_of(arrival))

    def missed(self, arrival: Mapping[str, Any]) -> list[int]:
        """The windows of the tuple that closed before it."""
        group = self.query.group_of(arrival)
        closings = {i: self.closing_position(i, group) for i in self.wids(arrival)}
        return [i for i, closing in closings.items() if closing is not None and closing < arrival["seq"]]

    def entered(self, arrival: Mapping[str, Any]) -> list[int]:
        """The windows that the tuple is on time for, under the query's policy, WHERE aside."""
        missed = self.missed(arrival)
        if missed and self.query.lateness is Lateness.CONSISTENT:
            return []
        return [i for i in self.wids(arrival) if i not in missed]

    def fate(self, arrival: Mapping[str, Any]) -> Fate:
        if not self.wids(arrival):
            return Fate.OUT_OF_RANGE
        if not self.entered(arrival):
            return Fate.LATE
        if self.missed(arrival):
            return Fate.PARTLY_LATE
        if not self.query.passes_where(arrival):
            return Fate.FILTERED
        return Fate.USED

    def late_row(self, arrival: Mapping[str, Any]) -> dict[str, Any]:
        missed = self.missed(arrival)
        bound = self.bound(arrival["seq"] - 1, self.query.group_of(arrival))
        return {
            "seq": arrival["seq"],
            "missed_from": min(missed),
            "missed_to": max(missed),
            "missed": len(missed),
            "behind": None
            if bound == EVERYTHING
            else self.window.axis.distance(bound - self.window.point_of(arrival)),
        }

    def content(self, i: int, group: tuple) -> list[Mapping[str, Any]]:
        """What window i holds for the group: in its extent, of the group, not dropped, passing WHERE."""
        points = [(arrival, self.window.point_of(arrival)) for arrival in self.heard.arrivals]
        return [
            arrival
            for arrival, a in points
            if a is not None
            and self.window.extent_holds(i, a)
            and self.query.group_of(arrival) == group
            and i in self.entered(arrival)
            and self.query.passes_where(arrival)
        ]

    def result_row(
        self, i: int, group: tuple, content: list[Mapping[str, Any]], closing: int
    ) -> dict[str, Any]:
        window, axis = self.window, self.window.axis
        row = {
            "window_id": i,
            "window_start": axis.value(window.start(i)),
            "window_end": axis.value(window.end(i)),
            **dict(zip(self.query.group_by, group, strict=True)),
            **{each.column: each.over(content, self.query.attributes) for each in self.query.aggregates},
        }
        if window.by_rows:
            row |= {"admitted": int(window.end(i) - 1), "expires_order": int(window.end(i + 1) - 1)}
        else:
            row |= {"valid_from": axis.value(window.end(i)), "expires_at": axis.value(window.end(i + 1))}
        return row | {
            "released_seq": closing,
            "released_at": self.heard.arrivals[closing - 1]["arrived_at"],
        }

    def answer(self) -> OracleAnswer:
        arrivals = self.heard.arrivals
        # only windows that contain a tuple can have an answer
        candidates = {(i, self.query.group_of(arrival)) for arrival in arrivals for i in self.wids(arrival)}
        results, open_windows = [], []
        for i, group in candidates:
            content = self.content(i, group)
            closing = self.closing_position(i, group)
            if content and closing is None:
                open_windows.append((group, i))
            elif content:
                results.append(self.result_row(i, group, content, closing))
        return OracleAnswer(
            results=order_results(results, self.query.group_by),
            late=[self.late_row(arrival) for arrival in arrivals if self.missed(arrival)],
            fates={arrival["seq"]: self.fate(arrival) for arrival in arrivals},
            open_windows=order_open(open_windows),
        )


def replay(
    arrivals: Sequence[Mapping[str, Any]],
    punctuations: Sequence[Punctuation],
    query: OracleQuery,
    until: int | None = None,
    close_at_end: bool = False,
) -> OracleAnswer:
    """The answer of the query over the archive, cut after tuple `until` (punctuations at it count)."""
    heard = Heard(arrivals, punctuations)
    heard.check()
    return Replay(heard.up_to(until), query, close_at_end).answer()
