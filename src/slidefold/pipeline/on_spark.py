"""The engine on Spark: the same file, batch or streaming, on a cluster."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import pyarrow as pa

from slidefold.errors import DataError
from slidefold.pipeline.broken import BadRow
from slidefold.pipeline.file import Pipeline
from slidefold.pipeline.local import Broken, tell
from slidefold.pipeline.patterns import literal
from slidefold.pipeline.reporting import Reporter
from slidefold.pipeline.settings import ENDINGS, SPARK
from slidefold.pipeline.sinks import file_sink, json_line
from slidefold.pipeline.sources import Parse
from slidefold.spark import startup


@contextmanager
def spark_session(out: Reporter, master: str) -> Iterator[Any]:
    """A Spark session that is stopped at the end, whatever happens; it logs into a file."""
    with TemporaryDirectory(prefix="slidefold-") as folder:
        begin = perf_counter()
        with out.working(f"starting Spark at {master}"):
            session = startup.start(master, Path(folder) / "spark.log")
        seconds = perf_counter() - begin
        out.step("spark", f"Spark started at {master}, {seconds:.1f} s", master=master)
        try:
            with startup.readable():
                yield session
        finally:
            # After Ctrl-C within a call the connection may be gone; the JVM then ends with us.
            with suppress(Exception):
                session.stop()


def run_spark(pipeline: Pipeline, out: Reporter, replace: bool, master: str) -> Any:
    """Run a pipeline over all of its source on Spark, and write the results.

    Returns what is shown or kept, if it is not written.
    """
    from slidefold.spark import pipeline_io

    with spark_session(out, master) as session, ExitStack() as opened:
        start = perf_counter()
        replace = replace or pipeline.sink.exists == "replace"
        data, parsed = source_frame(session, pipeline, streaming=False)
        found = pipeline.features.run(data)
        bad = _broken(pipeline, parsed, opened, replace)
        sink = pipeline.sink
        shown = None
        with out.working("running on Spark"):
            if sink.kept:
                limit = sink.limit if sink.format == "console" else 0
                shown = found.limit(limit).toArrow() if limit else found.toArrow()
                made = found.count() if limit else len(shown)
            elif sink.path is None:
                name = sink.format.removeprefix(SPARK)
                made = pipeline_io.write(found, name, sink.url, sink.options, replace=replace)
            else:
                with appearing(sink.path, replace) as partial:
                    made = pipeline_io.write(found, sink.format, str(partial), {}, replace=False)
        # With one result a row, as many rows went in as came out.
        taken = made if pipeline.features.slide is None else data.count()
        tell(pipeline, out, shown, taken, made, bad, perf_counter() - start)
        return shown


def source_frame(session: Any, pipeline: Pipeline, *, streaming: bool) -> tuple[Any, Any]:
    """Return the source as a DataFrame, and with its broken rows where it may have some."""
    from slidefold.spark import pipeline_io

    source = pipeline.source
    made: Any = None
    if source.format.startswith(SPARK):
        name = source.format.removeprefix(SPARK)
        made = pipeline_io.read_format(
            session, name, source.path, source.options, streaming=streaming
        )
    else:
        assert source.path is not None
        path = os.path.abspath(source.path)
        glob = "*{" + ",".join(ENDINGS[source.format]) + "}"
        if not os.path.isdir(path):
            path, name = os.path.split(path)  # streams read folders only
            glob = literal(name)
        place = literal(path)
        at = pipeline_io.Place(session, place, glob, streaming, pipeline.stream.files_per_batch)
        if source.format == "parquet":
            made = pipeline_io.read_parquet(at, pipeline.schema)
    if made is None:
        parse = Strict(Parse(source, pipeline.schema), source.bad_rows)
        parsed = pipeline_io.read_parsed(at, parse, pipeline.schema, as_json)
    elif source.bad_rows == "fail":
        return made, None
    else:
        parsed = pipeline_io.marking_bad(made, source.required)
    return pipeline_io.good_rows(pipeline_io.counting_bad(parsed) if streaming else parsed), parsed


class Strict:
    """A parser that fails at a broken row, where that is what the file says."""

    def __init__(self, parse: Parse, policy: str) -> None:
        self.parse, self.policy = parse, policy

    def __call__(self, name: str, content: bytes) -> tuple[Any, list[BadRow]]:
        """Parse a file."""
        table, bad = self.parse(name, content)
        broken = Broken(self.policy)
        for row in bad:
            broken.note(row)
        return table, bad


def as_json(row: BadRow) -> str:
    """A broken row as it is kept aside."""
    return json_line(vars(row))


def _broken(pipeline: Pipeline, parsed: Any, opened: ExitStack, replace: bool) -> int:
    """Count the broken rows, and keep them aside if they are to be."""
    from slidefold.spark import pipeline_io

    if parsed is None or pipeline.source.bad_rows == "fail":
        return 0
    lines = pipeline_io.bad_rows(parsed)
    if pipeline.source.side is not None:
        sink = opened.enter_context(file_sink(pipeline.source.side, "lines", replace))
        sink.write(pa.table({"line": pa.array(lines, pa.string())}))
    return len(lines)


@contextmanager
def appearing(path: Path, replace: bool) -> Iterator[Path]:
    """A folder under another name, which gets its own when all of it is there."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        yield partial
        if replace:
            remove(path)
        elif path.exists():
            raise DataError(f"{str(path)!r} was made by somebody else meanwhile")
        os.rename(partial, path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
