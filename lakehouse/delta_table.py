"""Delta tables by path: made from their contracts, appended to idempotently, read at a version."""

from __future__ import annotations

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from schemas.tables import TableContract


def exists(spark: SparkSession, path: str) -> bool:
    return bool(DeltaTable.isDeltaTable(spark, path))


def ensure(spark: SparkSession, path: str, contract: TableContract) -> None:
    """The table at `path` exists and keeps its contract; made in one commit if it did not."""
    if exists(spark, path):
        return
    builder = DeltaTable.createIfNotExists(spark).location(path).comment(contract.comment)
    for column in contract.columns:
        builder = builder.addColumn(
            column.name, column.type, nullable=column.nullable, comment=column.comment
        )
    if contract.partitioned_by:
        builder = builder.partitionedBy(*contract.partitioned_by)
    for name, condition in contract.checks.items():
        # As a property the constraint comes with the table: ALTER TABLE would be a second commit.
        builder = builder.property(f"delta.constraints.{name}", condition)
    for key, value in contract.properties.items():
        builder = builder.property(key, value)
    builder.execute()


def append(rows: DataFrame, path: str, transaction: tuple[str, int], metadata: str | None = None) -> None:
    """Append once: a second append under the same (application id, version) adds nothing."""
    application, version = transaction
    writer = (
        rows.write.format("delta")
        .mode("append")
        .option("txnAppId", application)
        .option("txnVersion", version)
    )
    if metadata is not None:
        writer = writer.option("userMetadata", metadata)
    writer.save(path)


def read(spark: SparkSession, path: str, version: int | None = None) -> DataFrame:
    """The table, at a pinned version where one is given."""
    reader = spark.read.format("delta")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    return reader.load(path)


def latest_version(spark: SparkSession, path: str) -> int:
    return int(DeltaTable.forPath(spark, path).history(1).select("version").head()[0])


def remove(spark: SparkSession, path: str) -> None:
    """Take the table away, wherever it is stored, and whatever this session remembers of it."""
    jvm = spark._jvm
    assert jvm is not None
    folder = jvm.org.apache.hadoop.fs.Path(path)
    folder.getFileSystem(spark._jsc.hadoopConfiguration()).delete(folder, True)
    jvm.org.apache.spark.sql.delta.DeltaLog.invalidateCache(spark._jsparkSession, folder)
