"""Serve a pipeline file until the process is told to stop."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from slidefold.errors import DefinitionError, PipelineError, UsageError
from slidefold.pipeline.file import Pipeline, load
from slidefold.serve.follow import follow
from slidefold.serve.listen import check_socket, listen_at
from slidefold.serve.service import Service
from slidefold.serve.state import Settings

LOCAL = ("127.0.0.1", "localhost", "::1")
# The writer gives up the interpreter after this many seconds: by default it is ten times as long,
# which is more than a question may take.
_SWITCH = 0.0005
_PATIENCE = 10  # seconds for requests that are not finished when the service has to stop


def settings_of(pipeline: Pipeline) -> Settings:
    """Return how a pipeline is served."""
    lateness = pipeline.stream.watermark
    if lateness is None:
        raise PipelineError(
            str(pipeline.file),
            [("stream.watermark", "is missing: a service needs how late events may be")],
        )
    served = pipeline.serving
    settings = Settings(
        pipeline.features,
        pipeline.schema,
        lateness,
        served.id,
        {"pipeline": pipeline.file.name},
        pipeline.file,
        served.late,
        served.record,
    )
    try:
        settings.check()
    except DefinitionError as error:
        key = "features.every" if pipeline.features.slide is not None else "serve.id"
        raise PipelineError(str(pipeline.file), [(key, str(error))]) from None
    return settings


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
    pipeline = load(Path(file), writes=False, serves=True, state=state)
    with ExitStack() as stack:
        opened = None
        if socket is None:
            opened = [stack.enter_context(listen_at(host, port))]
        else:
            check_socket(socket)
        sys.setswitchinterval(_SWITCH)
        service = Service(settings_of(pipeline), state)
        stop = threading.Event()
        follower = None
        if pipeline.source.path is not None:
            follower = follow(pipeline, service, stop)
        servers: list[Any] = []
        config = uvicorn.Config(
            make_app(service, token=token, stopping=lambda: servers[0].should_exit),
            uds=None if socket is None else str(socket),
            log_level="warning",
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=_PATIENCE,
        )
        server = uvicorn.Server(config)
        servers.append(server)
        if ready is not None:
            threading.Thread(target=_tell, args=(server, service, ready), daemon=True).start()
        # The objects of the modules stay: to look through 90,000 of them takes 50 ms.
        gc.collect()
        gc.freeze()
        try:
            server.run(opened)
        except KeyboardInterrupt:
            pass  # the server has stopped, and the state is saved
        finally:
            gc.unfreeze()
            stop.set()
            if follower is not None:
                follower.join(_PATIENCE)


def _tell(server: Any, service: Service, ready: Callable[[Service], None]) -> None:
    while not server.started:
        time.sleep(0.01)
    ready(service)
