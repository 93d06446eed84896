"""Who is alive in the sessions that our processes lead: their children, however deep, and nobody else's."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterable


def members(leaders: Iterable[subprocess.Popen[bytes]]) -> list[int]:
    """Every process alive in a session that one of `leaders` leads; each was started with a session of its own."""
    sessions = set()
    for leader in leaders:
        leader.poll()  # One that has ended is gone only when it has been asked for.
        sessions.add(leader.pid)
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,stat="], capture_output=True, text=True, check=True
    ).stdout
    alive = [int(pid) for pid, state in map(str.split, listed.splitlines()) if not state.startswith("Z")]
    return [pid for pid in alive if _session(pid) in sessions]


def leads_group_only(pid: int) -> bool:
    """Whether it leads a process group but no session, as a task does."""
    try:
        return os.getpgid(pid) == pid != os.getsid(pid)
    except ProcessLookupError:
        return False


def send(pid: int, signal: int) -> None:
    """The signal, if it still lives."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal)


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return None
