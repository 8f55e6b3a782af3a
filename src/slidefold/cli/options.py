"""The arguments that commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Engine(StrEnum):
    """Where a pipeline runs."""

    local = "local"
    spark = "spark"


PipelineFile = Annotated[
    Path, typer.Argument(metavar="PIPELINE.TOML", help="The pipeline file.", show_default=False)
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print all output as JSON, one object per line.")
]
Engines = Annotated[
    Engine,
    typer.Option(help="`local` runs in this process, `spark` on Spark (Java 17 or newer)."),
]
Streams = Annotated[
    bool,
    typer.Option(
        "--stream",
        help="Process rows in order of arrival, late rows included, as [stream] configures.",
    ),
]
Follow = Annotated[
    bool,
    typer.Option("--follow", help="On Spark: keep reading new files until Ctrl-C."),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace the result of an earlier run.")
]
Since = Annotated[
    str | None,
    typer.Option(
        help="Compute only the rows from this time on, such as 2026-01-31; read the history that "
        "their windows need. With `every`: the windows that end after it.",
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        help="Compute only the rows before this time. With `every`: the windows that end by it."
    ),
]
Master = Annotated[
    str,
    typer.Option(help="The Spark master URL; only with `--engine spark`.", show_default=True),
]
