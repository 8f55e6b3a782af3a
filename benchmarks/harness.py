"""Timing, the record of a run, and plain tables: what all figures share.

All sides of a comparison run in one process, in turns: round after round, each side once. The best
round of a side counts, because noise only ever adds time.
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
BUSY = 0.5  # a load average above this at the start means that others are computing

Row = dict[str, Any]
Side = Callable[[], object]


@dataclass(frozen=True)
class Timing:
    """The best of several rounds."""

    seconds: float
    rounds: int


def best_of(sides: Mapping[str, Side], *, rounds: int, seconds: float) -> dict[str, Timing]:
    """Time every side in turns, `rounds` times each.

    A side that has used up `seconds` sits out the remaining rounds after its second, or after its
    first if that took ten times as long. The order turns with the rounds, so that no side always
    follows the same one.
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
                del result  # releasing a large result is not part of anybody's time
            gc.collect(0)
    finally:
        if was_enabled:
            gc.enable()
    return {name: Timing(min(times), len(times)) for name, times in taken.items()}


# ---- memory -----------------------------------------------------------------------------------

# The largest memory of this program alone: ru_maxrss would begin with that of the process which
# started it, and where that was larger nothing would seem to grow.
_LARGEST = """
def largest():
    with open("/proc/self/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
"""


def measured_apart(program: str, *words: object) -> list[float]:
    """Run a program in a process of its own, where `largest()` is the most memory it ever had.

    Returns the numbers that it prints.
    """
    paths = [str(ROOT), str(Path(slidefold.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-c", _LARGEST + program, *map(str, words)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


# ---- the record -------------------------------------------------------------------------------


def commit() -> dict[str, Any]:
    """The commit that is measured, and whether the tree differs from it."""

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True
            )
        except (OSError, subprocess.CalledProcessError):
            return None
        return done.stdout.strip()

    changes = git(
        "status", "--porcelain", "--untracked-files=no", "--", ".", ":!benchmarks/results"
    )
    return {"commit": git("rev-parse", "HEAD"), "modified": bool(changes)}


def _first_line(path: str, key: str) -> str | None:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), None)


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    return {
        "cpu": _first_line("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": os.cpu_count(),
        "memory": _first_line("/proc/meminfo", "MemTotal"),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def versions() -> dict[str, str | None]:
    """The versions of everything that is measured."""
    found: dict[str, str | None] = {
        "python": platform.python_version(),
        "slidefold": slidefold.__version__,
    }
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found


def warn_if_busy() -> float:
    """Return the load average; say so if others are computing."""
    load = os.getloadavg()[0]
    if load > BUSY:
        print(
            f"warning: the load average is {load:.1f}; absolute numbers will be worse than they "
            "are, ratios less so",
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
    """The rows of a figure that was recorded earlier; none if it was not."""
    path = out / f"{figure}.json"
    if not path.exists():
        return []
    rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return rows


# ---- tables -----------------------------------------------------------------------------------


def shown(value: object) -> str:
    """A cell: about three digits of a number, nothing for None."""
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
    """A plain table: the first column to the left, numbers to the right, `words` to the left."""
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
    """A table of one value of `rows`, by two of their keys, in the order in which they come."""
    columns = list(dict.fromkeys(row[across] for row in rows))
    lines = list(dict.fromkeys(row[down] for row in rows))
    cells = {(row[down], row[across]): row[value] for row in rows}
    body = ([line, *(cells.get((line, column)) for column in columns)] for line in lines)
    return table(title, [label or down, *map(str, columns)], body)


def power(number: int) -> str:
    """2^k for a power of two, else the number."""
    return f"2^{number.bit_length() - 1}" if number & (number - 1) == 0 else str(number)
