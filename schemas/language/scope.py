"""The attributes that an expression can name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schemas.language.errors import QueryError
from schemas.language.names import did_you_mean
from schemas.language.tree import Name

ROW_NUM = "row-num"
_MOST_LISTED = 12


@dataclass(frozen=True)
class ScopedAttribute:
    """An attribute as declared, its type, the column that stores it, and the alias of its input."""

    name: str
    type: str
    column: str
    qualifier: str | None = None


@dataclass(frozen=True)
class Scope:
    """Attributes in order. `implied` ones (`row-num`) can be named but are no part of `*`."""

    attributes: tuple[ScopedAttribute, ...] = ()
    implied: tuple[ScopedAttribute, ...] = ()

    @classmethod
    def of(
        cls,
        attributes: Mapping[str, tuple[str, str]],
        qualifier: str | None = None,
        row_num: str | None = "seq",
    ) -> Scope:
        """One input: name → (type, column). `row_num` is the column of `row-num`, None if it has none."""
        listed = tuple(
            ScopedAttribute(name, type_text, column, qualifier)
            for name, (type_text, column) in attributes.items()
        )
        implied = () if row_num is None else (ScopedAttribute(ROW_NUM, "bigint", row_num, qualifier),)
        return cls(listed, implied)

    def __add__(self, other: Scope) -> Scope:
        """Both inputs' attributes: the scope of a join."""
        return Scope(self.attributes + other.attributes, self.implied + other.implied)

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(attribute.name for attribute in self.attributes))

    @property
    def qualifiers(self) -> list[str]:
        return list(dict.fromkeys(a.qualifier for a in self.attributes + self.implied if a.qualifier))

    def of_qualifier(self, qualifier: str) -> tuple[ScopedAttribute, ...]:
        """The attributes of one input: what `alias.*` stands for."""
        return tuple(a for a in self.attributes if (a.qualifier or "").lower() == qualifier.lower())

    def find(self, name: Name) -> list[ScopedAttribute]:
        """All that the name can mean, in any case; a declared attribute hides an implied one of its name."""
        for listed in (self.attributes, self.implied):
            found = [
                attribute
                for attribute in listed
                if attribute.name.lower() == name.name.lower()
                and (name.qualifier is None or (attribute.qualifier or "").lower() == name.qualifier.lower())
            ]
            if found:
                return found
        return []

    def resolve(self, name: Name, text: str) -> ScopedAttribute:
        """The one attribute that the name means, or an error that points at it."""
        found = self.find(name)
        if len(found) == 1:
            return found[0]
        if found:
            ways = " or ".join(f"{a.qualifier}.{a.name}" for a in found if a.qualifier)
            hint = f"Write {ways}." if ways else "Give the inputs aliases, and write alias.name."
            raise QueryError.at(text, name.span, f"{name.name} is in several inputs.", hint)
        raise QueryError.at(text, name.span, *self._unknown(name))

    def _unknown(self, name: Name) -> tuple[str, str]:
        known = self.names
        if name.qualifier is not None:
            if name.qualifier.lower() not in [q.lower() for q in self.qualifiers]:
                hint = did_you_mean(name.qualifier, self.qualifiers)
                inputs = ", ".join(self.qualifiers)
                problem = f"there is no input {name.qualifier} here."
                return problem, hint or (f"Inputs are {inputs}." if inputs else f"Write {name.name} alone.")
            known = [attribute.name for attribute in self.of_qualifier(name.qualifier)]
        parts = name.name.split("-")
        lowered = {one.lower() for one in known}
        if len(parts) > 1 and all(part.lower() in lowered for part in parts):
            hint = f"For a minus, put spaces around it: {' - '.join(parts)}."
        else:
            listed = ", ".join(known[:_MOST_LISTED]) + (", …" if len(known) > _MOST_LISTED else "")
            hint = did_you_mean(name.name, [*known, *(a.name for a in self.implied)])
            hint = hint or (f"Attributes are {listed}." if listed else "Nothing can be named here.")
        return f"there is no attribute {name.name}.", hint
