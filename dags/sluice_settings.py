"""What the DAGs take from their environment, read when a task runs: parsing needs none of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The repository (or the image's copy of it): where jobs/submit.py is."""


def project_folder() -> str:
    """SLUICE_PROJECT: the folder with `streams/` and `queries/`."""
    folder = os.environ.get("SLUICE_PROJECT")
    if not folder:
        raise RuntimeError(
            "SLUICE_PROJECT is not set where Airflow runs its tasks."
            " Set it to a project folder; `sluice init DIR` makes one."
        )
    return str(Path(folder).absolute())


def lakehouse_root() -> str:
    """SLUICE_LAKEHOUSE, a path or a URI; by default `.lakehouse` in the project folder."""
    root = os.environ.get("SLUICE_LAKEHOUSE") or f"{project_folder()}/.lakehouse"
    return root.rstrip("/") if "://" in root else str(Path(root).absolute())


def table_uri(table: str, name: str) -> str:
    """Where a stream's or a query's tables are, as an asset names it."""
    root = lakehouse_root()
    return f"{root if '://' in root else Path(root).as_uri()}/{table}/{name}"


def parallel_replays() -> int:
    """SLUICE_PARALLEL_REPLAYS: how many Spark processes may replay at once. One is right for one machine."""
    return max(1, int(os.environ.get("SLUICE_PARALLEL_REPLAYS", "1")))


def delta_jars() -> str:
    """The JARs in SLUICE_JARS (by default what `make setup` resolved), as --jars wants them."""
    folder = Path(os.environ.get("SLUICE_JARS", ROOT / ".cache" / "jars"))
    jars = sorted(str(jar) for jar in folder.glob("*.jar"))
    if not jars:
        raise RuntimeError(
            f"There are no JARs in {folder}. Run `make setup`, or name their folder in SLUICE_JARS."
        )
    return ",".join(jars)


def spark_environment() -> dict[str, str]:
    """What spark-submit needs beside what it inherits: its folder, our packages, this interpreter."""
    bin_folder = str(Path(sys.executable).parent)
    python_path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "PATH": os.pathsep.join([bin_folder, os.environ.get("PATH", os.defpath)]),
        "PYTHONPATH": os.pathsep.join(python_path),
        "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable),
        "SLUICE_PROJECT": project_folder(),
        "SLUICE_LAKEHOUSE": lakehouse_root(),
    }


def spark_settings(master: str) -> dict[str, str]:
    """What a session of our own would set before its JVM starts, where spark-submit has started it already."""
    quiet = ROOT / "lakehouse" / "log4j2.properties"
    chosen = {"spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={quiet}"}
    if master.startswith("local"):
        # Two hundred tiny partitions cost more than the work in them.
        chosen["spark.sql.shuffle.partitions"] = str(2 * (os.cpu_count() or 1))
    return chosen
