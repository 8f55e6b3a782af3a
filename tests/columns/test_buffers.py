"""Numbers between Arrow and numpy over the same bytes, and what a first run imports."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from slidefold.buffers import as_arrow, as_numpy

KINDS = [*map(np.dtype, ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "?"))]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize(("start", "count"), [(0, 20), (3, 11), (8, 12), (20, 0)])
def test_slices_go_there_and_back(kind: Any, start: int, count: int) -> None:
    data = (np.arange(20) * 7 % 3).astype(kind)
    part = pa.array(data).slice(start, count)
    found = as_numpy(part)
    assert found.dtype == kind
    np.testing.assert_array_equal(found, data[start : start + count])
    back = as_arrow(found)
    back.validate(full=True)
    assert back.equals(part)


def test_other_arrays_go_the_way_of_pyarrow() -> None:
    np.testing.assert_array_equal(as_numpy(pa.array([1, None])), [1.0, np.nan])
    assert as_numpy(pa.array(["a", "b"])).tolist() == ["a", "b"]
    assert as_numpy(pa.chunked_array([[1, 2], [3]])).tolist() == [1, 2, 3]
    strided = np.arange(6)[::2]
    assert as_arrow(strided).to_pylist() == [0, 2, 4]


SCRIPT = """
import io, sys
import pyarrow as pa
import slidefold as sf
table = pa.ipc.open_stream(sys.stdin.buffer).read_all()
features = sf.rolling(
    on="t", by=["k", "s"], n=sf.count().over("1h"), total=sf.sum("x").over("1h"),
    peak=sf.max("x").over(sf.rows(3)), last=sf.last("s").over("1h"), std=sf.std("y").over("2h"),
)
assert len(features.run(table)) == len(table)
print("pandas" in sys.modules)
"""


def test_a_first_run_does_not_import_pandas() -> None:
    """The first task of a Spark worker would wait for it."""
    pytest.importorskip("pandas")
    columns = {
        "t": pa.array(range(0, 50_000_000, 1_000_000)).cast(pa.timestamp("us")),
        "k": pa.array([i % 3 for i in range(50)]),
        "s": pa.array(["ab"[i % 2] for i in range(50)]),
        "x": pa.array([None if i % 5 == 0 else float(i) for i in range(50)]),
        "y": pa.array(range(50), pa.int32()),
    }
    sink = pa.BufferOutputStream()
    table = pa.table(columns)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=sink.getvalue().to_pybytes(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().strip() == "False"
