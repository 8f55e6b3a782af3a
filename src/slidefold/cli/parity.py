"""`slidefold parity`."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import typer

from slidefold.cli.comparing import Difference, compare, window_rows
from slidefold.cli.guard import FAILED, guarded
from slidefold.cli.options import AsJson, PipelineFile
from slidefold.cli.output import Output
from slidefold.errors import DataError, UsageError, nearest
from slidefold.pipeline import Pipeline, load
from slidefold.pipeline.local import collect
from slidefold.pipeline.on_spark import source_frame, spark_session
from slidefold.pipeline.settings import Sink, Source
from slidefold.pipeline.spark_stream import start_query, stream_frame, watch
from slidefold.spark import startup

ENGINES = ("live", "spark", "stream")
_BATCHES = 4  # the stream reads this many files, one per batch


def parity(
    pipeline: PipelineFile,
    engines: Annotated[
        str, typer.Option(help="The engines to compare with the local batch run.")
    ] = ",".join(ENGINES),
    tolerance: Annotated[
        float, typer.Option(min=0, help="For floats, relative to the column's largest value.")
    ] = 1e-9,
    master: Annotated[
        str, typer.Option(help="The Spark master URL, for the engines `spark` and `stream`.")
    ] = "local[*]",
    json: AsJson = False,
) -> None:
    """Run a pipeline on every engine over the same data, and show the first row that differs.

    The local batch run is compared with `live` (rows in order of arrival, in this process),
    `spark` (a Spark batch) and `stream` (the final results of a Spark stream). For `live` and
    `stream`, late rows are excluded from the expected results. Rows that still wait for the
    watermark at the end of the stream are read from its checkpoint. Emitted, waiting and late rows
    must add up to the input. Without Java, use `--engines live`. Nothing is written.

    Exit code 1: results differ. The first row that differs is shown with the rows of its window.
    """
    out = Output(json)
    with guarded(out):
        chosen = [name.strip() for name in engines.split(",") if name.strip()]
        for name in chosen:
            if name not in ENGINES:
                raise UsageError(
                    f"expected an engine among {', '.join(ENGINES)}, got {name!r}"
                    f"{nearest(name, ENGINES)}"
                )
        if {"spark", "stream"} & {*chosen} and (why := startup.missing()):
            raise UsageError(f"{why}; or compare without Spark: --engines live")
        loaded = load(pipeline, writes=False)
        if loaded.questions is not None:
            raise UsageError("parity compares results at rows: leave [questions] out of the file")
        table = collect(loaded, out)
        verdicts = compare_engines(loaded, table, chosen, tolerance, master, out)
        if not all(verdicts.values()):
            raise typer.Exit(FAILED)


@dataclass(frozen=True)
class Ran:
    """One run of an engine: the rows it accepted, and all their results."""

    accepted: Any
    results: Any
    late: int = 0  # late rows
    waiting: int = 0  # results that the stream has not emitted yet

    @property
    def emitted(self) -> int:
        """The number of emitted results."""
        return len(self.results) - self.waiting


def compare_engines(
    pipeline: Pipeline, table: Any, engines: list[str], tolerance: float, master: str, out: Output
) -> dict[str, bool]:
    """Compare each engine with the local batch run, and return whether the results are equal."""
    verdicts: dict[str, bool] = {}
    with ExitStack() as opened:
        session = None
        for engine in engines:
            if engine != "live" and session is None:
                session = opened.enter_context(spark_session(out, master))
            with out.working(f"running {engine}"):
                ran = _RUNS[engine](pipeline, table, session, out)
            expected = pipeline.features.run(ran.accepted)
            columns = list(pipeline.features.columns)
            names = [name for name in expected.column_names if name not in columns]
            difference = compare(expected, ran.results, names, columns, tolerance)
            verdicts[engine] = _report(pipeline, ran, engine, difference, len(table), out)
    return verdicts


def _report(
    pipeline: Pipeline,
    ran: Ran,
    engine: str,
    difference: Difference | None,
    given: int,
    out: Output,
) -> bool:
    """Print the outcome of an engine, and return whether its results are equal."""
    facts: dict[str, Any] = {
        "engine": engine,
        "rows": len(ran.results),
        "emitted": ran.emitted,
        "waiting": ran.waiting,
        "late": ran.late,
        "given": given,
    }
    sliding = pipeline.features.slide is not None
    if difference is None:
        counts = f"{ran.emitted:,} emitted + {ran.waiting:,} waiting"
        if sliding:
            message = f"{len(ran.results):,} results as the local batch run ({counts}); "
            message += f"{ran.late:,} of {given:,} input rows were late"
            complete = True  # the number of results equals that of the local batch run
        else:
            counts += f" + {ran.late:,} late"
            message = f"{len(ran.results):,} rows as the local batch run "
            message += f"({counts} = {given:,} input rows)"
            complete = len(ran.results) + ran.late == given
        if complete:
            out.say("parity", f"{engine}: the same {message}", "green", same=True, **facts)
            return True
        out.say(
            "parity",
            f"{engine}: expected {given:,} rows as in the input, got {counts}",
            "red",
            same=False,
            **facts,
        )
        return False
    window = window_rows(pipeline.features, ran.accepted, difference)
    rows = window.to_pylist()
    facts |= {"row": difference.row, "column": difference.column}
    facts |= {"due": difference.expected, "found": difference.actual, "window": rows}
    out.say("parity", f"{engine}: {difference}", "red", same=False, **facts)
    if not out.as_json:
        cells = [list(row.values()) for row in rows]
        out.rows(window.column_names, cells, "The rows of its window:")
    return False


def _live(pipeline: Pipeline, table: Any, _session: Any, _out: Output) -> Ran:
    settings = pipeline.stream
    sliding = pipeline.features.slide is not None
    # One batch, so that no row is late: there is no watermark, or late rows cannot be identified.
    single = settings.watermark is None or sliding
    live = pipeline.features.live(lateness=_lateness(pipeline), late="drop" if sliding else "side")
    size = len(table) if single else settings.batch
    parts = [live.feed(table.slice(0, 0))]
    parts += [live.feed(table.slice(i, size)) for i in range(0, len(table), max(size, 1))]
    results = pa.concat_tables([*parts, live.finish()])
    accepted, in_time = (table, results) if sliding else split_late(table, results)
    return Ran(accepted, in_time, live.late if sliding else len(results) - len(in_time))


def _lateness(pipeline: Pipeline) -> str | int:
    if pipeline.stream.watermark is not None:
        return pipeline.stream.watermark
    return 0 if pa.types.is_integer(pipeline.schema.field(pipeline.features.on).type) else "1ms"


def split_late(table: Any, results: Any) -> tuple[Any, Any]:
    """Return the input rows that were not late, and their results."""
    flag = results["late"]
    late = results.filter(flag).select(table.column_names)
    in_time = results.filter(pc.invert(flag)).drop_columns(["late", "late_reason"])
    if len(late) == 0:
        return table, in_time
    return _without(table, late.cast(table.schema)), in_time


def _without(table: Any, late: Any) -> Any:
    """Return a table without the late rows; a duplicate row is removed once per late copy."""
    remaining: dict[str, int] = {}
    for row in late.to_pylist():
        remaining[repr(row)] = remaining.get(repr(row), 0) + 1
    kept = []
    for i, row in enumerate(table.to_pylist()):
        if remaining.get(repr(row), 0):
            remaining[repr(row)] -= 1
        else:
            kept.append(i)
    return table.take(pa.array(kept, pa.int64()))


def _spark(pipeline: Pipeline, table: Any, session: Any, _out: Output) -> Ran:
    data, _ = source_frame(session, pipeline, streaming=False)
    return Ran(table, pipeline.features.run(data).toArrow())


def _stream(pipeline: Pipeline, table: Any, session: Any, out: Output) -> Ran:
    kind = pipeline.schema.field(pipeline.features.on).type
    if not pa.types.is_timestamp(kind):
        raise UsageError(
            f"a Spark stream needs a timestamp column, and {pipeline.features.on!r} is {kind}: "
            "leave the stream out with --engines live,spark"
        )
    sliding = pipeline.features.slide is not None
    lateness = str(_lateness(pipeline))
    single = pipeline.stream.watermark is None or sliding
    with TemporaryDirectory(prefix="slidefold-") as folder:
        source = Path(folder) / "source"
        source.mkdir()
        size = max(1, len(table) if single else -(-len(table) // _BATCHES))
        written = in_microseconds(table)
        for i in range(0, max(len(table), 1), size):
            file = source / f"{i:012}.parquet"
            pyarrow.parquet.write_table(written.slice(i, size), file)
            os.utime(file, (i // size, i // size))  # Spark reads the oldest file first
        settings = replace(
            pipeline.stream,
            watermark=lateness,
            emit="final",
            id=(),
            checkpoint=f"{folder}/checkpoint",
            files_per_batch=1,
        )
        moved = replace(
            pipeline,
            schema=written.schema,
            source=Source(str(source), "parquet"),
            stream=settings,
            sink=Sink(Path(folder) / "sink", "parquet"),
        )
        data, _ = source_frame(session, moved, streaming=True)
        frame = stream_frame(moved, data, "drop" if sliding else "side")
        counts = watch([start_query(moved, frame, follow=False)], out)
        # With an explicit schema, since there is no file if all rows wait for the watermark.
        emitted = session.read.schema(frame.schema).parquet(f"{folder}/sink").toArrow()
        waiting = waiting_results(moved, data, session)
    accepted, in_time = (table, emitted) if sliding else split_late(table, emitted)
    results = pa.concat_tables([in_time, waiting.cast(in_time.schema)])
    late = counts["late"] if sliding else len(emitted) - len(in_time)
    return Ran(accepted, results, late, len(waiting))


def waiting_results(pipeline: Pipeline, data: Any, session: Any) -> Any:
    """Read the results that a stream has not emitted yet from its checkpoint."""
    from slidefold.spark import pipeline_io, tail

    on, checkpoint = pipeline.features.on, pipeline.stream.checkpoint
    assert checkpoint is not None
    rest = tail(checkpoint, pipeline.features, spark=session)
    if pipeline_io.is_naive(data, on):
        rest = pipeline_io.without_zone(rest, [on, "window_start", "window_end"])
    return rest.toArrow()


def in_microseconds(table: Any) -> Any:
    """Cast the times of a table to microseconds, as Spark needs them."""
    fields = [
        field.with_type(pa.timestamp("us", field.type.tz))
        if pa.types.is_timestamp(field.type)
        else field
        for field in table.schema
    ]
    try:
        return table.cast(pa.schema(fields))
    except pa.ArrowInvalid:
        raise DataError(
            "Spark stores times in microseconds, and the source has times with nanoseconds"
        ) from None


_RUNS = {"live": _live, "spark": _spark, "stream": _stream}
