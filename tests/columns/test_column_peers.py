"""The peers of the benchmark over whole tables compute what `sf.rolling` does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from benchmarks import column_peers
from benchmarks.figures.rolling import table_of


def _results(found: Any) -> Any:
    if isinstance(found, pa.Table) or hasattr(found, "get_column"):
        found = found["r"]
    values = np.asarray(found.to_numpy() if hasattr(found, "to_numpy") else found, np.float64)
    return np.sort(values[~np.isnan(values)])  # a std of one value is null or NaN


@pytest.mark.parametrize("operator", ["sum", "max", "std"])
@pytest.mark.parametrize(("keyed", "late"), [(False, 0.0), (True, 0.0), (False, 0.1), (True, 0.1)])
def test_time_peers_agree(operator: str, keyed: bool, late: float) -> None:
    table = table_of(300, 3, late)
    made = getattr(sf, operator)("x").over("100000us")
    due = sf.rolling(on="ts", by="k" if keyed else (), r=made).run(table)
    seen = dict(column_peers.time_peers(table, operator, keyed, "100000us", late == 0.0))
    if keyed and late:
        del seen["pandas"]  # it wants time order inside of each group
    assert {"polars", "duckdb"} <= set(seen)
    for name, run in seen.items():
        np.testing.assert_allclose(_results(run()), _results(due), rtol=1e-9, err_msg=name)


def test_rows_peers_agree() -> None:
    table = table_of(300, 1)
    due = sf.rolling(on="ts", order="input", r=sf.max("x").over(7)).run(table)
    for name, run in column_peers.rows_peers(table, 7):
        np.testing.assert_array_equal(_results(run()), _results(due), err_msg=name)
