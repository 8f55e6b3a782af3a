"""NaN is one key and -0.0 is 0.0: whatever their bits, in every engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf

# Quiet and signalling, with either sign, and other bits in the rest.
BITS = [0x7FF8 << 48, 0xFFF8 << 48, (0x7FF8 << 48) + 1, (0x7FF0 << 48) + 1, (0xFFF0 << 48) + 7]
WIDE = np.concatenate((np.array(BITS, np.uint64).view(np.float64), [0.0, -0.0, 1.5]))
HALF_BITS = [0x7FC00000, 0xFFC00000, 0x7FC00001, 0x7F800001, 0xFF800007]
NARROW = np.concatenate(
    (np.array(HALF_BITS, np.uint32).view(np.float32), np.array([0.0, -0.0, 1.5], np.float32))
)
GROUPS = [0, 0, 0, 0, 0, 1, 1, 2]


def table_of(floats: Any, order: Any = range(8)) -> pa.Table:
    order = list(order)
    return pa.table(
        {
            "t": pa.array(range(8), pa.int64()),
            "k": pa.array(floats[order]),
            "other": pa.array(["a"] * 8),
            "x": pa.array([1 << place for place in order]),
        }
    )


def expected(order: Any = range(8)) -> list[int]:
    seen = [0, 0, 0]
    found = []
    for place in order:
        seen[GROUPS[place]] += 1 << place
        found.append(seen[GROUPS[place]])
    return found


@pytest.mark.parametrize("floats", [WIDE, NARROW], ids=["float64", "float32"])
@pytest.mark.parametrize("by", ["k", ["k", "other"], ["other", "k"]])
@pytest.mark.parametrize("window", [100, sf.time(100), sf.session(50)])
def test_one_group_of_each(floats: Any, by: Any, window: Any) -> None:
    definition = sf.rolling(on="t", by=by, s=sf.sum("x").over(window), c=sf.last("x").over(window))
    for order in (range(8), [7, 5, 3, 1, 6, 4, 2, 0]):
        table = table_of(floats, order)
        assert definition.run(table)["s"].to_pylist() == expected(order)
        reader = definition.run(table.to_reader(max_chunksize=1)).read_all()
        assert reader["s"].to_pylist() == expected(order)
        for emit in ("final", "arrival", "change"):
            live = definition.live(lateness=0, emit=emit)
            fed = [live.feed(table.slice(i, 1))["s"].to_pylist() for i in range(8)]
            assert [s for part in fed for s in part] == expected(order)


@pytest.mark.parametrize("floats", [WIDE, NARROW], ids=["float64", "float32"])
def test_one_group_of_each_with_every(floats: Any) -> None:
    table = table_of(floats)
    for length in (100, 8):  # kept in slices by live runs, or not
        sums = sf.sum("x").over(sf.time(length, closed="right"))
        definition = sf.rolling(on="t", by="k", every=sf.time(8), s=sums)
        live = definition.live(lateness=0)
        fed = pa.concat_tables([live.feed(table.slice(i, 1)) for i in range(8)] + [live.finish()])
        for found in (definition.run(table), fed):
            ended = [row["s"] for row in found.to_pylist() if row["window_end"] == 8]
            assert sorted(ended) == [30, 96, 128] if length == 8 else [31, 96, 128]


def test_null_is_another_key() -> None:
    keys = pa.array([None, float("nan"), None, 0.0, -0.0])
    keys = pa.concat_arrays([keys, pa.array(WIDE[1:2])])
    table = pa.table({"t": range(6), "k": keys})
    for window in (10, sf.time(10)):
        definition = sf.rolling(on="t", by="k", n=sf.count().over(window))
        assert definition.run(table)["n"].to_pylist() == [1, 1, 2, 1, 2, 2]
        assert definition.live(lateness=0).feed(table)["n"].to_pylist() == [1, 1, 2, 1, 2, 2]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("floats", [WIDE, NARROW], ids=["float64", "float32"])
def test_one_value_of_each_to_operators(floats: Any) -> None:
    table = table_of(floats)
    whole = sf.rolling(
        on="t",
        distinct=sf.collect_distinct("k").over(100),
        about=sf.approx_distinct("k").over(100),
        most=sf.max_count("k").over(100),
        top=sf.top_k("k", 6).over(100),
        bins=sf.histogram("k", edges=[0.0, 1.0, 2.0]).over(100),
        bloom=sf.bloom("k", bits=64).over(sf.rows(1)),
    )
    found = whole.run(table)
    last = {name: found[name].to_pylist()[-1] for name in whole.columns}
    assert [str(value) for value in last["distinct"]] == ["nan", "0.0", "1.5"]
    assert last["about"] == 3
    assert last["most"] == 5
    assert last["bins"] == [2, 1]
    assert [value != value for value in last["top"]] == [True] * 5 + [False]
    blooms = found["bloom"].to_pylist()
    assert len(set(blooms[:5])) == 1
    assert blooms[5] == blooms[6] != blooms[7]
    events = sf.Window(sf.collect_distinct(), sf.rows(100))
    assert len([events.push(float(value)) for value in floats][-1]) == 3
    counted = sf.Window(sf.count_min(), sf.rows(100))
    sketch = [counted.push(float(value)) for value in floats][-1]
    assert sketch.estimate(float("nan")) == 5
    assert sketch.estimate(-0.0) == 2
