"""The record of a figure: a header line, then one measurement per line, as JSON.

A cell is written at once when it is measured. A run that was interrupted reads what is there, drops
an unfinished cell, and goes on. Records of another size, data folder or state of the code are begun
anew; a commit that changes only results or pages does not count.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks import harness
from benchmarks.harness import Row
from benchmarks.papers.figure import Cell, Context, Figure

# The keys of a line that say where it comes from, not what was measured.
ABOUT = ("cell", "of", "seconds", "date", "load")


def path_of(figure: str, out: Path) -> Path:
    """Return the file of a figure."""
    return out / f"{figure}.jsonl"


def header_of(figure: str, context: Context, cells: int) -> Row:
    """Return the first line of a new record."""
    return {
        "figure": figure,
        "size": context.size,
        "cells": cells,
        "data": str(context.data) if context.data else None,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **harness.commit(),
        "machine": harness.machine(),
        "versions": harness.versions(),
        "load": os.getloadavg()[0],
    }


def _lines(path: Path) -> list[Row]:
    lines: list[Row] = []
    if not path.exists():
        return lines
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:  # the last line of a run that was killed
            break
    return lines


def load(figure: str, out: Path) -> tuple[Row | None, list[Row]]:
    """Return the header and the measurements of all finished cells."""
    lines = _lines(path_of(figure, out))
    if not lines or "figure" not in lines[0]:
        return None, []
    rows = [row for row in lines[1:] if "cell" in row]
    counts = Counter(row["cell"] for row in rows)
    return lines[0], [row for row in rows if counts[row["cell"]] == row["of"]]


def minutes(figure: str, out: Path) -> float:
    """Return how long a figure took, or 1 if all of it is not recorded."""
    header, rows = load(figure, out)
    if header is None or not rows or unfinished(header, rows) is not None:
        return 1.0
    taken = {row["cell"]: float(row["seconds"]) for row in rows}
    return max(sum(taken.values()), 1.0) / 60


def unfinished(header: Row, rows: list[Row]) -> str | None:
    """Say how much of a record is measured, or return None if all of it is."""
    done = len({row["cell"] for row in rows})
    wanted = header.get("cells", done)
    return None if done == wanted else f"only {done} of {wanted} cells are measured"


def measure(figure: Figure, context: Context, out: Path) -> Iterator[tuple[int, int]]:
    """Measure the cells that are missing; yields how many are done, of how many."""
    cells = figure.cells(context)
    path = path_of(figure.name, out)
    new = header_of(figure.name, context, len(cells))
    old, rows = load(figure.name, out)
    same = ("size", "cells", "data", "code", "modified")
    if old is None or any(old.get(name) != new[name] for name in same):
        old, rows = new, []
    done = {row["cell"] for row in rows}
    out.mkdir(parents=True, exist_ok=True)
    _write(path, [old, *rows], anew=True)
    finished = sum(cell.name in done for cell in cells)
    yield finished, len(cells)
    for cell in cells:
        if cell.name in done:
            continue
        _write(path, _measured(cell))
        finished += 1
        yield finished, len(cells)


def _measured(cell: Cell) -> list[Row]:
    start = perf_counter()
    results = cell.measure()
    about: dict[str, Any] = {
        "cell": cell.name,
        "of": len(results),
        "seconds": round(perf_counter() - start, 2),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "load": round(os.getloadavg()[0], 2),
    }
    return [{**about, **cell.key, **row} for row in results]


def _write(path: Path, rows: list[Row], *, anew: bool = False) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    if anew:  # in one step, so that no interrupt loses what is measured
        new = path.with_name(f"{path.name}.new")
        new.write_text(text, encoding="utf-8")
        new.replace(path)
        return
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
