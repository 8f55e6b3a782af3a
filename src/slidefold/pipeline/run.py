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

    from slidefold.definition.frames import Moment

ENGINES = ("local", "spark")


def run_pipeline(
    file: str | Path,
    *,
    engine: str = "local",
    stream: bool = False,
    follow: bool = False,
    master: str = "local[*]",
    overwrite: bool = False,
    since: Moment = None,
    until: Moment = None,
    report: Reporter | None = None,
) -> pa.Table | None:
    """Run a pipeline file from Python as `slidefold run` does, but raise errors.

    Returns the results as an Arrow table if the sink is the memory or the console (then at most
    `limit` rows), else None. `since` and `until` select a period, as in `Rolling.run`. Nothing is
    printed; `report` receives progress and results.
    """
    if engine not in ENGINES:
        raise UsageError(f"expected the engine 'local' or 'spark', got {engine!r}")
    if follow and not (stream and engine == "spark"):
        raise UsageError("--follow needs --engine spark --stream")
    period = {"since": since, "until": until}
    period = {name: value for name, value in period.items() if value is not None}
    if period and stream:
        raise UsageError("--since and --until work without --stream only")
    pipeline = load(Path(file), engine=engine, stream=stream, overwrite=overwrite)
    out = report or Reporter()
    if engine == "spark":
        if stream:
            return stream_spark(pipeline, out, overwrite, master, follow)
        return run_spark(pipeline, out, overwrite, master, period)
    if stream:
        results = stream_local(pipeline, out, overwrite)
    else:
        results = run_local(pipeline, out, overwrite, period)
    return results if pipeline.sink.kept else None
