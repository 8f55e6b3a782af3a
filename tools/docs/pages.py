"""All generated files by path."""

from __future__ import annotations

from pathlib import Path

from tools.docs import benchmarks, capacity, comparisons, curves, operators, papers
from tools.docs.algorithms import filled
from tools.docs.boundary_traces import BOUNDARY_TRACES, draw_boundary
from tools.docs.traces import TRACES
from tools.docs.tree_traces import STEPS, draw_tree

DOCS = Path(__file__).parents[2] / "docs"


def pictures() -> dict[str, str]:
    """Return the SVG files by name."""
    drawn = {f"trace-{name}": trace.draw() for name, trace in TRACES.items()}
    drawn |= {f"trace-{name}": draw_boundary(kind) for name, kind in BOUNDARY_TRACES.items()}
    drawn |= {f"trace-{name}": draw_tree(name) for name in STEPS}
    drawn |= {f"curve-{name}": curves.throughput(name) for name in (*curves.SHOWN, "all")}
    drawn |= {"curve-late": curves.late_combines(), "curve-threads": curves.two_threads()}
    slides = curves.late_throughput()
    if slides is not None:
        drawn["curve-late-time"] = slides
    drawn |= papers.pictures()
    drawn["curve-capacity"] = capacity.picture()
    drawn |= {
        "speed-light": comparisons.speed_chart(comparisons.LIGHT),
        "speed-dark": comparisons.speed_chart(comparisons.DARK),
    }
    return {f"img/{name.replace('_', '-')}.svg": picture for name, picture in drawn.items()}


def generated(docs: Path = DOCS) -> dict[Path, str]:
    """Return the expected text of each generated file and each page with generated regions."""
    texts = {docs / name: text for name, text in pictures().items()}
    readme = docs.parent / "README.md"
    for page in [*([readme] if readme.exists() else []), *sorted(docs.glob("**/*.md"))]:
        text = page.read_text(encoding="utf-8")
        if "<!-- generated:" in text:
            texts[page] = filled(text)
    texts[docs / "reference" / "operators.md"] = operators.page()
    texts[docs / "benchmarks.md"] = benchmarks.page()
    return texts


def stale(docs: Path = DOCS) -> list[Path]:
    """Return the files that are out of date."""
    return [
        path
        for path, text in generated(docs).items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def write(docs: Path = DOCS) -> list[Path]:
    """Write the stale files, and return their paths."""
    wanted = generated(docs)
    old = stale(docs)
    for path in old:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path], encoding="utf-8")
    return old
