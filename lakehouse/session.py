"""The Spark session: local by default, a cluster by its master, with Delta's two JARs from a local cache."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

from pyspark.sql import SparkSession

from schemas.errors import SluiceError

DELTA_JARS = ("delta-spark_4.2_2.13-4.4.0.jar", "delta-storage-4.4.0.jar")
_JAR_FOLDER = Path(__file__).resolve().parent.parent / ".cache" / "jars"


def delta_jars() -> list[str]:
    """The JARs that `make setup` resolved, or those in the folder that SLUICE_JARS names."""
    folder = Path(os.environ.get("SLUICE_JARS", _JAR_FOLDER))
    return [str(folder / jar) for jar in DELTA_JARS]


def spark_session(master: str | None = None, app: str = "sluice", quiet: bool = False) -> SparkSession:
    """One session for this process. Under spark-submit the master and the JARs are already given.

    `quiet` keeps what the JVM says on stderr out of a user's terminal; if it does not start, that is shown.
    """
    # Workers must run this interpreter, or Arrow functions miss our packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Otherwise the driver binds to whatever interface the host name resolves to.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = (
        SparkSession.builder.appName(app)
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.databricks.delta.snapshotPartitions", "2")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.ui.enabled", os.environ.get("SLUICE_SPARK_UI", "false"))
        .config("spark.log.level", "FATAL")
    )
    if "SPARK_ENV_LOADED" not in os.environ:  # spark-submit sets it, and has given these itself
        chosen = master or os.environ.get("SLUICE_MASTER") or "local[*]"
        missing = [jar for jar in delta_jars() if not Path(jar).exists()]
        if missing:
            raise SluiceError(
                f"Delta's JARs are not in {Path(missing[0]).parent}.",
                "Run `make setup`, or name the folder that holds them in SLUICE_JARS.",
            )
        builder = (
            builder.master(chosen)
            .config("spark.jars", ",".join(delta_jars()))
            .config("spark.driver.memory", os.environ.get("SLUICE_DRIVER_MEMORY", "4g"))
            .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={_quiet_logging()}")
        )
        if chosen.startswith("local"):
            # A shuffle partition a core: two hundred tiny ones cost more than the work in them.
            cores = str(2 * (os.cpu_count() or 1))
            builder = builder.config("spark.sql.shuffle.partitions", cores)
    if not quiet:
        return builder.getOrCreate()
    with _jvm_stderr_aside():
        return builder.getOrCreate()


@contextmanager
def _jvm_stderr_aside() -> Iterator[None]:
    """The JVM inherits file descriptor 2 when it starts: for that moment it is a file."""
    sys.stderr.flush()
    terminal = os.dup(2)
    with tempfile.TemporaryFile() as aside:
        os.dup2(aside.fileno(), 2)
        try:
            yield
        except Exception as error:
            os.dup2(terminal, 2)
            aside.seek(0)
            said = aside.read().decode(errors="replace").strip()
            raise SluiceError(
                f"Spark did not start: {said.splitlines()[-1] if said else error}",
                "It needs Java 17 or later (JAVA_HOME or PATH), and a master that answers.",
            ) from error
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)


def _quiet_logging() -> str:
    """Spark's chatter stays off users' terminals from the first line on, not only once a session is up."""
    return str(resources.files("lakehouse") / "log4j2.properties")
