"""Archived punctuations: which bound each promises, and for which groups it counts.

A promise reaches the groups whose own columns match its other entries; one that names an attribute outside the
groups reaches none, since the rest of the group may still come. A promise with no upper end (it leaves the
windowing attribute out) is endless: nothing of those groups comes any more.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.query import WindowQuery

_CONSTANT, _RANGE, _ANYTHING = "constant", "range", "anything"


def read_patterns(query: WindowQuery, punctuations: DataFrame) -> DataFrame:
    """Promises that move a bound: `pos`, `others` (JSON of the entries on groups), `high`, `endless`."""
    axis = query.window.axis
    attribute = axis.attribute
    assert attribute is not None, "row windows need no punctuation"
    mine = [group.attribute.name for group in query.groups if group.attribute != attribute]
    names = ", ".join(_text(name) for name in [attribute.name, *mine])
    entries = punctuations.select(
        F.col("seq").alias("pos"), F.from_json("pattern", "map<string,string>").alias("entries")
    ).where(f"size(array_except(map_keys(entries), array({names}))) = 0")
    entry = f"entries[{_text(attribute.name)}]"
    parts = entries.select(
        "pos",
        F.expr(
            f"to_json(map_filter(entries, (k, v) -> k <> {_text(attribute.name)}), map('ignoreNullFields', 'false'))"
        ).alias("others"),
        F.expr(f"map_contains_key(entries, {_text(attribute.name)})").alias("named"),
        F.expr(f"coalesce({entry} like '{{%', false)").alias("is_range"),
        F.expr(f"get_json_object({entry}, '$.from')").alias("low"),
        F.expr(f"cast(get_json_object({entry}, '$.to') as {axis.type})").alias("to"),
        F.expr(f"coalesce(get_json_object({entry}, '$.to_closed') = 'true', false)").alias("closed"),
    )
    # A constant, a set or a range with a lower end leaves room below it.
    moving = parts.where("not named or (is_range and low is null)")
    measure = axis.measure_sql("to")
    return moving.select(
        "pos",
        "others",
        F.expr(f"cast(if(closed, {axis.after_sql(measure)}, {measure}) as {axis.measure_type})").alias(
            "high"
        ),
        F.expr("to is null").alias("endless"),
    )


def count_for_groups(
    query: WindowQuery, promises: DataFrame, groups: DataFrame
) -> tuple[list[str], DataFrame]:
    """The group columns that bounds depend on, and the promises with the groups each counts for.

    `groups` has one row a group (`group_0`, …). Where no promise names a group the bound is everybody's.
    """
    if not query.groups or promises.where("others <> '{}'").isEmpty():
        return [], promises.drop("others")
    columns = [f"group_{place}" for place in range(len(query.groups))]
    read = promises.withColumn("entries", F.from_json("others", "map<string,string>"))
    for column, group in zip(columns, query.groups, strict=True):
        name = _text(group.attribute.name)
        read = (
            read.withColumn("entry", F.expr(f"entries[{name}]"))
            .withColumn(f"{column}_given", F.expr(f"map_contains_key(entries, {name})"))
            # A set stands for one promise an element.
            .withColumn(
                "entry",
                F.explode(F.expr("if(entry like '[%', from_json(entry, 'array<string>'), array(entry))")),
            )
            .withColumn(
                f"{column}_kind",
                F.expr(
                    f"case when not {column}_given then '{_ANYTHING}' when entry like '{{%' then '{_RANGE}'"
                    f" else '{_CONSTANT}' end"
                ),
            )
            .withColumn(
                f"{column}_is",
                F.expr(f"if({column}_kind = '{_CONSTANT}', cast(entry as {group.type}), null)"),
            )
            .withColumn(f"{column}_range", F.expr(f"if({column}_kind = '{_RANGE}', entry, null)"))
        )
    kinds = [f"{column}_kind" for column in columns]
    reaching = [
        _reach(query, read, groups, columns, dict(zip(columns, shape, strict=True)))
        for shape in read.select(*kinds).distinct().collect()
    ]
    return columns, reduce(DataFrame.unionAll, reaching)


def _reach(
    query: WindowQuery, promises: DataFrame, groups: DataFrame, columns: list[str], shape: dict[str, str]
) -> DataFrame:
    """The promises of one shape with their groups: an equi-join on the entries that are constants."""
    of_shape = promises
    matches: Column = F.lit(True)
    for column, group in zip(columns, query.groups, strict=True):
        of_shape = of_shape.where(F.col(f"{column}_kind") == shape[column])
        if shape[column] == _CONSTANT:
            matches = matches & F.col(column).eqNullSafe(F.col(f"{column}_is"))
        elif shape[column] == _RANGE:
            matches = matches & F.expr(_inside(column, group.type))
    return of_shape.join(groups, matches).select(*columns, "pos", "high", "endless")


def _inside(column: str, type_: str) -> str:
    def end(name: str) -> str:
        return f"cast(get_json_object({column}_range, '$.{name}') as {type_})"

    def flag(name: str) -> str:
        return f"coalesce(get_json_object({column}_range, '$.{name}') = 'true', false)"

    low = f"({end('from')} is null or {column} > {end('from')} or (not {flag('from_open')} and {column} = {end('from')}))"
    high = (
        f"({end('to')} is null or {column} < {end('to')} or ({flag('to_closed')} and {column} = {end('to')}))"
    )
    real = f"{column} is not null" + (f" and not isnan({column})" if type_ == "double" else "")
    return f"({real} and {low} and {high})"


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
