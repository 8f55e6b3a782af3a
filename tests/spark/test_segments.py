"""Partitions in order, batch by batch: what spills and what is presorted. No session is needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import slidefold as sf
from slidefold.errors import ResultOverflowError, TimeOrderError
from slidefold.spark.segments import fold_sorted
from tests.support.tables import random_table

DEFINITION = sf.rolling(
    on="t",
    by="k",
    s=sf.sum("x").over(sf.time(10)),
    m=sf.max_by("id", "y").over(7),
    c=sf.collect("id").over(sf.session(3)),
)


def batches(table: Any, rows: int) -> Iterator[Any]:
    for start in range(0, len(table), rows):
        yield from table.slice(start, rows).combine_chunks().to_batches()


def folded(definition: Any, table: Any, batch: int, rows: int) -> Any:
    return pa.concat_tables(fold_sorted(definition, batches(table, batch), rows))


@pytest.mark.parametrize("rows", [1, 40, 1000])
@pytest.mark.parametrize("shape", ["one key", "few keys with nulls", "many keys", "ties"])
def test_batches_give_what_the_table_gives(shape: str, rows: int) -> None:
    """Keys end in the middle of batches, and some are longer than what is held."""
    table = random_table(shape).sort_by([("k", "ascending"), ("t", "ascending")])
    expected = DEFINITION.run(table)
    for batch in (1, 7, 150):
        assert folded(DEFINITION, table, batch, rows).equals(expected), batch


def test_without_a_key_and_with_every() -> None:
    table = random_table("gaps").sort_by("t")
    keyless = sf.rolling(on="t", s=sf.sum("x").over(sf.time(10)))
    assert folded(keyless, table, 30, 10).equals(keyless.run(table))
    slides = sf.rolling(on="t", by="k", every=sf.time(5), s=sf.sum("x").over(sf.time(10)))
    table = table.sort_by([("k", "ascending"), ("t", "ascending")])
    assert folded(slides, table, 30, 10).equals(slides.run(table))


def test_nan_is_one_key() -> None:
    table = pa.table(
        {"k": [0.0, -0.0, float("nan"), float("nan")], "t": [1, 2, 1, 2], "x": [1] * 4}
    )
    definition = sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(10)))
    for rows in (1, 2, 10):
        assert folded(definition, table, 1, rows)["s"].to_pylist() == [1, 2, 1, 2]


@pytest.mark.parametrize("rows", [1, 2, 10])
@pytest.mark.parametrize(
    ("keys", "times", "told"),
    [
        (["a", "b", "a"], [1, 1, 2], "k='a' appears twice"),
        (["a", "b", "b"], [1, 2, 1], "k='b' goes back in 't'"),
    ],
)
def test_what_is_not_sorted_is_an_error(
    keys: list[str], times: list[int], told: str, rows: int
) -> None:
    table = pa.table({"k": keys, "t": times, "x": [1, 2, 3]})
    definition = sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(10)))
    with pytest.raises(TimeOrderError, match=f"{told}|time goes back at row"):
        folded(definition, table, 1, rows)


def test_a_failure_names_column_and_key() -> None:
    """Kernels know neither: what failed runs again, on fewer and fewer keys."""
    keys = [f"k{i}" for i in range(50) for _ in range(3)]
    large = [2**62 if key == "k37" else 1 for key in keys]
    table = pa.table({"k": keys, "t": [1, 2, 3] * 50, "x": large, "y": [1] * 150})
    definition = sf.rolling(
        on="t", by="k", m=sf.sum("y").over(sf.time(10)), s=sf.sum("x").over(sf.time(10))
    )
    told = r"^the sum needs more than 64 bits in the column 's' where k='k37'$"
    for rows in (2, 1000):
        with pytest.raises(ResultOverflowError, match=told):
            folded(definition, table, 20, rows)
    # A key that is longer than what is held goes by as a stream, and cannot run again.
    told = r"^the sum needs more than 64 bits where k='k37'$"
    with pytest.raises(ResultOverflowError, match=told):
        folded(definition, table.filter(pc.equal(table["k"], "k37")), 1, 1)
    keyless = sf.rolling(on="t", s=sf.sum("x").over(sf.time(10)))
    with pytest.raises(ResultOverflowError, match=r"64 bits in the column 's'$"):
        folded(keyless, table.sort_by("t"), 20, 1000)
