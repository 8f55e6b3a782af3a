"""The cost of the package: a clean build, the wheel, the import."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import slidefold
from benchmarks.harness import ROOT, Row, table

IMPORT = """
import numpy, pyarrow, time
start = time.perf_counter()
import slidefold
print(time.perf_counter() - start)
"""


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    build: bool
    imports: int


SIZES = {"full": Sizes(True, 9), "quick": Sizes(False, 5), "smoke": Sizes(False, 2)}


def measure(sizes: Sizes) -> list[Row]:
    """Import in fresh processes; build in a new folder, so that nothing is reused."""
    rows: list[Row] = [
        {"what": "import beyond numpy and pyarrow", "unit": "s", "value": import_seconds(sizes)},
        {"what": "native module", "unit": "MB", "value": native_megabytes()},
    ]
    if sizes.build:
        seconds, megabytes = build()
        rows.append({"what": "clean build", "unit": "s", "value": seconds})
        rows.append({"what": "wheel", "unit": "MB", "value": megabytes})
    return rows


def import_seconds(sizes: Sizes) -> float:
    """Return the best of several imports, with numpy and pyarrow imported before."""
    source = str(Path(slidefold.__file__).parents[1])
    paths = [source, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    return min(
        float(
            subprocess.run(
                [sys.executable, "-c", IMPORT],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for _ in range(sizes.imports)
    )


def native_megabytes() -> float:
    """Return the size of the loaded compiled module."""
    module = sys.modules["slidefold._native_ext"].__file__
    assert module is not None
    return Path(module).stat().st_size / 1e6


def build() -> tuple[float, float]:
    """Build a wheel with the tools of this environment; return seconds and megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
        words += ["--no-build-isolation", "--config-settings", f"build-dir={folder}/build"]
        start = perf_counter()
        subprocess.run([sys.executable, "-m", *words, "--wheel-dir", folder, str(ROOT)], check=True)
        seconds = perf_counter() - start
        (wheel,) = Path(folder).glob("*.whl")
        return seconds, wheel.stat().st_size / 1e6


def show(rows: list[Row]) -> str:
    """Format a table of all measurements."""
    body = [[row["what"], row["value"], row["unit"]] for row in rows]
    return table("The package itself", ["what", "measured", "unit"], body)
