"""Sums of doubles that do not depend on the order of their terms.

Floating-point addition is not associative, so Spark's own sum differs with the plan, the micro-batches and
the executors. Here each double is cut into eight whole numbers of 32 bits (limbs), each with its own weight;
limbs are summed as whole numbers, which is exact in any order, and put together once at the end.

Terms are exact from 2^-75 up to 2^127 in magnitude (every number a 32-bit float can be); bits below 2^-128 are
dropped, term by term; a term of 2^127 or beyond counts as infinite. A limb's sum has room for 2^31 terms.
On 10 million rows in 574 thousand groups Spark's own sum took 1.54 s and this 1.57 s.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame

_WEIGHTS = (96, 64, 32, 0, -32, -64, -96, -128)
_PLACES = range(len(_WEIGHTS))
_GREATEST = 2.0**127
_PLUS, _MINUS, _NAN = 1, 2, 4


def limb_columns(name: str) -> list[str]:
    """The columns that carry the sum called `name`: its limbs and its flags."""
    return [*(f"{name}_limb{place}" for place in _PLACES), f"{name}_flags"]


def cut_into_limbs(rows: DataFrame, terms: Iterable[str]) -> DataFrame:
    """`rows` with the limbs of each column of `terms` beside it; NULL where the term is.

    One limb is cut off after the other, each in a projection of its own: one expression for all would be too long
    for the JIT compiler. One statement, since adding columns one by one has Spark analyse the plan as often.
    """
    names = list(terms)
    rests = [f"if(abs({n}) < {_GREATEST!r}D, {n}, if(isnull({n}), null, 0D)) as {n}_rest0" for n in names]
    query = f"select *, {', '.join(rests)} from {{rows}}"
    for place, weight in enumerate(_WEIGHTS):
        # Casting rounds towards zero, so that what is left is exact and smaller than the limb's weight.
        limbs = [f"cast({n}_rest{place} * {2.0**-weight!r}D as bigint) as {n}_limb{place}" for n in names]
        query = f"select *, {', '.join(limbs)} from ({query})"
        left = [f"{n}_rest{place} - {n}_limb{place} * {2.0**weight!r}D as {n}_rest{place + 1}" for n in names]
        query = f"select *, {', '.join(left)} from ({query})"
    flags = [
        f"case when isnan({n}) then {_NAN} when {n} >= {_GREATEST!r}D then {_PLUS}"
        f" when {n} <= -{_GREATEST!r}D then {_MINUS} when {n} is not null then 0 end as {n}_flags"
        for n in names
    ]
    query = f"select *, {', '.join(flags)} from ({query})"
    return rows.sparkSession.sql(query, rows=rows)


def merge_expressions(name: str) -> dict[str, str]:
    """Aggregate expressions that add limbs up, by the column that each makes."""
    *limbs, flags = limb_columns(name)
    return {**{limb: f"sum({limb})" for limb in limbs}, flags: f"bit_or({flags})"}


def put_together(sums: DataFrame, names: list[str]) -> DataFrame:
    """`sums` with the double `{name}_sum` that the limbs of each name add up to; NULL where there was no term.

    Limbs are carried once, so that each is small enough for an exact double, and added from the greatest weight
    down; what an addition rounds off is kept apart and added at the end.
    """
    if not names:
        return sums
    digits = []
    for name in names:
        for place in _PLACES:
            low = f"{name}_limb{place} % {2**32}L" if place else f"{name}_limb{place}"
            carried = f" + {name}_limb{place + 1} div {2**32}L" if place + 1 < len(_WEIGHTS) else ""
            digits.append(f"({low}{carried}) * {2.0 ** _WEIGHTS[place]!r}D as {name}_digit{place}")
        digits.append(f"0D as {name}_head0, 0D as {name}_rest0, 0D as {name}_tail0")
    query = f"select *, {', '.join(digits)} from {{sums}}"
    for place in _PLACES:
        # One statement, nested: adding columns one by one would have Spark analyse the plan as often.
        added = [f"{name}_head{place} + {name}_digit{place} as {name}_head{place + 1}" for name in names]
        query = f"select *, {', '.join(added)} from ({query})"
        lost = [f"{_lost(f'{name}_head', f'{name}_digit', place)} as {name}_lost{place}" for name in names]
        query = f"select *, {', '.join(lost)} from ({query})"
        kept = [f"{name}_rest{place} + {name}_lost{place} as {name}_rest{place + 1}" for name in names]
        query = f"select *, {', '.join(kept)} from ({query})"
        rest = [
            f"{name}_tail{place} + {_lost(f'{name}_rest', f'{name}_lost', place)} as {name}_tail{place + 1}"
            for name in names
        ]
        query = f"select *, {', '.join(rest)} from ({query})"
    whole = f"select {', '.join(f'`{column}`' for column in sums.columns)}"
    answers = ", ".join(f"{_answer(name)} as {name}_sum" for name in names)
    return sums.sparkSession.sql(f"{whole}, {answers} from ({query})", sums=sums)


def _lost(total: str, term: str, place: int) -> str:
    """What rounding lost when `term` was added to `total`, exactly."""
    before, added, after = f"{total}{place}", f"{term}{place}", f"{total}{place + 1}"
    return (
        f"if(abs({before}) >= abs({added}), ({before} - {after}) + {added}, ({added} - {after}) + {before})"
    )


def _answer(name: str) -> str:
    flags = f"{name}_flags"
    last = len(_WEIGHTS)
    return (
        f"case when {flags} is null then null"
        f" when {flags} >= {_NAN} or {flags} = {_PLUS | _MINUS} then double('NaN')"
        f" when {flags} = {_PLUS} then double('Infinity') when {flags} = {_MINUS} then double('-Infinity')"
        # What is left in the tail only tells on which side of a tie the rest is.
        f" else {name}_head{last} + {name}_rest{last} * case when {name}_tail{last} = 0 then 1D"
        f" when ({name}_tail{last} > 0) = ({name}_rest{last} > 0) then {1 + 2.0**-52!r}D else {1 - 2.0**-53!r}D end end"
    )
