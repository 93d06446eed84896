"""Data Docs: facts become a validation of Great Expectations, and validations a site of pages.

A lakehouse has one site for all subjects, `quality/data_docs`; what its pages are made of is beside it in
`quality/gx`. On a local root both are written in place, one validation at a time. At a URI, Great
Expectations cannot write: both folders are brought to a temporary folder, changed there, and the changes put
back, through the file system (and the rights) by which Spark reaches the tables. Of two writers at a URI
the later one's index stands, until the next validation lists all again.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from expectations.invariant import Fact
from lakehouse.layout import Lakehouse

# The index reads every validation it lists, each time: the site has the last ones, quality/validations all.
_LISTED = 200
_FOLDERS = ("gx", "data_docs")


def judge_facts(
    spark: SparkSession, facts: Sequence[Fact], suite: str, subject: str, quality: Path | None
) -> dict[str, bool]:
    """Whether each invariant held, by its name. With a `quality` folder the site there gets the outcome."""
    # Read when it is imported; nothing is to leave this machine.
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    import great_expectations as gx
    from great_expectations.checkpoint import UpdateDataDocsAction
    from great_expectations.core.run_identifier import RunIdentifier

    from expectations.judge import FACTS_SCHEMA, ExpectInvariantToHold

    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    rows = [
        (f.invariant.name, f.checked, f.failures, json.dumps(f.examples, ensure_ascii=False)) for f in facts
    ]
    name = f"{suite}-{subject}"
    if quality is not None:
        _forget_oldest(quality)
    context = _context(quality)
    source = context.data_sources.add_or_update_spark(name="facts", persist=False)
    batch = source.add_dataframe_asset(name=name).add_batch_definition_whole_dataframe("measured")
    expectations = [
        ExpectInvariantToHold(
            invariant=fact.invariant.name,
            description=fact.invariant.words,
            severity="critical" if fact.invariant.stops else "warning",
        )
        for fact in facts
    ]
    # An earlier validation of this subject left its suite; the declaration may have changed since.
    suites = context.suites.add_or_update(gx.ExpectationSuite(name=name, expectations=expectations))
    definition = context.validation_definitions.add(
        gx.ValidationDefinition(name=name, data=batch, suite=suites)
    )
    actions = [UpdateDataDocsAction(name="data_docs")] if quality is not None else []
    checkpoint = gx.Checkpoint(
        name=name,
        validation_definitions=[definition],
        actions=actions,
        # Rows are shown by ours; anything less than COMPLETE would cut them.
        result_format="COMPLETE",
    )
    result = context.checkpoints.add(checkpoint).run(
        batch_parameters={"dataframe": spark.createDataFrame(rows, FACTS_SCHEMA)},
        run_id=RunIdentifier(run_name=name, run_time=datetime.now(UTC)),
    )
    judged = next(iter(result.run_results.values()))
    return {
        outcome.expectation_config.kwargs["invariant"]: bool(outcome.success) for outcome in judged.results
    }


@contextmanager
def quality_folder(spark: SparkSession, lakehouse: Lakehouse) -> Iterator[Path]:
    """A local folder with the site's two folders in it, the caller's alone until it is left."""
    root = lakehouse.data_docs().rsplit("/", 1)[0]
    if "://" not in root:
        folder = Path(root)
        (folder / "gx").mkdir(parents=True, exist_ok=True)
        with (folder / "gx" / ".lock").open("w") as lock:
            # Two replays side by side share the site: a half-written page must not be listed.
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder
        return
    with tempfile.TemporaryDirectory(prefix="sluice-quality-") as local:
        folder = Path(local)
        _fetch(spark, root, folder)
        before = _written(folder)
        yield folder
        _put_back(spark, root, folder, before)


def _forget_oldest(quality: Path) -> None:
    """Leave room for one validation more. Each is a file in a folder named for its time."""
    for kept in (quality / "gx" / "validations", quality / "data_docs" / "validations"):
        pages = [page for page in kept.rglob("*") if page.suffix in (".json", ".html")]
        for page in sorted(pages, key=lambda page: page.parent.name)[: max(0, len(pages) - _LISTED + 1)]:
            page.unlink()
            page.parent.rmdir()


def _context(quality: Path | None) -> Any:
    """A context that keeps suites and results in the quality folder, or nowhere; definitions live one run."""
    import great_expectations as gx
    from great_expectations.data_context.types.base import (
        DataContextConfig,
        InMemoryStoreBackendDefaults,
        ProgressBarsConfig,
    )

    defaults = InMemoryStoreBackendDefaults()
    sites: dict[str, Any] = {}
    if quality is not None:
        for store, kept in (
            (defaults.expectations_store_name, "expectations"),
            (defaults.validation_results_store_name, "validations"),
        ):
            defaults.stores[store]["store_backend"] = _files(quality / "gx" / kept)
        sites["sluice"] = {
            "class_name": "SiteBuilder",
            "show_how_to_buttons": False,
            "store_backend": _files(quality / "data_docs"),
            "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
        }
    config = DataContextConfig(
        store_backend_defaults=defaults,
        data_docs_sites=sites,
        analytics_enabled=False,
        progress_bars=ProgressBarsConfig(globally=False),
    )
    return gx.get_context(mode="ephemeral", project_config=config)


def _files(folder: Path) -> dict[str, str]:
    return {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder)}


def _written(folder: Path) -> dict[str, int]:
    """When each file was written, by its path below `folder`."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".crc")
    return {path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in files}


def _fetch(spark: SparkSession, root: str, folder: Path) -> None:
    path, files = _file_system(spark, root)
    for name in _FOLDERS:
        if files.exists(path(f"{root}/{name}")):
            files.copyToLocalFile(False, path(f"{root}/{name}"), path(folder.as_uri()), True)


def _put_back(spark: SparkSession, root: str, folder: Path, before: dict[str, int]) -> None:
    """File by file: Hadoop's copy of a folder onto one that exists puts it inside that one."""
    path, files = _file_system(spark, root)
    after = _written(folder)
    for name in before.keys() - after.keys():
        files.delete(path(f"{root}/{name}"), False)
    for name, when in after.items():
        if before.get(name) != when:
            target = path(f"{root}/{name}")
            files.mkdirs(target.getParent())
            files.copyFromLocalFile(False, True, path((folder / name).as_uri()), target)


def _file_system(spark: SparkSession, root: str) -> tuple[Any, Any]:
    """Hadoop's class of paths, and the file system that holds `root`."""
    jvm = spark._jvm
    assert jvm is not None
    path = jvm.org.apache.hadoop.fs.Path
    return path, path(root).getFileSystem(spark._jsc.hadoopConfiguration())
