"""A query as the oracle takes it: already understood, nothing to parse."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from .aggregates import Aggregate
from .punctuation import Policy, SlackSpan
from .values import group_value
from .windows import ContextFreeWindow

NO_SLACK = SlackSpan(0)


class Lateness(Enum):
    """What becomes of a late tuple (SEMANTICS §8)."""

    GENEROUS = "generous"
    CONSISTENT = "consistent"


@dataclass(frozen=True)
class OracleQuery:
    """`SELECT group_by, aggregates FROM a stream [window] WHERE where GROUP BY group_by`, and its policies.

    `attributes` are the stream's declared types. `where` of an arrival is True, False or None (unknown).
    """

    window: ContextFreeWindow
    aggregates: Sequence[Aggregate]
    attributes: Mapping[str, str]
    group_by: Sequence[str] = ()
    where: Callable[[Mapping[str, Any]], bool | None] | None = None
    policy: Policy = NO_SLACK
    lateness: Lateness = Lateness.GENEROUS

    def group_of(self, arrival: Mapping[str, Any]) -> tuple:
        return tuple(group_value(arrival[column]) for column in self.group_by)

    def passes_where(self, arrival: Mapping[str, Any]) -> bool:
        return self.where is None or self.where(arrival) is True
