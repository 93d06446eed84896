"""The one commit of an ingest, and what is known from those before it.

The archive's Delta log is the truth: the commit that adds rows also says, in its metadata, which contents
they came from. What follows it (quarantine, punctuations) is repeated from staging until it is done.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from delta.exceptions import ConcurrentTransactionException
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import max as greatest
from pyspark.sql.functions import unix_micros

from lakehouse import delta_table
from lakehouse.ingest import staging
from lakehouse.layout import Lakehouse
from schemas.columns import quoted
from schemas.errors import SluiceError
from schemas.stream import Stream
from schemas.tables import TableContract, archive_contract, punctuations_contract, quarantine_contract

# One application for all ingests: of two at a time, both numbered n, Delta lets only one commit.
_APPLICATION = "ingest"


@dataclass
class Archived:
    """What the archive holds: contents by hash, the last position, and the ingests that made it."""

    contents: dict[str, str] = field(default_factory=dict)
    punctuations: dict[str, str] = field(default_factory=dict)
    ingests: set[str] = field(default_factory=set)
    number: int = 0
    last_seq: int = 0
    last_arrived_at: int | None = None


def read_archived(spark: SparkSession, lakehouse: Lakehouse, stream: Stream) -> Archived:
    """What the archive's commits say of it; nothing where there is no archive yet."""
    path = lakehouse.archive(stream.name)
    if not delta_table.exists(spark, path):
        return Archived()
    _check_declaration(spark, path, stream)
    return _from_history(spark, path, DeltaTable.forPath(spark, path).history())


def _from_history(spark: SparkSession, path: str, history: DataFrame) -> Archived:
    archived = Archived()
    foreign = False
    for commit in history.select("operation", "userMetadata", "operationMetrics").collect():
        said = _metadata(commit["userMetadata"])
        if said is None:
            foreign |= int((commit["operationMetrics"] or {}).get("numOutputRows", 0)) > 0
            continue
        archived.ingests.add(said["ingest_id"])
        archived.number = max(archived.number, said["number"])
        archived.last_seq = max(archived.last_seq, said["last_seq"])
        if said["last_arrived_at"] is not None:
            archived.last_arrived_at = max(
                archived.last_arrived_at or said["last_arrived_at"], said["last_arrived_at"]
            )
        archived.contents |= {entry["sha256"]: entry["name"] for entry in said["files"]}
        archived.punctuations |= {entry["sha256"]: entry["name"] for entry in said["punctuations"]}
    if foreign:
        # Rows that no ingest wrote: only the rows themselves can say where they end.
        last = delta_table.read(spark, path).agg(greatest("seq"), unix_micros(greatest("arrived_at"))).first()
        if last is not None and last[0] is not None:
            archived.last_seq = max(archived.last_seq, last[0])
            archived.last_arrived_at = max(archived.last_arrived_at or last[1], last[1])
    return archived


def _metadata(text: str | None) -> dict[str, Any] | None:
    try:
        said = json.loads(text or "")
    except ValueError:
        return None
    return said if isinstance(said, dict) and "ingest_id" in said else None


def recover(spark: SparkSession, lakehouse: Lakehouse, stream: Stream, archived: Archived) -> None:
    """Ends what an ingest that was killed left behind: all of it if its rows are in, else nothing of it."""
    root = lakehouse.staging(stream.name)
    for ingest_id in staging.leftovers(root):
        if ingest_id in archived.ingests:
            finish(spark, lakehouse, stream, ingest_id)
        else:
            staging.discard(root, ingest_id)


def commit(spark: SparkSession, lakehouse: Lakehouse, stream: Stream, metadata: Mapping[str, Any]) -> None:
    """The staged rows enter the archive, all at once, with what their metadata says of them."""
    path, root, ingest_id = (
        lakehouse.archive(stream.name),
        lakehouse.staging(stream.name),
        metadata["ingest_id"],
    )
    contract = archive_contract(stream)
    delta_table.ensure(spark, path, contract)
    try:
        with _a_task_a_file(spark):
            rows = _staged(spark, root, ingest_id, "good", contract)
            delta_table.append(rows, path, (_APPLICATION, metadata["number"]), json.dumps(metadata))
        recent = DeltaTable.forPath(spark, path).history(20)
        landed = ingest_id in _from_history(spark, path, recent.where("userMetadata IS NOT NULL")).ingests
    except ConcurrentTransactionException:
        landed = False
    if not landed:
        staging.discard(root, ingest_id)
        raise SluiceError(
            f"Another ingest of {stream.name} was done at the same time. Nothing of this one landed.",
            "Run it again: its rows then follow those of the other.",
        )


def finish(spark: SparkSession, lakehouse: Lakehouse, stream: Stream, ingest_id: str) -> None:
    """What follows the archive's commit. May be repeated: each append counts once."""
    root = lakehouse.staging(stream.name)
    following = (
        ("bad", lakehouse.quarantine(stream.name), quarantine_contract(stream)),
        ("punctuations", lakehouse.punctuations(stream.name), punctuations_contract(stream)),
    )
    for part, path, contract in following:
        if staging.holds_rows(root, ingest_id, part):
            delta_table.ensure(spark, path, contract)
            rows = _staged(spark, root, ingest_id, part, contract)
            delta_table.append(rows, path, (f"{_APPLICATION}:{ingest_id}", 1))
    staging.discard(root, ingest_id)


def _staged(spark: SparkSession, root: str, ingest_id: str, part: str, contract: TableContract) -> DataFrame:
    schema = ", ".join(f"{quoted(column.name)} {column.type}" for column in contract.columns)
    if not staging.holds_rows(root, ingest_id, part):
        return spark.createDataFrame([], schema)
    # Spark takes a path for a glob: what means something there is to be read as it stands.
    place = re.sub(r"([\\\[\]{}*?,])", r"\\\1", f"{root}/{ingest_id}/{part}")
    return spark.read.schema(schema).parquet(place)


@contextmanager
def _a_task_a_file(spark: SparkSession) -> Iterator[None]:
    """Spark packs small files together by size: then an archive file would hold seqs from here and there."""
    setting = "spark.sql.files.openCostInBytes"
    before = spark.conf.get(setting)
    spark.conf.set(setting, str(1 << 40))
    try:
        yield
    finally:
        spark.conf.set(setting, str(before))


def _check_declaration(spark: SparkSession, path: str, stream: Stream) -> None:
    kept = {f.name: f.dataType.simpleString() for f in delta_table.read(spark, path).schema.fields}
    spelled = {"integer": "int"}
    own = {"seq", "arrived_at", "source_file", "source_line"}
    declared = {a.column: a.type for a in stream.attributes}
    differ = [
        name
        for name in sorted((set(kept) | set(declared)) - own)
        if name not in kept
        or name not in declared
        or (spelled.get(declared[name], declared[name]) != kept[name] and "<" not in declared[name])
    ]
    if differ:
        raise SluiceError(
            f"The archive of {stream.name} was made for other attributes: {', '.join(differ)} differ.",
            "Declare them as they were, or give the changed stream another name.",
        )
