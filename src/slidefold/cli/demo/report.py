"""The report of the demo: one self-contained HTML file."""

from __future__ import annotations

import html
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidefold.cli.demo.flights import PIPELINE, WATERMARK
from slidefold.cli.demo.measures import BATCH, Measures
from slidefold.errors import UsageError

CARRIER, AIRPORT = "EV", "EWR"  # the key whose features are drawn
WEEK = (
    datetime(2013, 3, 5, tzinfo=UTC),
    datetime(2013, 3, 12, tzinfo=UTC),
)  # around the day with the highest delays
COLORS = ("#2563eb", "#f59e0b", "#dc2626")
STREAMED = 14  # days of the stream that are drawn: over a year, six hours would be too thin to see

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>slidefold: flights</title>
<link rel="icon" href="data:,">
<style>
  body {{ font: 16px/1.5 system-ui, sans-serif; color: #1f2937; background: #fff;
         max-width: 66rem; margin: 0 auto; padding: 2rem 1rem 4rem; }}
  h1 {{ font-size: 1.8rem; margin-bottom: 0.2rem; }}
  h2 {{ font-size: 1.25rem; margin: 2.5rem 0 0.25rem; }}
  p {{ margin: 0.25rem 0 0.75rem; }}
  pre {{ background: #f3f4f6; padding: 1rem; overflow-x: auto; font-size: 0.85rem; }}
  .facts {{ display: flex; flex-wrap: wrap; gap: 0.75rem; margin: 1.5rem 0; }}
  .facts div {{ background: #f3f4f6; border-radius: 0.5rem; padding: 0.6rem 1rem; }}
  .facts b {{ display: block; font-size: 1.35rem; }}
</style>
</head>
<body>
<h1>Flights through one pipeline file</h1>
<p>{which}. The record of a flight arrives when the plane has
landed, so records are out of order. The features are still computed in order of departure.</p>
<div class="facts">{facts}</div>
{charts}
<h2>The pipeline file</h2>
<pre>{pipeline}</pre>
</body>
</html>
"""


def write_report(path: Path, table: Any, hours: Any, results: Any, measures: Measures) -> Path:
    """Draw the measurements of the demo and write them as one HTML file."""
    try:
        from plotly import graph_objects as go
        from plotly.io import to_html
    except ModuleNotFoundError:
        raise UsageError("the report needs plotly: pip install 'slidefold[demo]'") from None
    charts = []
    for number, (title, text, figure) in enumerate(_charts(go, table, hours, results, measures)):
        figure.update_layout(
            template="plotly_white",
            height=380,
            margin={"l": 60, "r": 20, "t": 20, "b": 50},
            legend={"orientation": "h", "y": 1.08},
        )
        drawn = to_html(
            figure,
            include_plotlyjs=number == 0,  # embedded once, so that the file opens offline
            full_html=False,
            div_id=f"chart-{number}",
            config={"displaylogo": False, "responsive": True},
        )
        charts.append(f"<h2>{html.escape(title)}</h2>\n<p>{html.escape(text)}</p>\n{drawn}")
    facts = "".join(
        f"<div><b>{html.escape(value)}</b>{html.escape(name)}</div>"
        for name, value in _facts(table, hours, measures)
    )
    first, last = pc.min(table["departed"]).as_py(), pc.max(table["departed"]).as_py()
    page = _PAGE.format(
        which=f"{len(table):,} departures from New York City, {first:%d %B} to {last:%d %B %Y}",
        facts=facts,
        charts="\n".join(charts),
        pipeline=html.escape(PIPELINE),
    )
    path.write_text(page, encoding="utf-8")
    return path


def _facts(table: Any, hours: Any, measures: Measures) -> Iterator[tuple[str, str]]:
    yield "records", f"{len(table):,}"
    yield "out of order", f"{(hours > 0).mean():.0%}"
    yield "late", f"{measures.late:,}"
    yield "largest state", f"{max(batch['bytes'] for batch in measures.batches) / 1e3:.0f} kB"
    for run in measures.runs:
        yield ", ".join(run.words), run.time


def _charts(
    go: Any, table: Any, hours: Any, results: Any, measures: Measures
) -> Iterator[tuple[str, str, Any]]:
    drawn, when = _drawn(results)
    yield (
        "The features of one carrier at one airport",
        f"Delays of {CARRIER} at {AIRPORT} {when}: each departure, and the mean of the 1, 6 and "
        "24 hours before it.",
        _features(go, drawn),
    )
    start, end = _span(table)
    yield (
        "The stream and its watermark",
        f"{start:%d %B} to {end:%d %B} in order of arrival: the newest departure seen so far, and "
        f"the watermark {WATERMARK} hours behind it. Records between the two lines wait; records "
        "below the watermark are late.",
        _stream(go, table, hours, measures),
    )
    yield (
        "How late records are",
        "Hours behind the newest departure seen when a record arrives. A flight to the west coast "
        "takes five hours, to Honolulu ten. The record of a diverted flight arrives a day later.",
        _lateness(go, hours),
    )
    yield (
        "Throughput",
        f"Rows per second of each run on this machine, for all features together. The stream in "
        f"this process uses batches of {BATCH} rows, about half a day of records.",
        _throughput(go, table, measures),
    )
    yield (
        "State",
        "The state of the stream after each batch: the number of rows that wait for the "
        "watermark, and the bytes of all rows that windows still need.",
        _state(go, measures),
    )


def _drawn(results: Any) -> tuple[Any, str]:
    """Return the rows of one carrier at one airport, and their time range as text."""
    mine = pc.and_(pc.equal(results["carrier"], CARRIER), pc.equal(results["airport"], AIRPORT))
    rows = results.filter(mine).sort_by("departed")
    first, last = (pa.scalar(day, pa.timestamp("us", "UTC")) for day in WEEK)
    if len(rows) and pc.max(rows["departed"]).as_py() >= WEEK[1]:
        within = pc.and_(pc.greater_equal(rows["departed"], first), pc.less(rows["departed"], last))
        return rows.filter(within), "around 8 March, the day with the highest mean delay"
    # With fewer records the data ends before that week does.
    rows = rows.slice(0, 1000)
    if len(rows) == 0:
        return rows, "(no such records)"
    begin, end = rows["departed"][0].as_py(), rows["departed"][-1].as_py()
    return rows, f"from {begin:%d %B} to {end:%d %B}"


def _features(go: Any, rows: Any) -> Any:
    times = rows["departed"].to_pylist()
    figure = go.Figure()
    figure.add_scatter(
        x=times,
        y=rows["delay_min"].to_pylist(),
        mode="markers",
        name="departure",
        marker={"size": 4, "color": "#9ca3af"},
    )
    for name, color in zip(("1h", "6h", "24h"), COLORS, strict=True):
        values = rows[f"delay_{name}"].to_pylist()
        figure.add_scatter(x=times, y=values, name=f"mean of {name}", line={"color": color})
    return figure.update_yaxes(title="minutes of delay")


def _stream(go: Any, table: Any, hours: Any, measures: Measures) -> Any:
    arrived = [batch["recorded"] for batch in measures.batches]
    figure = go.Figure()
    for name, color in (("newest", COLORS[0]), ("watermark", COLORS[2])):
        values = [_time(batch[name]) for batch in measures.batches]
        figure.add_scatter(x=arrived, y=values, name=name, line={"color": color})
    late = np.flatnonzero(hours >= WATERMARK)
    name = "late records" if len(late) <= 400 else "late records (some)"
    late = late[:: max(1, len(late) // 400)]
    taken = table.take(pa.array(late))
    figure.add_scatter(
        x=taken["recorded"].to_pylist(),
        y=taken["departed"].to_pylist(),
        mode="markers",
        name=name,
        marker={"size": 4, "color": COLORS[1]},
    )
    span = list(_span(table))
    figure.update_xaxes(title="record arrives", range=span)
    return figure.update_yaxes(title="departure", range=span)


def _span(table: Any) -> tuple[Any, Any]:
    """Return the first and the last time of the drawn part of the stream."""
    start, end = table["recorded"][0].as_py(), table["recorded"][-1].as_py()
    return start, min(end, start + timedelta(days=STREAMED))


def _time(value: Any) -> Any:
    return None if value is None else np.datetime64(value, "s").astype(object)


def _lateness(go: Any, hours: Any) -> Any:
    counts, edges = np.histogram(hours, bins=np.arange(0, max(25, hours.max() + 0.5), 0.25))
    figure = go.Figure()
    figure.add_bar(x=edges[:-1].tolist(), y=counts.tolist(), marker={"color": COLORS[0]})
    figure.add_vline(x=WATERMARK, line={"color": COLORS[2]}, annotation_text="watermark")
    figure.update_xaxes(title="hours behind")
    return figure.update_yaxes(title="records", type="log")


def _throughput(go: Any, table: Any, measures: Measures) -> Any:
    names = [", ".join(run.words) for run in measures.runs]
    speeds = [run.speed(len(table)) for run in measures.runs]
    figure = go.Figure()
    figure.add_bar(
        x=speeds,
        y=names,
        orientation="h",
        marker={"color": COLORS[0]},
        text=[f"{speed:,}" for speed in speeds],
    )
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure.update_xaxes(title="rows per second")


def _state(go: Any, measures: Measures) -> Any:
    arrived = [batch["recorded"] for batch in measures.batches]
    figure = go.Figure()
    pending = [batch["pending"] for batch in measures.batches]
    state = [batch["bytes"] / 1e3 for batch in measures.batches]
    figure.add_scatter(x=arrived, y=pending, name="waiting rows", line={"color": COLORS[0]})
    figure.add_scatter(
        x=arrived, y=state, name="kB of state", yaxis="y2", line={"color": COLORS[1]}
    )
    right = {"overlaying": "y", "side": "right", "title": "kB", "rangemode": "tozero"}
    return figure.update_layout(yaxis={"title": "rows", "rangemode": "tozero"}, yaxis2=right)
