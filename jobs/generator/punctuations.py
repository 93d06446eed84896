"""True promises about a stream that is already known: each stands where it first holds.

For every minute of event time that has readings: "no later tuple has ts before the next such minute". That
holds from the last arrival among all readings before that minute, which is a running maximum of `seq` taken
in order of happening. A promise speaks of the whole stream, or of one source, as when sensors punctuate.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from jobs.generator.disorder import SECOND
from jobs.generator.randomness import Ints

MINUTE = 60 * SECOND


class PunctuationScope(StrEnum):
    """Of whom a punctuation speaks."""

    STREAM = "stream"
    SOURCE = "source"


@dataclass(frozen=True)
class Punctuations:
    """Promises by `seq`: after that tuple none of `source` has ts < `to`. Instants in microseconds."""

    seq: Ints
    source: Ints
    to: Ints
    arrived: Ints

    def __len__(self) -> int:
        return len(self.seq)


# Rows of the working array, one column a tuple.
_SOURCE, _SLOT, _HAPPENED, _TS, _SEQ, _ARRIVED = range(6)


def _nothing(rows: int) -> Ints:
    return np.empty((rows, 0), dtype=np.int64)


class Punctuator:
    """Sees tuples in arrival order, and gives out punctuations in order of `seq` once they are certain.

    Holds the tuples of the last `longest_delay`, one tuple for each source, and the punctuations since the
    source longest silent was heard.
    """

    def __init__(self, longest_delay: int) -> None:
        self._longest_delay = longest_delay
        self._unsettled = _nothing(6)
        self._last = _nothing(6)
        self._ready = _nothing(4)
        self._seen = 0
        self._latest = 0

    def observe(self, source: Ints, slot: Ints, happened: Ints, ts: Ints, arrived: Ints) -> Punctuations:
        """Takes the next tuples (`source` is 0 in the scope of the stream); returns what is certain now."""
        seq = np.arange(self._seen + 1, self._seen + len(slot) + 1, dtype=np.int64)
        tuples = np.concatenate(
            [self._unsettled, np.stack([source, slot, happened, ts, seq, arrived])], axis=1, dtype=np.int64
        )
        self._seen += len(slot)
        self._latest = max(self._latest, int(happened.max()))
        # All that happened before this has arrived: what is to come arrives no earlier than the last did.
        settled = tuples[_HAPPENED] < arrived[-1] - self._longest_delay
        self._unsettled = tuples[:, ~settled]
        self._promise(tuples[:, settled])
        # A source's next promise stands at or after its greatest seq: below all of these nothing is added.
        heard = np.concatenate([self._last[_SEQ], self._unsettled[_SEQ]])
        certain = int(heard.min(initial=self._seen + 1))
        return self._release(certain)

    def finish(self) -> Punctuations:
        """The rest: at its last tuple each source is done up to the end of the stream, by its own clock."""
        self._promise(self._unsettled)
        self._unsettled = _nothing(6)
        ahead = self._last[_TS] - self._last[_HAPPENED]
        end = ((self._latest + ahead) // MINUTE + 1) * MINUTE
        finals = np.stack([self._last[_SEQ], self._last[_SOURCE], end, self._last[_ARRIVED]])
        self._ready = np.concatenate([self._ready, finals], axis=1)
        return self._release(self._seen + 1)

    def _promise(self, settled: Ints) -> None:
        tuples = np.concatenate([self._last, settled], axis=1)
        if not tuples.shape[1]:
            return
        tuples = tuples[:, np.lexsort((tuples[_SLOT], tuples[_SOURCE]))]
        # One running maximum for all sources: a source's values lie above those of the source before it.
        above = tuples[_SOURCE] * np.int64(self._seen + 1)
        greatest = np.maximum.accumulate(tuples[_SEQ] + above)
        rises = np.concatenate([[True], greatest[1:] != greatest[:-1]])
        place = np.maximum.accumulate(np.where(rises, np.arange(len(greatest)), 0))
        tuples[_SEQ], tuples[_ARRIVED] = tuples[_SEQ][place], tuples[_ARRIVED][place]
        minute = tuples[_TS] // MINUTE
        same_source = tuples[_SOURCE][1:] == tuples[_SOURCE][:-1]
        turns = np.flatnonzero(same_source & (minute[1:] > minute[:-1]))
        fresh = np.stack(
            [tuples[_SEQ][turns], tuples[_SOURCE][turns], minute[turns + 1] * MINUTE, tuples[_ARRIVED][turns]]
        )
        self._ready = np.concatenate([self._ready, fresh], axis=1)
        self._last = tuples[:, np.append(np.flatnonzero(~same_source), tuples.shape[1] - 1)]

    def _release(self, below: int) -> Punctuations:
        certain = self._ready[0] < below
        released = self._ready[:, certain]
        self._ready = self._ready[:, ~certain]
        released = released[:, np.lexsort((released[2], released[0]))]
        return Punctuations(*released)
