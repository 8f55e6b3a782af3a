"""Real processes of the command line, and pipeline files to give to them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
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


def slidefold(folder: Path, *arguments: str, **more: str) -> Done:
    """Run the command line in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "slidefold.cli", *arguments],
        cwd=folder,
        env=environment(**more),
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
