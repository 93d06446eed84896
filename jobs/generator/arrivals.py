"""Puts readings that come in order of happening into order of arrival, with a bounded carry-over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from jobs.generator.randomness import Ints


@dataclass(frozen=True)
class Arrivals:
    """Readings by slot (their place in order of happening) and when each arrives, in microseconds.

    A reading's other columns follow from its slot, so nothing else need be carried.
    """

    slot: Ints
    arrived: Ints

    def __len__(self) -> int:
        return len(self.slot)

    def part(self, begin: int, end: int | None = None) -> Arrivals:
        return Arrivals(self.slot[begin:end], self.arrived[begin:end])


def concatenate(parts: list[Arrivals]) -> Arrivals:
    """Joins parts end to end."""
    if len(parts) == 1:
        return parts[0]
    slots = [part.slot for part in parts] or [np.empty(0, dtype=np.int64)]
    instants = [part.arrived for part in parts] or [np.empty(0, dtype=np.int64)]
    return Arrivals(np.concatenate(slots), np.concatenate(instants))


def order_by_arrival(chunks: Iterable[tuple[Arrivals, int]]) -> Iterator[Arrivals]:
    """Yields the readings ordered by (arrived, slot).

    Chunks come in order of slot, each with its horizon: no reading of a later chunk arrives before it.
    What is carried over is what arrives at or after the horizon: no more than happens in the longest delay.
    """
    waiting = concatenate([])
    for chunk, horizon in chunks:
        together = concatenate([waiting, chunk])
        # Stable: of equal arrivals those carried over come first, and they have the lesser slots.
        order = np.argsort(together.arrived, kind="stable")
        ordered = Arrivals(together.slot[order], together.arrived[order])
        certain = int(np.searchsorted(ordered.arrived, horizon))
        waiting = ordered.part(certain)
        if certain:
            yield ordered.part(0, certain)
    if len(waiting):
        yield waiting


def cut_to_size(arrivals: Iterable[Arrivals], rows: int) -> Iterator[Arrivals]:
    """Yields the same readings in parts of exactly `rows`, the last shorter: chunk sizes leave no trace."""
    parts: list[Arrivals] = []
    held = 0
    for arrival in arrivals:
        rest = arrival
        while held + len(rest) >= rows:
            yield concatenate([*parts, rest.part(0, rows - held)])
            rest = rest.part(rows - held)
            parts, held = [], 0
        if len(rest):
            parts.append(rest)
            held += len(rest)
    if held:
        yield concatenate(parts)
