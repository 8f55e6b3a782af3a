"""`features.plot` with plotly: what is drawn is what `run` computes."""

from __future__ import annotations

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import ColumnError, DataError, DefinitionError

TABLE = pa.table(
    {
        "t": [0, 3, 1, 9, 4, 2],
        "k": ["a", "a", "b", "a", "a", "a"],
        "x": [1.0, 2.0, 9.0, 3.0, 4.0, 5.0],
    }
)
FEATURES = sf.rolling(on="t", by="k", total=sf.sum("x").over(sf.time(3)), n=sf.count().over(2))


def test_values_results_and_the_window_of_a_row() -> None:
    chart = FEATURES.plot(TABLE, row=4)
    values, results, picked = chart.data
    assert (values.x, values.y) == ((0, 3, 9, 4, 2), (1.0, 2.0, 3.0, 4.0, 5.0))
    assert (results.x, results.y) == ((0, 2, 3, 4, 9), (1.0, 6.0, 7.0, 11.0, 3.0))
    assert (picked.x, picked.y) == ((4,), (11.0,))
    (shade,) = chart.layout.shapes
    assert (shade.x0, shade.x1) == (2, 4)  # the rows at 2, 3 and 4


def test_another_column_and_key() -> None:
    chart = FEATURES.plot(TABLE, "n", key="b")
    assert chart.data[-1].y == (1,)


def test_late_rows_are_those_that_live_drops() -> None:
    chart = FEATURES.plot(TABLE, lateness=2)
    late = chart.data[-1]
    assert late.name == "late by more than 2"
    assert late.x == (4, 2)  # after the row at 9


def test_late_rows_beside_a_column_that_no_live_run_computes() -> None:
    """Late rows depend on times only, so a column with ahead=True does not stop the chart."""
    features = sf.rolling(
        on="t",
        past=sf.sum("x").over(sf.time(10)),
        label=sf.count().over(sf.time(10, ahead=True)),
    )
    table = pa.table({"t": [0, 9, 4], "x": [1.0, 2.0, 3.0]})
    assert features.plot(table, "past", lateness=2).data[-1].x == (4,)
    assert features.plot(table, "label", lateness=2).data[-1].x == (4,)


def test_a_formula() -> None:
    share = sf.rolling(on="t", share=sf.col("x") / sf.sum("x").over(sf.time(3)))
    assert share.plot(TABLE).data[1].y[0] == 1.0


def test_bad_use() -> None:
    with pytest.raises(ColumnError, match="did you mean 'total'"):
        FEATURES.plot(TABLE, "totl")
    with pytest.raises(DataError, match="no rows of the key"):
        FEATURES.plot(TABLE, key="z")
    with pytest.raises(DataError, match="row 2 is not of the key"):
        FEATURES.plot(TABLE, key="a", row=2)
    with pytest.raises(DataError, match="from 0 to 5"):
        FEATURES.plot(TABLE, row=6)
    with pytest.raises(DataError, match="no rows to plot"):
        FEATURES.plot(TABLE.slice(0, 0))
    with pytest.raises(DefinitionError, match="every="):
        sf.rolling(on="t", every=sf.time(2), n=sf.count().over(sf.time(2))).plot(TABLE)
    with pytest.raises(DataError, match="holds list"):
        sf.rolling(on="t", v=sf.collect("x").over(2)).plot(TABLE)
