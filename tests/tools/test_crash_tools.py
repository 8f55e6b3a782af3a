"""What the crash test and the soak stand on: finding processes, killing them, seeing growth."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tools.crash.processes import kill_session, of_session, workers
from tools.soak import grown

CHILD = "import time; time.sleep(600)"
PARENT = f"""
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", {CHILD!r}, "pyspark.daemon"])
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def leader() -> Iterator[int]:
    """A session of two processes; the parent calls itself a daemon, and its child too."""
    command = [sys.executable, "-c", PARENT, "pyspark.daemon"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    yield process.pid
    kill_session(process.pid)
    process.wait()
    process.stdout.close()


def test_a_session_is_found_and_killed_whole(leader: int) -> None:
    assert len(of_session(leader)) == 2
    (worker,) = workers(leader)
    assert worker != leader
    kill_session(leader)
    assert of_session(leader) == {}


def test_growth_is_between_the_second_and_the_last_quarter() -> None:
    flat = [{"rows": 10.0, "bytes": 0.0}] * 8
    assert grown(flat) == {"rows": 1.0, "bytes": 1.0}
    assert grown([{"rows": float(n)} for n in range(1, 17)])["rows"] == (14.5 / 6.5)
