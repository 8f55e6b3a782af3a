"""The engines of the matrix: whole tables, with threads, readers, arrival order, single events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

import slidefold as sf
from slidefold.columns import threads as frames_in_threads
from slidefold.columns import windows as one_pass
from slidefold.columns.streaming import run_reader
from tests.matrix.tables import Data

LATENESS = 3


def in_order(definition: sf.Rolling, data: Data) -> Any:
    """Run over a table in time order."""
    return definition.run(data.table(data.arranged("in order")))


def shuffled(definition: sf.Rolling, data: Data) -> Any:
    """Run over a table in no order."""
    return definition.run(data.table(data.arranged("shuffled")))


@contextmanager
def _small_shares(rows: int) -> Iterator[None]:
    """Give threads as few rows as these tables have."""
    known = frames_in_threads.SHARE, one_pass._SHARE
    frames_in_threads.SHARE = one_pass._SHARE = rows
    try:
        yield
    finally:
        frames_in_threads.SHARE, one_pass._SHARE = known


def threaded(definition: sf.Rolling, data: Data) -> Any:
    """Run with threads, over a table in no order."""
    with _small_shares(5):
        return definition.run(data.table(data.arranged("shuffled")), threads=3)


def read(definition: sf.Rolling, data: Data) -> Any:
    """Run over a reader of small batches, folded a few rows at a time."""
    table = data.table(data.rows)
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=3))
    if definition.slide is not None or any(window.ahead for window in definition.windows):
        return definition.run(reader).read_all()
    return run_reader(definition, reader, chunk=4).read_all()


def live(definition: sf.Rolling, data: Data) -> Any:
    """Feed rows out of order, in batches, and finish."""
    engine = definition.live(lateness=data.length(LATENESS))
    found = [engine.feed(data.table(batch)) for batch in data.batches(LATENESS)]
    found.append(engine.finish())
    assert engine.late == 0
    whole = pa.concat_tables(found, promote_options="default")
    for part in found:
        changed = [f.name for f in part.schema if f.type not in (whole[f.name].type, pa.null())]
        assert not changed, f"the types of {changed} change between batches"
    return whole


ENGINES: dict[str, Callable[[sf.Rolling, Data], Any]] = {
    "columns in order": in_order,
    "columns shuffled": shuffled,
    "threads": threaded,
    "reader": read,
    "live": live,
}
