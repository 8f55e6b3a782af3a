"""Write a snapshot in a process of its own, from the last one and the log behind it.

The service goes on meanwhile. `python -m slidefold.serve.snapshots PIPELINE STATE POSITION` folds
the records up to a position and writes what they make.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread

from slidefold.serve.log import Log
from slidefold.serve.run import settings_of
from slidefold.serve.state import State


def in_background(
    file: Path, folder: Path, position: int, done: Callable[[bool], None]
) -> subprocess.Popen[bytes]:
    """Start the process, and tell `done` whether it wrote the snapshot."""
    command = [sys.executable, "-m", __name__, str(file), str(folder), str(position)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    Thread(target=lambda: done(process.wait() == 0), daemon=True).start()
    return process


def write_snapshot(file: Path, folder: Path, position: int) -> Path:
    """Fold the records up to a position and write what they make."""
    from slidefold.pipeline.file import load

    state = State(settings_of(load(file, writes=False, serves=True)))
    log = Log(folder)
    state.load_newest(folder, log)
    for _ in state.replay(log.read(state.position, position)):
        pass
    return state.save(folder)


if __name__ == "__main__":
    os.nice(10)  # requests come first
    write_snapshot(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
