"""Text files cut into records: bounded blocks of bytes, each record with its place and its line.

Lines are physical: 1-based, blank ones and those inside a quoted field counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lakehouse.ingest.batch import BadRow, Lines

BLOCK_BYTES = 8 << 20
# A quote that is never closed would swallow the file: no record is longer than this.
LONGEST_RECORD = 4 << 20

_NEWLINE, _RETURN, _QUOTE = 10, 13, 34
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ByteStream(Protocol):
    def read(self, size: int) -> bytes: ...


@dataclass(frozen=True)
class Block:
    """Records of a file that follow one another. `broken` are those that have no end or no valid text."""

    data: bytes
    starts: Lines
    ends: Lines
    lines: Lines
    broken: list[BadRow]

    def __len__(self) -> int:
        return len(self.lines)

    def text(self, place: int) -> str:
        return self.data[self.starts[place] : self.ends[place]].decode(errors="replace")

    def slice(self, first: int, last: int) -> Block:
        return Block(self.data, self.starts[first:last], self.ends[first:last], self.lines[first:last], [])

    def span(self) -> bytes:
        """The bytes of all records; blank lines may stand between."""
        return self.data[self.starts[0] : self.ends[-1]] + b"\n" if len(self) else b""

    def only(self, kept: Any, broken: list[BadRow]) -> Block:
        """The records flagged in `kept`, moved together."""
        texts = [self.data[s:e] for s, e in zip(self.starts[kept], self.ends[kept], strict=True)]
        ends = np.cumsum([len(t) + 1 for t in texts], dtype=np.int64) - 1
        starts = ends - np.array([len(t) for t in texts], np.int64)
        return Block(b"\n".join(texts), starts, ends, self.lines[kept], [*self.broken, *broken])


def read_blocks(stream: ByteStream, delimiter: bytes | None, size: int | None = None) -> Iterator[Block]:
    """The file in blocks of about `size` bytes. With a `delimiter` fields may be quoted and hold newlines."""
    size = size or BLOCK_BYTES
    carry, line, first = b"", 1, True
    while True:
        chunk = stream.read(size)
        data = carry + chunk
        if first:
            data, first = data.removeprefix(_BYTE_ORDER_MARK), False
        at_end = not chunk
        if not data:
            if at_end:
                return
            continue
        block, used = _cut(data, line, delimiter, at_end)
        if len(block) or block.broken:
            yield _with_valid_text(block)
        line += data.count(b"\n", 0, used)
        carry = data[used:]
        if at_end:
            return


def _cut(data: bytes, line: int, delimiter: bytes | None, at_end: bool) -> tuple[Block, int]:
    """The complete records at the head of `data`, and how many bytes they take."""
    view = np.frombuffer(data, np.uint8)
    newlines = np.flatnonzero(view == _NEWLINE)
    broken: list[BadRow] = []
    boundaries = newlines
    if delimiter is not None and b'"' in data:
        outside = _newlines_outside_quotes(view, newlines, delimiter[0], at_end)
        too_long = len(data) - (int(outside[-1]) + 1 if outside is not None and len(outside) else 0)
        if outside is None or too_long > LONGEST_RECORD:
            return _cut_by_grammar(data, line, delimiter, at_end)
        boundaries = outside
    used = len(data) if at_end else (int(boundaries[-1]) + 1 if len(boundaries) else 0)
    ends = (
        boundaries
        if not at_end or (len(boundaries) and boundaries[-1] == len(data) - 1)
        else np.append(boundaries, len(data))
    )
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1] + 1]) if len(ends) else ends
    return _block(data, view, starts, ends, newlines, line, broken), used


def _block(
    data: bytes, view: Any, starts: Any, ends: Any, newlines: Any, line: int, broken: list[BadRow]
) -> Block:
    """A block of the records that are not blank."""
    if len(ends):
        returned = (ends > starts) & (view[np.maximum(ends - 1, 0)] == _RETURN)
        ends = ends - returned
    kept = ends > starts
    starts, ends = starts[kept], ends[kept]
    return Block(data, starts, ends, line + np.searchsorted(newlines, starts), broken)


def _newlines_outside_quotes(view: Any, newlines: Any, delimiter: int, at_end: bool) -> Any | None:
    """The newlines that end records; None where some quote is not used as CSV has it."""
    quotes = np.flatnonzero(view == _QUOTE)
    opening, closing = quotes[0::2], quotes[1::2]
    if at_end and len(quotes) % 2:
        return None
    before = view[np.maximum(opening - 1, 0)]
    opens = (opening == 0) | np.isin(before, (delimiter, _NEWLINE, _QUOTE))
    after = view[np.minimum(closing + 1, len(view) - 1)]
    closes = (closing == len(view) - 1) | np.isin(after, (delimiter, _NEWLINE, _RETURN, _QUOTE))
    # A quote right before an opening one must be the end of a field's pair, written twice.
    adjoins = opening[1:] - 1 == closing[: max(len(opening) - 1, 0)]
    opens[1:] &= adjoins | (before[1:] != _QUOTE)
    if not (opens.all() and closes.all()):
        return None
    return newlines[np.searchsorted(quotes, newlines) % 2 == 0]


def _cut_by_grammar(data: bytes, line: int, delimiter: bytes, at_end: bool) -> tuple[Block, int]:
    """The same, record by record, for data with stray quotes: a line whose quote never closes is broken."""
    mark = re.escape(delimiter)
    quoted = rb'"[^"]*+(?:""[^"]*+)*+"'
    plain = rb'(?:[^"' + mark + rb"\r\n][^" + mark + rb"\n]*+)?"
    field = rb"(?:" + quoted + rb"|" + plain + rb")"
    record = re.compile(field + rb"(?:" + mark + field + rb")*+\r?(?:\n|\Z)")
    newlines = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE)
    starts, ends, broken, place = [], [], [], 0
    while place < len(data):
        line_end = data.find(b"\n", place)
        if line_end < 0 and not at_end:
            break
        line_end = len(data) if line_end < 0 else line_end
        if data.find(b'"', place, line_end) < 0:
            end = line_end
        else:
            limit = min(len(data), place + LONGEST_RECORD)
            found = record.match(data, place, limit)
            ended = found is not None and data[found.end() - 1] == _NEWLINE
            if not ended and limit == len(data) and not at_end:
                break  # the next block may end it
            if found is None or not (ended or limit == len(data)):
                text = data[place:line_end].removesuffix(b"\r").decode(errors="replace")
                number = line + int(np.searchsorted(newlines, place))
                broken.append(BadRow(number, text, "a quote that does not close its field"))
                place = line_end + 1
                continue
            end = found.end() - ended
        starts.append(place)
        ends.append(end)
        place = end + 1
    used = min(place, len(data))
    whole = np.frombuffer(data, np.uint8)
    block = _block(data, whole, np.array(starts, np.int64), np.array(ends, np.int64), newlines, line, broken)
    # Parsers see one piece: what is broken must not stand between.
    return (block.only(np.ones(len(block), bool), []) if broken else block), used


def _with_valid_text(block: Block) -> Block:
    try:
        block.span().decode()
        return block
    except UnicodeDecodeError:
        kept, broken = np.ones(len(block), bool), []
        for place, (start, end) in enumerate(zip(block.starts, block.ends, strict=True)):
            try:
                block.data[start:end].decode()
            except UnicodeDecodeError:
                kept[place] = False
                broken.append(BadRow(int(block.lines[place]), block.text(place), "not valid UTF-8"))
        return block.only(kept, broken)
