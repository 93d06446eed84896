"""JSON lines: one object a line; a key that is absent is NULL. Keys match in any case."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as arrow_json

from lakehouse.ingest.arrow_types import arrow_type, is_nested, nested_names
from lakehouse.ingest.batch import BadRow, RawBatch, Wanted
from lakehouse.ingest.convert import reason
from lakehouse.ingest.records import Block, ByteStream, read_blocks

# Below this many lines a block that Arrow refuses is read line by line.
_ONE_BY_ONE = 512
_SAMPLE = 50
_BRACE, _END_BRACE = ord("{"), ord("}")
_NUMERIC = ("integer", "bigint", "double", "decimal")


class _Literal(str):
    """A number as it is written, so that no digit is lost on the way to its type."""


def read_json(stream: ByteStream, wanted: Sequence[Wanted]) -> Iterator[RawBatch]:
    """The wanted keys: as Arrow's JSON reader has them, or as text where it cannot."""
    schema: _Schema | None = None
    for block in read_blocks(stream, None):
        if block.broken:
            yield RawBatch.of_broken(block.broken)
        schema = schema or _Schema(block, wanted)
        yield from _parse(block, schema)


class _Schema:
    """How this file spells the wanted keys and what its values look like, by its first lines."""

    def __init__(self, block: Block, wanted: Sequence[Wanted]) -> None:
        sample = [line for place in range(min(_SAMPLE, len(block))) if (line := _load(block.text(place)))]
        self.wanted = wanted
        self.keys = {}
        fields = []
        for want in wanted:
            spelled = [key for line in sample for key in line if key.lower() == want.name.lower()]
            key = spelled[0] if spelled else want.name
            values = [line[key] for line in sample if line.get(key) is not None]
            self.keys[want.name] = key
            fields.append(pa.field(key, _expected_type(want, values)))
        # Two wanted columns may be one key (order and time of arrival, say).
        self.arrow = pa.schema({field.name: field for field in fields}.values())
        inside = [name for want in wanted if want.type for name in nested_names(want.type)]
        self._spellings = {name.encode() for name in [*self.keys.values(), *inside]}

    def spells_all(self, data: bytes) -> bool:
        """Whether no key comes in another case: Arrow would take it for another key, and absent for NULL."""
        lowered = data.lower()
        by_lower: dict[bytes, int] = {}
        for name in self._spellings:
            by_lower[name.lower()] = by_lower.get(name.lower(), 0) + data.count(b'"' + name + b'"')
        return all(
            lowered.count(b'"' + name + b'"') == count or self._only_values_differ(name, data)
            for name, count in by_lower.items()
        )

    def _only_values_differ(self, lower: bytes, data: bytes) -> bool:
        keys = re.findall(b'"(' + re.escape(lower) + rb')"\s*:', data, re.IGNORECASE)
        return all(key in self._spellings for key in keys)


def _expected_type(want: Wanted, values: list[Any]) -> pa.DataType:
    all_text = bool(values) and all(type(value) is str for value in values)
    if want.type is None:
        if values and all(isinstance(value, _Literal) for value in values):
            whole = all(value.lstrip("-").isdigit() for value in values)
            return pa.int64() if whole else pa.float64()
        return pa.string()
    if all_text or want.type in ("string", "date", "timestamp"):
        return pa.string()
    return pa.int64() if want.type == "integer" else arrow_type(want.type)


def _parse(block: Block, schema: _Schema) -> Iterator[RawBatch]:
    if not len(block):
        return
    data = block.span()
    whole = np.frombuffer(block.data, np.uint8)
    one_a_line = (whole[block.starts] == _BRACE).all() and (whole[block.ends - 1] == _END_BRACE).all()
    try:
        table = None
        if one_a_line and schema.spells_all(data):
            table = arrow_json.read_json(
                pa.py_buffer(data),
                read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(data) + 1),
                parse_options=arrow_json.ParseOptions(
                    explicit_schema=schema.arrow, unexpected_field_behavior="ignore"
                ),
            )
    except pa.ArrowException:
        table = None
    if table is not None and table.num_rows == len(block):
        columns = {want.name: table.column(schema.keys[want.name]).combine_chunks() for want in schema.wanted}
        yield RawBatch(columns, block.lines, lambda rows: [block.text(row) for row in rows])
    elif len(block) <= _ONE_BY_ONE:
        yield _one_by_one(block, schema.wanted)
    else:
        middle = len(block) // 2
        yield from _parse(block.slice(0, middle), schema)
        yield from _parse(block.slice(middle, len(block)), schema)


def _one_by_one(block: Block, wanted: Sequence[Wanted]) -> RawBatch:
    """Lines that Arrow refused: values as text, to be converted like any other."""
    texts: dict[str, list[str | None]] = {want.name: [] for want in wanted}
    broken: list[BadRow] = []
    where: list[int] = []
    for place in range(len(block)):
        line = block.text(place)
        try:
            values = _wanted_values(line, wanted)
        except ValueError as error:
            broken.append(BadRow(int(block.lines[place]), line, str(error)))
            continue
        where.append(place)
        for want, text in zip(wanted, values, strict=True):
            texts[want.name].append(text)
    columns = {name: pa.array(values, pa.string()) for name, values in texts.items()}
    lines = block.lines[np.array(where, np.int64)]
    return RawBatch(columns, lines, lambda rows: [block.text(where[row]) for row in rows], broken)


def _wanted_values(line: str, wanted: Sequence[Wanted]) -> list[str | None]:
    try:
        loaded = json.loads(line, parse_int=_Literal, parse_float=_Literal, parse_constant=_Literal,
                            object_pairs_hook=_Pairs)  # fmt: skip
        line.encode()
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not valid JSON: {error}") from None
    if not isinstance(loaded, _Pairs):
        raise ValueError("not a JSON object")
    given: dict[str, Any] = {}
    for key, value in loaded.pairs:
        if key.lower() in given and any(key.lower() == want.name.lower() for want in wanted):
            raise ValueError(f"{key}: given twice")
        given[key.lower()] = value
    return [_text(given.get(want.name.lower()), want) for want in wanted]


class _Pairs:
    """An object as it is written, since a mapping would lose keys that come twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs

    def plain(self) -> dict[str, Any]:
        return {key: _plain(value) for key, value in self.pairs}


def _plain(value: Any) -> Any:
    if isinstance(value, _Pairs):
        return value.plain()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _text(value: Any, want: Wanted) -> str | None:
    """A value as text that `convert` reads as its type, or an error where its kind cannot be that type."""
    if value is None:
        return None
    declared = want.type or "bigint"
    nested = isinstance(value, list | _Pairs)
    if nested and is_nested(declared):
        return _dump(value)
    is_number, is_text = isinstance(value, _Literal), type(value) is str
    kindred = (
        is_text
        or (is_number and declared.startswith(_NUMERIC))
        or (isinstance(value, bool) and declared == "boolean")
    )
    if nested or not kindred:
        seen = _dump(value)
        raise ValueError(reason(want.name, _Shown(seen), declared))
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{want.name}: half of a surrogate pair") from None
    return text


class _Shown:
    """A value that an error shows without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


def _dump(value: Any) -> str:
    """JSON of a value whose numbers are literals."""
    if isinstance(value, _Literal):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_dump, value)) + "]"
    if isinstance(value, _Pairs):
        return "{" + ", ".join(f"{json.dumps(key)}: {_dump(item)}" for key, item in value.pairs) + "}"
    return json.dumps(value)


def _load(line: str) -> dict[str, Any] | None:
    try:
        loaded = json.loads(line, parse_int=_Literal, parse_float=_Literal)
    except (ValueError, RecursionError):
        return None
    return loaded if isinstance(loaded, dict) else None
