"""How a stream gets out of order: one function for each kind.

Each maps when a reading happened to when it arrives, in microseconds; the file is then in order of arrival,
and of happening among equals. Only broken clocks leave arrivals alone and falsify the timestamps instead.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from jobs.generator.randomness import Ints, draw_below, make_key, shuffle

SECOND = 1_000_000

# A purge takes less than the shortest block, so blocks never overlap.
PURGE = SECOND


class Disorder(StrEnum):
    """Kinds of disorder."""

    NONE = "none"
    BOUNDED = "bounded"
    BLOCKS = "blocks"
    SOURCES = "sources"
    CLOCKS = "clocks"


def arrive_at_once(happened: Ints) -> Ints:
    """`none`, and the arrivals under `clocks`: a reading arrives when it happens."""
    return happened


def arrive_within(happened: Ints, counter: Ints, *, seed: int, max_delay: int) -> Ints:
    """`bounded`: each reading has a delay of its own, uniform in [0, max_delay]."""
    return happened + draw_below(make_key(seed, "bounded delay"), counter, max_delay + 1)


def arrive_in_blocks(happened: Ints, counter: Ints, *, seed: int, block: int) -> Ints:
    """`blocks`: what happened in a block (counted from 1970) comes out mixed, in the second after its end."""
    block_end = (happened // block + 1) * block
    return block_end + draw_below(make_key(seed, "block purge"), counter, PURGE)


def arrive_by_source(
    happened: Ints, counter: Ints, source: Ints, *, seed: int, max_delay: int, interval: int
) -> Ints:
    """`sources`: each source has its constant delay and a jitter too small to overtake its next reading."""
    jitter = min(max_delay // 10, interval // 2)
    delay = draw_below(make_key(seed, "source delay"), source, max_delay - jitter + 1)
    return happened + delay + draw_below(make_key(seed, "source jitter"), counter, jitter + 1)


def break_clocks(sources: int, *, seed: int, broken: int) -> Ints:
    """`clocks`: how far each source's clock is ahead; 0 but for `broken` of them, in turn ahead and behind.

    Off by 2 minutes up to 4¼ hours, in whole seconds; doubling steps, so that minutes and hours both come up.
    """
    ahead = np.zeros(sources, dtype=np.int64)
    chosen = shuffle(make_key(seed, "broken clocks"), sources)[:broken]
    rank = np.arange(broken, dtype=np.int64)
    least = 120 << draw_below(make_key(seed, "clock scale"), rank, 7)
    seconds = least + draw_below(make_key(seed, "clock offset"), rank, 120) * least // 120
    ahead[chosen] = np.where(rank % 2 == 0, seconds, -seconds) * SECOND
    return ahead


def longest_delay(kind: Disorder, *, max_delay: int, block: int) -> int:
    """No reading arrives later than this after it happened."""
    match kind:
        case Disorder.NONE | Disorder.CLOCKS:
            return 0
        case Disorder.BOUNDED | Disorder.SOURCES:
            return max_delay
        case Disorder.BLOCKS:
            return block + PURGE
