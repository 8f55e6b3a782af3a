"""A user's operator is a user's operator, whatever it is called."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf

NAMES = ("count", "sum", "first", "max_by", "mean", "median", "struct", "approx_distinct")
TABLE = pa.table(
    {
        "t": [1, 2, 2, 5, 7, 8],
        "k": ["a", "b", "a", "a", "b", "a"],
        "x": [1.0, 2.0, 4.0, None, 8.0, 16.0],
    }
)


def named(name: str, declared: bool) -> Any:
    """Return an operator that folds twice the product of its values."""
    body = {
        "lift": staticmethod(lambda x: (x,) if declared else x),
        "combine": staticmethod((lambda a, b: (a.p * b.p,)) if declared else (lambda a, b: a * b)),
        "lower": staticmethod((lambda s: 2.0 * s.p) if declared else (lambda s: 2.0 * s)),
    }
    cls = type(name, (), body)
    if declared:
        return sf.operator(state={"p": "f8"}, returns="f8", commutative=True, compile="never")(cls)
    return sf.operator(cls)


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("window", [2, sf.time(4), sf.session(1)], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_it_is_folded_as_it_says(name: str, window: Any, declared: bool) -> None:
    operator, other = named(name, declared)("x"), named("Other", declared)("x")
    for by in ((), "k"):
        made, due = (sf.rolling(on="t", by=by, r=each.over(window)) for each in (operator, other))
        assert made.run(TABLE)["r"].to_pylist() == due.run(TABLE)["r"].to_pylist()
        assert made.explain(TABLE).split("because")[1] == due.explain(TABLE).split("because")[1]
        streams = [each.live(lateness=3) for each in (made, due)]
        fed = [pa.concat_tables([live.feed(TABLE), live.finish()]) for live in streams]
        assert fed[0]["r"].to_pylist() == fed[1]["r"].to_pylist()


@pytest.mark.parametrize("name", NAMES)
def test_it_is_saved_and_named_by_its_class(name: str) -> None:
    operator = named(name, True)
    window = sf.Window(operator(), 2)
    window.push(3.0)
    again = sf.Window.from_bytes(window.to_bytes(), operators=[operator])
    assert again.push(2.0) == 12.0
    assert sf.rolling(on="t", r=operator("x").over(2)).to_dict()["columns"]["r"]["operator"] == (
        f"{__name__}:{name}"
    )
