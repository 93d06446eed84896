"""Where each table of a lakehouse is. A root is a path or a URI; nothing here assumes a local disk."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from schemas.errors import SluiceError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


def checked_name(name: str, what: str) -> str:
    """`name` if it can be a folder of the lakehouse, so that no name reaches another path."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise SluiceError(
            f"{what} {name!r} cannot name a table.",
            "Use letters, digits, '-', '_' and '.', beginning with a letter.",
        )
    return name


@dataclass(frozen=True)
class Lakehouse:
    """The tables below one root. Streams and queries name folders; a query's tables are kept by revision."""

    root: str

    @staticmethod
    def at(root: str) -> Lakehouse:
        """A lakehouse at a path (made absolute) or a URI (taken as it is)."""
        return Lakehouse(root.rstrip("/") if "://" in root else str(Path(root).absolute()))

    def archive(self, stream: str) -> str:
        return f"{self.root}/archive/{checked_name(stream, 'stream')}"

    def punctuations(self, stream: str) -> str:
        return f"{self.root}/archive/{checked_name(stream, 'stream')}_punctuations"

    def quarantine(self, stream: str) -> str:
        return f"{self.root}/quarantine/{checked_name(stream, 'stream')}"

    def staging(self, stream: str) -> str:
        """Rows on their way into the archive; emptied when an ingest is done."""
        return f"{self.root}/staging/{checked_name(stream, 'stream')}"

    def of_query(self, table: str, query: str, revision: str) -> str:
        """`table` is results, expirations, late, state, ledger/batches or ledger/runs."""
        return f"{self.root}/{table}/{checked_name(query, 'query')}/{revision}"

    def validations(self, subject: str) -> str:
        """One table a subject (a stream or a query), since a table has one writer."""
        return f"{self.root}/quality/validations/{checked_name(subject, 'subject')}"

    def data_docs(self) -> str:
        return f"{self.root}/quality/data_docs"
