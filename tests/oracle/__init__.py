"""The oracle: every answer recomputed from the definitions of SEMANTICS.md, slowly and literally.

Nothing here comes from the product. `replay` is declarative (each window from its extent, each bound as a
maximum over a prefix); `stepwise.replay_stepwise` simulates the same thing one tuple at a time, as a second
witness. Strategies for hypothesis are in `strategies`, which is not imported here.
"""

from .aggregates import Aggregate
from .answer import Fate, OracleAnswer, comparable, comparable_answer
from .punctuation import Archive, End, Punctuation, SlackRows, SlackSpan
from .query import Lateness, OracleQuery
from .replay import replay
from .stepwise import replay_stepwise
from .values import axis_of
from .windows import ContextFreeWindow

__all__ = [
    "Aggregate",
    "Archive",
    "ContextFreeWindow",
    "End",
    "Fate",
    "Lateness",
    "OracleAnswer",
    "OracleQuery",
    "Punctuation",
    "SlackRows",
    "SlackSpan",
    "axis_of",
    "comparable",
    "comparable_answer",
    "replay",
    "replay_stepwise",
]
