"""Which kernels run: tests compare it with the plan, and nothing else looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_RAN: ContextVar[list[tuple[str, str]] | None] = ContextVar("ran", default=None)


def ran(kernel: str, algorithm: str) -> None:
    """Note that a kernel runs, if anybody traces."""
    noted = _RAN.get()
    if noted is not None:
        noted.append((kernel, algorithm))


@contextmanager
def traced() -> Iterator[list[tuple[str, str]]]:
    """Collect the kernels that run inside, each with its algorithm."""
    noted: list[tuple[str, str]] = []
    token = _RAN.set(noted)
    try:
        yield noted
    finally:
        _RAN.reset(token)
