"""Readers are run batch by batch, with the results of a whole table."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.columns.streaming import _Stream, run_reader
from tests.support.golden import equal
from tests.support.tables import SHAPES, random_table

WINDOWS = (
    sf.time(9),
    sf.time(20, closed="left"),
    sf.time(5, closed="both"),
    sf.rows(4),
    sf.rows(3, closed="left"),
    sf.session(2),
    sf.delta(7, on="km"),
    sf.punctuated("end"),
)


def given(shape: str) -> pa.Table:
    table = random_table(shape).sort_by("t")
    km = table["t"].to_numpy() * 2
    end = np.random.default_rng(3).random(len(km)) < 0.1
    return table.append_column("km", pa.array(km)).append_column("end", pa.array(end))


def defined(*windows: Any) -> sf.Rolling:
    columns = {}
    for i, window in enumerate(windows):
        columns[f"s{i}"] = sf.sum("x").over(window)
        columns[f"c{i}"] = sf.collect("y").over(window)
    return sf.rolling(on="t", by="k", columns=columns)


@pytest.mark.parametrize("batch", [1, 7, 64])
@pytest.mark.parametrize("shape", SHAPES)
def test_as_the_whole_table(shape: str, batch: int) -> None:
    table = given(shape)
    for definition in (defined(*WINDOWS), *(defined(window) for window in WINDOWS)):
        expected = definition.run(table)
        reader = run_reader(definition, table.to_reader(max_chunksize=batch), chunk=20)
        assert reader.schema.equals(expected.schema)
        found = reader.read_all()
        for name in expected.column_names:
            assert equal(found[name], expected[name]), (name, definition)


def test_only_what_matters_is_kept() -> None:
    """Time passes for keys that have no more rows; a rows window keeps its rows."""
    rows = 20_000
    table = pa.table({"t": range(rows), "k": [i // 10 for i in range(rows)], "x": range(rows)})
    for window, most in ((sf.time(50), 50), (sf.session(5), 20), (sf.rows(3), 6_000)):
        definition = sf.rolling(on="t", by="k", s=sf.sum("x").over(window))
        stream = _Stream(definition, table.schema, 500)
        for _ in stream.tables(table.to_reader(max_chunksize=100)):
            pass
        assert len(stream.kept) <= most, window


def test_batches_are_read_as_they_are_asked_for() -> None:
    asked = []

    def batches() -> Iterator[pa.RecordBatch]:
        for i in range(100):
            asked.append(i)
            yield pa.record_batch({"t": [2 * i, 2 * i + 1], "x": [1, 1]})

    schema = pa.schema({"t": pa.int64(), "x": pa.int64()})
    reader = pa.RecordBatchReader.from_batches(schema, batches())
    found = run_reader(sf.rolling(on="t", s=sf.sum("x").over(3)), reader, chunk=10)
    assert len(asked) < 10
    assert found.read_all()["s"].to_pylist() == [1, 2, *[3] * 198]


@pytest.mark.parametrize(
    ("times", "error", "match"),
    [
        ([0, 1, 5, 4, 6], sf.errors.TimeOrderError, "time goes back at row 3"),
        ([0, 1, 2, 3, None], sf.errors.DataError, "'t' is null at row 4"),
    ],
)
@pytest.mark.parametrize("batch", [1, 2, 5])
def test_bad_rows_are_named(
    times: list[Any], error: type[Exception], match: str, batch: int
) -> None:
    table = pa.table({"t": pa.array(times, pa.int64()), "x": range(5)})
    definition = sf.rolling(on="t", s=sf.sum("x").over(3))
    with pytest.raises(error, match=match):
        run_reader(definition, table.to_reader(max_chunksize=batch), chunk=2).read_all()


def test_a_fall_in_a_delta_column_is_named_by_its_row() -> None:
    table = pa.table({"t": range(9), "km": [1, 2, 3, 4, 5, 6, 7, 6, 9]})
    definition = sf.rolling(on="t", n=sf.count().over(sf.delta(2, on="km")))
    with pytest.raises(sf.errors.TimeOrderError, match="does at row 7"):
        run_reader(definition, table.to_reader(max_chunksize=2), chunk=2).read_all()


@sf.operator
class Total(sf.Fold):
    """An operator that does not declare what it returns."""

    lift = staticmethod(lambda x: x)
    combine = staticmethod(lambda older, newer: older + newer)
    lower = staticmethod(lambda state: [] if state == 0 else [state])


def read_in_twos(definition: sf.Rolling, values: list[Any]) -> tuple[pa.Table, pa.Table]:
    """Return the results of a reader of batches of two rows, and those of the whole table."""
    table = pa.table({"t": range(len(values)), "x": values})
    reader = run_reader(definition, table.to_reader(max_chunksize=2), chunk=2)
    return reader.read_all(), definition.run(table)


@pytest.mark.parametrize("values", [[None] * 5 + [1, 2], [None, None, 0, 0, 0, None, 3], [None]])
@pytest.mark.parametrize(
    "operator", [Total("x"), sf.struct(a=Total("x"), n=sf.count())], ids=["alone", "in a struct"]
)
def test_types_that_only_results_tell_are_waited_for(operator: Any, values: list[Any]) -> None:
    """Nothing but nulls, and lists without items, at first."""
    found, expected = read_in_twos(sf.rolling(on="t", s=operator.over(2)), values)
    assert found.schema == expected.schema
    assert found.to_pylist() == expected.to_pylist()


def test_results_of_another_type_are_refused() -> None:
    @sf.operator
    class Fickle(sf.Fold):
        lift = staticmethod(lambda x: x)
        combine = staticmethod(lambda older, newer: newer)
        lower = staticmethod(lambda state: state if state < 4 else state / 2)

    definition = sf.rolling(on="t", s=Fickle("x").over(1))
    for later in (5, 6):  # 6 / 2 is a whole number, but a float
        with pytest.raises(sf.errors.ValueTypeError, match="were int64 in the first rows of the"):
            read_in_twos(definition, [0, 1, 2, 3, later])
    found, expected = read_in_twos(definition, [5, 6, 7, 8, 1, 2, 3])
    assert found.equals(expected)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_reader_is_folded_by_threads(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from slidefold.columns import threads as module

    used = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, workers: int) -> None:
            used.append(workers)
            super().__init__(workers)

    monkeypatch.setattr(module, "ThreadPoolExecutor", Pool)
    rows = 4 * module.SHARE
    table = pa.table({"t": np.arange(rows), "x": np.arange(rows) % 7})
    definition = sf.rolling(on="t", m=sf.max("x").over(40), d=sf.median("x").over(sf.time(9)))
    found = definition.run(table.to_reader(max_chunksize=5000), threads=threads).read_all()
    assert found.equals(definition.run(table).cast(found.schema))
    assert set(used) == ({threads} if threads > 1 else set())
