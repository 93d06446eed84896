"""One Spark session a test run: starting one costs more than most tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from lakehouse.session import spark_session

    session = spark_session("local[2]")
    yield session
    session.stop()
