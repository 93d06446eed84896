"""A project folder: `streams/*.yaml` and `queries/*.cql`. Adding one is adding a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

from schemas.binding import FirstDay, bind_query
from schemas.errors import SluiceError
from schemas.language.parser import parse
from schemas.query import WindowQuery
from schemas.stream import Stream, load_stream


@dataclass(frozen=True)
class Project:
    """The declarations below one folder."""

    folder: Path

    @staticmethod
    def at(folder: str | Path) -> Project:
        project = Project(Path(folder).absolute())
        if not (project.folder / "streams").is_dir():
            raise SluiceError(
                f"{project.folder} is no project: it has no folder `streams`.",
                "Name one with --project, or make one with `sluice init DIR`.",
            )
        return project

    @cached_property
    def streams(self) -> dict[str, Stream]:
        """All declared streams by name."""
        found: dict[str, Stream] = {}
        for path in sorted((self.folder / "streams").glob("*.yaml")):
            stream = load_stream(path)
            if stream.name.lower() in (name.lower() for name in found):
                raise SluiceError(f"{path.name} declares {stream.name} again.", "Give it a name of its own.")
            found[stream.name] = stream
        return found

    @cached_property
    def query_files(self) -> dict[str, Path]:
        """All query files by the query's name."""
        return {path.stem: path for path in sorted((self.folder / "queries").glob("*.cql"))}

    def stream(self, name: str) -> Stream:
        found = next((s for s in self.streams.values() if s.name.lower() == name.lower()), None)
        return found or self._unknown("stream", name, self.streams)

    def query_text(self, name: str) -> str:
        path = self.query_files.get(name) or self._unknown("query", name, self.query_files)
        return path.read_text(encoding="utf-8")

    def query(self, name: str, first_day: FirstDay) -> WindowQuery:
        """The query of that name, bound to its stream."""
        return bind_query(name, parse(self.query_text(name), name), self.streams, first_day)

    def _unknown(self, what: str, name: str, known: Iterable[str]):  # type: ignore[no-untyped-def]
        listed = sorted(known)
        near = get_close_matches(name, listed, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(listed) or 'none'}."
        folder = "streams/*.yaml" if what == "stream" else "queries/*.cql"
        raise SluiceError(f"There is no {what} {name} in {self.folder}.", f"{hint} They live in {folder}.")
