"""Structs of counts: rows need no column."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import DefinitionError

TABLE = pa.table({"t": [1, 2, 3], "x": [1.0, None, 4.0]})


@pytest.mark.parametrize("window", [2, sf.time(2)], ids=["rows", "time"])
def test_a_struct_of_counts(window: Any) -> None:
    nested = sf.struct(p=sf.count(), q=sf.struct(r=sf.count(), x=sf.count("x")))
    definition = sf.rolling(on="t", s=sf.struct(p=sf.count()).over(window), n=nested.over(window))
    found = definition.run(TABLE)
    assert found["s"].to_pylist() == [{"p": 1}, {"p": 2}, {"p": 2}]
    assert found["n"].to_pylist()[-1] == {"p": 2, "q": {"r": 2, "x": 1}}
    live = definition.live(lateness=0)
    assert live.feed(TABLE)["s"].to_pylist() == found["s"].to_pylist()
    assert sf.Rolling.from_dict(definition.to_dict()) == definition
    least = sf.rolling(on="t", s=sf.struct(p=sf.count()).over(window, min_count=2)).run(TABLE)
    assert least["s"].to_pylist() == [{"p": None}, {"p": 2}, {"p": 2}]


def test_other_parts_of_a_struct_need_a_column() -> None:
    with pytest.raises(DefinitionError, match=r"sum needs a column, such as sum\('x'\)"):
        sf.struct(n=sf.count(), s=sf.sum()).over(2)
