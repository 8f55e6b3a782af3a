"""The evaluations of the five papers, figure by figure: `make papers`."""

from __future__ import annotations

from importlib import import_module

from benchmarks.papers.figure import Figure

# The papers, and the modules of their figures in the order of the report.
PAPERS = {
    "daba": ("fig09", "fig10", "fig11", "fig12"),
    "fiba": ("fig11", "fig12", "fig13", "fig14", "fig15", "fig16", "fig17", "fig18"),
    "bulk": (
        "fig07",
        "fig08",
        "fig09",
        "fig10",
        "fig11",
        "fig12",
        "fig13",
        "fig14",
        "billion",
        "fig15",
        "fig16",
        "fig17",
    ),
    "reactive": ("table3", "fig06", "fig07", "fig08", "fig09", "fig10", "fig11", "table4", "fig12"),
    "pba": ("fig04", "fig05", "fig06", "fig07", "fig08"),
}


def _figures() -> dict[str, Figure]:
    found: dict[str, Figure] = {}
    for paper, names in PAPERS.items():
        for name in names:
            figure: Figure = import_module(f"benchmarks.papers.{paper}.{name}").FIGURE
            found[figure.name] = figure
    return found


FIGURES = _figures()

__all__ = ["FIGURES", "PAPERS"]
