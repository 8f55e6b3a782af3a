"""A service under load on this machine: questions while events arrive, beside reads from Redis.

The service is a process of its own, with a log on disk, at a Unix socket. One process sends events
in batches, another asks one question at a time. Both keep to a plan: a request that is late because
the one before it took long counts from when it was planned. A load is held if 99% of the questions
take at most as long as the goal allows, and the events keep to their plan. Redis, if it is
installed, holds the vectors that the service answered in the end, one per key.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.harness import Row, table

FEATURES = 20
BATCH = 1_000  # events per request
HELD = 5  # milliseconds: a load counts as held if 99% of questions take at most this
ARROW = "application/vnd.apache.arrow.stream"


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    keys: int
    seconds: float
    events: int  # per second
    asks: tuple[int, ...]  # per second
    snapshot: bool = False  # measure while one is written, too


SIZES = {
    "full": Sizes(1_000_000, 20.0, 20_000, (1_000, 2_000, 3_000, 4_000), snapshot=True),
    "quick": Sizes(100_000, 5.0, 20_000, (1_000, 2_000)),
    "smoke": Sizes(100, 2.0, 1_000, (50,)),
}


def pipeline() -> str:
    """Return a pipeline of 20 features over time, rows and all time."""
    columns = {}
    for number, length in enumerate((60_000, 600_000, 3_600_000, 86_400_000)):
        for name in ("sum", "mean", "max", "std"):
            columns[f"{name}_{number}"] = (
                f'{{ operator = "{name}", columns = "x", over = {{ time = {length} }} }}'
            )
    columns["n"] = '{ operator = "count", over = "lifetime" }'
    columns["recent"] = '{ operator = "mean", columns = "x", over = 10 }'
    columns["top"] = '{ operator = "max_by", columns = ["shop", "x"], over = { time = 3600000 } }'
    columns["ratio"] = '{ expr = "mean_0 / mean_3" }'
    assert len(columns) == FEATURES
    lines = "\n".join(f"{name} = {text}" for name, text in columns.items())
    return f"""
[source]
schema = {{ t = "int64", k = "int64", x = "double", shop = "int64" }}
[stream]
watermark = 60000
[features]
on = "t"
by = "k"
[features.columns]
{lines}
"""


def events(rng: np.random.Generator, first: int, count: int, keys: int, *, every: bool) -> bytes:
    """Return events as an Arrow stream, one per millisecond and a little out of order."""
    chosen = np.arange(first, first + count) if every else rng.integers(0, keys, count)
    batch = pa.table(
        {
            "t": np.arange(first, first + count) + rng.integers(0, 500, count),
            "k": chosen,
            "x": rng.random(count),
            "shop": rng.integers(0, 1_000, count),
        }
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_table(batch)
    return bytes(sink.getvalue())


class Connection:
    """A kept HTTP connection over a Unix socket that does no more than needed."""

    def __init__(self, place: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(place)

    def post(
        self, path: str, body: bytes, kind: str = "application/json", method: str = "POST"
    ) -> bytes:
        """Send a request and return the body of the answer."""
        head = f"{method} {path} HTTP/1.1\r\nhost: s\r\ncontent-type: {kind}\r\n"
        self.socket.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._more()
        head_bytes, _, rest = data.partition(b"\r\n\r\n")
        assert b" 200 " in head_bytes[:20], data[:300]
        length = int(head_bytes.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        while len(rest) < length:
            rest += self._more()
        return rest

    def _more(self) -> bytes:
        data = self.socket.recv(1 << 16)
        assert data, "the connection was closed"
        return data


class Redis:
    """A connection to Redis over a Unix socket that sets and gets."""

    def __init__(self, place: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(place)

    def get(self, key: bytes) -> bytes:
        """Return a value of a known length."""
        self.socket.sendall(b"*2\r\n$3\r\nGET\r\n$%d\r\n%b\r\n" % (len(key), key))
        data = b""
        while len(data) < 8 * FEATURES + 8:
            data += self.socket.recv(4096)
        return data

    def fill(self, vectors: np.ndarray[Any, np.dtype[np.float64]]) -> None:
        """Set one vector for each key, which are the numbers of the rows."""
        for first in range(0, len(vectors), 1_000):
            parts = []
            for number, vector in enumerate(vectors[first : first + 1_000], first):
                key, value = b"%d" % number, vector.tobytes()
                parts.append(b"*3\r\n$3\r\nSET\r\n$%d\r\n%b\r\n" % (len(key), key))
                parts.append(b"$%d\r\n%b\r\n" % (len(value), value))
            self.socket.sendall(b"".join(parts))
            left = 5 * len(parts) // 2  # "+OK\r\n" each
            while left:
                left -= len(self.socket.recv(1 << 16))


def paced(call: Callable[[], object], per_second: int, seconds: float) -> tuple[list[float], float]:
    """Call at planned times.

    Return the milliseconds from each planned time to the end, and how many seconds the last call
    began behind its plan.
    """
    start, taken, behind = time.perf_counter(), [], 0.0
    for number in range(int(per_second * seconds)):
        planned = start + number / per_second
        while (left := planned - time.perf_counter()) > 0:
            time.sleep(left)
        behind = time.perf_counter() - planned
        call()
        taken.append(1e3 * (time.perf_counter() - planned))
    return taken, behind


def _asking(
    place: str, keys: int, per_second: int, seconds: float, ready: Any, results: Any
) -> None:
    connection, rng = Connection(place), random.Random(7)

    def call() -> None:
        connection.post("/ask", b'{"k":%d}' % rng.randrange(keys))

    ready.wait()
    results.put(paced(call, per_second, seconds)[0])


def _reading(
    place: str, keys: int, per_second: int, seconds: float, ready: Any, results: Any
) -> None:
    connection, rng = Redis(place), random.Random(7)
    ready.wait()
    results.put(paced(lambda: connection.get(b"%d" % rng.randrange(keys)), per_second, seconds)[0])


def _sending(place: str, sizes: Sizes, first: int, ready: Any, results: Any) -> None:
    connection, rng = Connection(place), np.random.default_rng(first)
    size, per_second = min(BATCH, sizes.events), max(1, sizes.events // BATCH)
    # Made before, because whoever sends events is elsewhere and takes no time of these cores.
    bodies = [
        events(rng, first + number * size, size, sizes.keys, every=False)
        for number in range(int(per_second * sizes.seconds))
    ]
    left = iter(bodies)
    ready.wait()
    taken, behind = paced(
        lambda: connection.post("/events", next(left), ARROW), per_second, sizes.seconds
    )
    behind = 0.0 if behind < 1 / per_second else behind  # less than a batch is no queue
    results.put((len(taken) * size / (sizes.seconds + behind), taken))


def measure(sizes: Sizes) -> list[Row]:
    """Run the service, load it step by step, and read the same vectors from Redis."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "p.toml").write_text(pipeline())
        place = str(folder / "sock")
        command = [sys.executable, "-m", "slidefold.cli", "serve", str(folder / "p.toml")]
        command += ["--socket", place, "--state", str(folder / "state")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("serving")
            rows.append({"what": "first events of all keys", **_filled(place, sizes)})
            first, held = sizes.keys, None
            for asks in sizes.asks:
                rows.append(_loaded(place, sizes, asks, first))
                first += int(sizes.events * sizes.seconds)
                if not _is_held(rows[-1], sizes):
                    break
                held = rows[-1]
            rows.append(_highest(held))
            if sizes.snapshot:
                first = _until_snapshot(place, sizes, first)
                rows.append(
                    _loaded(place, sizes, sizes.asks[0], first, " while a snapshot is written")
                )
            rows.append(_quiet(place, sizes))
            rows.append({"what": "memory", **_memory(process.pid)})
            vectors = _vectors(place, sizes.keys)
        finally:
            process.terminate()
            process.wait(120)
            assert process.stdout is not None
            process.stdout.close()
        if shutil.which("redis-server"):
            rows.append(_redis(folder, sizes, vectors))
    return rows


def _filled(place: str, sizes: Sizes) -> Row:
    connection, rng = Connection(place), np.random.default_rng(1)
    start, step = time.perf_counter(), min(10_000, sizes.keys)
    for first in range(0, sizes.keys, step):
        body = events(rng, first, step, sizes.keys, every=True)
        connection.post("/events", body, ARROW)
    connection.socket.close()
    return {"events_per_second": sizes.keys / (time.perf_counter() - start)}


def _until_snapshot(place: str, sizes: Sizes, first: int) -> int:
    """Send events until a snapshot begins, which is after 128 MB of the log."""
    connection, rng = Connection(place), np.random.default_rng(2)
    while json.loads(connection.post("/health", b"", method="GET"))["log_bytes"] < 128 << 20:
        for _ in range(10):
            body = events(rng, first, 10_000, sizes.keys, every=False)
            connection.post("/events", body, ARROW)
            first += 10_000
    connection.socket.close()
    return first


def _vectors(place: str, keys: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return what the service answers for each key, now."""
    connection, parts, step = Connection(place), [], min(10_000, keys)
    for first in range(0, keys, step):
        sink = pa.BufferOutputStream()
        asked = pa.table({"k": np.arange(first, first + step)})
        with pa.ipc.new_stream(sink, asked.schema) as writer:
            writer.write_table(asked)
        with pa.ipc.open_stream(connection.post("/ask", bytes(sink.getvalue()), ARROW)) as reader:
            answers = reader.read_all()
        columns = [column.cast(pa.float64()).to_numpy() for column in answers.columns]
        parts.append(np.column_stack(columns))
    connection.socket.close()
    return np.concatenate(parts)


def _is_held(row: Row, sizes: Sizes) -> bool:
    kept = row["events_per_second"] >= 0.99 * sizes.events
    return bool(row["ask_p99_ms"] <= HELD and kept)


def _highest(held: Row | None) -> Row:
    """Return the highest load that was held."""
    names = ("asks_per_second", "events_per_second", "ask_p50_ms", "ask_p99_ms", "ask_max_ms")
    what = "highest load held: none" if held is None else f"highest load held: {held['what']}"
    return {"what": what, **({} if held is None else {name: held[name] for name in names})}


def _quiet(place: str, sizes: Sizes) -> Row:
    """Ask without events, as Redis is asked below."""
    taken = _worked(_asking, place, sizes)
    what = f"{sizes.asks[0]:,} questions per second, no events"
    return {"what": what, "asks_per_second": sizes.asks[0], **_parts("ask", taken)}


def _worked(target: Callable[..., None], place: str, sizes: Sizes) -> list[float]:
    """Run one process that asks or reads, and return its times."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    args = (place, sizes.keys, sizes.asks[0], sizes.seconds, context.Barrier(1), results)
    worker = context.Process(target=target, args=args)
    worker.start()
    taken: list[float] = results.get()
    worker.join()
    return taken


def _loaded(place: str, sizes: Sizes, asks: int, first: int, more: str = "") -> Row:
    context = multiprocessing.get_context("spawn")
    asked, sent = context.Queue(), context.Queue()
    ready = context.Barrier(2)  # a process that still imports modules would disturb the other one
    asking = (place, sizes.keys, asks, sizes.seconds, ready, asked)
    workers = [
        context.Process(target=_asking, args=asking),
        context.Process(target=_sending, args=(place, sizes, first, ready, sent)),
    ]
    for worker in workers:
        worker.start()
    taken, (speed, batches) = asked.get(), sent.get()
    for worker in workers:
        worker.join()
    return {
        "what": f"{asks:,} questions per second{more}",
        "asks_per_second": asks,
        "events_per_second": speed,
        **_parts("ask", taken),
        **_parts("batch", batches),
    }


def _redis(folder: Path, sizes: Sizes, vectors: np.ndarray[Any, np.dtype[np.float64]]) -> Row:
    place = str(folder / "redis")
    command = ["redis-server", "--port", "0", "--unixsocket", place, "--save", "", "--dir", "."]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        while not Path(place).exists():
            time.sleep(0.05)
        redis = Redis(place)
        redis.fill(vectors)
        redis.socket.close()
        taken = _worked(_reading, place, sizes)
        memory = _memory(server.pid)
    finally:
        server.terminate()
        server.wait(60)
    return {
        "what": "Redis, the same vectors, no events",
        "asks_per_second": sizes.asks[0],
        **_parts("ask", taken),
        **memory,
    }


def _parts(name: str, taken: list[float]) -> Row:
    return {
        f"{name}_p50_ms": float(np.percentile(taken, 50)),
        f"{name}_p99_ms": float(np.percentile(taken, 99)),
        f"{name}_max_ms": float(np.max(taken)),
    }


def _memory(pid: int) -> Row:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    peak = next(line for line in lines if line.startswith("VmHWM"))
    return {"peak_mb": int(peak.split()[1]) / 1024}


def show(rows: list[Row]) -> str:
    """Format one table."""
    names = (
        "events_per_second",
        "ask_p50_ms",
        "ask_p99_ms",
        "ask_max_ms",
        "batch_p99_ms",
        "peak_mb",
    )
    cells = [[row["what"], *(row.get(name) for name in names)] for row in rows]
    header = ["what", "events/s", "ask p50 ms", "p99", "max", "batch p99 ms", "peak MB"]
    return table("A service with 20 features per key, at a Unix socket", header, cells)
