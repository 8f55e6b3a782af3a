"""Kill a stream many times, and check its results at the end: `make crash`.

The query reads and writes files. It is killed with SIGKILL at random moments: the whole job, its
Java process, or a Python worker. After each kill it is started again from its checkpoint. At the
end every row must have been emitted once, with the results of a batch run over the accepted rows.

With `--cluster` the query runs on a standalone cluster of two workers, with speculation. Executors
are killed and decommissioned too.
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
from contextlib import nullcontext
from pathlib import Path
from random import Random
from time import monotonic, sleep
from typing import IO, Any

import pyarrow.parquet as pq

from tools.crash.cluster import Cluster, cluster
from tools.crash.job import RESULT
from tools.crash.processes import kill, kill_session, of_session, workers
from tools.crash.workload import add_file, faults, rows

ROOT = Path(__file__).parents[2]
# The query always has this many unread files, so that it is busy when it is killed.
AHEAD = 12
# A job without progress for this many seconds hangs, which is a fault too.
PATIENCE = 900.0


class Job:
    """One process of the query."""

    def __init__(self, folder: Path, *master: str) -> None:
        command = [sys.executable, "-m", "tools.crash.job", str(folder), *master]
        self.errors = (folder / "errors.txt").open("ab")
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self.reader = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True)
        self.reader.start()

    def _read(self, lines: IO[str]) -> None:
        with lines:
            self.lines.extend(line.strip() for line in lines)

    def wait(self, seconds: float, word: str | None = None) -> bool:
        """Wait until the job has printed a word or ended; return False if neither."""
        end = monotonic() + seconds
        while monotonic() < end:
            if self.ended() or word in self.lines:
                return True
            sleep(0.02)
        return False

    def ended(self) -> bool:
        """Tell whether the job has ended, without reaping it: its pid identifies the session."""
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.process.pid, options) is not None

    def close(self) -> None:
        """Kill the job and all processes that it started."""
        kill_session(self.process.pid)
        self.process.wait()
        self.reader.join()
        self.errors.close()


class Crash:
    """A stream, its files, and the kills so far."""

    def __init__(self, folder: Path, seed: int, on: Cluster | None = None) -> None:
        self.folder, self.seed, self.random, self.cluster = folder, seed, Random(seed), on
        self.batches: list[Any] = []
        self.kills: Counter[str] = Counter()
        (folder / "in").mkdir(parents=True)

    def feed(self, count: int) -> None:
        """Write more input files."""
        for _ in range(count):
            table = rows(self.seed, len(self.batches))
            add_file(self.folder / "in", table, len(self.batches))
            self.batches.append(table)

    def read(self) -> int:
        """Return how many files the query has started to read."""
        offsets = self.folder / "checkpoint" / "sources" / "0"
        numbers = [int(path.name.partition(".")[0]) for path in offsets.glob("[0-9]*")]
        return max(numbers, default=-1) + 1

    def live(self, worker_kills: int, last: bool) -> None:
        """Start the query once; kill workers, then the job, unless `last` is set."""
        while len(self.batches) < self.read() + AHEAD and not last:
            self.feed(1)
        job = Job(self.folder, *([] if self.cluster is None else [self.cluster.url]))
        try:
            if not job.wait(PATIENCE, "started"):
                raise TimeoutError("the job did not start")
            for _ in range(worker_kills):
                self._let_run(job, self.random.choice((0, 0, 1)))
                self._disturb(job)
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
        """Wait until `batches` more batches have started, then a random moment longer."""
        begun, end = self.read() + batches, monotonic() + PATIENCE
        while self.read() < begun and not job.ended() and monotonic() < end:
            sleep(0.05)
        job.wait(self.random.uniform(0.0, 1.5))

    def _disturb(self, job: Job) -> None:
        """Kill a Python worker; on a cluster also an executor, or decommission one."""
        how = "worker"
        if self.cluster is None:
            pids = workers(job.process.pid)
        else:
            how = self.random.choice(("executor", "executor", "worker", "decommissioned"))
            pids = self.cluster.python_workers() if how == "worker" else self.cluster.executors()
        if pids:
            gently = how == "decommissioned"
            kill(self.random.choice(pids), signal.SIGPWR if gently else signal.SIGKILL)
            self.kills[how] += 1

    def _kill_job(self, job: Job) -> None:
        how = self.random.choice(("job", "java"))
        processes = of_session(job.process.pid).items()
        java = [pid for pid, command in processes if "java" in command[:200]]
        if how == "java" and java:
            kill(java[0])
        else:
            kill_session(job.process.pid)
        self.kills[how] += 1

    def finish(self) -> list[str]:
        """Let the query end without kills; return the faults in its results."""
        result = self.folder / RESULT
        for _ in range(5):
            self.live(0, last=True)
            if result.exists():
                return faults(self.batches, pq.read_table(result))
        return [f"the query does not end: {(self.folder / 'errors.txt').read_text()[-2000:]}"]


def run(
    folder: Path, seed: int, kills: int, on: Cluster | None = None
) -> tuple[Counter[str], list[str]]:
    """Kill a query `kills` times; return the kills by kind, and the faults at the end."""
    crash = Crash(folder, seed, on)
    while crash.kills.total() < kills:
        left = kills - crash.kills.total() - 1
        crash.live(min(left, crash.random.randint(0, 5)), last=False)
        print(f"crash: {crash.kills.total()} kills, {crash.read()} batches", flush=True)
    return crash.kills, crash.finish()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the crash test; return 1 if a row was lost, duplicated or wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--cluster", action="store_true", help="run on a cluster of two workers")
    chosen = parser.parse_args(arguments)
    seed = secrets.randbits(32) if chosen.seed is None else chosen.seed
    # On SIGTERM, exit normally, so that the processes of the job are killed too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    where = " --cluster" if chosen.cluster else ""
    print(f"crash: python -m tools.crash --kills {chosen.kills} --seed {seed}{where}", flush=True)
    with tempfile.TemporaryDirectory(prefix="slidefold-crash-") as folder:
        on = cluster(Path(folder) / "cluster") if chosen.cluster else nullcontext()
        with on as running:
            kills, wrong = run(Path(folder) / "stream", seed, chosen.kills, running)
    by_kind = ", ".join(f"{kind} {count}" for kind, count in sorted(kills.items()))
    print(f"crash: {kills.total()} kills ({by_kind}), {'; '.join(wrong) or 'all rows are right'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
