"""Tasks that are one `sluice` command in a Spark process, started through the Spark provider's connection."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import sluice_settings as settings
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Asset, AssetAlias, Connection

if TYPE_CHECKING:
    from airflow.sdk import Context


class SluiceOperator(SparkSubmitOperator):
    """`sluice` with `application_args`, by spark-submit in client mode on the connection's master.

    `subject` is what the command is about; the task returns it, and so vouches for it, once the command has
    succeeded. `asset` (`name`, `uri`, `extra`) is then told to have changed, under each alias in `outlets`.
    """

    template_fields: Sequence[str] = (*SparkSubmitOperator.template_fields, "subject", "asset")

    def __init__(self, *, subject: str = "", asset: dict[str, Any] | None = None, **kwargs: Any) -> None:
        kwargs.setdefault(
            "name", "sluice {{ task.task_id }} {{ dag_run.run_after.strftime('%Y-%m-%dT%H:%M:%SZ') }}"
        )
        super().__init__(**kwargs)
        self.subject = subject
        self.asset = asset

    def execute(self, context: Context) -> Any:
        self.application = str(settings.ROOT / "jobs" / "submit.py")
        self.jars = settings.delta_jars()
        self.py_files = os.environ.get("SLUICE_PY_FILES")
        self.env_vars = settings.spark_environment()
        self._driver_memory = os.environ.get("SLUICE_DRIVER_MEMORY", "4g")
        master = Connection.get(self._conn_id).host or ""
        self.conf = {**settings.spark_settings(master), **(self.conf or {})}
        super().execute(context)
        self._tell_of_asset(context)
        return self.subject

    def _tell_of_asset(self, context: Context) -> None:
        if not self.asset:
            return
        changed = Asset(name=self.asset["name"], uri=self.asset["uri"])
        for alias in self.outlets:
            if isinstance(alias, AssetAlias):
                context["outlet_events"][alias].add(changed, extra=self.asset.get("extra"))


class PinArchives(SluiceOperator):
    """`sluice pin`: up to where each stream is archived now.

    Returns `stream`, `version` and `last_seq` of each; a stream without an archive is left out.
    """

    template_fields: Sequence[str] = (*SluiceOperator.template_fields, "streams")

    def __init__(self, *, streams: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.streams = streams

    def execute(self, context: Context) -> list[dict[str, Any]]:
        if not self.streams:
            return []
        with TemporaryDirectory(prefix="sluice-pin-") as folder:
            out = Path(folder) / "pins.json"
            self.application_args = ["pin", *self.streams, "--out", str(out)]
            super().execute(context)
            pins = json.loads(out.read_text(encoding="utf-8"))
        for stream in self.streams:
            if not pins.get(stream):
                self.log.warning("Stream %s has no archive yet: its queries are left out.", stream)
        return [{"stream": stream, **pin} for stream, pin in pins.items() if pin]
