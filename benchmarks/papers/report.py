"""The report: a table of verdicts, which are computed from the numbers, then the charts.

One HTML file with everything inside it: it opens without a network, in light and dark.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import log10, sqrt
from pathlib import Path
from string import Template
from typing import Any

from benchmarks import harness
from benchmarks.harness import Row
from benchmarks.papers import record
from benchmarks.papers.figure import Chart, Claim, Context, Figure, Series
from benchmarks.papers.rounds import LEVELS

COLORS = ("#4477aa", "#ee6677", "#228833", "#aa8800", "#22aacc", "#aa3377", "#ee8833", "#8866cc")
GREY = "#999999"
PAGE = Path(__file__).with_name("report.html")


@dataclass(frozen=True)
class Result:
    """A figure with its measurements and what they say."""

    figure: Figure
    header: Row | None
    rows: list[Row]
    claims: list[Claim]
    reason: str | None  # why it was not run

    @property
    def verdict(self) -> str:
        """Return the verdict on the shape, from the claims."""
        if not self.rows:
            return f"not run: {self.reason or 'no measurements'}"
        broken = [claim for claim in self.claims if not claim.holds]
        if not broken:
            return "same shape"
        clauses = (f"{paper} ({numbers})" for paper, numbers in grouped(broken))
        return f"different, because it is not true here that {', or that '.join(clauses)}"

    @property
    def title(self) -> str:
        """Return the title; it says so if the data was generated."""
        sources = dict.fromkeys(row["source"] for row in self.rows if "source" in row)
        return " ".join([self.figure.title, *(f"({source})" for source in sources)])


def grouped(claims: Sequence[Claim]) -> list[tuple[str, str]]:
    """Return each finding once, with what was measured for all operators.

    >>> grouped([Claim("it is flat", False, "2x", about="sum"), Claim("it is flat", False, "3x")])
    [('it is flat', 'sum: 2x; 3x')]
    """
    numbers: dict[str, list[str]] = {}
    for claim in claims:
        words = f"{claim.about}: {claim.measured}" if claim.about else claim.measured
        numbers.setdefault(claim.paper, []).append(words)
    return [(paper, "; ".join(measured)) for paper, measured in numbers.items()]


def judged(figure: Figure, context: Context, out: Path) -> Result:
    """Return a figure with what is recorded of it."""
    header, rows = record.load(figure.name, out)
    if header is None or not rows:
        return Result(figure, header, [], [], figure.missing(context))
    reason = record.unfinished(header, rows)
    if reason is not None:
        return Result(figure, header, [], [], reason)
    return Result(figure, header, rows, figure.claims(rows), None)


def table(results: Sequence[Result]) -> str:
    """Format the verdicts as a plain table."""
    body = [[result.figure.name, result.verdict] for result in results]
    return harness.table("The papers", ["figure", "verdict"], body, words=True)


def write(results: Sequence[Result], out: Path) -> Path:
    """Write report.html and return its path."""
    from plotly.offline import get_plotlyjs

    charts: list[dict[str, Any]] = []
    sections = [_section(result, charts) for result in results]
    out.mkdir(parents=True, exist_ok=True)
    path = out / "report.html"
    text = Template(PAGE.read_text(encoding="utf-8")).substitute(
        about=_about(results),
        rows="\n".join(_row(result) for result in results),
        sections="\n".join(sections),
        # "</" would end the script element.
        charts=json.dumps(charts).replace("</", "<\\/"),
        plotly=get_plotlyjs().replace("</script", "<\\/script"),
    )
    path.write_text(text, encoding="utf-8")
    return path


def _about(results: Sequence[Result]) -> str:
    headers = [result.header for result in results if result.header is not None]
    if not headers:
        return "Nothing is measured yet."
    machines = dict.fromkeys(
        f"{machine['cores']} cores of {machine['cpu']}, {_gigabytes(machine['memory'])}"
        for machine in (header["machine"] for header in headers)
    )
    sizes = ", ".join(dict.fromkeys(str(header["size"]) for header in headers))
    codes = ", ".join(dict.fromkeys(_code(header) for header in headers))
    dates = sorted(str(header["date"])[:10] for header in headers)
    days = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    words = f"Size: {sizes}. Code of commit {codes}. {days}. {'; '.join(machines)}."
    return escape(words)


def _gigabytes(memory: str | None) -> str:
    """Return what /proc/meminfo says in words for people.

    >>> _gigabytes("24684096 kB")
    '25 GB of memory'
    """
    number = (memory or "").split(" ")[0]
    return f"{int(number) / 1e6:.0f} GB of memory" if number.isdigit() else "memory unknown"


def _code(header: Row) -> str:
    changed = " with changes" if header["modified"] else ""
    return f"{str(header.get('code') or header['commit'])[:10]}{changed}"


def _run(result: Result) -> str:
    """Say when and of what code a figure was measured: parts of a run may differ."""
    if result.header is None or not result.rows:
        return ""
    loads = [float(row["load"]) for row in result.rows]
    return (
        f"Run of {result.header['date'][:10]}, size {result.header['size']}, code of commit "
        f"{_code(result.header)}, load average {min(loads):.1f} to {max(loads):.1f}."
    )


def _kind(result: Result) -> str:
    """Return the verdict's class in the page: same-shape, different or not-run."""
    return result.verdict.split(",")[0].split(":")[0].replace(" ", "-")


def _row(result: Result) -> str:
    measured = "".join(
        f"<div>{escape(paper)}: {escape(numbers)}</div>"
        for paper, numbers in grouped([claim for claim in result.claims if claim.holds])
    )
    return (
        f'<tr><td><a href="#{result.figure.name}">{result.figure.name}</a></td>'
        f"<td>{escape(result.figure.found)}</td>"
        f'<td class="{_kind(result)}">{escape(result.verdict)}</td>'
        f'<td class="holds">{measured}</td></tr>'
    )


def _section(result: Result, charts: list[dict[str, Any]]) -> str:
    lines = [f'<section id="{result.figure.name}">', f"<h2>{escape(result.title)}</h2>"]
    kind = _kind(result)
    lines.append(
        f'<p><b class="{kind}">{kind.replace("-", " ")}</b>. {escape(result.figure.found)}</p>'
    )
    if not result.rows:
        lines.append(f'<p class="claim">{escape(result.verdict)}.</p>')
    lines += [f'<p class="claim">{line}</p>' for line in _checks(result.claims)]
    lines.append(f'<p class="claim">{escape(f"{result.figure.remark} {_run(result)}".strip())}</p>')
    lines.append('<div class="charts">')
    for chart in result.figure.charts(result.rows) if result.rows else []:
        lines.append(f'<div class="chart" data-chart="{len(charts)}"></div>')
        charts.append(plotted(chart))
    return "\n".join([*lines, "</div></section>"])


def _checks(claims: Sequence[Claim]) -> list[str]:
    lines: list[str] = []
    for holds, mark in ((False, "no"), (True, "yes")):
        chosen = [claim for claim in claims if claim.holds == holds]
        promised = {claim.paper for claim in chosen if claim.promised}
        for paper, numbers in grouped(chosen):
            theory = " (promised by the theory)" if paper in promised else ""
            lines.append(
                f'<b class="{"same-shape" if holds else "different"}">{mark}</b>: '
                f"{escape(paper)}{theory}: {escape(numbers)}."
            )
    return lines


def plotted(chart: Chart) -> dict[str, Any]:
    """Return a chart as plotly reads it; the page adds the colours of its theme."""
    colored = [series.name for series in chart.series if not series.grey]
    traces: list[dict[str, Any]] = []
    for series in chart.series:
        color = GREY if series.grey else COLORS[colored.index(series.name) % len(COLORS)]
        place = list(chart.series).index(series)
        if chart.kind == "violins":
            traces += _violin(series, place, color)
        else:
            traces += _traces(chart, series, color)
    # Bars stand side by side, also where their names are numbers.
    kind = "log" if chart.log_x else "category" if chart.kind == "bars" else "-"
    axes: dict[str, dict[str, Any]] = {
        "xaxis": {"title": {"text": chart.x}, "type": kind},
        "yaxis": {"title": {"text": chart.y}, "type": "log" if chart.log_y else "linear"},
    }
    if chart.kind == "violins":
        names = [series.name for series in chart.series]
        axes["xaxis"] = {"tickvals": list(range(len(names))), "ticktext": names}
    if not chart.log_y and chart.kind != "violins":
        axes["yaxis"]["rangemode"] = "tozero"
    legend = chart.kind != "violins"
    layout = {"autosize": True, "title": {"text": chart.title}, "showlegend": legend, **axes}
    return {"data": traces, "layout": layout}


def _traces(chart: Chart, series: Series, color: str) -> list[dict[str, Any]]:
    trace: dict[str, Any] = {"name": series.name, "x": list(series.x), "y": list(series.y)}
    if chart.kind == "bars":
        return [{**trace, "type": "bar", "marker": {"color": color}}]
    line = {"color": color, "dash": "dot" if series.grey else "solid"}
    return [{**trace, "type": "scatter", "mode": "lines+markers", "line": line}]


def _violin(series: Series, place: int, color: str) -> list[dict[str, Any]]:
    """Return a violin around x = place from quantiles, with median, 99.9% and maximum as marks.

    Its width is the share of steps per decade of time, so it suits a logarithmic axis.
    """
    quantiles = dict(zip(LEVELS, series.y, strict=True))
    steps: list[tuple[float, float, float]] = []  # from, to, share per decade
    for (low, at_low), (high, at_high) in pairwise(quantiles.items()):
        start, end = max(at_low, 0.5), max(at_high, 0.5)
        steps.append((start, end, (high - low) / max(log10(end / start), 0.01)))
    widest = max(share for _, _, share in steps)
    edge: list[tuple[float, float]] = []
    for start, end, share in steps:
        half = max(0.42 * sqrt(share / widest), 0.01)
        edge += [(half, start), (half, end)]
    marks = {"median": quantiles[50], "99.9%": quantiles[99.9], "maximum": quantiles[100]}
    outline = {
        "type": "scatter", "mode": "lines", "name": series.name, "fill": "toself",
        "x": [place + half for half, _ in edge] + [place - half for half, _ in reversed(edge)],
        "y": [at for _, at in edge] + [at for _, at in reversed(edge)],
        "line": {"color": color, "width": 1}, "hoverinfo": "skip",
    }  # fmt: skip
    points = {
        "type": "scatter", "mode": "markers", "x": [place] * 3, "y": list(marks.values()),
        "text": list(marks), "hovertemplate": "%{text}: %{y}<extra></extra>",
        "marker": {"color": color, "symbol": ["line-ew-open", "diamond", "triangle-up"], "size": 9},
    }  # fmt: skip
    return [outline, points]
