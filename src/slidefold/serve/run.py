"""Serve a pipeline file until the process is told to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from slidefold.errors import PipelineError, UsageError
from slidefold.pipeline.file import Pipeline, load
from slidefold.pipeline.sources import tables
from slidefold.serve.service import Service, Settings

LOCAL = ("127.0.0.1", "localhost", "::1")


def settings_of(pipeline: Pipeline) -> Settings:
    """Return how a pipeline is served."""
    lateness = pipeline.stream.watermark
    if lateness is None:
        raise PipelineError(
            str(pipeline.file),
            [("stream.watermark", "is missing: a service needs how late events may be")],
        )
    return Settings(
        pipeline.features,
        pipeline.schema,
        lateness,
        pipeline.event_id,
        {"pipeline": pipeline.file.name},
    )


def serve(
    file: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    socket: Path | None = None,
    state: Path | None = None,
    token: str | None = None,
    ready: Callable[[Service], None] | None = None,
) -> None:
    """Serve a pipeline file over HTTP; return when the process is told to stop.

    `state` is the folder of the log and the snapshots; without it nothing is kept. Addresses other
    than this machine need a `token`.
    """
    if socket is None and host not in LOCAL and not token:
        raise UsageError(f"serving at {host!r} needs --token: anybody could send events")
    try:
        import uvicorn

        from slidefold.serve.app import make_app
    except ImportError as error:
        raise UsageError(f"serving needs {error.name}: pip install 'slidefold[serve]'") from None
    pipeline = load(Path(file), writes=False, serves=True)
    service = Service(settings_of(pipeline), state)
    if pipeline.source.path is not None and service.position == 0:
        _follow(pipeline, service)
    config = uvicorn.Config(
        make_app(service, token=token),
        host=host,
        port=port,
        uds=None if socket is None else str(socket),
        log_level="warning",
        access_log=False,
        lifespan="on",
    )
    server = uvicorn.Server(config)
    if ready is not None:
        threading.Thread(target=_tell, args=(server, service, ready), daemon=True).start()
    server.run()


def _tell(server: Any, service: Service, ready: Callable[[Service], None]) -> None:
    while not server.started:
        time.sleep(0.01)
    ready(service)


def _follow(pipeline: Pipeline, service: Service) -> None:
    """Take the events that the files of the source have."""

    def refuse(row: Any) -> None:
        service.counts["broken"] += 1

    for _, table in tables(pipeline.source, pipeline.schema, refuse):
        for first in range(0, len(table), 100_000):
            service.submit(table.slice(first, 100_000)).result()
