"""Open the place where a service listens, before its state is read."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from slidefold.errors import UsageError


def listen_at(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
    except (OSError, OverflowError) as error:
        opened.close()
        reason = error.strerror if isinstance(error, OSError) else "ports are 1 to 65535"
        raise UsageError(f"cannot listen at {host}:{port}: {reason}") from None
    return opened


def check_socket(path: Path) -> None:
    """Raise if a Unix socket cannot be opened at a path, or if another service listens there."""
    if not path.parent.is_dir():
        raise UsageError(f"cannot listen at {str(path)!r}: there is no such folder")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"cannot listen at {str(path)!r}: the folder is not writable")
    if not path.exists():
        return
    if not path.is_socket():
        raise UsageError(f"cannot listen at {str(path)!r}: there is a file")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        try:
            other.connect(str(path))
        except OSError:
            return  # of a service that was killed
    raise UsageError(f"another service listens at {str(path)!r}")
