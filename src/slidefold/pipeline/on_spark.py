"""Run a pipeline on Spark: sessions, sources and the batch run."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import pyarrow as pa

from slidefold.errors import DataError
from slidefold.pipeline.broken import BadRow
from slidefold.pipeline.file import Pipeline
from slidefold.pipeline.json_lines import ParseValues
from slidefold.pipeline.local import Broken, tell
from slidefold.pipeline.patterns import literal
from slidefold.pipeline.reporting import Reporter
from slidefold.pipeline.settings import ENDINGS, SPARK
from slidefold.pipeline.sinks import file_sink, json_line
from slidefold.pipeline.sources import Parse
from slidefold.spark import startup


@contextmanager
def spark_session(out: Reporter, master: str) -> Iterator[Any]:
    """Start a Spark session that logs to a file, and always stop it at the end."""
    with TemporaryDirectory(prefix="slidefold-") as folder:
        start = perf_counter()
        with out.working(f"starting Spark at {master}"):
            session = startup.start(master, Path(folder) / "spark.log")
        seconds = perf_counter() - start
        out.step("spark", f"Spark started at {master}, {seconds:.1f} s", master=master)
        try:
            with startup.readable():
                yield session
        finally:
            # After Ctrl-C inside a call the connection may be gone; the JVM then ends with Python.
            with suppress(Exception):
                session.stop()


def run_spark(
    pipeline: Pipeline,
    out: Reporter,
    replace: bool,
    master: str,
    period: Mapping[str, Any] | None = None,
) -> Any:
    """Run a pipeline over its source, or a period of it, on Spark, and write the results.

    Returns the results if the sink is the console or the memory.
    """
    from slidefold.spark import pipeline_io

    with spark_session(out, master) as session, ExitStack() as opened:
        start = perf_counter()
        replace = replace or pipeline.sink.exists == "replace"
        data, parsed = source_frame(session, pipeline, streaming=False)
        asked: dict[str, Any] = {}
        if pipeline.questions is not None:
            questions = pipeline.questions
            other = dataclasses.replace(
                pipeline, source=questions.source, schema=questions.schema, questions=None
            )
            asked = {"at": source_frame(session, other, streaming=False)[0], **questions.options}
        results = pipeline.features.run(data, **asked, **(period or {}))
        bad = _broken(pipeline, parsed, opened, replace)
        sink = pipeline.sink
        shown = None
        with out.working("running on Spark"):
            if sink.kept:
                limit = sink.limit if sink.format == "console" else 0
                shown = results.limit(limit).toArrow() if limit else results.toArrow()
                rows = results.count() if limit else len(shown)
            elif sink.path is None:
                name = sink.format.removeprefix(SPARK)
                rows = pipeline_io.write(results, name, sink.url, sink.options, replace=replace)
            else:
                with appearing(sink.path, replace) as partial:
                    rows = pipeline_io.write(results, sink.format, str(partial), {}, replace=False)
        # Without every= there is one result per row: the input has as many rows.
        own = pipeline.features.slide is None and pipeline.questions is None
        rows_in = rows if own else data.count()
        tell(pipeline, out, shown, rows_in, rows, bad, perf_counter() - start)
        return shown


def source_frame(session: Any, pipeline: Pipeline, *, streaming: bool) -> tuple[Any, Any]:
    """Return the source without its broken rows, and with them marked (None if not checked)."""
    from slidefold.spark import pipeline_io

    source = pipeline.source
    data: Any = None
    if source.format.startswith(SPARK):
        name = source.format.removeprefix(SPARK)
        data = pipeline_io.read_format(
            session, name, source.path, source.options, streaming=streaming
        )
        if source.value is not None:
            values = Strict(ParseValues(source, source.schema), source.bad_rows)
            parsed = pipeline_io.read_values(data, name, values, source.schema, as_json)
            return good_and_marked(parsed, streaming)
    else:
        assert source.path is not None
        path = os.path.abspath(source.path)
        glob = "*{" + ",".join(ENDINGS[source.format]) + "}"
        if not os.path.isdir(path):
            path, name = os.path.split(path)  # Spark streams read folders only
            glob = literal(name)
        place = literal(path)
        at = pipeline_io.Place(session, place, glob, streaming, pipeline.stream.files_per_batch)
        if source.format == "parquet":
            data = pipeline_io.read_parquet(at, pipeline.schema)
    if data is None:
        parse = Strict(Parse(source, pipeline.schema), source.bad_rows)
        parsed = pipeline_io.read_parsed(at, parse, pipeline.schema, as_json)
    elif source.bad_rows == "fail":
        return data, None
    else:
        parsed = pipeline_io.marking_bad(data, source.required)
    return good_and_marked(parsed, streaming)


def good_and_marked(parsed: Any, streaming: bool) -> tuple[Any, Any]:
    """Return rows without the broken ones, and with them; a stream counts these in its progress."""
    from slidefold.spark import pipeline_io

    return pipeline_io.good_rows(pipeline_io.counting_bad(parsed) if streaming else parsed), parsed


class Strict:
    """A parser that fails at a broken row if the file sets `bad_rows = "fail"`."""

    def __init__(self, parse: Parse | ParseValues, policy: str) -> None:
        self.parse, self.policy = parse, policy

    def __call__(self, *given: Any) -> tuple[Any, list[BadRow]]:
        """Parse a file, or a batch of values."""
        table, bad = self.parse(*given)
        broken = Broken(self.policy)
        for row in bad:
            broken.note(row)
        return table, bad


def as_json(row: BadRow) -> str:
    """Return a broken row as a line of the side file."""
    return json_line(vars(row))


def _broken(pipeline: Pipeline, parsed: Any, opened: ExitStack, replace: bool) -> int:
    """Count the broken rows, and write them to the side file if there is one."""
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
    """Yield a temporary folder that is renamed to `path` when it is complete."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        yield partial
        if replace:
            remove(path)
        elif path.exists():
            raise DataError(f"another process created {str(path)!r} during the run")
        os.rename(partial, path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def remove(path: Path) -> None:
    """Remove a file or a folder if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
