"""A small pipeline to serve, and its process."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import uvicorn

import slidefold as sf
from slidefold.serve import Client
from slidefold.serve.service import Settings

SCHEMA = pa.schema({"t": pa.int64(), "card": pa.string(), "amount": pa.float64(), "id": pa.int64()})
FEATURES = sf.rolling(
    on="t",
    by="card",
    spent=sf.sum("amount").over(sf.time(1000)),
    n=sf.count().over("lifetime"),
    top=sf.max("amount").over(5),
    ratio=sf.sum("amount").over(sf.time(1000)) / sf.count().over("lifetime"),
)
PIPELINE = """
[source]
schema = { t = "int64", card = "string", amount = "double", id = "int64" }
[stream]
watermark = 100
[serve]
id = "id"
[features]
on = "t"
by = "card"
[features.columns]
spent = { operator = "sum", columns = "amount", over = { time = 1000 } }
n = { operator = "count", over = "lifetime" }
top = { operator = "max", columns = "amount", over = 5 }
ratio = { expr = "spent / n" }
"""


def settings(**more: Any) -> Settings:
    """Return how the pipeline is served."""
    return Settings(FEATURES, SCHEMA, 100, **more)


def events(rng: random.Random, count: int, first: int = 0) -> list[dict[str, Any]]:
    """Return events that come a little out of order."""
    return [
        {
            "t": 10 * (first + i) + rng.randrange(60),
            "card": rng.choice("abc"),
            "amount": float(rng.randrange(9)),
            "id": first + i,
        }
        for i in range(count)
    ]


def until(done: Callable[[], bool]) -> None:
    """Wait until something has happened."""
    for _ in range(400):
        if done():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen")


@contextmanager
def serving(app: Any, socket: Path | None = None) -> Iterator[str]:
    """Serve an application at a Unix socket or at a free port of this machine, in a thread."""
    config = uvicorn.Config(
        app, uds=None if socket is None else str(socket), port=0, log_level="error", lifespan="on"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1] if socket is None else 0
    try:
        yield f"http://127.0.0.1:{port}" if socket is None else str(socket)
    finally:
        server.should_exit = True
        thread.join(20)


def called(
    place: str,
    method: str,
    path: str,
    body: bytes | None = None,
    kind: str = "application/json",
    token: str | None = None,
) -> tuple[int, bytes]:
    """Make one request, and return its status and body."""
    connection = Client(place)._connected()
    headers = {"content-type": kind}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    found = response.status, response.read()
    connection.close()
    return found


def started(folder: Path, snapshot_bytes: int = 128 << 20) -> subprocess.Popen[str]:
    """Start a service at the socket `sock` of a folder, and wait until it answers."""
    (folder / "pipeline.toml").write_text(PIPELINE)
    code = (
        f"import slidefold.serve.service as s; s.SNAPSHOT_BYTES = {snapshot_bytes}; "
        "import runpy; runpy.run_module('slidefold.cli', run_name='__main__')"
    )
    command = [sys.executable, "-c", code, "serve", str(folder / "pipeline.toml")]
    command += ["--socket", str(folder / "sock"), "--state", str(folder / "state")]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("serving"), line + process.stdout.read()
    process.stdout.close()
    return process
