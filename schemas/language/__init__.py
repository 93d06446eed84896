"""The query language: text to tree, tree to Spark SQL, and errors that point at the text.

The readers below load on first use: `schemas.quantity` and `schemas.policy` take `span` and `names` from this
package and `tree` takes them back, so nothing may be imported here at once; and those who only want the tree
do not load lark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schemas.language.errors import QueryError
    from schemas.language.parser import parse, parse_lateness, parse_punctuation, parse_quantity
    from schemas.language.printing import canonical

__all__ = ["QueryError", "canonical", "parse", "parse_lateness", "parse_punctuation", "parse_quantity"]

_HOMES = {"QueryError": "errors", "canonical": "printing"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'parser')}"), name)
