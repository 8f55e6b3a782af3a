"""The commands of `slidefold`, one file each."""

from __future__ import annotations

from typing import Annotated

import typer

from slidefold import __version__
from slidefold.cli.audit import audit
from slidefold.cli.bench import bench
from slidefold.cli.check import check
from slidefold.cli.demo.command import demo
from slidefold.cli.explain import explain
from slidefold.cli.lateness import lateness
from slidefold.cli.parity import parity
from slidefold.cli.run import run
from slidefold.cli.serve import serve

app = typer.Typer(
    name="slidefold",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="""Compute sliding-window features that a pipeline file defines.

A pipeline file names a source, the features and a sink; `slidefold run --help` shows an example.
Begin with `slidefold explain pipeline.toml`: it reads the file, lists every mistake in it, and
shows how each feature would be computed.

Exit codes: 0 success; 1 the run failed or results differ; 2 the command or the file has a mistake;
130 stopped with Ctrl-C. With `--json` every line of output is one JSON object.
""",
)


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"slidefold {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


for command in (run, explain, serve, lateness, audit, parity, check, bench, demo):
    app.command()(command)
