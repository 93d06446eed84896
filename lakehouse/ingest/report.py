"""What an ingest did, file by file."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class FileReport:
    """One file: what of it landed, or why it was skipped."""

    path: str
    rows: int = 0
    quarantined: int = 0
    first_seq: int | None = None
    last_seq: int | None = None
    skipped: str | None = None


@dataclass(frozen=True)
class IngestReport:
    """One ingest. `ignored` are files of folders in no format we read, `punctuations` those added."""

    files: list[FileReport] = field(default_factory=list)
    punctuations: int = 0
    punctuation_files: list[FileReport] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    ingest_id: str | None = None

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def quarantined(self) -> int:
        return sum(file.quarantined for file in [*self.files, *self.punctuation_files])

    @property
    def first_seq(self) -> int | None:
        return min((file.first_seq for file in self.files if file.first_seq is not None), default=None)

    @property
    def last_seq(self) -> int | None:
        return max((file.last_seq for file in self.files if file.last_seq is not None), default=None)
