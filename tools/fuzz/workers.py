"""Run rounds in several processes, so that a crash is reported like any other failure."""

from __future__ import annotations

import multiprocessing as mp
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.sharedctypes import Synchronized
from typing import Any

from tools.fuzz.rounds import Failure, Round

Run = Callable[[int, int], Round]
PROGRESS = 10.0  # seconds


@dataclass
class Total:
    """The sum of all rounds."""

    count: int = 0
    rounds: int = 0
    seconds: float = 0.0
    about: dict[str, Counter[str]] = field(default_factory=dict)
    failure: Failure | None = None
    failed: int = -1  # the number of the round

    def add(self, done: Round) -> None:
        """Count a round."""
        self.count += done.count
        self.rounds += 1
        for name, value in done.about.items():
            self.about.setdefault(name, Counter())[value] += done.count


@dataclass
class Worker:
    """A process, the pipe that it reports to, and the number of its current round."""

    process: BaseProcess
    reports: Connection
    number: Synchronized[int]


def _work(run: Run, seed: int, first: int, by: int, reports: Any, number: Any) -> None:
    """Run rounds first, first + by, ... until the parent ends this process."""
    at = first
    while True:
        number.value = at
        reports.send((at, run(seed, at)))
        at += by


def run_rounds(
    run: Run,
    seed: int,
    *,
    workers: int,
    count: int | None,
    seconds: float | None,
    tell: Callable[[Total], None],
) -> Total:
    """Run rounds until `count` cases are done, `seconds` have passed, or a round fails."""
    total, started = Total(), time.monotonic()
    reported = started
    crew = [_start(run, seed, first, workers) for first in range(workers)]
    try:
        while total.failure is None:
            total.seconds = time.monotonic() - started
            if count is not None and total.count >= count:
                break
            if seconds is not None and total.seconds >= seconds:
                break
            if time.monotonic() - reported >= PROGRESS:
                reported = time.monotonic()
                tell(total)
            _listen(crew, total)
    finally:
        for worker in crew:
            worker.process.terminate()
            worker.process.join()
    return total


def _start(run: Run, seed: int, first: int, by: int) -> Worker:
    context = mp.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    number: Any = context.Value("q", first)
    process = context.Process(
        target=_work, args=(run, seed, first, by, sender, number), daemon=True
    )
    process.start()
    sender.close()
    return Worker(process, receiver, number)


def _listen(crew: list[Worker], total: Total) -> None:
    """Receive reports for up to a second; a closed pipe means that the process died."""
    for ready in wait([worker.reports for worker in crew], timeout=1.0):
        worker = next(one for one in crew if one.reports is ready)
        try:
            number, done = worker.reports.recv()
        except EOFError:
            worker.process.join()
            total.failed = worker.number.value
            message = f"the process died with exit code {worker.process.exitcode}"
            total.failure = Failure(message, "")
            return
        total.add(done)
        if done.failure is not None:
            total.failed, total.failure = number, done.failure
            return
