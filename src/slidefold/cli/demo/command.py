"""The steps of the demo and the text that it prints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from slidefold.cli.demo.flights import (
    WATERMARK,
    behind,
    is_ours,
    read_flights,
    replay,
    write_inputs,
)
from slidefold.cli.demo.measures import Measures, Run, run_live, run_local, run_spark
from slidefold.cli.guard import FAILED, guarded
from slidefold.cli.options import AsJson
from slidefold.cli.output import Output
from slidefold.errors import UsageError
from slidefold.pipeline import load
from slidefold.pipeline.on_spark import remove
from slidefold.spark import startup

FILES = 4  # batches of the stream; each takes a second or two, even with few rows
DAY = "2013-03-08"  # the day of the year with the highest mean delay
SHOWN = 8
YEAR = 328_521  # records


def demo(
    out: Annotated[
        Path, typer.Option("--out", help="The folder for the data, pipeline file and report.")
    ] = Path("slidefold-demo"),
    spark: Annotated[
        bool, typer.Option(help="Also run on Spark, batch and streaming (Java 17 or newer).")
    ] = True,
    rows: Annotated[
        int,
        typer.Option(
            min=1000,
            max=20_000_000,
            help="How many records; a larger number repeats the year with later dates.",
        ),
    ] = YEAR,
    json: AsJson = False,
) -> None:
    """Run a year of real flights through one pipeline file: batch, live and on Spark.

    The record of a flight arrives when the plane has landed, so records are out of order: the
    record of a flight to Boston arrives before that of a flight to San Francisco that left hours
    earlier. The features are delays by carrier and airport over the last 1, 6 and 24 hours, at
    every departure. All engines must give the same results. A report in one HTML file shows the
    features, the stream and the cost.
    """
    output = Output(json)
    with guarded(output):
        why = startup.missing() if spark else "Spark was skipped with --no-spark"
        if not _run(output, out, rows, why):
            raise typer.Exit(FAILED)


def _run(out: Output, folder: Path, rows: int, without_spark: str) -> bool:
    from slidefold.cli.demo.report import write_report

    _clear(folder)
    with out.working("reading the flights"):
        whole = read_flights()
        table = replay(whole, rows)
        which = f"{len(whole):,} flights departed from New York City in 2013."
        if len(table) < len(whole):
            which = f"These are the first {len(table):,}; {which}"
        elif len(table) > len(whole):
            which += f"\nThe year is repeated with later dates, up to {len(table):,} records."
        hours = behind(table)
        pipeline = load(write_inputs(folder, table, FILES), stream=True)
    late = hours > 0
    _title(out, "1. The data")
    out.say(
        "data",
        f"{which} The record of a flight arrives when\n"
        f"the plane has landed, so {late.mean():.0%} of the records are out of order: half of "
        f"those by more than {_median(hours[late]):.1f}\nhours, the latest by "
        f"{hours.max():.0f} hours. The watermark is {WATERMARK} hours: {pipeline.file}",
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
    _title(out, "4. Costs")
    out.say("times", "Seconds of the first run in this session, and of a later one.")
    out.rows(COSTS, [_cost(*cost) for cost in measures.costs()])
    _verdict(out, same, bool(without_spark))
    with out.working("drawing the report"):
        report = write_report(folder / "report.html", table, hours, results, measures)
    out.say("report", f"Report: {report.resolve()}", path=str(report.resolve()))
    return same


COSTS = ("engine", "run", "rows", "first", "again", "rows/s")


def _cost(
    engine: str, what: str, rows: int, first: Run | None, again: Run | None
) -> list[str | int | float | None]:
    """Return a line of the table of costs."""
    seconds = [float(f"{run.seconds:.3g}") if run else None for run in (first, again)]
    best = again or first
    return [engine, what, rows, *seconds, best.speed if best else None]


def _clear(folder: Path) -> None:
    """Remove the files of an earlier demo, and nothing else."""
    ours = {"arrivals", "flights.toml", "report.html", "checkpoint", "features.parquet"}
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{str(folder)!r} is not a folder: choose another with --out")
    present = {entry.name for entry in folder.iterdir()} if folder.exists() else set()
    # The demo writes its pipeline file first: without it no file here is the demo's.
    foreign = sorted(present - ours or (set() if is_ours(folder) else present))
    if foreign:
        raise UsageError(
            f"{str(folder)!r} contains {foreign[0]!r}, which the demo did not write: choose "
            "another folder with --out"
        )
    for name in present:
        remove(folder / name)
    folder.mkdir(parents=True, exist_ok=True)


def _title(out: Output, text: str) -> None:
    if not out.as_json:
        out.say("title", f"\n{text}\n", "bold")


def _median(values: Any) -> float:
    return float(sorted(values)[len(values) // 2]) if len(values) else 0.0


def _sample(out: Output, results: Any) -> None:
    """Print some departures of one carrier on the day with the highest delay."""
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
        text = f"\nParity: all results are equal {where}."
        out.say("verdict", text, "bold green", same=True)
    else:
        out.say("verdict", "\nParity: results differ, see above.", "bold red", same=False)
