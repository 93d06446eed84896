"""Settings under which Spark is quick on a handful of rows: planning and compiling cost more than the work."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

_FOR_A_HANDFUL = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}


@pytest.fixture(scope="module")
def brisk(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with those settings, put back afterwards."""
    before = {name: spark.conf.get(name, None) for name in _FOR_A_HANDFUL}
    for name, value in _FOR_A_HANDFUL.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)
