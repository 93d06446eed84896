"""What the traffic sensors read: every column a pure function of the slot.

Slots number the scheduled reports in order of time: in each round every segment has one, at its own second of
the interval. So a segment's reports are an interval apart, and (seg-id, ts) is unique.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jobs.generator.disorder import SECOND
from jobs.generator.randomness import Floats, Ints, draw, draw_bell, draw_unit, make_key, shuffle

DAY = 24 * 60 * 60
# Morning and evening: the middle and the half-width of each peak, in minutes of the day.
RUSH_HOURS = ((8 * 60, 120), (17 * 60 + 30, 150))

# Outages are drawn once for each segment and stretch of this many rounds: 10 minutes at 20 seconds.
OUTAGE_ROUNDS = 30
_EDGES = OUTAGE_ROUNDS + 1
# The share of a stretch that lies, in the mean, between two of its edges drawn at random.
_MEAN_OUTAGE = (_EDGES * _EDGES - 1) / (3 * _EDGES * OUTAGE_ROUNDS)


def rush_by_minute() -> Floats:
    """How much of the rush there is at each minute of the day, from 0 to 1."""
    minute = np.arange(24 * 60, dtype=np.float64)
    rush = np.zeros(24 * 60)
    for middle, half_width in RUSH_HOURS:
        away = np.minimum(np.abs(minute - middle) / half_width, 1.0)
        flank = 1.0 - away * away
        rush = np.maximum(rush, flank * flank)
    return rush


class Sensors:
    """One sensor a segment. `start` and `interval` in whole seconds; `missing` is the share not reported."""

    def __init__(self, *, seed: int, segments: int, start: int, interval: int, missing: float) -> None:
        self.segments = segments
        self._start = start
        self._interval = interval
        every = np.arange(segments, dtype=np.int64)
        self._turn = shuffle(make_key(seed, "turn"), segments)
        self._second = every * interval // segments
        self._free_flow = 45.0 + 30.0 * draw_unit(make_key(seed, "free flow"), every)
        self._slowdown = 0.3 + 0.4 * draw_unit(make_key(seed, "slowdown"), every)
        self._vehicles = (2.0 + 8.0 * draw_unit(make_key(seed, "vehicles"), every)) * (interval / 20.0)
        # Some segments have their rush sooner, some later: by up to 20 minutes.
        self._rush_shift = (2400.0 * draw_unit(make_key(seed, "rush shift"), every)).astype(np.int64) - 1200
        self._rush = rush_by_minute()
        self._speed_key = make_key(seed, "speed")
        self._vehicles_key = make_key(seed, "vehicle count")
        # Half of what is missing goes in outages, as far as these can be so many; the rest one by one.
        outages = min(1.0, missing / 2 / _MEAN_OUTAGE)
        alone = (missing - outages * _MEAN_OUTAGE) / (1.0 - outages * _MEAN_OUTAGE)
        self._outages = np.uint64(int(outages * 2**32))
        self._lost = alone
        self._outage_key = make_key(seed, "outage")
        self._lost_key = make_key(seed, "lost")

    def segment(self, slot: Ints) -> Ints:
        """Which segment reports, from 0."""
        return self._turn[slot % self.segments]

    def happened(self, slot: Ints) -> Ints:
        """The true time of the report, in microseconds."""
        turn, place = np.divmod(slot, self.segments)
        return (self._start + turn * self._interval + self._second[place]) * SECOND

    def reported(self, slot: Ints) -> NDArray[np.bool_]:
        """Whether the report was made at all: not in an outage of its segment, and not lost alone."""
        turn = slot // self.segments
        stretch, place = np.divmod(turn, OUTAGE_ROUNDS)
        bits = draw(self._outage_key, stretch * self.segments + self.segment(slot))
        edges = np.uint64(_EDGES)
        one = ((bits & np.uint64(0xFFFF)) * edges >> np.uint64(16)).astype(np.int64)
        other = ((bits >> np.uint64(16) & np.uint64(0xFFFF)) * edges >> np.uint64(16)).astype(np.int64)
        between = (place >= np.minimum(one, other)) & (place < np.maximum(one, other))
        out = between & (bits >> np.uint64(32) < self._outages)
        return ~out & (draw_unit(self._lost_key, slot) >= self._lost)

    def rush(self, slot: Ints) -> Floats:
        """How much of the rush the segment has at that time."""
        second = self.happened(slot) // SECOND + self._rush_shift[self.segment(slot)]
        by_minute: Floats = self._rush[second % DAY // 60]
        return by_minute

    def speed(self, slot: Ints, rush: Floats) -> Floats:
        """Miles an hour, in tenths: free flow less the rush, and noise that grows with it."""
        segment = self.segment(slot)
        flow = self._free_flow[segment] * (1.0 - self._slowdown[segment] * rush)
        noisy = flow + (2.0 + 3.0 * rush) * draw_bell(self._speed_key, slot)
        return np.rint(np.maximum(noisy, 2.0) * 10.0) / 10.0

    def vehicle_count(self, slot: Ints, rush: Floats) -> NDArray[np.int32]:
        """Vehicles since the report before: few at night, about four times as many in the rush."""
        mean = self._vehicles[self.segment(slot)] * (0.3 + 0.9 * rush)
        counted = np.rint(mean * (1.0 + 0.35 * draw_bell(self._vehicles_key, slot)))
        return np.maximum(counted, 0.0).astype(np.int32)
