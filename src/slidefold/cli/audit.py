"""`slidefold audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slidefold.cli.guard import FAILED, guarded
from slidefold.cli.options import AsJson, PipelineFile
from slidefold.cli.output import Output
from slidefold.cli.parquet import read_parquet
from slidefold.pipeline import load
from slidefold.serve.recorder import POSITION


def audit(
    pipeline: PipelineFile,
    answers: Annotated[
        Path, typer.Option(help="A Parquet file of answers, or the folder of a service's records.")
    ],
    events: Annotated[
        Path | None,
        typer.Option(help="A Parquet file of events, or a folder; by default that of the answers."),
    ] = None,
    known: Annotated[
        str, typer.Option(help="The column of the events that tells when each arrived.")
    ] = POSITION,
    asked: Annotated[
        str, typer.Option(help="The column of the answers that tells when each was given.")
    ] = POSITION,
    show: Annotated[int, typer.Option(min=0, help="How many differences to print.")] = 20,
    json: AsJson = False,
) -> None:
    """Compute answers that were served again from the events, and say why values differ.

    `slidefold serve` records answers and events if the pipeline file has `record` in [serve].
    Reasons are: rounding, another definition, an event that arrived late, a boundary (`closed`), a
    missing event, and an event that was counted twice.

    Exit code 1: values differ.
    """
    out = Output(json)
    with guarded(out):
        from slidefold.serve.audit import audit as run

        loaded = load(pipeline, writes=False, serves=True)
        given = read_parquet(answers, "answers")
        taken = read_parquet(events or answers, "events")
        report = run(loaded.features, given, taken, known=known, asked=asked)
        rows = [
            [each.row, each.column, each.served, each.expected, each.reason, each.detail]
            for each in report.differences[: None if json else show]
        ]
        if rows:
            out.rows(["answer", "column", "served", "expected", "reason", "detail"], rows)
        count = len(report.differences)
        reasons = ", ".join(f"{n} {reason}" for reason, n in report.reasons.items())
        text = f"{report.values:,} values of {report.answers:,} answers: "
        text += f"{count:,} differ ({reasons})" if count else "all are right"
        out.say("audit", text, differences=count, values=report.values, reasons=report.reasons)
        if count:
            raise typer.Exit(FAILED)
