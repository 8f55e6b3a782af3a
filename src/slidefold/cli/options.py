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
AsJson = Annotated[bool, typer.Option("--json", help="Say everything as JSON, one object a line.")]
Engines = Annotated[
    Engine,
    typer.Option(help="`local` runs in this process, `spark` on Spark (Java 17 or newer)."),
]
Streams = Annotated[
    bool,
    typer.Option(
        "--stream",
        help="Take rows as they arrive, late ones too, as the table [stream] says.",
    ),
]
Follow = Annotated[
    bool,
    typer.Option("--follow", help="On Spark: keep taking new files until Ctrl-C stops it."),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace the result of an earlier run.")
]
Master = Annotated[
    str,
    typer.Option(help="The Spark cluster; only with `--engine spark`.", show_default=True),
]
