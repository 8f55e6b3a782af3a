"""Real processes of the command line, and pipeline files to give to them."""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

TRADES = """\
ts,symbol,price,venue
2024-01-01 09:00:00,a,10.0,X
2024-01-01 09:30:00,a,14.0,Y
2024-01-01 09:30:00,b,5.0,X
2024-01-01 10:15:00,a,12.0,X
"""
PIPELINE = """\
[source]
path = "trades.csv"

[features]
on = "ts"
by = "symbol"

[features.columns]
n = { operator = "count", over = ["1h", "6h"] }
mean = { operator = "mean", columns = "price", over = "1h" }

[sink]
path = "out.parquet"
"""


@dataclass(frozen=True)
class Done:
    """How a process ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """The lines of --json."""
        return [json.loads(line) for line in self.out.splitlines()]


def environment(**more: str) -> dict[str, str]:
    """The environment of a process that finds this very package."""
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "TERM")}
    return {**kept, "PYTHONPATH": str(ROOT / "src"), **more}


# Imports the command line once, and forks for each command: a process starts in milliseconds. The
# server itself never has threads.
SERVER = """
import json, os, runpy, sys
import pyarrow.compute, pyarrow.csv, pyarrow.json, pyarrow.parquet
import slidefold.cli.app
for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
for number, name in enumerate((os.devnull, asked["out"], asked["err"])):
    os.dup2(os.open(name, os.O_RDONLY if number == 0 else os.O_WRONLY), number)
os.chdir(asked["folder"])
os.environ.clear()
os.environ.update(asked["environment"])
sys.argv[1:] = asked["arguments"]
sys.path[0] = asked["folder"]
runpy.run_module("slidefold.cli", run_name="__main__", alter_sys=True)
"""


@cache
def _server() -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
        text=True,
    )

    def stop() -> None:
        server.communicate()

    atexit.register(stop)
    return server


def slidefold(folder: Path, *arguments: str, **more: str) -> Done:
    """Run the command line in a folder, in a process of its own."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
        asked = {
            "folder": str(folder),
            "environment": environment(**more),
            "arguments": arguments,
            "out": out.name,
            "err": err.name,
        }
        server.stdin.write(json.dumps(asked) + "\n")
        server.stdin.flush()
        assert select.select([server.stdout], [], [], 600)[0], f"{arguments} does not end"
        code = server.stdout.readline()
        if not code:
            _server.cache_clear()
            raise AssertionError(f"the process that forks commands died at {arguments}")
        return Done(int(code), out.read().decode(), err.read().decode())


def from_scratch(folder: Path, *arguments: str) -> Done:
    """Run the command line as a shell does, in a new interpreter."""
    done = subprocess.run(
        [sys.executable, "-m", "slidefold.cli", *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def write(folder: Path, pipeline: str = PIPELINE, **files: str) -> Path:
    """Write a pipeline file and its trades; names of other files have _ for their dot."""
    (folder / "trades.csv").write_text(TRADES)
    for name, text in files.items():
        (folder / ".".join(name.rsplit("_", 1))).write_text(text)
    path = folder / "pipeline.toml"
    path.write_text(pipeline)
    return path
