"""The traffic stream: speed sensors on road segments, deterministic by seed, in any disorder.

The readings depend on the seed and the sensors only: the same specification under another disorder gives the
same readings in another order (but for the timestamps that broken clocks falsify).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa

from jobs.generator import disorder as kinds
from jobs.generator.arrivals import Arrivals, cut_to_size, order_by_arrival
from jobs.generator.disorder import Disorder
from jobs.generator.output import Output
from jobs.generator.punctuations import Punctuations, PunctuationScope, Punctuator
from jobs.generator.randomness import Ints
from jobs.generator.sensors import Sensors
from schemas.errors import SluiceError

# Rows of a batch and of a Parquet row group; part of what makes files byte-identical, unlike CHUNK_SLOTS.
BATCH_ROWS = 1 << 18
CHUNK_SLOTS = 1 << 18
SOURCE = "seg-id"
SCHEMA = pa.schema(
    [
        pa.field("seg-id", pa.int32(), nullable=False),
        pa.field("speed", pa.float64(), nullable=False),
        pa.field("vehicle_count", pa.int32(), nullable=False),
        pa.field("ts", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("received_at", pa.timestamp("us", tz="UTC"), nullable=False),
    ]
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_MOST_SEGMENTS = 1_000_000
_MOST_MISSING = 0.9
_FIRST_YEAR = 1971


@dataclass(frozen=True)
class TrafficSpec:
    """What to generate. Equal specifications give equal bytes.

    `max_delay` counts for `bounded` and `sources`, `block` for `blocks`, `broken_clocks` for `clocks`.
    No scope: each source for `clocks`, where one bad clock would hold back the whole stream, else the stream.
    """

    rows: int
    segments: int = 200
    disorder: Disorder = Disorder.NONE
    seed: int = 0
    start: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    interval: timedelta = timedelta(seconds=20)
    max_delay: timedelta = timedelta(seconds=60)
    missing: float = 0.02
    block: timedelta = timedelta(seconds=60)
    broken_clocks: int = 3
    punctuation_scope: PunctuationScope | None = None

    def __post_init__(self) -> None:
        _normalise(self)
        _check_numbers(self)
        _check_times(self)

    @property
    def scope(self) -> PunctuationScope:
        """Of whom the punctuations speak."""
        by_kind = PunctuationScope.SOURCE if self.disorder is Disorder.CLOCKS else PunctuationScope.STREAM
        return self.punctuation_scope or by_kind


@dataclass(frozen=True)
class Generated:
    """What came out: counts, the least and greatest `ts`, and the files of rows in order."""

    rows: int
    punctuations: int
    first_ts: datetime
    last_ts: datetime
    paths: tuple[Path, ...]


def generate(
    spec: TrafficSpec,
    out: str | Path,
    punctuations: str | Path | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    chunk_slots: int = CHUNK_SLOTS,
) -> Generated:
    """Writes the stream to `out`, and its punctuations if a path is given; tells `progress` the rows done."""
    maker = _Maker(spec, chunk_slots)
    punctuator = Punctuator(maker.longest_delay)
    source = SOURCE if spec.scope is PunctuationScope.SOURCE else None
    rows = promises = 0
    least, greatest = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    with Output(out, SCHEMA, spec.rows, punctuations) as files:
        for arrivals in maker.arrivals():
            ts = maker.timestamp(arrivals.slot)
            files.write(maker.batch(arrivals))
            if punctuations is not None:
                found = maker.observe(punctuator, arrivals)
                files.promise(found, source)
                promises += len(found)
            rows += len(arrivals)
            least, greatest = min(least, int(ts.min())), max(greatest, int(ts.max()))
            if progress is not None:
                progress(rows)
        if punctuations is not None:
            found = punctuator.finish()
            files.promise(found, source)
            promises += len(found)
    return Generated(rows, promises, _instant(least), _instant(greatest), files.paths)


def batches(spec: TrafficSpec, *, chunk_slots: int = CHUNK_SLOTS) -> Iterator[pa.RecordBatch]:
    """The same rows in file order, in batches of BATCH_ROWS; `chunk_slots` changes memory and speed only."""
    maker = _Maker(spec, chunk_slots)
    return map(maker.batch, maker.arrivals())


def declaration() -> str:
    """The stream's declaration, as a project folder holds it."""
    return resources.files("jobs.generator").joinpath("traffic.yaml").read_text(encoding="utf-8")


class _Maker:
    """A specification at work: from slots to arrivals to columns."""

    def __init__(self, spec: TrafficSpec, chunk_slots: int) -> None:
        self._spec = spec
        self._chunk_slots = chunk_slots
        self._max_delay, self._block = _microseconds(spec.max_delay), _microseconds(spec.block)
        self._sensors = Sensors(
            seed=spec.seed,
            segments=spec.segments,
            start=(spec.start - _EPOCH) // _SECOND,
            interval=spec.interval // _SECOND,
            missing=spec.missing,
        )
        self.longest_delay = kinds.longest_delay(spec.disorder, max_delay=self._max_delay, block=self._block)
        broken = spec.broken_clocks if spec.disorder is Disorder.CLOCKS else 0
        self._clock_ahead = kinds.break_clocks(spec.segments, seed=spec.seed, broken=broken)

    def arrivals(self) -> Iterator[Arrivals]:
        """All readings in file order."""
        return cut_to_size(order_by_arrival(self._chunks()), BATCH_ROWS)

    def timestamp(self, slot: Ints) -> Ints:
        """`ts`, by the segment's own clock."""
        return self._sensors.happened(slot) + self._clock_ahead[self._sensors.segment(slot)]

    def batch(self, arrivals: Arrivals) -> pa.RecordBatch:
        """The rows of a part of the file."""
        slot = arrivals.slot
        rush = self._sensors.rush(slot)
        columns = [
            (self._sensors.segment(slot) + 1).astype(np.int32),
            self._sensors.speed(slot, rush),
            self._sensors.vehicle_count(slot, rush),
            self.timestamp(slot),
            arrivals.arrived,
        ]
        arrays = [pa.array(column).cast(field.type) for column, field in zip(columns, SCHEMA, strict=True)]
        return pa.record_batch(arrays, schema=SCHEMA)

    def observe(self, punctuator: Punctuator, arrivals: Arrivals) -> Punctuations:
        """Shows a part of the file to the punctuator, in the scope that is asked for."""
        slot = arrivals.slot
        by_source = self._spec.scope is PunctuationScope.SOURCE
        source = self._sensors.segment(slot) + 1 if by_source else np.zeros_like(slot)
        return punctuator.observe(
            source, slot, self._sensors.happened(slot), self.timestamp(slot), arrivals.arrived
        )

    def _chunks(self) -> Iterator[tuple[Arrivals, int]]:
        wanted, first = self._spec.rows, 0
        while wanted:
            scheduled = np.arange(first, first + self._chunk_slots, dtype=np.int64)
            first += self._chunk_slots
            slot = scheduled[self._sensors.reported(scheduled)][:wanted]
            wanted -= len(slot)
            # Nothing arrives before it happens, so nothing of the next chunk before its first slot.
            horizon = int(self._sensors.happened(np.array([first], dtype=np.int64))[0])
            yield Arrivals(slot, self._arrived(slot)), horizon

    def _arrived(self, slot: Ints) -> Ints:
        happened, seed = self._sensors.happened(slot), self._spec.seed
        match self._spec.disorder:
            case Disorder.NONE | Disorder.CLOCKS:
                return kinds.arrive_at_once(happened)
            case Disorder.BOUNDED:
                return kinds.arrive_within(happened, slot, seed=seed, max_delay=self._max_delay)
            case Disorder.BLOCKS:
                return kinds.arrive_in_blocks(happened, slot, seed=seed, block=self._block)
            case Disorder.SOURCES:
                segment, interval = self._sensors.segment(slot), _microseconds(self._spec.interval)
                return kinds.arrive_by_source(
                    happened, slot, segment, seed=seed, max_delay=self._max_delay, interval=interval
                )


def _normalise(spec: TrafficSpec) -> None:
    """Words become members of their enums, a start without a zone is in UTC."""
    try:
        object.__setattr__(spec, "disorder", Disorder(spec.disorder))
    except ValueError:
        _refuse(f"There is no disorder {spec.disorder!r}.", f"Choose one of {', '.join(Disorder)}.")
    if spec.punctuation_scope is not None:
        try:
            object.__setattr__(spec, "punctuation_scope", PunctuationScope(spec.punctuation_scope))
        except ValueError:
            choices = " or ".join(PunctuationScope)
            _refuse(f"Punctuations cannot be by {spec.punctuation_scope!r}.", f"Choose {choices}.")
    zoned = spec.start if spec.start.tzinfo else spec.start.replace(tzinfo=UTC)
    object.__setattr__(spec, "start", zoned.astimezone(UTC))


def _check_numbers(spec: TrafficSpec) -> None:
    if spec.rows < 1:
        _refuse(f"Cannot generate {spec.rows} rows.", "Ask for 1 or more.")
    if not 1 <= spec.segments <= _MOST_SEGMENTS:
        _refuse(f"Cannot have {spec.segments} segments.", f"Ask for 1 to {_MOST_SEGMENTS:,}.")
    if not 0 <= spec.missing <= _MOST_MISSING:
        _refuse(f"A share of {spec.missing} missing is out of range.", f"Give one from 0 to {_MOST_MISSING}.")
    if spec.disorder is not Disorder.CLOCKS:
        return
    if not 1 <= spec.broken_clocks < spec.segments:
        _refuse(
            f"{spec.broken_clocks} of {spec.segments} segments cannot have the broken clocks.",
            "Ask for at least one broken clock, and for more segments than that.",
        )
    if spec.punctuation_scope is PunctuationScope.STREAM:
        _refuse(
            "With broken clocks the whole stream can promise nothing for hours.",
            "Punctuate by source, or choose another disorder.",
        )


def _check_times(spec: TrafficSpec) -> None:
    for name, span in (("interval", spec.interval), ("block", spec.block)):
        if span < _SECOND or span % _SECOND:
            _refuse(
                f"The {name} is {span}.", "Give whole seconds, 1 or more: the stream's granule is a second."
            )
    if spec.max_delay < timedelta(0):
        _refuse(f"The greatest delay is {spec.max_delay}.", "Give 0 or more.")
    if spec.start.microsecond or spec.start.year < _FIRST_YEAR:
        _refuse(f"The start is {spec.start.isoformat()}.", f"Give a whole second, {_FIRST_YEAR} or later.")
    # Twice over, since outages come by chance; a spare day for delays and clocks.
    rounds = 2 * spec.rows / (1 - spec.missing) / spec.segments + 2
    left = datetime(9999, 1, 1, tzinfo=UTC) - spec.start - spec.max_delay - spec.block - timedelta(days=1)
    if rounds * spec.interval.total_seconds() > left.total_seconds():
        _refuse(
            f"{spec.rows:,} rows of {spec.segments} segments every {spec.interval} pass the year 9999.",
            "Ask for fewer rows, more segments, a shorter interval or an earlier start.",
        )


def _refuse(problem: str, remedy: str) -> NoReturn:
    raise SluiceError(problem, remedy) from None


def _microseconds(span: timedelta) -> int:
    return span // timedelta(microseconds=1)


def _instant(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)
