"""Repeat the evaluations of the five papers: measure, judge, write one report.

`--quick` takes less than 5 minutes and fails if a promise of the theory does not hold. The default
takes about an hour. `--full` uses the papers' own sizes and takes a day. A run that was interrupted
goes on where it stopped; `--report` only writes the report again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import harness
from benchmarks.papers import FIGURES, record, report
from benchmarks.papers.data import DataError, check_folder
from benchmarks.papers.figure import Context, Figure, Size
from benchmarks.papers.progress import Progress

RESULTS = harness.RESULTS / "papers"


def chosen_figures(names: Sequence[str]) -> list[Figure]:
    """Return the figures that a list of names or prefixes selects, in their own order.

    >>> [figure.name for figure in chosen_figures(["daba.fig1"])]
    ['daba.fig10', 'daba.fig11', 'daba.fig12']
    """
    if not names:
        return [figure for figure in FIGURES.values() if figure.name != "bulk.billion"]
    unknown = [name for name in names if not any(key.startswith(name) for key in FIGURES)]
    if unknown:
        raise ValueError(f"expected a figure among {', '.join(FIGURES)}, got {unknown[0]!r}")
    # daba.fig1 means all that begin so, but an exact name means only itself
    return [
        figure
        for key, figure in FIGURES.items()
        if any(key == name or (name not in FIGURES and key.startswith(name)) for name in names)
    ]


def run(figures: Sequence[Figure], context: Context, out: Path) -> None:
    """Measure the figures one after another."""
    wanted = []
    for figure in figures:
        reason = figure.missing(context)
        if reason is not None:
            print(f"{figure.name}: not run: {reason}", flush=True)
        else:
            wanted.append(figure)
    # What the recorded run took tells how the work of any size is distributed.
    work = {figure.name: record.minutes(figure.name, RESULTS) for figure in wanted}
    with Progress(work) as bar:
        for figure in wanted:
            for cells in record.measure(figure, context, out):
                bar.show(figure.name, cells)


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, run, and return 1 if a promise is broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    only = "a figure or the beginning of its name; may be repeated: " + ", ".join(FIGURES)
    parser.add_argument("--only", action="append", metavar="FIGURE", default=[], help=only)
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", action="store_true", help="less than 5 minutes")
    sizes.add_argument("--full", action="store_true", help="the papers' own sizes: about a day")
    parser.add_argument("--data", type=Path, metavar="DIR", help="the folder with real data")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the folder for JSON and report")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the report")
    chosen = parser.parse_args(arguments)
    if chosen.data is not None and not chosen.data.is_dir():
        parser.error(f"--data must be a folder, got {chosen.data}")
    try:
        figures = chosen_figures(chosen.only)
    except ValueError as error:
        parser.error(str(error))
    size: Size = "quick" if chosen.quick else "full" if chosen.full else "default"
    # Other sizes never replace the recorded default run.
    out = chosen.out or (RESULTS if size == "default" else RESULTS / size)
    context = Context(size, chosen.data, named=bool(chosen.only))
    if not chosen.report:
        harness.warn_if_busy()
        try:
            if context.data is not None:
                check_folder(context.data)
            run(figures, context, out)
        except KeyboardInterrupt:
            print("interrupted; the same command goes on where it stopped", file=sys.stderr)
            return 130
        except DataError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
    results = [report.judged(figure, context, out) for figure in figures]
    print(report.table(results))
    # The report has all figures that are recorded there: a long run may be done in parts.
    everything = [report.judged(figure, context, out) for figure in FIGURES.values()]
    print(f"report: {report.write(everything, out)}")
    broken = [
        f"{result.figure.name}: {claim.paper}: {claim.measured}"
        for result in results
        for claim in result.claims
        if claim.promised and not claim.holds
    ]
    for line in broken:
        print(f"promise broken: {line}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
