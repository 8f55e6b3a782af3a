"""`slidefold serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from slidefold.cli.guard import guarded
from slidefold.cli.options import AsJson, PipelineFile
from slidefold.cli.output import Output


def serve(
    pipeline: PipelineFile,
    port: Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)] = 8000,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    socket: Annotated[
        Path | None, typer.Option(help="Listen on this Unix socket instead of a port.")
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(help="The folder of the log and the snapshots; without it nothing is kept."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            help="A secret that requests must send; other addresses need one.",
            envvar="SLIDEFOLD_TOKEN",
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Serve the features of a pipeline over HTTP: events in, answers out.

    `POST /events` takes events as JSON, JSON lines or Arrow, and answers when they are on disk.
    `POST /ask` answers questions about keys. `GET /` is a page that shows what is going on. The
    pipeline needs `watermark` in [stream]; without files, [source] declares the columns:
    `schema = { t = "int64", card = "string", amount = "double" }`. The table [serve] is optional:
    `id` is the column that names each event once, `late` a file for late events, `record` a folder
    for answers and events.
    """
    out = Output(json)
    with guarded(out):
        from slidefold.serve.run import serve as run

        def ready(service: Any) -> None:
            where = f"the socket {socket}" if socket is not None else f"http://{host}:{port}"
            out.say("ready", f"serving {pipeline} at {where}", position=service.position)

        run(
            pipeline,
            host=host,
            port=port,
            socket=socket,
            state=state,
            token=token,
            ready=ready,
        )
