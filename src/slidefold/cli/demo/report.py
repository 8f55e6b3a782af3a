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

from slidefold.cli.demo.flights import PIPELINE, WATERMARK, carriers
from slidefold.cli.demo.measures import BATCH, Measures
from slidefold.errors import UsageError

CARRIER, AIRPORT = "EV", "EWR"  # the key whose features are drawn
AIRPORTS = {"EWR": "Newark", "JFK": "Kennedy Airport", "LGA": "LaGuardia"}
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
  :root {{ color-scheme: light dark; --text: #1f2937; --page: #fff; --box: #f1f5f4;
          --good: #047857; --bad: #b91c1c; --line: #d1d5db; }}
  @media (prefers-color-scheme: dark) {{
    :root {{ --text: #e6edf3; --page: #0d1117; --box: #161f24; --good: #34d399; --bad: #f87171;
            --line: #30363d; }} }}
  body {{ font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page);
         max-width: 66rem; margin: 0 auto; padding: 2rem 1rem 4rem; }}
  h1 {{ font-size: 1.8rem; line-height: 1.25; margin-bottom: 0.4rem; }}
  h2 {{ font-size: 1.25rem; margin: 2.5rem 0 0.25rem; }}
  p {{ margin: 0.25rem 0 0.75rem; }}
  pre {{ background: var(--box); padding: 1rem; overflow-x: auto; font-size: 0.85rem; }}
  .facts {{ display: flex; flex-wrap: wrap; gap: 0.75rem; margin: 1.5rem 0; }}
  .facts div {{ background: var(--box); border-radius: 0.5rem; padding: 0.6rem 1rem; }}
  .facts b {{ display: block; font-size: 1.35rem; }}
  .scroll {{ overflow-x: auto; }}
  table {{ border-collapse: collapse; }}
  th, td {{ text-align: left; padding: 0.35rem 1.2rem 0.35rem 0;
           border-bottom: 1px solid var(--line); }}
  @media (max-width: 30rem) {{ th, td {{ padding-right: 0.5rem; font-size: 0.8rem; }} }}
  th + th {{ text-align: right; }} th:last-child, td:last-child {{ padding-right: 0; }}
  td.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
  .same {{ color: var(--good); font-weight: 700; }}
  .differs {{ color: var(--bad); font-weight: 700; }}
</style>
</head>
<body>
<h1>{headline}</h1>
<p>{which}. The record of a flight arrives when the plane has landed, so records are out of order.
One pipeline file computes the features in order of departure, on every engine.</p>
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
        if isinstance(figure, str):  # a table
            charts.append(f"<h2>{html.escape(title)}</h2>\n<p>{html.escape(text)}</p>\n{figure}")
            continue
        figure.update_layout(
            template="plotly_white",
            height=figure.layout.height or 380,
            margin={"l": 60, "r": 20, "t": 40, "b": 50},
            legend={"orientation": "h", "y": 1.12},
            paper_bgcolor="rgba(0,0,0,0)",  # the page is light or dark
            plot_bgcolor="rgba(0,0,0,0)",
            font={"color": "#7b8794"},
        )
        grid = "rgba(128,140,150,0.25)"
        figure.update_xaxes(gridcolor=grid, zerolinecolor=grid)
        figure.update_yaxes(gridcolor=grid, zerolinecolor=grid)
        drawn = to_html(
            figure,
            include_plotlyjs=number == 0,  # embedded once, so that the file opens offline
            full_html=False,
            div_id=f"chart-{number}",
            config={"displayModeBar": False, "responsive": True},
        )
        charts.append(f"<h2>{html.escape(title)}</h2>\n<p>{html.escape(text)}</p>\n{drawn}")
    facts = "".join(
        f"<div><b>{html.escape(value)}</b>{html.escape(name)}</div>"
        for name, value in _facts(table, hours, measures)
    )
    first, last = pc.min(table["departed"]).as_py(), pc.max(table["departed"]).as_py()
    page = _PAGE.format(
        headline=html.escape(_headline(results)),
        which=f"{len(table):,} departures from New York City, {first:%d %B} to {last:%d %B %Y}",
        facts=facts,
        charts="\n".join(charts),
        pipeline=html.escape(PIPELINE),
    )
    path.write_text(page, encoding="utf-8")
    return path


def _headline(results: Any) -> str:
    """Return what a person learns: the carrier and airport with the worst day."""
    busy = results.filter(pc.greater_equal(results["flights_24h"], 20))
    if len(busy) == 0:
        return "Delays of flights, by carrier and airport"
    at = pc.index(busy["delay_24h"], pc.max(busy["delay_24h"])).as_py()
    worst = busy.slice(at, 1).to_pylist()[0]
    usual = pc.approximate_median(busy["delay_24h"]).as_py()
    airline = carriers().get(worst["carrier"], worst["carrier"])
    where = AIRPORTS.get(worst["airport"], worst["airport"])
    return (
        f"The worst day: {airline} at {where}. In the 24 hours up to "
        f"{worst['departed'].day} {worst['departed']:%B %H:%M} UTC its flights left "
        f"{worst['delay_24h']:.0f} minutes late on average; {usual:.0f} is usual"
    )


def _facts(table: Any, hours: Any, measures: Measures) -> Iterator[tuple[str, str]]:
    yield "records", f"{len(table):,}"
    yield "out of order", f"{(hours > 0).mean():.0%}"
    yield "late", f"{measures.late:,}"
    agreed = sum(parity.results for parity in measures.parities if parity.same)
    yield "equal results on other engines", f"{agreed:,}"
    yield "largest state", f"{max(batch['bytes'] for batch in measures.batches) / 1e3:.0f} kB"


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
    yield (
        "Late data arrives, results become final",
        "One day at four moments. A grey departure waits: a record that would change its features "
        f"may still arrive. It is final, in blue, once the newest departure is {WATERMARK} hours "
        "ahead of it (the red line). Orange records came too late.",
        _moments(go, table),
    )
    yield (
        "The same results on every engine",
        "Each result of each engine is compared with the batch in this process.",
        _parity_table(measures),
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
        "The cost of each run",
        "Seconds on this machine, for all features together. The first run in a session also "
        "starts what it needs, such as the Python workers of Spark; a later run is the work alone. "
        "Runs on Spark discard their results.",
        _cost_table(measures),
    )
    yield (
        "Cost by rows",
        "Later runs, and the streams. Where a line begins is the fixed cost of a run, its slope is "
        f"the cost of a row. The stream in this process uses batches of {BATCH} rows, about half a "
        "day of records.",
        _cost(go, measures),
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


def _cost(go: Any, measures: Measures) -> Any:
    """Plot seconds over rows: runs of fewer rows show what a run costs without rows."""
    figure = go.Figure()
    live = {"this process, stream": [(b["rows"], b["seconds"]) for b in measures.batches]}
    for name, color in zip(
        dict.fromkeys(", ".join(run.words) for run in measures.runs), _LINES, strict=False
    ):
        runs = [run for run in measures.runs if ", ".join(run.words) == name]
        later = [run for run in runs if run.again] or runs
        points = live.get(name) or [(run.rows, run.seconds) for run in later]
        rows, seconds = zip(*sorted(points), strict=True)
        mode = "lines" if len(points) > 20 else "lines+markers"
        figure.add_scatter(x=rows, y=seconds, mode=mode, name=name, line={"color": color})
    figure.update_xaxes(title="rows", rangemode="tozero")
    return figure.update_yaxes(title="seconds", rangemode="tozero")


_LINES = ("#0d9488", "#2563eb", "#f59e0b", "#a855f7", "#dc2626", "#64748b")


def _parity_table(measures: Measures) -> str:
    """Return the comparisons as a table with marks."""
    rows = []
    for parity in measures.parities:
        kind, mark = ("same", "\u2713 equal") if parity.same else ("differs", "\u2717 differs")
        rows.append(
            f"<tr><td>{html.escape(parity.what)}</td><td class='number'>{parity.results:,}</td>"
            f"<td class='number'>{parity.columns}</td><td class='{kind}'>{mark}</td></tr>"
        )
    head = "<tr><th>engine</th><th>results</th><th>features each</th><th></th></tr>"
    return f"<div class='scroll'><table>{head}{''.join(rows)}</table></div>"


def _cost_table(measures: Measures) -> str:
    """Return the times of the first run and of a later one as a table."""
    rows = []
    for engine, what, count, first, again in measures.costs():
        best = again or first
        cells = (
            f"{count:,}",
            first.time if first else "",
            again.time if again else "",
            f"{best.speed:,}" if best else "",
        )
        numbers = "".join(f"<td class='number'>{cell}</td>" for cell in cells)
        name = html.escape(f"{engine}: {what}")
        rows.append(f"<tr><td>{name}</td>{numbers}</tr>")
    heads = "".join(f"<th>{head}</th>" for head in ("rows", "first run", "later run", "rows/s"))
    head = f"<tr><th>engine</th>{heads}</tr>"
    return f"<div class='scroll'><table>{head}{''.join(rows)}</table></div>"


def _moments(go: Any, table: Any) -> Any:
    """Draw the departures of one day at four moments: waiting, final and late."""
    from plotly.subplots import make_subplots

    departed = table["departed"].to_numpy().astype("M8[us]")
    recorded = table["recorded"].to_numpy().astype("M8[us]")
    delay = table["delay_min"].to_numpy(zero_copy_only=False)
    day = np.datetime64("2013-03-08T10", "us")
    if departed.max() < day + np.timedelta64(30, "h"):  # fewer records: a day in their middle
        day = np.sort(departed)[len(departed) // 2]
    newest = np.maximum.accumulate(departed)
    lateness = np.timedelta64(WATERMARK, "h")
    late = departed <= np.concatenate([departed[:1], newest[:-1]]) - lateness
    inside = (departed >= day) & (departed < day + np.timedelta64(24, "h"))
    moments = [day + np.timedelta64(hours, "h") for hours in (6, 12, 18, 36)]
    titles = [f"{moment.astype(object):%d %B %H:%M} UTC" for moment in moments]
    figure = make_subplots(rows=2, cols=2, subplot_titles=titles, shared_yaxes=True)
    for place, moment in enumerate(moments):
        row, col = divmod(place, 2)
        seen = recorded <= moment
        mark = newest[seen][-1] - lateness if seen.any() else day
        for name, chosen, color in (
            ("waits", seen & inside & ~late & (departed > mark), "#9ca3af"),
            ("final", seen & inside & ~late & (departed <= mark), COLORS[0]),
            ("late", seen & inside & late, COLORS[1]),
        ):
            figure.add_scatter(
                x=departed[chosen].astype(object).tolist(),
                y=delay[chosen].tolist(),
                mode="markers",
                name=name,
                legendgroup=name,
                showlegend=place == (0 if name == "waits" else len(moments) - 1),
                marker={"size": 4, "color": color},
                row=row + 1,
                col=col + 1,
            )
        line = mark.astype(object)
        figure.add_vline(x=line, line={"color": COLORS[2]}, row=row + 1, col=col + 1)
    span = [day.astype(object), (day + np.timedelta64(24, "h")).astype(object)]
    figure.update_xaxes(range=span)
    figure.update_yaxes(title="delay, min", col=1)
    figure.update_annotations(font={"size": 13})
    return figure.update_layout(height=560)


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
