"""Run a pipeline in this process: read files, compute features, write a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import pyarrow as pa

from slidefold.columns.backfill import known_period
from slidefold.definition.period import Bounds
from slidefold.errors import DataError
from slidefold.pipeline.broken import BadRow
from slidefold.pipeline.file import Pipeline
from slidefold.pipeline.reporting import Reporter
from slidefold.pipeline.settings import Questions
from slidefold.pipeline.sinks import BAD_ROWS, FileSink, file_sink
from slidefold.pipeline.sources import files_of, tables


@dataclass
class Broken:
    """Handles broken rows: it fails the run, counts them, or keeps them for the side file."""

    policy: str
    sink: FileSink | None = None
    count: int = 0
    _kept: list[BadRow] = field(default_factory=list)

    def note(self, row: BadRow) -> None:
        """Handle one broken row."""
        if self.policy == "fail":
            raise DataError(
                f'{row} (to skip broken rows, set bad_rows = "skip" or "side" in [source])'
            )
        self.count += 1
        if self.sink is not None:
            self._kept.append(row)

    def flush(self) -> None:
        """Write the kept rows to the side file; the file is empty if there are none."""
        if self.sink is not None:
            rows = [vars(row) for row in self._kept]
            self.sink.write(pa.Table.from_pylist(rows, schema=BAD_ROWS))
            self._kept.clear()


def read(
    pipeline: Pipeline, out: Reporter, broken: Broken, reads: Bounds = (None, None)
) -> Iterator[Any]:
    """Yield the files of the source as tables, oldest file first.

    Parts of files without a time inside the bounds may be left out.
    """
    files = len(files_of(pipeline.source))
    rows = 0
    with out.working("reading", files) as bar:
        for file, table in tables(
            pipeline.source, pipeline.schema, broken.note, (pipeline.features.on, reads)
        ):
            rows += len(table)
            bar.tell(f"reading {file.name}")
            bar.advance()
            yield table
    skipped = f", skipped {broken.count:,} broken rows" if broken.count else ""
    out.step(
        "read",
        f"read {rows:,} rows from {files:,} {'file' if files == 1 else 'files'}{skipped}",
        rows=rows,
        files=files,
        bad_rows=broken.count,
    )


def collect(pipeline: Pipeline, out: Reporter) -> Any:
    """Read the whole source as one table; broken rows fail or are skipped, without a side file."""
    broken = Broken(pipeline.source.bad_rows)
    return pa.concat_tables([pipeline.schema.empty_table(), *read(pipeline, out, broken)])


def run_local(pipeline: Pipeline, out: Reporter, replace: bool, period: Mapping[str, Any]) -> Any:
    """Run a pipeline over its source, or a period of it, write the results, and return them."""
    start = perf_counter()
    reads: Bounds = (None, None)
    if period:
        kind = pipeline.schema.field(pipeline.features.on).type
        reads = known_period(pipeline.features, kind, **period).reads
    with ExitStack() as opened:
        broken, sink = open_targets(pipeline, opened, replace)
        table = pa.concat_tables(
            [pipeline.schema.empty_table(), *read(pipeline, out, broken, reads)]
        ).combine_chunks()
        asked: dict[str, Any] = {}
        if pipeline.questions is not None:
            asked = {"at": _questions(pipeline.questions), **pipeline.questions.options}
        with out.working(f"computing {len(pipeline.features.items)} columns"):
            results = pipeline.features.run(table, **asked, **period)
        if sink is not None:
            with out.working("writing"):
                sink.write(results)
        broken.flush()
    tell(pipeline, out, results, len(table), len(results), broken.count, perf_counter() - start)
    return results


def _questions(questions: Questions) -> Any:
    """Read the questions; a broken one fails the run."""
    found = tables(questions.source, questions.schema, Broken("fail").note)
    whole = pa.concat_tables([questions.schema.empty_table(), *(table for _, table in found)])
    return whole.combine_chunks()


def open_targets(
    pipeline: Pipeline, opened: ExitStack, replace: bool
) -> tuple[Broken, FileSink | None]:
    """Open the side file and the sink; the sink appears last, after the side file."""
    replace = replace or pipeline.sink.exists == "replace"
    sink = None
    if pipeline.sink.path is not None:
        sink = opened.enter_context(file_sink(pipeline.sink.path, pipeline.sink.format, replace))
    side = pipeline.source.side
    kept = None if side is None else opened.enter_context(file_sink(side, "json", replace))
    return Broken(pipeline.source.bad_rows, kept), sink


def tell(
    pipeline: Pipeline,
    out: Reporter,
    shown: Any,
    rows_in: int,
    rows_out: int,
    bad: int,
    seconds: float,
) -> None:
    """Report what a run did, and print the results if the sink is the console."""
    if pipeline.sink.format == "console" and shown is not None:
        limit = pipeline.sink.limit or rows_out
        rows = [list(row.values()) for row in shown.slice(0, limit).to_pylist()]
        out.rows(shown.column_names, rows)
        if rows_out > limit:
            out.step("more", f"... and {rows_out - limit:,} more rows", rows=rows_out - limit)
    where = pipeline.sink.place
    out.say(
        "done",
        f"{rows_in:,} rows in, {rows_out:,} rows out to {where}, {seconds:.1f} s",
        rows_in=rows_in,
        rows_out=rows_out,
        bad_rows=bad,
        sink=where,
        seconds=round(seconds, 3),
    )
