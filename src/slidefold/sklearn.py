"""Sliding windows as a transformer of scikit-learn.

>>> import pandas as pd, slidefold as sf
>>> from slidefold.sklearn import RollingFeatures
>>> features = sf.rolling(on="t", by="k", total=sf.sum("x").over(2))
>>> rows = pd.DataFrame({"t": [1, 2, 3], "k": ["a", "a", "b"], "x": [1.0, 2.0, 4.0]})
>>> RollingFeatures(features).fit_transform(rows)["total"].tolist()
[1.0, 3.0, 4.0]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from slidefold.columns.questions import asked_columns
from slidefold.definition.rolling import Rolling
from slidefold.errors import ColumnError, DataError, DefinitionError, nearest

__all__ = ["RollingFeatures"]


class RollingFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Compute the columns of a definition inside a pipeline of scikit-learn.

    Args:
        features: the definition, from `sf.rolling`, without `every`.
        events: a table of past rows. Without it, windows see the rows that are transformed and no
            others. With it, windows see the events up to the time of each row, and not the other
            rows: `features.run(events, at=X)`. Use this where a model predicts rows that come after
            those it was fitted on.
        passthrough: whether the result also keeps the columns of the input.

    `transform` takes a pandas or Polars frame or an Arrow table, and returns the same type. There
    is nothing to learn: `fit` checks the columns and remembers their names.
    """

    def __init__(self, features: Rolling, *, events: Any = None, passthrough: bool = False) -> None:
        self.features = features
        self.events = events
        self.passthrough = passthrough

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803  the name that scikit-learn passes
        """Check the definition and the columns of a frame."""
        if not isinstance(self.features, Rolling):
            kind = type(self.features).__name__
            raise DefinitionError(f"expected a definition from sf.rolling, got {kind}")
        if self.features.slide is not None:
            raise DefinitionError(
                "a transformer returns one row per input row: leave out every= in sf.rolling"
            )
        names = _names(X)
        self._require(self._read(), names)
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """Return the columns of the definition for each row, in the order of the rows."""
        check_is_fitted(self, "feature_names_in_")
        kept = self.feature_names_in_.tolist() if self.passthrough else []
        self._require([*self._read(), *kept], _names(X))
        if self.events is None:
            result = self.features.run(X)
        else:
            result = self.features.run(self.events, at=X)
        names = self.get_feature_names_out().tolist()
        return result[names] if hasattr(result, "iloc") else result.select(names)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns that `transform` returns."""
        check_is_fitted(self, "feature_names_in_")
        if input_features is not None and list(input_features) != list(self.feature_names_in_):
            raise ColumnError("input_features must be the columns that fit has seen")
        kept = list(self.feature_names_in_) if self.passthrough else []
        return np.array([*kept, *self.features.columns], dtype=object)

    def _read(self) -> list[str]:
        """Return the columns that the rows must have."""
        return list(self.features.required if self.events is None else asked_columns(self.features))

    @staticmethod
    def _require(needed: Iterable[str], given: list[str]) -> None:
        missing = next((name for name in needed if name not in given), None)
        if missing is not None:
            raise ColumnError(f"the rows have no column {missing!r}{nearest(missing, given)}")


def _names(frame: Any) -> list[str]:
    """Return the columns of a frame or table."""
    if hasattr(frame, "column_names"):
        return list(frame.column_names)
    if not hasattr(frame, "columns"):
        raise DataError(
            "RollingFeatures needs columns with names: give a pandas or Polars frame or an Arrow "
            f"table, got {type(frame).__name__}"
        )
    return list(frame.columns)
