"""Find the processes of a session in /proc: the driver, its Java process, its Python workers."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path


def of_session(leader: int) -> dict[int, str]:
    """Return the processes of a session and their command lines."""
    commands = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError, ValueError, IndexError):
            # After the name, which may contain any character: state, parent, group, session.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader and fields[0] != "Z":
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                commands[int(entry.name)] = command.decode(errors="replace")
    return commands


def workers(leader: int) -> list[int]:
    """Return the Python workers of a session, without the daemon that forks them."""
    daemons = [pid for pid, command in of_session(leader).items() if "pyspark.daemon" in command]
    parents = {pid: _parent(pid) for pid in daemons}
    return [pid for pid in daemons if parents[pid] in parents]


def kill_session(leader: int) -> None:
    """Kill all processes of a session, until none is left."""
    while alive := of_session(leader):
        for pid in alive:
            kill(pid)


def kill(pid: int, how: signal.Signals = signal.SIGKILL) -> None:
    """Kill a process if it still exists."""
    with suppress(ProcessLookupError):
        os.kill(pid, how)


def _parent(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0
