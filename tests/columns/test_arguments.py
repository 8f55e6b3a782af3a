"""Arguments of `rolling`, `over` and `run`: lists of windows, taken names, mistakes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import ColumnError, DefinitionError, WindowError

TABLE = pa.table({"t": [1, 2, 3], "x": [1, 2, 4]})


def test_a_list_of_windows_is_that_of_a_file() -> None:
    made = sf.rolling(
        on="ts", by="k", n=sf.count().over(["1h", "1 d", 10], closed="left", min_count=2)
    )
    column = {"operator": "count", "over": ["1h", "1 d", 10], "closed": "left", "min_count": 2}
    assert made == sf.Rolling.from_dict({"on": "ts", "by": "k", "columns": {"n": column}})
    assert list(made.columns) == ["n_1h", "n_1d", "n_10"]
    more = sf.rolling(on="ts", columns={"a b": sf.sum("x").over((timedelta(hours=24), "90s"))})
    assert list(more.columns) == ["a b_1d", "a b_90s"]


def test_wrong_lists_of_windows() -> None:
    with pytest.raises(DefinitionError, match="a list of at least one window"):
        sf.count().over([])
    for wrong in (sf.session("5m"), sf.time(10), sf.delta(5, on="km")):
        with pytest.raises(WindowError, match="define a separate column for it"):
            sf.sum("x").over(["1h", wrong])
    with pytest.raises(WindowError, match="a window must be a duration"):
        sf.sum("x").over(["1h", True])
    with pytest.raises(ColumnError, match="two result columns are named 'n_5'"):
        sf.rolling(on="t", n_5=sf.count().over(5), n=sf.count().over([5, 6]))
    with pytest.raises(ColumnError, match="two result columns are named 'n_5'"):
        sf.rolling(on="t", n=sf.count().over([5, 5]))


@pytest.mark.parametrize("name", ["on", "by", "every", "offset", "order", "columns"])
def test_a_column_named_like_an_argument(name: str) -> None:
    over = sf.sum("x").over(5)
    given: Any
    for given in (over, sf.sum("x"), sf.sum("x").over([5, 6])):
        arguments: dict[str, Any] = {"on": "t", "n": over, name: given}
        with pytest.raises(DefinitionError, match=rf"columns=\{{'{name}': ...\}}"):
            sf.rolling(**arguments)
    made = sf.rolling(on="t", columns={name: over})
    assert made.run(TABLE)[name].to_pylist() == [1, 3, 7]


def test_a_misspelt_argument() -> None:
    given: Any = "1h"
    with pytest.raises(DefinitionError, match=r"got '1h'; did you mean 'every'\?"):
        sf.rolling(on="t", evry=given, n=sf.count().over(5))
    with pytest.raises(DefinitionError, match="columns must be a dict of columns"):
        sf.rolling(on="t", columns=given)
