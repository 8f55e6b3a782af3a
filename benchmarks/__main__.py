"""The command line: run figures, write their JSON, print their tables and the goals."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks import goals, harness
from benchmarks.figures import FIGURES


def run(figures: Sequence[str], size: str, out: Path) -> None:
    """Measure the figures one after another."""
    for name in figures:
        figure = FIGURES[name]
        print(f"== {name} ({size})\n", flush=True)
        path = harness.record(name, size, out, partial(figure.measure, figure.SIZES[size]))
        print(figure.show(harness.load(name, out)))
        print(f"written: {path}\n", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("figures", nargs="*", metavar="figure", help=", ".join(FIGURES))
    parser.add_argument("--quick", action="store_true", help="take one minute instead of ten")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the folder for the JSON files")
    chosen = parser.parse_args(arguments)
    for name in chosen.figures:
        if name not in FIGURES:
            parser.error(f"expected a figure among {', '.join(FIGURES)}, got {name!r}")
    size = "quick" if chosen.quick else "full"
    # Quick results never replace full ones.
    out = chosen.out or (harness.RESULTS / "quick" if chosen.quick else harness.RESULTS)
    without_spark = [n for n, figure in FIGURES.items() if not hasattr(figure, "NEEDS_SPARK")]
    run(chosen.figures or without_spark, size, out)
    print(goals.report(out))


if __name__ == "__main__":
    main()
