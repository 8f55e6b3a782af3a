"""What the demo does, step by step, and what it says about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from slidefold.cli.demo.flights import WATERMARK, behind, is_ours, read_flights, write_inputs
from slidefold.cli.demo.measures import Measures, run_live, run_local, run_spark
from slidefold.cli.guard import FAILED, guarded
from slidefold.cli.options import AsJson
from slidefold.cli.output import Output
from slidefold.errors import UsageError
from slidefold.pipeline import load
from slidefold.pipeline.on_spark import remove
from slidefold.spark import startup

FILES = 4  # the batches of the stream: each takes a second or two, however few its rows are
DAY = "2013-03-08"  # the day with the worst mean delay of the year
SHOWN = 8


def demo(
    out: Annotated[
        Path, typer.Option("--out", help="The folder for data, pipeline file and report.")
    ] = Path("slidefold-demo"),
    spark: Annotated[
        bool, typer.Option(help="Run on Spark too, batch and streaming (Java 17 or newer).")
    ] = True,
    rows: Annotated[
        int, typer.Option(min=1000, help="Take only the first records; a year has 328,521.")
    ] = 1_000_000,
    json: AsJson = False,
) -> None:
    """Run a year of real flights through one pipeline file: batch, live and on Spark.

    Records of flights come in when the planes have landed, so they are out of order: a flight to
    Boston overtakes one to San Francisco that left hours earlier. The features are delays by
    carrier and airport over the last 1, 6 and 24 hours, at every departure. All engines must give
    the same results, and a report in one HTML file shows how the stream went.
    """
    said = Output(json)
    with guarded(said):
        why = startup.missing() if spark else "Spark was left out, as asked"
        if not _run(said, out, rows, why):
            raise typer.Exit(FAILED)


def _run(out: Output, folder: Path, rows: int, without_spark: str) -> bool:
    from slidefold.cli.demo.report import write_report

    _clear(folder)
    with out.working("reading the flights"):
        whole = read_flights()
        table = whole.slice(0, rows)
        which = f"{len(whole):,} flights left New York City in 2013."
        if len(table) < len(whole):
            which = f"These are the first {len(table):,}; {which}"
        hours = behind(table)
        pipeline = load(write_inputs(folder, table, FILES), stream=True)
    late = hours > 0
    _title(out, "1. The data")
    out.say(
        "data",
        f"{which} The record of a flight comes in when\n"
        f"it has landed, so {late.mean():.0%} come after one that departed later: half of those "
        f"more than {_median(hours[late]):.1f}\nhours after it, one {hours.max():.0f} hours. "
        f"The pipeline file waits for {WATERMARK} hours: {pipeline.file}",
        rows=len(table),
        out_of_order=float(late.mean()),
        pipeline=str(pipeline.file),
    )
    measures = Measures()
    _title(out, "2. In this process (usually 15 s)")
    results = run_local(pipeline, table, measures, out)
    _sample(out, results)
    same = run_live(pipeline, table, measures, out)
    _title(out, "3. On Spark" if without_spark else "3. On Spark (usually 50 s)")
    if without_spark:
        out.say("spark", f"{without_spark}.", reason=without_spark)
    else:
        same &= run_spark(pipeline, table, measures, out)
    _title(out, "4. What it cost")
    names = ("engine", "what it ran", "seconds", "rows/s")
    seconds = [float(f"{each.seconds:.3g}") for each in measures.runs]
    speeds = [each.speed(len(table)) for each in measures.runs]
    words = [each.words for each in measures.runs]
    out.rows(names, [[*row[0], *row[1:]] for row in zip(words, seconds, speeds, strict=True)])
    _verdict(out, same, bool(without_spark))
    with out.working("drawing the report"):
        report = write_report(folder / "report.html", table, hours, results, measures)
    out.say("report", f"The report: {report.resolve()}", path=str(report.resolve()))
    return same


def _clear(folder: Path) -> None:
    """Remove what an earlier demo left; nothing else."""
    ours = {"arrivals", "flights.toml", "report.html", "checkpoint", "features.parquet"}
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{str(folder)!r} is no folder")
    found = {each.name for each in folder.iterdir()} if folder.exists() else set()
    # The pipeline file is written first: without it the rest is somebody else's.
    strange = sorted(found - ours or (set() if is_ours(folder) else found))
    if strange:
        raise UsageError(
            f"{str(folder)!r} has {strange[0]!r} in it, which is not of the demo: use --out"
        )
    for name in found:
        remove(folder / name)
    folder.mkdir(parents=True, exist_ok=True)


def _title(out: Output, text: str) -> None:
    if not out.as_json:
        out.say("title", f"\n{text}\n", "bold")


def _median(values: Any) -> float:
    return float(sorted(values)[len(values) // 2]) if len(values) else 0.0


def _sample(out: Output, results: Any) -> None:
    """Show some departures of the worst day, those of one carrier at one airport."""
    rows = [
        row
        for row in results.select(SAMPLE).to_pylist()
        if f"{row['departed']:%Y-%m-%d}" == DAY and row["carrier"] == "EV"
    ] or results.select(SAMPLE).slice(0, SHOWN).to_pylist()
    rows = sorted(rows, key=lambda row: row["departed"])
    picked = rows[:: max(1, len(rows) // SHOWN)][:SHOWN]
    shown = [[f"{row['departed']:%d %b %H:%M}", *list(row.values())[1:]] for row in picked]
    out.say("sample", "Some departures with their features (delays in minutes, times in UTC):")
    out.rows(SAMPLE, shown)


SAMPLE = [
    *("departed", "carrier", "airport", "delay_min", "flights_1h", "delay_1h", "delay_6h"),
    *("delay_24h", "worst_24h", "worst_to"),
]


def _verdict(out: Output, same: bool, local: bool) -> None:
    where = "in this process" if local else "in this process and on Spark, batch and streaming"
    if same:
        text = f"\nParity: every result is the same {where}."
        out.say("verdict", text, "bold green", same=True)
    else:
        out.say("verdict", "\nParity: results differ, see above.", "bold red", same=False)
