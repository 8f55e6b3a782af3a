"""`slidefold.sklearn.RollingFeatures` in pipelines of scikit-learn."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import slidefold as sf
from slidefold.errors import ColumnError, DataError, DefinitionError
from slidefold.sklearn import RollingFeatures

FEATURES = sf.rolling(
    on="t", by="k", total=sf.sum("x").over(sf.time(10)), n=sf.count().over(sf.time(10))
)


def rows(count: int = 60) -> pd.DataFrame:
    random = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "t": random.permutation(count),
            "k": random.choice(["a", "b"], count),
            "x": random.normal(size=count).round(3),
        },
        index=np.arange(count) * 2 + 1,
    )


def brute(frame: pd.DataFrame, seen: pd.DataFrame) -> list[float]:
    """The total over (t - 10, t] of each row's key, over the rows that are seen."""
    return [
        seen.x[(seen.k == row.k) & (seen.t > row.t - 10) & (seen.t <= row.t)].sum()
        for row in frame.itertuples()
    ]


def test_it_returns_the_new_columns_for_each_row() -> None:
    frame = rows()
    result = RollingFeatures(FEATURES).fit_transform(frame)
    assert list(result.columns) == ["total", "n"]
    assert result.index.equals(frame.index)
    np.testing.assert_allclose(result["total"], brute(frame, frame), atol=1e-12)


def test_names() -> None:
    fitted = RollingFeatures(FEATURES, passthrough=True).fit(rows())
    assert fitted.get_feature_names_out().tolist() == ["t", "k", "x", "total", "n"]
    assert fitted.feature_names_in_.tolist() == ["t", "k", "x"]
    assert fitted.n_features_in_ == 3
    assert list(fitted.transform(rows()).columns) == ["t", "k", "x", "total", "n"]
    with pytest.raises(ColumnError, match="input_features"):
        fitted.get_feature_names_out(["a"])


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas])
def test_other_tables_come_back_as_they_are(kind: Any) -> None:
    frame = rows().reset_index(drop=True)
    table = kind(frame)
    result = RollingFeatures(FEATURES).fit(table).transform(table)
    assert type(result) is type(table)
    np.testing.assert_allclose(result["total"].to_numpy(), brute(frame, frame), atol=1e-12)


def test_windows_over_events_do_not_see_the_rows_that_are_transformed() -> None:
    past, now = rows().query("t < 50"), rows().query("t >= 50")
    transformer = RollingFeatures(FEATURES, events=past).fit(now)
    result = transformer.transform(now[["t", "k"]])
    np.testing.assert_allclose(result["total"].fillna(0), brute(now, past), atol=1e-12)


def test_a_pipeline_predicts_and_is_cloned() -> None:
    frame = rows()
    y = np.array(brute(frame, frame)) * 2 + 1
    model = make_pipeline(RollingFeatures(FEATURES), StandardScaler(), LinearRegression())
    np.testing.assert_allclose(model.fit(frame, y).predict(frame), y, atol=1e-9)
    again = clone(model)
    with pytest.raises(NotFittedError):
        again[0].transform(frame)
    np.testing.assert_allclose(again.fit(frame, y).predict(frame), y, atol=1e-9)
    names = model[:-1].get_feature_names_out().tolist()
    assert names == ["total", "n"]
    saved = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(saved.predict(frame), y, atol=1e-9)


def test_parameters() -> None:
    transformer = RollingFeatures(FEATURES)
    assert transformer.get_params()["passthrough"] is False
    assert transformer.set_params(passthrough=True).passthrough is True
    assert clone(transformer).features == FEATURES


def test_beside_other_transformers() -> None:
    columns = ColumnTransformer(
        [
            ("windows", RollingFeatures(FEATURES), ["t", "k", "x"]),
            ("x", StandardScaler(), ["x"]),
        ]
    )
    columns.set_output(transform="pandas")
    result = columns.fit_transform(rows())
    assert list(result.columns) == ["windows__total", "windows__n", "x__x"]


def test_bad_use() -> None:
    with pytest.raises(DefinitionError, match="expected a definition"):
        RollingFeatures("1h").fit(rows())  # type: ignore[arg-type]
    steps = sf.rolling(on="t", every=sf.time(5), n=sf.count().over(sf.time(5)))
    with pytest.raises(DefinitionError, match="every="):
        RollingFeatures(steps).fit(rows())
    with pytest.raises(DataError, match="columns with names"):
        RollingFeatures(FEATURES).fit(np.zeros((3, 3)))
    with pytest.raises(ColumnError, match="'x'"):
        RollingFeatures(FEATURES).fit(rows()[["t", "k"]])
    with pytest.raises(ColumnError, match="'x'"):
        RollingFeatures(FEATURES).fit(rows()).transform(rows()[["t", "k"]])
