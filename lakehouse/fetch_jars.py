"""Resolve Delta's JARs once into a folder, with the Ivy that comes inside PySpark, and check their hashes.

Run as a script by `make setup` and by the image build; needs Java and, the first time, the network.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

JARS = {
    "io.delta:delta-spark_4.2_2.13:4.4.0": "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    "io.delta:delta-storage:4.4.0": "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
}


def fetch(folder: Path) -> list[Path]:
    """The JARs in `folder`, fetched if they are not there, each with the hash that is written above."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_fetch_one(coordinate, digest, folder) for coordinate, digest in JARS.items()]


def _fetch_one(coordinate: str, digest: str, folder: Path) -> Path:
    group, artifact, version = coordinate.split(":")
    jar = folder / f"{artifact}-{version}.jar"
    if jar.exists() and _hash(jar) == digest:
        return jar
    with tempfile.TemporaryDirectory() as cache:
        pattern = f"{cache}/[artifact]-[revision].[ext]"
        command = [
            "java",
            "-jar",
            str(_ivy()),
            "-cache",
            f"{cache}/ivy",
            "-notransitive",
            "-confs",
            "default",
        ]
        command += ["-dependency", group, artifact, version, "-retrieve", pattern]
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        fetched = Path(cache) / jar.name
        if not fetched.exists():
            sys.exit(
                f"Could not fetch {coordinate}: is there a network?\n{said.stdout[-2000:]}{said.stderr[-500:]}"
            )
        if _hash(fetched) != digest:
            sys.exit(f"{coordinate} came with another hash than the one in {__file__}: not used.")
        # Moved into place whole: a fetch cut short leaves no half a JAR behind.
        partial = jar.with_suffix(".partial")
        shutil.copyfile(fetched, partial)
        partial.rename(jar)
    return jar


def _ivy() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None, "pyspark is installed by the lock"
    assert spec.origin is not None
    return next((Path(spec.origin).parent / "jars").glob("ivy-*.jar"))


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    default = Path(__file__).resolve().parent.parent / ".cache" / "jars"
    for path in fetch(Path(os.environ.get("SLUICE_JARS", default))):
        print(path.name)
