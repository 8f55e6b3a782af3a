"""Results of a stream that do not fit: null and counted, whatever happens to workers. No Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.spark.bucket import Counts, step
from slidefold.spark.cache import Cache, NoCache
from slidefold.spark.engines import maker_of
from slidefold.spark.log import DictStore, Log

LARGE = 2**62
SCHEMA = pa.schema({"t": pa.int64(), "k": pa.string(), "x": pa.int64()})
COLUMNS: dict[str, Any] = {
    "operator": sf.sum("x").over(sf.time(2)),
    "formula": sf.col("x") + sf.max("x").over(sf.time(2)),
}
NULLS = {"operator": {12}, "formula": {11, 12}}
ROWS = ((1, 1), (11, LARGE), (12, LARGE), (30, 3), (40, 4))


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("emit", ["final", "arrival", "revise", "change"])
@pytest.mark.parametrize("column", COLUMNS)
def test_a_stream_goes_on(column: str, emit: str, cached: bool) -> None:
    columns = {"v": COLUMNS[column], "n": sf.count().over(sf.time(2))}
    definition = sf.rolling(on="t", by="k", columns=columns)
    maker = maker_of(definition, SCHEMA, emit, ("t",) if emit == "revise" else ())
    store, cache = DictStore(), Cache() if cached else NoCache()
    found, total = [], 0
    for t, x in (*ROWS, (None, None)):
        rows = None if t is None else pa.table({"t": [t], "k": ["a"], "x": [x]}, SCHEMA)
        log = Log(store, SCHEMA, "same")
        outcome = step(log, maker, cache, ("q", 0), rows, 100 if t is None else t - 5)
        log.save()
        found += outcome.due.to_pylist()
        total += outcome.counts.overflows
    assert sorted(row["t"] for row in found) == [1, 11, 12, 30, 40]
    assert {row["t"] for row in found if row["v"] is None} == NULLS[column]
    assert [row["n"] for row in sorted(found, key=lambda row: row["t"])] == [1, 1, 2, 1, 1]
    assert total == len(NULLS[column])


def test_ends_of_a_stream_go_on() -> None:
    definition = sf.rolling(on="t", by="k", every=sf.time(10), s=sf.sum("x").over(sf.time(10)))
    for emit in ("final", "change", "revise"):
        maker = maker_of(definition, SCHEMA, emit, ())
        store, counts = DictStore(), Counts()
        found = []
        for watermark in (None, 5, 15, 60):
            rows = None
            if watermark is None:
                rows = pa.table({"t": [1, 2, 11], "k": ["a"] * 3, "x": [LARGE, LARGE, 7]}, SCHEMA)
            log = Log(store, SCHEMA, "same")
            outcome = step(log, maker, NoCache(), ("q", 0), rows, watermark)
            log.save()
            found += outcome.due.to_pylist()
            counts.overflows += outcome.counts.overflows
        assert {row["window_end"]: row["s"] for row in found} == {10: None, 20: 7}
        assert counts.overflows == 1
