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
_BATCHES = 4  # files that the stream takes one after another


def parity(
    pipeline: PipelineFile,
    engines: Annotated[
        str, typer.Option(help="What is compared with the run in this process.")
    ] = ",".join(ENGINES),
    tolerance: Annotated[
        float, typer.Option(min=0, help="For floats, relative to the largest of their column.")
    ] = 1e-9,
    master: Annotated[
        str, typer.Option(help="The Spark cluster, for the engines `spark` and `stream`.")
    ] = "local[*]",
    json: AsJson = False,
) -> None:
    """Run a pipeline on every engine over the same data, and show the first row that differs.

    The results of the run in this process are compared with those of `live` (rows as they arrive,
    in this process), `spark` (a Spark batch) and `stream` (a Spark stream, its final results). Of
    the two that take rows as they arrive, late rows are left out of what is due; rows that wait for
    the watermark at the end of the stream are compared as its checkpoint has them. Emitted, waiting
    and late rows are counted, and must add up to the input. Without Java: `--engines live`.
    Nothing is written.

    Exit code 1: results differ. The row that differs is shown with the rows of its window.
    """
    out = Output(json)
    with guarded(out):
        asked = [each.strip() for each in engines.split(",") if each.strip()]
        for each in asked:
            if each not in ENGINES:
                raise UsageError(
                    f"{each!r} is none of {', '.join(ENGINES)}{nearest(each, ENGINES)}"
                )
        if {"spark", "stream"} & {*asked} and (why := startup.missing()):
            raise UsageError(f"{why}; or compare without Spark: --engines live")
        made = load(pipeline, writes=False)
        table = collect(made, out)
        found = compare_engines(made, table, asked, tolerance, master, out)
        if not all(found.values()):
            raise typer.Exit(FAILED)


@dataclass(frozen=True)
class Ran:
    """What an engine made of the input: the rows it accepted, and all their results."""

    accepted: Any
    found: Any
    late: int = 0  # rows
    waiting: int = 0  # of the results, those that the stream has not emitted yet

    @property
    def emitted(self) -> int:
        """How many results came out."""
        return len(self.found) - self.waiting


def compare_engines(
    pipeline: Pipeline, table: Any, asked: list[str], tolerance: float, master: str, out: Output
) -> dict[str, bool]:
    """Compare each engine with the run in this process, and say how it went: True for the same."""
    verdicts: dict[str, bool] = {}
    with ExitStack() as opened:
        session = None
        for engine in asked:
            if engine != "live" and session is None:
                session = opened.enter_context(spark_session(out, master))
            with out.working(f"running {engine}"):
                ran = _RUNS[engine](pipeline, table, session, out)
            due = pipeline.features.run(ran.accepted)
            names = [name for name in due.column_names if name not in pipeline.features.columns]
            columns = list(pipeline.features.columns)
            difference = compare(due, ran.found, names, columns, tolerance)
            verdicts[engine] = _tell(pipeline, ran, engine, difference, len(table), out)
    return verdicts


def _tell(
    pipeline: Pipeline,
    ran: Ran,
    engine: str,
    difference: Difference | None,
    given: int,
    out: Output,
) -> bool:
    """Say how an engine did, and return whether its results are the same."""
    facts: dict[str, Any] = {
        "engine": engine,
        "rows": len(ran.found),
        "emitted": ran.emitted,
        "waiting": ran.waiting,
        "late": ran.late,
        "given": given,
    }
    sliding = pipeline.features.slide is not None
    if difference is None:
        counts = f"{ran.emitted:,} emitted + {ran.waiting:,} waiting"
        if sliding:
            said = f"{len(ran.found):,} results as in this process ({counts}); {ran.late:,} of the "
            said += f"{given:,} input rows late"
            whole = True  # the number of results is that of the run in this process
        else:
            counts += f" + {ran.late:,} late"
            said = f"{len(ran.found):,} rows as in this process ({counts} = {given:,} input rows)"
            whole = len(ran.found) + ran.late == given
        if whole:
            out.say("parity", f"{engine}: the same {said}", "green", same=True, **facts)
            return True
        out.say(
            "parity",
            f"{engine}: {counts} rows are not the {given:,} of the input",
            "red",
            same=False,
            **facts,
        )
        return False
    held = window_rows(pipeline.features, ran.accepted, difference)
    facts |= {"row": difference.row, "column": difference.column}
    facts |= {"due": difference.due, "found": difference.found, "window": held.to_pylist()}
    out.say("parity", f"{engine}: {difference}", "red", same=False, **facts)
    if not out.as_json:
        rows_shown = [list(row.values()) for row in held.to_pylist()]
        out.rows(held.column_names, rows_shown, "The rows of its window:")
    return False


def _live(pipeline: Pipeline, table: Any, _session: Any, _out: Output) -> Ran:
    settings = pipeline.stream
    sliding = pipeline.features.slide is not None
    # Without a watermark in the file, and where late rows cannot be told, none is late: one batch.
    single = settings.watermark is None or sliding
    live = pipeline.features.live(lateness=_lateness(pipeline), late="drop" if sliding else "side")
    size = len(table) if single else settings.batch
    fed = [live.feed(table.slice(0, 0))]
    fed += [live.feed(table.slice(i, size)) for i in range(0, len(table), max(size, 1))]
    found = pa.concat_tables([*fed, live.finish()])
    accepted, in_time = (table, found) if sliding else split_late(table, found)
    return Ran(accepted, in_time, live.late if sliding else len(found) - len(in_time))


def _lateness(pipeline: Pipeline) -> str | int:
    if pipeline.stream.watermark is not None:
        return pipeline.stream.watermark
    return 0 if pa.types.is_integer(pipeline.schema.field(pipeline.features.on).type) else "1ms"


def split_late(table: Any, found: Any) -> tuple[Any, Any]:
    """Part results into the rows that were accepted, all of them, and the results in time."""
    flag = found["late"]
    late = found.filter(flag).select(table.column_names)
    in_time = found.filter(pc.invert(flag)).drop_columns(["late", "late_reason"])
    if len(late) == 0:
        return table, in_time
    return _without(table, late.cast(table.schema)), in_time


def _without(table: Any, late: Any) -> Any:
    """Return a table without some of its rows, each as often as it is among them."""
    left: dict[str, int] = {}
    for row in late.to_pylist():
        left[repr(row)] = left.get(repr(row), 0) + 1
    kept = []
    for i, row in enumerate(table.to_pylist()):
        if left.get(repr(row), 0):
            left[repr(row)] -= 1
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
            f"a Spark stream needs timestamps, and {pipeline.features.on!r} is {kind}: compare "
            "without it, --engines live,spark"
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
            os.utime(file, (i // size, i // size))  # Spark takes the oldest first
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
        # The schema is told, since there may be no file: all rows may wait.
        found = session.read.schema(frame.schema).parquet(f"{folder}/sink").toArrow()
        waiting = waiting_results(moved, data, session)
    accepted, in_time = (table, found) if sliding else split_late(table, found)
    whole = pa.concat_tables([in_time, waiting.cast(in_time.schema)])
    late = counts["late"] if sliding else len(found) - len(in_time)
    return Ran(accepted, whole, late, len(waiting))


def waiting_results(pipeline: Pipeline, data: Any, session: Any) -> Any:
    """Return the results that a stream over this data has not emitted yet, from its checkpoint."""
    from slidefold.spark import pipeline_io, tail

    on, checkpoint = pipeline.features.on, pipeline.stream.checkpoint
    assert checkpoint is not None
    rest = tail(checkpoint, pipeline.features, spark=session)
    if pipeline_io.is_naive(data, on):
        rest = pipeline_io.without_zone(rest, [on, "window_start", "window_end"])
    return rest.toArrow()


def in_microseconds(table: Any) -> Any:
    """Return a table as Spark can read it: its times have microseconds."""
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
            "Spark counts times in microseconds, and the source has finer ones"
        ) from None


_RUNS = {"live": _live, "spark": _spark, "stream": _stream}
