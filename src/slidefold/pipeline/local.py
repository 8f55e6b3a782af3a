"""The engine in this process: files to tables, features, a file at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import pyarrow as pa

from slidefold.errors import DataError
from slidefold.pipeline.broken import BadRow
from slidefold.pipeline.file import Pipeline
from slidefold.pipeline.reporting import Reporter
from slidefold.pipeline.sinks import BAD_ROWS, FileSink, file_sink
from slidefold.pipeline.sources import files_of, tables


@dataclass
class Broken:
    """What becomes of broken rows: the run fails, or they are counted, or kept in a side file."""

    policy: str
    sink: FileSink | None = None
    count: int = 0
    _kept: list[BadRow] = field(default_factory=list)

    def note(self, row: BadRow) -> None:
        """Take a broken row."""
        if self.policy == "fail":
            raise DataError(
                f'{row} (to go on without such rows, set bad_rows = "skip" or "side" in [source])'
            )
        self.count += 1
        if self.sink is not None:
            self._kept.append(row)

    def flush(self) -> None:
        """Write what was kept; an empty file says that there was none."""
        if self.sink is not None:
            rows = [vars(row) for row in self._kept]
            self.sink.write(pa.Table.from_pylist(rows, schema=BAD_ROWS))
            self._kept.clear()


def read(pipeline: Pipeline, out: Reporter, broken: Broken) -> Iterator[Any]:
    """Yield the files of the source as tables, in the order in which they came."""
    files = len(files_of(pipeline.source))
    rows = 0
    with out.working("reading", files) as bar:
        for file, table in tables(pipeline.source, pipeline.schema, broken.note):
            rows += len(table)
            bar.tell(f"reading {file.name}")
            bar.advance()
            yield table
    noted = f", {broken.count:,} broken rows left out" if broken.count else ""
    out.step(
        "read",
        f"read {rows:,} rows from {files:,} {'file' if files == 1 else 'files'}{noted}",
        rows=rows,
        files=files,
        bad_rows=broken.count,
    )


def collect(pipeline: Pipeline, out: Reporter) -> Any:
    """Return the whole source as one table; broken rows as the file says, none kept aside."""
    broken = Broken(pipeline.source.bad_rows)
    return pa.concat_tables([pipeline.schema.empty_table(), *read(pipeline, out, broken)])


def run_local(pipeline: Pipeline, out: Reporter, replace: bool) -> Any:
    """Run a pipeline over all of its source, write the results, and return them."""
    start = perf_counter()
    with ExitStack() as opened:
        broken, sink = open_targets(pipeline, opened, replace)
        table = pa.concat_tables(
            [pipeline.schema.empty_table(), *read(pipeline, out, broken)]
        ).combine_chunks()
        with out.working(f"computing {len(pipeline.features.items)} columns"):
            found = pipeline.features.run(table)
        if sink is not None:
            with out.working("writing"):
                sink.write(found)
        broken.flush()
    tell(pipeline, out, found, len(table), len(found), broken.count, perf_counter() - start)
    return found


def open_targets(
    pipeline: Pipeline, opened: ExitStack, replace: bool
) -> tuple[Broken, FileSink | None]:
    """Open the side file and the sink; the results appear last, when all else is in place."""
    replace = replace or pipeline.sink.exists == "replace"
    sink = None
    if pipeline.sink.path is not None:
        sink = opened.enter_context(file_sink(pipeline.sink.path, pipeline.sink.format, replace))
    side = pipeline.source.side
    kept = None if side is None else opened.enter_context(file_sink(side, "json", replace))
    return Broken(pipeline.source.bad_rows, kept), sink


def tell(
    pipeline: Pipeline, out: Reporter, shown: Any, taken: int, made: int, bad: int, seconds: float
) -> None:
    """Say what a run did; the console is a sink too."""
    if pipeline.sink.format == "console" and shown is not None:
        limit = pipeline.sink.limit or made
        rows = [list(row.values()) for row in shown.slice(0, limit).to_pylist()]
        out.rows(shown.column_names, rows)
        if made > limit:
            out.step("more", f"... and {made - limit:,} rows more", rows=made - limit)
    where = pipeline.sink.place
    out.say(
        "done",
        f"{taken:,} rows in, {made:,} rows out to {where}, {seconds:.1f} s",
        rows_in=taken,
        rows_out=made,
        bad_rows=bad,
        sink=where,
        seconds=round(seconds, 3),
    )
