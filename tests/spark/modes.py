"""Run tests or a script in a process of its own, against a Connect server or a cluster.

A process has one session of Spark, and a client of Connect cannot share it with a local one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run_tests(folder: Path, *selected: str, **variables: str) -> str:
    """Run tests with variables of the environment; return the last line, fail with all of them."""
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"),
        *("--basetemp", str(folder / "tests"), *selected),
    ]
    done = _run(command, variables)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    return done.stdout.strip().splitlines()[-1]


def run_script(script: str, *arguments: str, **variables: str) -> str:
    """Run a script; return what it prints, fail with its errors."""
    done = _run([sys.executable, "-c", script, *arguments], variables)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    return done.stdout


def _run(command: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    # Without it Spark starts workers with the first python3 of the path.
    own = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    env = {**os.environ, **own, **variables}
    # A worker of xdist tells its tests who they are; the process inside is none.
    for name in [name for name in env if name.startswith("PYTEST_")]:
        del env[name]
    return subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=900, check=False
    )
