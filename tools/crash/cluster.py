"""A standalone cluster of Spark on this machine: a master, and workers with one core each.

Everything is bound to 127.0.0.1. Each process leads a session of its own, so that a worker is found
together with its executors and their Python processes.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from tools.crash.processes import kill_session, of_session, workers

# Linux kills a daemon whose parent was killed. Executors end by themselves without their worker.
MORTAL = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()
ROOT = Path(__file__).parents[2]
# A daemon or a server that has not started after this many seconds never will.
PATIENCE = 180.0
# Daemons live for a minute or two: the optimizing compiler of Java costs more than it saves.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def _python_path() -> list[str]:
    return list(filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


class Daemon:
    """A process of Spark that runs until it is closed, and logs to a file."""

    def __init__(self, log: Path, *command: str, env: Mapping[str, str] | None = None) -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [*MORTAL, str(home / "bin" / "spark-class"), *command],
                env={
                    **os.environ,
                    "SPARK_HOME": str(home),
                    "SPARK_LOCAL_IP": "127.0.0.1",
                    "SPARK_DAEMON_MEMORY": "256m",
                    "SPARK_DAEMON_JAVA_OPTS": JAVA,
                    "PYSPARK_PYTHON": sys.executable,
                    "PYTHONPATH": os.pathsep.join((str(ROOT), *_python_path())),
                    **(env or {}),
                },
                cwd=log.parent,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_for(self, pattern: str) -> str:
        """Return the first match in the log; raise if the process ends without one."""
        end = monotonic() + PATIENCE
        while monotonic() < end:
            match = re.search(pattern, self.log.read_text(errors="replace"))
            if match:
                return match[0]
            if self.process.poll() is not None:
                break
            sleep(0.1)
        raise RuntimeError(f"no {pattern!r} in {self.log}:\n{self.log.read_text()[-2000:]}")

    def executors(self) -> list[int]:
        """Return the Java processes of executors that this process started."""
        commands = of_session(self.process.pid).items()
        return [pid for pid, command in commands if "CoarseGrainedExecutorBackend" in command]

    def close(self) -> None:
        """Kill the process and all that it started."""
        kill_session(self.process.pid)
        self.process.wait()


class Cluster:
    """A master and its workers."""

    def __init__(self, folder: Path, count: int = 2) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.workers: list[Daemon] = []
        self.master = Daemon(
            folder / "master.txt",
            "org.apache.spark.deploy.master.Master",
            *("--host", "127.0.0.1", "--port", "0", "--webui-port", "0"),
            # By default an application ends if its executors are killed ten times.
            env={"SPARK_DAEMON_JAVA_OPTS": f"{JAVA} -Dspark.deploy.maxExecutorRetries=-1"},
        )
        try:
            self.url = self.master.wait_for(r"spark://127\.0\.0\.1:\d+")
            for _ in range(count):
                self.add_worker()
            for worker in self.workers:
                worker.wait_for("Successfully registered with master")
        except BaseException:
            self.close()
            raise

    def add_worker(self) -> Daemon:
        """Start one more worker."""
        number = len(self.workers)
        worker = Daemon(
            self.folder / f"worker{number}.txt",
            "org.apache.spark.deploy.worker.Worker",
            *("--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g"),
            *("--work-dir", str(self.folder / f"work{number}"), self.url),
        )
        self.workers.append(worker)
        return worker

    def executors(self) -> list[int]:
        """Return the Java processes of all executors."""
        return [pid for worker in self.workers for pid in worker.executors()]

    def python_workers(self) -> list[int]:
        """Return the Python workers of all executors."""
        return [pid for worker in self.workers for pid in workers(worker.process.pid)]

    def close(self) -> None:
        """Kill all processes of the cluster."""
        for daemon in (*self.workers, self.master):
            daemon.close()


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Run a cluster of two workers, and kill all its processes at the end."""
    running = Cluster(folder)
    try:
        yield running
    finally:
        running.close()
