"""What a night's run is made of: the queries, the streams they read, and which may be replayed."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import sluice_settings as settings

if TYPE_CHECKING:
    from schemas.language import tree
    from schemas.project import Project

log = logging.getLogger(__name__)


def read_project(folder: str) -> dict[str, list[str]]:
    """The streams that each query reads, by the query's name, in the order of FROM.

    A query that cannot be understood reads none: its own replay says what is wrong, and stops no other.
    """
    from schemas.errors import SluiceError
    from schemas.project import Project

    project = Project.at(folder)
    queries: dict[str, list[str]] = {}
    for name in project.query_files:
        try:
            queries[name] = _streams_read(project, name)
        except SluiceError as error:
            log.warning("Query %s: %s", name, error)
            queries[name] = []
    return queries


def _streams_read(project: Project, query: str) -> list[str]:
    from schemas.language.parser import parse

    statement = parse(project.query_text(query), query)
    return list(dict.fromkeys(project.stream(name).name for name in _sources(statement.query)))


def _sources(query: tree.Query) -> Iterable[str]:
    """Names of streams in a query's tree, from left to right."""
    from schemas.language import tree

    match query:
        case tree.Select(sources=sources):
            for source in sources:
                if isinstance(source, tree.StreamSource):
                    yield source.name
                else:
                    yield from _sources(source.query)
        case tree.SetOperation(left=left, right=right):
            yield from _sources(left)
            yield from _sources(right)
        case tree.RelationToStream(query=inner):
            yield from _sources(inner)


def streams_of(queries: dict[str, list[str]]) -> list[str]:
    """The streams that any query reads, each once."""
    return sorted({stream for streams in queries.values() for stream in streams})


def gate_of(pin: dict[str, Any]) -> dict[str, Any]:
    """The gate of one pinned stream, as arguments of its task."""
    stream = pin["stream"]
    return {
        "subject": stream,
        "application_args": ["check", stream],
        "asset": {
            "name": f"archive/{stream}",
            "uri": settings.table_uri("archive", stream),
            "extra": {"version": pin["version"], "last_seq": pin["last_seq"]},
        },
    }


def replays(
    queries: dict[str, list[str]], pins: list[dict[str, Any]], opened: Sequence[str]
) -> list[dict[str, Any]]:
    """One replay for each query whose streams all passed their gates, up to its first one's pin."""
    last_seq = {pin["stream"]: pin["last_seq"] for pin in pins}
    passed = set(opened[:])  # In one request: going through it asks for each, and once too often.
    chosen = []
    for query, streams in queries.items():
        if unfilled := [stream for stream in streams if stream not in last_seq]:
            log.warning("Query %s is left out: nothing is archived of %s.", query, ", ".join(unfilled))
            continue
        if closed := [stream for stream in streams if stream not in passed]:
            log.error("Query %s is not replayed: the gate of %s is closed.", query, ", ".join(closed))
            continue
        until = {"last_seq": last_seq[streams[0]]} if streams else {}
        chosen.append(
            {
                "query": query,
                "replay_args": [
                    *("replay", query, "--no-gate", "-q"),
                    *(f"--until={seq}" for seq in until.values()),
                ],
                "check_args": ["check", query],
                "results": {
                    "name": f"results/{query}",
                    "uri": settings.table_uri("results", query),
                    "extra": until,
                },
            }
        )
    return chosen
