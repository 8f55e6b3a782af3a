"""Timing, the record of a run, and plain tables, for all figures.

All sides of a comparison run in one process and take turns: in each round every side runs once. The
best round of a side counts, because noise only adds time.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from time import perf_counter
from typing import Any

import slidefold

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PACKAGES = ("numpy", "pyarrow", "numba", "pandas", "polars", "river", "rolling", "nanobind")
BUSY = 0.5  # a load average above this at the start means that the machine is busy

Row = dict[str, Any]
Side = Callable[[], object]


@dataclass(frozen=True)
class Timing:
    """The best of several rounds."""

    seconds: float
    rounds: int


def best_of(sides: Mapping[str, Side], *, rounds: int, seconds: float) -> dict[str, Timing]:
    """Time all sides in turns, `rounds` times each.

    A side that has used `seconds` skips the remaining rounds after its second round, or after its
    first if that took ten times as long. The order rotates, so that no side always follows the same
    one.
    """

    def done(times: list[float]) -> bool:
        return sum(times) >= seconds * (1 if len(times) >= 2 else 10) and len(times) >= 1

    taken: dict[str, list[float]] = {name: [] for name in sides}
    names = list(sides)
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        for turn in range(rounds):
            shift = turn % max(len(names), 1)
            for name in names[shift:] + names[:shift]:
                if done(taken[name]):
                    continue
                run = sides[name]
                start = perf_counter()
                result = run()
                taken[name].append(perf_counter() - start)
                del result  # releasing a large result is not timed
            gc.collect(0)
    finally:
        if was_enabled:
            gc.enable()
    return {name: Timing(min(times), len(times)) for name, times in taken.items()}


# ---- memory -----------------------------------------------------------------------------------

# The peak memory of this program alone: ru_maxrss starts with the peak of the parent process, which
# would hide any growth below it.
_LARGEST = """
def largest():
    with open("/proc/self/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
"""


def available_memory() -> int | None:
    """Return the bytes that a new process can use without swapping, or None if unknown."""
    text = _first_line("/proc/meminfo", "MemAvailable")
    if text is None:
        return None
    found = 1024 * int(text.split()[0])
    limit, used = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
    try:
        return min(found, int(limit.read_text()) - int(used.read_text()))
    except (OSError, ValueError):  # no group, or one without a limit
        return found


def measured_apart(program: str, *words: object) -> list[float]:
    """Run a program in its own process, where `largest()` returns its peak memory.

    Returns the numbers that the program prints.
    """
    paths = [str(ROOT), str(Path(slidefold.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-c", _LARGEST + program, *map(str, words)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


# ---- the record -------------------------------------------------------------------------------


# What measurements depend on. Results and pages are committed between the parts of a long run.
CODE = ("cpp", "src", "benchmarks", "CMakeLists.txt", ":!benchmarks/results")


def commit() -> dict[str, Any]:
    """Return the commit, the last one that changed the code, and whether the code is modified."""

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True
            )
        except (OSError, subprocess.CalledProcessError):
            return None
        return done.stdout.strip()

    changes = git("status", "--porcelain", "--untracked-files=no", "--", *CODE)
    return {
        "commit": git("rev-parse", "HEAD"),
        "code": git("log", "-1", "--format=%H", "--", *CODE),
        "modified": bool(changes),
    }


def _first_line(path: str, key: str) -> str | None:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), None)


def machine() -> dict[str, Any]:
    """Return a description of the machine."""
    return {
        "cpu": _first_line("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": os.cpu_count(),
        "memory": _first_line("/proc/meminfo", "MemTotal"),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def versions() -> dict[str, str | None]:
    """Return the versions of everything that is measured."""
    installed: dict[str, str | None] = {
        "python": platform.python_version(),
        "slidefold": slidefold.__version__,
    }
    for package in PACKAGES:
        try:
            installed[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            installed[package] = None
    return installed


def warn_if_busy() -> float:
    """Return the load average, and warn if the machine is busy."""
    load = os.getloadavg()[0]
    if load > BUSY:
        print(
            f"warning: the load average is {load:.1f}: absolute numbers will be too high; ratios "
            "are less affected",
            file=sys.stderr,
        )
    return load


def record(figure: str, size: str, out: Path, measure: Callable[[], list[Row]]) -> Path:
    """Run a figure and write `<figure>.json` with machine, commit, versions and date."""
    load_before = warn_if_busy()
    start = perf_counter()
    rows = measure()
    document = {
        "figure": figure,
        "size": size,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **commit(),
        "machine": machine(),
        "versions": versions(),
        "load": {"before": load_before, "after": os.getloadavg()[0]},
        "seconds": round(perf_counter() - start, 1),
        "rows": rows,
    }
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{figure}.json"
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return path


def load(figure: str, out: Path) -> list[Row]:
    """Return the recorded rows of a figure; none if it is not recorded."""
    path = out / f"{figure}.json"
    if not path.exists():
        return []
    rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return rows


# ---- tables -----------------------------------------------------------------------------------


def shown(value: object) -> str:
    """Format a cell: a number with about three digits, a dash for None."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[object]], *, words: bool = False
) -> str:
    """Format a plain table: the first column left-aligned, the others right unless `words`."""
    cells = [list(header), *([shown(value) for value in row] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(header))]
    lines = [title, ""]
    for number, line in enumerate(cells):
        first, *rest = (
            text.ljust(width) if words or i == 0 else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        lines.append("  ".join([first, *rest]).rstrip())
        if number == 0:
            lines.append("  ".join("-" * width for width in widths))
    return "\n".join([*lines, ""])


def pivot(
    title: str, rows: Sequence[Row], *, down: str, across: str, value: str, label: str | None = None
) -> str:
    """Format one value of `rows` as a table by two of their keys, in order of appearance."""
    columns = list(dict.fromkeys(row[across] for row in rows))
    lines = list(dict.fromkeys(row[down] for row in rows))
    cells = {(row[down], row[across]): row[value] for row in rows}
    body = ([line, *(cells.get((line, column)) for column in columns)] for line in lines)
    return table(title, [label or down, *map(str, columns)], body)


def power(number: int) -> str:
    """Format a power of two as 2^k, any other number as it is."""
    return f"2^{number.bit_length() - 1}" if number and number & (number - 1) == 0 else str(number)
