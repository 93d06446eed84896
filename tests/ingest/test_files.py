"""Which files paths, folders and globs mean, in which order, and what tells contents apart."""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path

import pytest

from lakehouse.ingest.files import Format, find_files, format_of
from schemas.errors import SluiceError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.csv", "a.jsonl.gz", "sub/c.parquet", "notes.txt", ".hidden.csv", "_tmp/d.csv", "z.TSV"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    return tmp_path


def names(folder: Path, *paths: str) -> list[str]:
    return [os.path.relpath(file.path, folder) for file in find_files([folder / path for path in paths])[0]]


def test_folders_are_sorted_and_tell_what_they_ignore(folder: Path) -> None:
    files, ignored = find_files([folder])
    assert [Path(file.path).name for file in files] == ["a.jsonl.gz", "b.csv", "c.parquet", "z.TSV"]
    assert [Path(name).name for name in ignored] == ["notes.txt"]


def test_paths_keep_their_order_and_count_once(folder: Path) -> None:
    assert names(folder, "z.TSV", "*.csv", "b.csv", "**/*.parquet") == ["z.TSV", "b.csv", "sub/c.parquet"]


def test_formats() -> None:
    assert format_of("x.CSV.GZ") is Format.CSV
    assert format_of("x.ndjson") is Format.JSON
    assert format_of("x.parquet.gz") is None


@pytest.mark.parametrize(
    ("path", "problem", "remedy"),
    [
        ("b.csw", "no file, folder or match", "Did you mean .*b.csv"),
        ("nothing/*.csv", "no file, folder or match", "Check the path"),
        ("notes.txt", "no known format", "Extensions"),
        ("_tmp/*.txt", "no file, folder or match", ""),
    ],
)
def test_unknown_paths_are_told(folder: Path, path: str, problem: str, remedy: str) -> None:
    with pytest.raises(SluiceError, match=problem) as caught:
        find_files([folder / path])
    assert re.search(remedy, caught.value.remedy)


def test_a_folder_without_readable_files_is_told(tmp_path: Path) -> None:
    with pytest.raises(SluiceError, match="holds no file that ingest reads"):
        find_files([tmp_path])


def test_content_is_what_was_zipped(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"x\n1\n")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"x\n1\n", mtime=1))
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(b"x\n1\n", mtime=2))
    files, _ = find_files([tmp_path])
    assert len({file.content_hash() for file in files}) == 1


def test_a_file_that_grows_while_it_is_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"x\n1\n")
    [file], _ = find_files([tmp_path / "a.csv"])
    file.check_unchanged()
    (tmp_path / "a.csv").write_bytes(b"x\n1\n2\n")
    with pytest.raises(SluiceError, match="changed while it was read"):
        file.check_unchanged()
