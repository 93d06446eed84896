"""Archived punctuations: lines `{"seq": n, "pattern": {…}, "arrived_at": …}`, put in one spelling.

A line that cannot be understood goes to the quarantine: a promise left out only delays answers. One that
stands where the stream can no longer be changed is refused, and nothing of the ingest lands.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

import pyarrow as pa

from lakehouse.ingest.arrow_types import is_nested
from lakehouse.ingest.batch import BadRow
from lakehouse.ingest.convert import convert, reason
from lakehouse.ingest.records import ByteStream, read_blocks
from schemas.errors import SluiceError
from schemas.stream import Attribute, Stream

_KEYS = ("seq", "pattern", "arrived_at")
_RANGE_KEYS = ("from", "to", "from_open", "to_closed")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class ArchivedPunctuation:
    """One punctuation. `pattern` is JSON: attributes as declared, values of their types."""

    seq: int
    pattern: str
    arrived_at: int | None
    line: int
    raw: str


def read_punctuations(stream: Stream, source: ByteStream) -> Iterator[ArchivedPunctuation | BadRow]:
    """Each line that is not blank, understood or not."""
    for block in read_blocks(source, None):
        yield from block.broken
        for place in range(len(block)):
            text, line = block.text(place), int(block.lines[place])
            try:
                yield _understand(stream, text, line)
            except ValueError as error:
                yield BadRow(line, text, str(error))


class Placement:
    """Where punctuations may stand: from the last tuple before this ingest to the last one after it."""

    def __init__(
        self,
        last_before: int,
        last_after: int,
        carried: int | None,
        arrived_at: Callable[[int], int | None],
    ) -> None:
        self._before, self._after, self._carried = last_before, last_after, carried
        self._arrived_at = arrived_at
        self._previous: tuple[int, int] | None = None
        self.latest = carried

    def check(self, punctuation: ArchivedPunctuation, path: str) -> None:
        where = f"{path}, line {punctuation.line}: the punctuation has seq {punctuation.seq}"
        if punctuation.seq < self._before:
            raise SluiceError(
                f"{where}, but tuples up to {self._before} were archived before this ingest, and a promise"
                " about them comes too late. Nothing of this ingest landed.",
                f"Give it a seq of at least {self._before}, or ingest it together with its rows.",
            )
        if punctuation.seq > self._after:
            raise SluiceError(
                f"{where}, but the last tuple is {self._after}. Nothing of this ingest landed.",
                "Ingest the rows before it first, or with it: sluice ingest STREAM PATH --punctuations PATH.",
            )

    def settle(self, punctuation: ArchivedPunctuation) -> int | None:
        """When it arrived: between the tuples around it, and not before one that stands at the same place."""
        seq = punctuation.seq
        tuple_before = self._carried if seq == self._before else self._arrived_at(seq)
        tuple_after = self._arrived_at(seq + 1)
        arrived = punctuation.arrived_at
        if arrived is None:
            arrived = tuple_before if tuple_before is not None else tuple_after
        if arrived is None:
            return None
        floors = [tuple_before]
        if self._previous and self._previous[0] == seq:
            floors.append(self._previous[1])
        arrived = max([arrived, *(floor for floor in floors if floor is not None)])
        if tuple_after is not None:
            arrived = min(arrived, tuple_after)
        self._previous = (seq, arrived)
        self.latest = arrived if self.latest is None else max(self.latest, arrived)
        return arrived


def punctuations_table(rows: list[tuple[ArchivedPunctuation, int | None]], path: str) -> pa.Table:
    instants = pa.array([arrived for _, arrived in rows], pa.int64()).cast(pa.timestamp("us", "UTC"))
    return pa.table(
        {
            "seq": pa.array([p.seq for p, _ in rows], pa.int64()),
            "arrived_at": instants,
            "pattern": pa.array([p.pattern for p, _ in rows], pa.string()),
            "source_file": pa.array([path] * len(rows), pa.string()),
            "source_line": pa.array([p.line for p, _ in rows], pa.int64()),
        }
    )


def _understand(stream: Stream, text: str, line: int) -> ArchivedPunctuation:
    try:
        loaded = json.loads(text, parse_float=Decimal, parse_constant=_no_constant)
        text.encode()
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not valid JSON: {error}") from None
    if not isinstance(loaded, dict):
        raise ValueError("not a JSON object")
    _only_keys(loaded, _KEYS, "a punctuation")
    seq = loaded.get("seq")
    if type(seq) is not int or not 0 <= seq < 2**63:
        raise ValueError(f"seq: {_shown(seq)} is no position of a tuple")
    pattern = loaded.get("pattern")
    if not isinstance(pattern, dict):
        raise ValueError(f"pattern: {_shown(pattern)} is no mapping of attributes")
    arrived = loaded.get("arrived_at")
    if arrived is not None:
        arrived = (_convert(arrived, Attribute("arrived_at", "timestamp")) - _EPOCH) // timedelta(
            microseconds=1
        )
    return ArchivedPunctuation(seq, _canonical(stream, pattern), arrived, line, text)


def _canonical(stream: Stream, pattern: Mapping[str, Any]) -> str:
    entries: dict[str, Any] = {}
    for name, entry in pattern.items():
        attribute = stream.find(name)
        if attribute is None:
            near = get_close_matches(name, stream.names, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; it has {', '.join(stream.names)}"
            raise ValueError(f"{name}: stream {stream.name} has no such attribute{hint}")
        if attribute.name in entries:
            raise ValueError(f"{name}: given twice")
        if is_nested(attribute.type):
            raise ValueError(f"{name}: a pattern cannot hold {attribute.type}")
        entries[attribute.name] = _entry(entry, attribute)
    ordered = {name: entries[name] for name in stream.names if name in entries}
    return json.dumps(ordered, ensure_ascii=False, allow_nan=False)


def _entry(entry: Any, attribute: Attribute) -> Any:
    if isinstance(entry, list):
        values = {_convert(value, attribute) for value in entry}
        if not values:
            raise ValueError(f"{attribute.name}: an empty list matches nothing")
        return [_spell(value) for value in sorted(values)]
    if not isinstance(entry, dict):
        return _spell(_convert(entry, attribute))
    _only_keys(entry, _RANGE_KEYS, "a range")
    ends = {end: _convert(entry[end], attribute) for end in ("from", "to") if entry.get(end) is not None}
    if not ends:
        raise ValueError(f"{attribute.name}: a range has a `from`, a `to` or both")
    for flag in ("from_open", "to_closed"):
        if not isinstance(entry.get(flag, False), bool):
            raise ValueError(f"{attribute.name}: {flag} is true or false, not {_shown(entry[flag])}")
    if len(ends) == 2 and ends["from"] > ends["to"]:
        raise ValueError(f"{attribute.name}: the range ends before it begins")
    spelled: dict[str, Any] = {end: _spell(value) for end, value in ends.items()}
    return spelled | {flag: True for flag in ("from_open", "to_closed") if entry.get(flag)}


def _convert(value: Any, attribute: Attribute) -> Any:
    if value is None:
        raise ValueError(f"{attribute.name}: null is no constant; leave the attribute out for anything")
    try:
        if isinstance(value, dict | list):
            raise TypeError
        converted, bad = convert(pa.array([value]), attribute.type)
    except (TypeError, OverflowError, pa.ArrowException):
        raise ValueError(reason(attribute.name, _Shown(value), attribute.type)) from None
    found = converted[0].as_py()
    if bad[0] or found is None or (isinstance(found, float) and not math.isfinite(found)):
        raise ValueError(reason(attribute.name, value, attribute.type))
    return found


def _spell(value: Any) -> Any:
    """A value in JSON: instants in UTC, decimals as text so that they stay exact."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


class _Shown:
    def __init__(self, value: Any) -> None:
        self._value = value

    def __str__(self) -> str:
        return _shown(self._value)


def _shown(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)


def _no_constant(literal: str) -> Any:
    raise ValueError(f"{literal} is no JSON")


def _only_keys(given: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in given:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
            raise ValueError(f"{key}: no key of {what}; {hint}")
