"""Reordering as a stream: right in any chunking, with no more carried over than the delay makes necessary."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from jobs.generator.arrivals import Arrivals, cut_to_size, order_by_arrival
from jobs.generator.randomness import draw_bell, draw_below, draw_unit, make_key, shuffle


def chunked(arrived: np.ndarray, size: int, fed: list[int]) -> Iterator[tuple[Arrivals, int]]:
    """Readings happen at 0, 1, 2, …; `fed` counts what was handed out."""
    for begin in range(0, len(arrived), size):
        part = arrived[begin : begin + size]
        fed[0] += len(part)
        yield Arrivals(np.arange(begin, begin + len(part)), part), begin + size


@pytest.mark.parametrize("size", [1, 7, 100, 5_000])
def test_oracle_order_is_by_arrival_then_slot(size: int) -> None:
    slot = np.arange(2_000)
    arrived = slot + draw_below(make_key(0, "test"), slot, 50)
    ordered = list(order_by_arrival(chunked(arrived, size, [0])))
    found = [pair for part in ordered for pair in zip(part.arrived.tolist(), part.slot.tolist(), strict=True)]
    assert found == sorted(zip(arrived.tolist(), slot.tolist(), strict=True))


def test_no_more_is_carried_than_happens_in_the_longest_delay() -> None:
    slot = np.arange(200_000)
    delay, size = 500, 1_000
    arrived = slot + draw_below(make_key(0, "test"), slot, delay + 1)
    fed, given, most = [0], 0, 0
    for part in order_by_arrival(chunked(arrived, size, fed)):
        given += len(part)
        most = max(most, fed[0] - given)
    assert 0 < most <= delay
    assert given == 200_000


@pytest.mark.parametrize("rows", [1, 3, 10, 11, 100])
def test_parts_are_of_the_size_asked_for(rows: int) -> None:
    slot = np.arange(25)
    arrivals = [Arrivals(slot[a:b], slot[a:b]) for a, b in ((0, 4), (4, 4), (4, 17), (17, 25))]
    parts = list(cut_to_size(arrivals, rows))
    assert [len(part) for part in parts] == [rows] * (25 // rows) + [25 % rows] * bool(25 % rows)
    assert np.concatenate([part.slot for part in parts]).tolist() == slot.tolist()


def test_draws_depend_on_their_counter_alone_and_are_spread() -> None:
    key, counter = make_key(7, "test"), np.arange(100_000)
    unit = draw_unit(key, counter)
    assert (unit[500:600] == draw_unit(key, counter[500:600])).all()
    assert unit.mean() == pytest.approx(0.5, abs=0.01)
    assert np.corrcoef(unit[:-1], unit[1:])[0, 1] == pytest.approx(0, abs=0.02)
    bell = draw_bell(key, counter)
    assert (bell.mean(), bell.std()) == pytest.approx((0, 1), abs=0.02)
    assert sorted(shuffle(key, 50).tolist()) == list(range(50)) != shuffle(key, 50).tolist()
    assert set(draw_below(key, counter, 6).tolist()) == set(range(6))


def test_the_numbers_are_those_of_splitmix64() -> None:
    # The reference generator seeded with 0 gives this as its first output (counter 1, since it steps first).
    first = draw_unit(np.uint64(0), np.array([1]))
    assert first[0] == (0xE220A8397B1DCDAF >> 11) * 2.0**-53
