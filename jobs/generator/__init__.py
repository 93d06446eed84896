"""The shipped generator: streams made from a seed, the same bytes every time.

`STREAMS` names what can be generated. A new kind of stream is a file beside `traffic.py` and an entry here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jobs.generator import traffic


@dataclass(frozen=True)
class StreamKind:
    """What a stream that can be generated brings along."""

    spec: type[traffic.TrafficSpec]
    generate: Callable[..., traffic.Generated]
    declaration: Callable[[], str]


STREAMS = {
    "Traffic": StreamKind(traffic.TrafficSpec, traffic.generate, traffic.declaration),
}
