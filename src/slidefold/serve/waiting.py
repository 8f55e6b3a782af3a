"""Events that wait for the writer of a service, and the futures of those who sent them."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from slidefold.serve.state import Reading


def future_of_events() -> Future[dict[str, Any]]:
    """Return a future that cannot be cancelled: events are taken even if nobody waits for that."""
    future: Future[dict[str, Any]] = Future()
    future.set_running_or_notify_cancel()
    return future


@dataclass
class Waiting:
    """Events that wait for the writer."""

    table: Any
    reading: Reading | None = None  # if they are from a file
    done: Future[dict[str, Any]] = field(default_factory=future_of_events)


def sum_of(parts: list[Future[dict[str, Any]]]) -> Future[dict[str, Any]]:
    """Return a future of the sums of several; it fails with the first that fails."""
    whole = future_of_events()
    left = [len(parts)]

    def done(_: Any) -> None:
        left[0] -= 1
        if left[0]:
            return
        failed = next((part.exception() for part in parts if part.exception()), None)
        if failed is not None:
            whole.set_exception(failed)
            return
        answers = [part.result() for part in parts]
        sums = {name: sum(one[name] for one in answers) for name in ("accepted", "late", "known")}
        whole.set_result({**sums, "position": answers[-1]["position"]})

    for part in parts:
        part.add_done_callback(done)
    return whole
