"""Run a pipeline file: read its source, compute its features, write its sink."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from slidefold.errors import UsageError
from slidefold.pipeline.file import load
from slidefold.pipeline.local import run_local
from slidefold.pipeline.local_stream import stream_local
from slidefold.pipeline.on_spark import run_spark
from slidefold.pipeline.reporting import Reporter
from slidefold.pipeline.spark_stream import stream_spark

if TYPE_CHECKING:
    import pyarrow as pa

ENGINES = ("local", "spark")


def run_pipeline(
    file: str | Path,
    *,
    engine: str = "local",
    stream: bool = False,
    follow: bool = False,
    master: str = "local[*]",
    overwrite: bool = False,
    report: Reporter | None = None,
) -> pa.Table | None:
    """Run a pipeline file from Python as `slidefold run` does, but raise errors.

    Returns the results as an Arrow table if the sink is the memory or the console (then at most
    `limit` rows), else None. Nothing is printed; `report` receives progress and results.
    """
    if engine not in ENGINES:
        raise UsageError(f"expected the engine 'local' or 'spark', got {engine!r}")
    if follow and not (stream and engine == "spark"):
        raise UsageError("--follow needs --engine spark --stream")
    pipeline = load(Path(file), engine=engine, stream=stream, overwrite=overwrite)
    out = report or Reporter()
    if engine == "spark":
        if stream:
            return stream_spark(pipeline, out, overwrite, master, follow)
        return run_spark(pipeline, out, overwrite, master)
    results = (stream_local if stream else run_local)(pipeline, out, overwrite)
    return results if pipeline.sink.kept else None
