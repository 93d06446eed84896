"""The files that an ingest is given: found, ordered, told apart by format and by content."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs

from schemas.errors import SluiceError

_CHUNK = 1 << 20


class Format(Enum):
    PARQUET = "Parquet"
    CSV = "CSV"
    TSV = "TSV"
    JSON = "JSON lines"


_EXTENSIONS = {
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".json": Format.JSON,
    ".jsonl": Format.JSON,
    ".ndjson": Format.JSON,
}
KNOWN_EXTENSIONS = ", ".join(_EXTENSIONS) + " (text also with .gz)"


def filesystem(place: str) -> tuple[Any, str]:
    """The file system of a path or a URI, and the path within it."""
    if "://" in place:
        found: tuple[Any, str] = fs.FileSystem.from_uri(place)
        return found
    return fs.LocalFileSystem(), os.path.abspath(place)


@dataclass(frozen=True)
class InputFile:
    """A file to ingest. `path` is how the user reaches it, and what the tables call it."""

    path: str
    format: Format
    gzipped: bool
    size: int
    modified: int

    @contextmanager
    def open(self, progress: Callable[[int], None] | None = None) -> Iterator[Any]:
        """The file as an Arrow input file, or as a stream of its unzipped bytes."""
        system, inner = filesystem(self.path)
        try:
            with system.open_input_file(inner) as file:
                yield Unzipped(file, progress) if self.gzipped else Plain(file, progress)
        except (pa.ArrowException, OSError, EOFError) as error:
            raise unreadable(self.path, error) from error

    def content_hash(self) -> str:
        """SHA-256 of the content; of what was zipped, since zipping again changes the bytes around it."""
        digest = hashlib.sha256()
        with self.open() as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
        return digest.hexdigest()

    def check_unchanged(self) -> None:
        """What was hashed is what was read: a file that still grows would be remembered as another."""
        system, inner = filesystem(self.path)
        info = system.get_file_info(inner)
        if (info.size, info.mtime_ns) != (self.size, self.modified):
            raise SluiceError(
                f"{self.path} changed while it was read. Nothing of this ingest landed.",
                "Wait until whatever writes it is done, then ingest again.",
            )


class Plain:
    """Bytes of a file, telling how far it has got."""

    def __init__(self, file: Any, progress: Callable[[int], None] | None) -> None:
        self.file = file
        self._progress = progress

    def read(self, size: int) -> bytes:
        chunk: bytes = self._read(size)
        self.tell_progress(self.file.tell())
        return chunk

    def tell_progress(self, done: int) -> None:
        if self._progress:
            self._progress(done)

    def _read(self, size: int) -> bytes:
        chunk: bytes = self.file.read(size)
        return chunk


class Unzipped(Plain):
    """The same of a gzip file; its progress counts zipped bytes, as its size does."""

    def __init__(self, file: Any, progress: Callable[[int], None] | None) -> None:
        super().__init__(file, progress)
        self._stream = pa.CompressedInputStream(file, "gzip")

    def _read(self, size: int) -> bytes:
        chunk: bytes = self._stream.read(size)
        return chunk


def unreadable(path: str, error: Exception) -> SluiceError:
    if isinstance(error, PermissionError):
        return SluiceError(f"{path} may not be read.", "Ask for the right to read it, then ingest again.")
    return SluiceError(
        f"{path} cannot be read: {' '.join(str(error).split())[:200]}. Nothing of this ingest landed.",
        "The file may be cut short or damaged: fetch it again, or leave it out.",
    )


def find_files(paths: Iterable[str | Path]) -> tuple[list[InputFile], list[str]]:
    """The files behind paths, folders and globs, in the order given, and those ignored in folders.

    A folder is read with its subfolders, sorted by path; names that begin with `.` or `_` are left out.
    A file that several paths reach counts once, where it is first.
    """
    found: dict[str, InputFile] = {}
    ignored: list[str] = []
    for path in map(str, paths):
        readable = False
        for name, explicit in _expand(path):
            system, inner = filesystem(name)
            kind = format_of(name)
            if kind is None:
                if explicit:
                    raise SluiceError(
                        f"{name} is in no known format.", f"Extensions that ingest reads: {KNOWN_EXTENSIONS}."
                    )
                ignored.append(name)
                continue
            readable = True
            info = system.get_file_info(inner)
            file = InputFile(name, kind, name.lower().endswith(".gz"), info.size, info.mtime_ns)
            found.setdefault(os.path.realpath(inner) if "://" not in name else name, file)
        if not readable:
            raise SluiceError(
                f"{path} holds no file that ingest reads.", f"Extensions that it reads: {KNOWN_EXTENSIONS}."
            )
    return list(found.values()), ignored


def format_of(name: str) -> Format | None:
    bare = name.lower()
    kind = _EXTENSIONS.get(os.path.splitext(bare.removesuffix(".gz"))[1])
    return None if kind is Format.PARQUET and bare.endswith(".gz") else kind


def _expand(path: str) -> Iterator[tuple[str, bool]]:
    """The files behind one path, each with whether the user named it."""
    system, inner = filesystem(path)
    info = system.get_file_info(inner)
    if info.type == fs.FileType.File:
        yield path, True
    elif info.type == fs.FileType.Directory:
        yield from ((name, False) for name in _below(path))
    else:
        matches = sorted(glob.glob(path, recursive=True)) if "://" not in path else []
        if not matches:
            raise SluiceError(f"There is no file, folder or match for {path}.", _near(path))
        for match in matches:
            if os.path.isdir(match):
                yield from ((name, False) for name in _below(match))
            else:
                yield match, False


def _below(folder: str) -> list[str]:
    system, inner = filesystem(folder)
    names = []
    for info in system.get_file_info(fs.FileSelector(inner, recursive=True)):
        relative = info.path[len(inner) :].lstrip("/")
        hidden = any(part.startswith((".", "_")) for part in relative.split("/"))
        if info.type == fs.FileType.File and not hidden:
            names.append(f"{folder.rstrip('/')}/{relative}")
    return sorted(names)


def _near(path: str) -> str:
    parent = Path(path).parent
    if "://" in path or not parent.is_dir():
        return "Check the path."
    near = get_close_matches(Path(path).name, os.listdir(parent), n=1)
    return f"Did you mean {parent / near[0]}?" if near else f"Check the path; {parent} is there."
