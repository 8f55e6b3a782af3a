"""A lock on a folder: two services that write one log would damage it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO

from slidefold.errors import StateError


def lock(folder: Path) -> IO[bytes]:
    """Return an open file that holds the lock of a folder until it is closed."""
    file = (folder / "lock").open("ab")
    if sys.platform == "win32":
        return file
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise StateError(f"another service uses the state in {str(folder)!r}") from None
    return file
