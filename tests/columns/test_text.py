"""Definitions as text that can be typed again, with every parameter that matters."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.definition.operators import NAMED
from tests.support.user_operators import Longest, made

OPERATORS = [
    sf.sum("x"),
    sf.sum("x", compensated=True),
    sf.sum("x", dtype="int64"),
    sf.count(),
    sf.var("x", ddof=0),
    sf.quantile("x", 0.99),
    sf.quantile("x", 0.5, interpolation="lower"),
    sf.nth("x", 3, nulls="keep"),
    sf.top_k("x", 3),
    sf.histogram("x", edges=[-np.inf, 0, np.inf]),
    sf.decayed_mean("x", "ts", half_life="30s"),
    sf.decayed_mean("x", "ts", half_life=np.timedelta64(30, "s")),
    sf.max_by("a", "b", dtype="str", key_dtype="timestamp"),
    sf.naive_bayes("label", "a", "b"),
    sf.approx_quantile("x", 0.9, k=400),
    sf.theta("x"),
    sf.struct(p50=sf.median("x"), p99=sf.quantile("x", 0.99)),
    sf.struct(**{"p 99": sf.quantile("x", 0.99), "class": sf.count()}),
]
WINDOWS = [
    sf.time("1h"),
    sf.time("1h", closed="right"),
    sf.time(2.5, closed="both"),
    sf.rows(3),
    sf.rows(3, closed="left"),
    sf.delta(5, on="km", closed="left"),
    sf.delta("1h", on="when"),
    sf.session("30m"),
    sf.punctuated("end"),
]


def again(value: object) -> Any:
    return eval(repr(value), {"sf": sf, "Longest": Longest})


@pytest.mark.parametrize("operator", OPERATORS, ids=str)
def test_an_operator_can_be_typed_again(operator: sf.Operator) -> None:
    assert again(operator) == operator
    assert str(operator) == repr(operator)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_a_window_can_be_typed_again(window: Any) -> None:
    assert again(window) == window
    over = sf.sum("x").over(window, min_count=2)
    assert again(over) == over
    for every in (None, 5, "1h"):
        if every == "1h" and not isinstance(window, sf.Time | sf.Rows):
            continue
        whole = sf.rolling(on="t", every=every, n=sf.count().over("1h"), r=sf.sum("x").over(window))
        assert again(whole) == whole


@pytest.mark.parametrize("name", NAMED)
def test_every_operator_is_printed_short(name: str) -> None:
    pair = (
        *("max_by", "min_by", "covariance", "correlation", "trend", "naive_bayes"),
        *("weighted_mean", "decayed_mean", "decayed_sum"),
    )
    columns = ("x", "y") if name in pair else ("x",)
    options: dict[str, dict[str, Any]] = {
        "histogram": {"edges": [0.0, 1.0]},
        **{key: {"half_life": 2.0} for key in ("decayed_mean", "decayed_sum", "decayed_count")},
    }
    needed = options.get(name, {})
    operator = NAMED[name](*columns, **needed)
    arguments = [repr(column) for column in columns]
    arguments += [f"{key}={value!r}" for key, value in needed.items()]
    assert repr(operator) == f"sf.{name}({', '.join(arguments)})"
    assert again(operator) == operator


def test_parameters_tell_columns_apart() -> None:
    whole = sf.rolling(
        on="ts",
        by=["a", "b"],
        p50=sf.quantile("x", 0.5).over("1h"),
        p99=sf.quantile("x", 0.99).over("1h"),
    )
    assert str(whole).splitlines() == [
        "sf.rolling(",
        "    on='ts', by=['a', 'b'],",
        "    p50=sf.quantile('x').over('1h'),",
        "    p99=sf.quantile('x', q=0.99).over('1h'),",
        ")",
    ]
    assert again(whole) == whole
    assert "p99: sf.quantile('x', q=0.99) over sf.time('1h')" in whole.explain()
    assert "p99=sf.quantile('x', q=0.99).over('1h')" in whole.live(lateness="1m").explain()


def test_closed_is_printed_where_it_is_no_default() -> None:
    whole = sf.rolling(
        on="ts",
        every=timedelta(minutes=90),
        offset=np.timedelta64(5, "m"),
        a=sf.sum("x").over("3h"),
        b=sf.sum("x").over("3h", closed="right"),
    )
    assert str(whole).splitlines()[1:4] == [
        "    on='ts', every='90m', offset='5m',",
        "    a=sf.sum('x').over('3h'),",
        "    b=sf.sum('x').over('3h', closed='right'),",
    ]
    typed = again(whole)
    assert typed.columns == whole.columns
    assert repr(typed) == repr(whole)


def test_a_column_that_is_an_argument_of_rolling() -> None:
    whole = sf.rolling(on="t", order="input", columns={"every": sf.sum("x").over(5)})
    assert again(whole) == whole


def test_an_operator_of_a_user() -> None:
    operator = made(Longest, "word")
    assert repr(operator) == "Longest('word')"
    assert again(operator) == operator


def test_windows_with_their_operators() -> None:
    window = sf.Window(sf.quantile(q=0.9), sf.time(10), lateness=5)
    assert repr(window) == "<Window sf.quantile(q=0.9) over sf.time(10), 0 times>"
    assert window.explain().startswith("sf.quantile(q=0.9) over sf.time(10)\n")


TYPES = {
    "text": pa.string(),
    "flag": pa.bool_(),
    "day": pa.date32(),
    "when": pa.timestamp("us", "UTC"),
    "price": pa.decimal128(10, 2),
    "small": pa.int8(),
}


@pytest.mark.parametrize("name", TYPES)
def test_explain_names_the_type_of_the_column(name: str) -> None:
    kind = TYPES[name]
    schema = pa.schema({"t": pa.int64(), name: kind})
    whole = sf.rolling(
        on="t", d=sf.collect_distinct(name).over(3), s=sf.struct(m=sf.max(name)).over(3)
    )
    lines = whole.explain(schema).splitlines()
    assert f"d: sf.collect_distinct({name!r}) of {kind} over sf.rows(3)" in lines
    assert f"s.m: sf.max({name!r}) of {kind} over sf.rows(3)" in lines
