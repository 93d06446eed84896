"""A stream's declaration: what its tuples are, how they arrived, what is promised of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from schemas.columns import storage_name
from schemas.errors import SluiceError
from schemas.language.parser import parse_lateness, parse_punctuation, parse_quantity
from schemas.policy import Lateness, Punctuation

_SIMPLE_TYPES = ("boolean", "integer", "bigint", "double", "string", "date", "timestamp")
_TYPE_ALIASES = {"int": "integer", "long": "bigint"}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_KNOWN_FIELDS = (
    "stream",
    "attributes",
    "timestamp",
    "granule",
    "arrival",
    "source",
    "sources",
    "key",
    "ranges",
    "schedule",
    "punctuated by",
    "late",
)
# Delta refuses these characters in a column's name.
_FORBIDDEN_IN_NAMES = re.compile(r"[ ,;{}()\n\t=]")


@dataclass(frozen=True)
class Attribute:
    """One attribute: its declared name, its type, and the column that stores it."""

    name: str
    type: str

    @property
    def column(self) -> str:
        return storage_name(self.name)


@dataclass(frozen=True)
class Range:
    """The values an attribute is declared to have, both ends included; None is no end."""

    attribute: Attribute
    least: Any
    greatest: Any


@dataclass(frozen=True)
class Stream:
    """A declared stream. Names match in any case and keep their declared spelling."""

    name: str
    attributes: tuple[Attribute, ...]
    timestamp: Attribute
    granule: timedelta = timedelta(microseconds=1)
    arrival_order: str | None = None
    arrival_time: str | None = None
    source: tuple[Attribute, ...] = ()
    sources: tuple[Any, ...] = ()
    key: tuple[Attribute, ...] = ()
    ranges: tuple[Range, ...] = ()
    schedule: timedelta | None = None
    punctuated_by: Punctuation | None = None
    late: Lateness | None = None

    def find(self, name: str) -> Attribute | None:
        """The attribute of that name, in any case."""
        return next((a for a in self.attributes if a.name.lower() == name.lower()), None)

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name, or an error that suggests a near one."""
        found = self.find(name)
        if found is None:
            near = get_close_matches(name, [a.name for a in self.attributes], n=1)
            hint = f"Did you mean {near[0]}?" if near else f"It has {', '.join(self.names)}."
            raise SluiceError(f"Stream {self.name} has no attribute {name}.", hint)
        return found

    @property
    def names(self) -> list[str]:
        return [a.name for a in self.attributes]


def load_stream(path: Path) -> Stream:
    """The declaration in a YAML file."""
    try:
        declared = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise SluiceError(f"{path.name} is not valid YAML: {error}", "Mend the file and try again.") from None
    if not isinstance(declared, Mapping):
        raise SluiceError(f"{path.name} declares no stream.", "Begin it with `stream: NAME`.")
    return declare_stream(declared, path.name)


def declare_stream(declared: Mapping[str, Any], where: str = "the declaration") -> Stream:
    """A stream from the mapping that a YAML file holds; `where` names it in errors."""
    for field in declared:
        if field not in _KNOWN_FIELDS:
            near = get_close_matches(str(field), _KNOWN_FIELDS, n=1)
            hint = f"Did you mean `{near[0]}`?" if near else f"Known fields: {', '.join(_KNOWN_FIELDS)}."
            raise SluiceError(f"{where}: unknown field `{field}`.", hint)
    for field in ("stream", "attributes", "timestamp"):
        if not declared.get(field):
            raise SluiceError(f"{where}: `{field}` is missing.", "Every stream declares it.")
    attributes = _attributes(declared["attributes"], where)
    arrival = declared.get("arrival") or {}
    order = arrival.get("order", "file")
    plain = Stream(str(declared["stream"]), attributes, attributes[0])
    timestamp = plain.attribute(str(declared["timestamp"]))
    if timestamp.type != "timestamp":
        raise SluiceError(
            f"{where}: the timestamp attribute {timestamp.name} is {timestamp.type}.",
            "Declare its type as timestamp.",
        )
    punctuated = declared.get("punctuated by")
    late = declared.get("late")
    granule = declared.get("granule")
    schedule = declared.get("schedule")
    return Stream(
        name=plain.name,
        attributes=attributes,
        timestamp=timestamp,
        granule=_span(granule, where, "granule") if granule else timedelta(microseconds=1),
        arrival_order=None if order == "file" else str(order),
        arrival_time=str(arrival["time"]) if "time" in arrival else None,
        source=_listed(plain, declared.get("source")),
        sources=tuple(declared.get("sources") or ()),
        key=_listed(plain, declared.get("key")),
        ranges=tuple(_ranges(plain, declared.get("ranges") or {}, where)),
        schedule=_span(str(schedule).removeprefix("every "), where, "schedule") if schedule else None,
        punctuated_by=parse_punctuation(str(punctuated)) if punctuated else None,
        late=parse_lateness(str(late)) if late else None,
    )


def checked_type(text: str, where: str) -> str:
    """`text` as a type of ours, spelled in lower case without spaces it does not need."""
    spelled = " ".join(text.strip().lower().split())
    spelled = _TYPE_ALIASES.get(spelled, spelled)
    if spelled in _SIMPLE_TYPES:
        return spelled
    if decimal := _DECIMAL.fullmatch(spelled):
        precision, scale = int(decimal[1]), int(decimal[2])
        if 1 <= precision <= 38 and scale <= precision:
            return f"decimal({precision},{scale})"
    # The names of a struct's fields keep their case.
    bare = text.strip()
    if bare.lower().startswith("array<") and bare.endswith(">"):
        return f"array<{checked_type(bare[6:-1], where)}>"
    if bare.lower().startswith("struct<") and bare.endswith(">"):
        fields = [field.partition(":") for field in _split_fields(bare[7:-1])]
        return "struct<" + ",".join(f"{name.strip()}:{checked_type(t, where)}" for name, _, t in fields) + ">"
    near = get_close_matches(spelled, _SIMPLE_TYPES, n=1)
    hint = f"Did you mean {near[0]}? " if near else ""
    raise SluiceError(
        f"{where}: unknown type {text!r}.",
        f"{hint}Types are {', '.join(_SIMPLE_TYPES)}, decimal(p,s), array<…> and struct<name:…>.",
    )


def _split_fields(text: str) -> list[str]:
    fields, depth, start = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and depth == 0:
            fields.append(text[start:place])
            start = place + 1
    return [*fields, text[start:]]


def _attributes(declared: Any, where: str) -> tuple[Attribute, ...]:
    if not isinstance(declared, Mapping):
        raise SluiceError(f"{where}: `attributes` is no mapping.", "Write one `name: type` a line below it.")
    seen: set[str] = set()
    attributes = []
    for name, type_text in declared.items():
        attribute = Attribute(str(name), checked_type(str(type_text), f"{where}, attribute {name}"))
        if _FORBIDDEN_IN_NAMES.search(attribute.name):
            raise SluiceError(
                f"{where}: attribute name {attribute.name!r} holds a character that Delta refuses.",
                "Leave out spaces and ,;{}()= in names.",
            )
        if attribute.column.lower() in seen:
            raise SluiceError(f"{where}: attribute {name} is declared twice.", "Names match in any case.")
        seen.add(attribute.column.lower())
        attributes.append(attribute)
    return tuple(attributes)


def _listed(stream: Stream, names: Any) -> tuple[Attribute, ...]:
    if names is None:
        return ()
    return tuple(stream.attribute(str(name)) for name in (names if isinstance(names, list) else [names]))


def _ranges(stream: Stream, declared: Mapping[str, Any], where: str) -> list[Range]:
    ranges = []
    for name, ends in declared.items():
        if not isinstance(ends, Mapping) or not set(ends) <= {"from", "to"}:
            raise SluiceError(
                f"{where}: the range of {name} is {ends!r}.", f"Write it as `{name}: {{from: 0, to: 200}}`."
            )
        ranges.append(Range(stream.attribute(str(name)), ends.get("from"), ends.get("to")))
    return ranges


def _span(words: Any, where: str, field: str) -> timedelta:
    quantity = parse_quantity(str(words))
    micros = quantity.microseconds
    if micros is None or micros <= 0 or micros != int(micros):
        raise SluiceError(f"{where}: {field} {words!r} is no span of time.", "Write e.g. `1 second`.")
    return timedelta(microseconds=int(micros))
