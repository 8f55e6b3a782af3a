"""`slidefold lateness`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slidefold.cli.guard import guarded
from slidefold.cli.options import AsJson, PipelineFile
from slidefold.cli.output import Output
from slidefold.cli.parquet import read_parquet
from slidefold.errors import UsageError, nearest
from slidefold.pipeline import load
from slidefold.pipeline.local import collect

_WIDTH = 30  # characters of the longest bar


def lateness(
    pipeline: PipelineFile,
    arrived: Annotated[
        str | None,
        typer.Option(
            help="The column that tells when a row arrived; without it, rows are in that order."
        ),
    ] = None,
    events: Annotated[
        Path | None,
        typer.Option(
            help="A Parquet file of events, or the folder of a service's records, instead of the "
            "files of the source."
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Show what each lateness would cost, to choose `watermark` of [stream] from data.

    The rows of the source are replayed in order of arrival. For up to 20 latenesses the table shows
    how many rows would be late, how many results of other rows would change without them, and how
    much a number would change. Nothing is written.
    """
    out = Output(json)
    with guarded(out):
        loaded = load(pipeline, writes=False, serves=True)
        if events is not None:
            table = read_parquet(events, "events")
        elif loaded.source.path is not None:
            table = collect(loaded, out)
        else:
            raise UsageError(
                f"{pipeline} names no files: name a Parquet file of events with --events"
            )
        if arrived is not None and arrived not in table.column_names:
            raise UsageError(
                f"the events have no column {arrived!r}{nearest(arrived, table.column_names)}"
            )
        with out.working("replaying"):
            found = loaded.features.lateness(table, arrived=arrived)
        largest = max(found["late_share"].to_pylist(), default=0.0)
        names = ["lateness", "late", "", "changed", "median change", "largest change"]

        def bar(share: float) -> str:
            return f"{share:7.2%} {'#' * round(_WIDTH * share / (largest or 1))}"

        rows = [
            [
                row["lateness"],
                row["late"],
                bar(row["late_share"]),
                row["changed"],
                row["median_change"],
                row["largest_change"],
            ]
            for row in found.to_pylist()
        ]
        if json:
            out.rows(found.column_names, [list(row.values()) for row in found.to_pylist()])
            return
        out.rows(names, rows, f"{len(table):,} rows of {events or pipeline}")
