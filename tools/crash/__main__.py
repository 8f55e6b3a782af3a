"""Kill a stream again and again, and compare what it wrote in the end: `make crash`.

The query reads files and writes files. It is killed with -9 at random moments: the whole job, only
its Java, or a Python worker. Each time it is started again on what is left. At the end every row
must have come out once, with the results of a run over the accepted rows.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from time import monotonic, sleep
from typing import IO, Any

import pyarrow.parquet as pq

from tools.crash.job import RESULT
from tools.crash.processes import kill, kill_session, of_session, workers
from tools.crash.workload import add_file, faults, rows

ROOT = Path(__file__).parents[2]
# Files that the query always has before it, so that it is busy when it is killed.
AHEAD = 12
# A job that says nothing for so long hangs, which is a fault too.
PATIENCE = 900.0


class Job:
    """One life of the query."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "tools.crash.job", str(folder)]
        self.errors = (folder / "errors.txt").open("ab")
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            start_new_session=True,
        )
        self.said: list[str] = []
        self.reader = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True)
        self.reader.start()

    def _read(self, lines: IO[str]) -> None:
        with lines:
            self.said.extend(line.strip() for line in lines)

    def wait(self, seconds: float, word: str | None = None) -> bool:
        """Wait until the job has said a word or ended; False if neither."""
        end = monotonic() + seconds
        while monotonic() < end:
            if self.ended() or word in self.said:
                return True
            sleep(0.02)
        return False

    def ended(self) -> bool:
        """Tell whether the job is over, and leave its number taken: it names the session."""
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.process.pid, options) is not None

    def close(self) -> None:
        """End the job and all that it started."""
        kill_session(self.process.pid)
        self.process.wait()
        self.reader.join()
        self.errors.close()


class Crash:
    """A stream, its files, and who kills it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.seed, self.random = folder, seed, Random(seed)
        self.batches: list[Any] = []
        self.kills: Counter[str] = Counter()
        (folder / "in").mkdir(parents=True)

    def feed(self, count: int) -> None:
        """Give the query more files."""
        for _ in range(count):
            table = rows(self.seed, len(self.batches))
            add_file(self.folder / "in", table, len(self.batches))
            self.batches.append(table)

    def read(self) -> int:
        """Return how many files the query has begun to read."""
        offsets = self.folder / "checkpoint" / "sources" / "0"
        numbers = [int(path.name.partition(".")[0]) for path in offsets.glob("[0-9]*")]
        return max(numbers, default=-1) + 1

    def live(self, worker_kills: int, last: bool) -> None:
        """Start the query once; kill workers, then the job, unless this life is the last."""
        while len(self.batches) < self.read() + AHEAD and not last:
            self.feed(1)
        job = Job(self.folder)
        try:
            if not job.wait(PATIENCE, "started"):
                raise TimeoutError("the job did not start")
            for _ in range(worker_kills):
                self._let_run(job, self.random.choice((0, 0, 1)))
                found = workers(job.process.pid)
                if found:
                    kill(self.random.choice(found))
                    self.kills["worker"] += 1
            if last:
                if not job.wait(PATIENCE):
                    raise TimeoutError("the job hangs")
                return
            self._let_run(job, self.random.randint(0, 3))
            if not job.ended():
                self._kill_job(job)
        finally:
            job.close()

    def _let_run(self, job: Job, batches: int) -> None:
        """Wait for so many batches to begin, then for a moment of the next one."""
        begun, end = self.read() + batches, monotonic() + PATIENCE
        while self.read() < begun and not job.ended() and monotonic() < end:
            sleep(0.05)
        job.wait(self.random.uniform(0.0, 1.5))

    def _kill_job(self, job: Job) -> None:
        how = self.random.choice(("job", "java"))
        java = [pid for pid, said in of_session(job.process.pid).items() if "java" in said[:200]]
        if how == "java" and java:
            kill(java[0])
        else:
            kill_session(job.process.pid)
        self.kills[how] += 1

    def finish(self) -> list[str]:
        """Let the query end in peace; return what is wrong with its results."""
        result = self.folder / RESULT
        for _ in range(5):
            self.live(0, last=True)
            if result.exists():
                return faults(self.batches, pq.read_table(result))
        return [f"the query does not end: {(self.folder / 'errors.txt').read_text()[-2000:]}"]


def run(folder: Path, seed: int, kills: int, tell: bool = True) -> tuple[Counter[str], list[str]]:
    """Kill a query so many times; return the kills by kind, and what is wrong in the end."""
    crash = Crash(folder, seed)
    while crash.kills.total() < kills:
        left = kills - crash.kills.total() - 1
        crash.live(min(left, crash.random.randint(0, 5)), last=False)
        if tell:
            print(f"crash: {crash.kills.total()} kills, {crash.read()} batches", flush=True)
    return crash.kills, crash.finish()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the crash test; return 1 if a row was lost, doubled or wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None)
    chosen = parser.parse_args(arguments)
    seed = secrets.randbits(32) if chosen.seed is None else chosen.seed
    # Who is asked to end ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(f"crash: python -m tools.crash --kills {chosen.kills} --seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="slidefold-crash-") as folder:
        kills, wrong = run(Path(folder) / "stream", seed, chosen.kills)
    said = ", ".join(f"{kind} {count}" for kind, count in sorted(kills.items()))
    print(f"crash: {kills.total()} kills ({said}), {'; '.join(wrong) or 'all rows are right'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
