"""Every operator over columns: against a fold of each window's values by `sf.Window`."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.definition.operators import BUILT_IN
from tests.support.golden import equal
from tests.support.tables import random_table

# Results that are objects in a live window.
OBJECTS = ("moments", "naive_bayes", "count_min")
BYTES = ("bloom",)
PAIRS = (
    *("max_by", "min_by", "covariance", "correlation", "trend"),
    *("weighted_mean", "decayed_mean", "decayed_sum"),
)
OPTIONS: dict[str, dict[str, Any]] = {
    "histogram": {"edges": [-20, 0, 20]},
    "decayed_mean": {"half_life": 8.0},
    "decayed_sum": {"half_life": 8.0},
    "nth": {"n": 2},
    "top_k": {"k": 3},
    "most_frequent": {"k": 3},
}


def operator_of(name: str, **more: Any) -> sf.Operator:
    made: Any = BUILT_IN[name]
    columns = ("x", "y") if name in PAIRS else ("w",) if name == "concat" else ("x",)
    return made(*columns, **OPTIONS.get(name, {}), **more)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", [n for n in BUILT_IN if n not in (*OBJECTS, *BYTES)])
def test_as_a_live_window_folds(name: str) -> None:
    """Rows windows, where a live window sees the same rows in the same order."""
    table = random_table("few keys with nulls").sort_by("t").slice(0, 120)
    table = table.append_column("w", pa.array([f"w{i % 7}" for i in range(120)]))
    operator = operator_of(name)
    found = sf.rolling(on="t", order="input", r=operator.over(6)).run(table)["r"].to_pylist()
    typed = (
        {"dtype": "int64"}
        if name not in ("count", "concat", "bit_and", "bit_or", "bit_xor")
        else {}
    )
    live = sf.Window(operator_of(name, **typed), sf.rows(6))
    rows = zip(*(table[column].to_pylist() for column in operator.columns), strict=True)
    for got, row in zip(found, rows, strict=True):
        due = live.push(row[0] if len(row) == 1 else row)
        if name == "m4" and due is not None:
            due = dict(zip(("first", "last", "min", "max"), due, strict=True))
        if isinstance(due, float) and got is not None:
            assert got == pytest.approx(due, rel=1e-9, abs=1e-9, nan_ok=True)
        else:
            assert got == (due or None if isinstance(due, list) and name != "histogram" else due)


def test_moments_are_structs() -> None:
    values = [1.0, 2.0, 4.0, None, 9.0]
    table = pa.table({"t": range(5), "x": values})
    found = sf.rolling(on="t", r=sf.moments("x", k=4).over(3)).run(table)["r"].to_pylist()
    live = sf.Window(sf.moments(k=4), sf.rows(3))
    for row, value in zip(found, values, strict=True):
        due = live.push(value)
        assert row == {
            name: getattr(due, name) for name in ("count", "min", "max", "mean", "chebyshev")
        }


def test_classifiers_are_counts() -> None:
    table = pa.table({"t": range(4), "y": ["a", "b", "a", None], "x": [1, 2, 1, 2]})
    made = sf.rolling(on="t", r=sf.naive_bayes("y", "x").over(3))
    with pytest.raises(sf.errors.ValueTypeError, match="naive_bayes"):
        made.run(table.set_column(2, "x", pa.array([0] * 4, pa.int32()).cast(pa.date32())))
    found = made.run(table)["r"].to_pylist()
    names = ("label", "feature", "value", "n")
    due = [("a", None, None, 1), ("b", None, None, 1), ("a", "x", 1, 1), ("b", "x", 2, 1)]
    assert [tuple(count[name] for name in names) for count in found[-1]] == due
    assert found[2][0] == {"label": "a", "feature": None, "value": None, "n": 2}


def test_a_bloom_filter_is_bytes() -> None:
    table = pa.table({"t": [1, 2], "x": [1, None]})
    found = sf.rolling(on="t", r=sf.bloom("x", bits=64).over(1)).run(table)["r"]
    live = sf.Window(sf.bloom(bits=64, dtype="int64"), sf.rows(1))
    assert found.type == pa.binary()
    assert found.to_pylist() == [live.push(1).to_bytes(), None]


def test_counts_of_a_sketch_are_bytes() -> None:
    """The counters of count_min, also of types that live windows take by a codec."""
    options: dict[str, Any] = {"epsilon": 0.5, "confidence": 0.5}
    columns: dict[str, list[Any]] = {
        "int64": [1, None, 1],
        "uint64": [2**64 - 1, None, 0],
        "binary": [b"\xff", None, b""],
        "str": ["a", None, ""],
    }
    kinds = {"int64": pa.int64(), "uint64": pa.uint64(), "binary": pa.binary(), "str": pa.string()}
    for dtype, values in columns.items():
        table = pa.table({"t": [1, 2, 3], "x": pa.array(values, kinds[dtype])})
        made = sf.rolling(
            on="t", r=sf.count_min("x", **options).over(2), b=sf.bloom("x", bits=64).over(1)
        )
        found = made.run(table)
        live = sf.Window(sf.count_min(dtype=dtype, **options), sf.rows(2))
        filters = sf.Window(sf.bloom(bits=64, dtype=dtype), sf.rows(1))
        due = [(live.push(value), filters.push(value)) for value in values]
        assert found["r"].to_pylist() == [counted.to_bytes() for counted, _ in due]
        assert found["b"].to_pylist() == [f if f is None else f.to_bytes() for _, f in due]
    nothing = pa.table({"t": [1], "x": pa.array([None], pa.int64())})
    assert {made.run(nothing)[name].type for name in ("r", "b")} == {pa.binary()}
    rows = 20_000
    large = pa.table({"t": np.arange(rows), "x": np.zeros(rows)})
    with pytest.raises(sf.errors.DataError, match="2 GB: run fewer than"):
        sf.rolling(on="t", r=sf.bloom("x", bits=2**20).over(1)).run(large)


def test_nulls_can_be_kept() -> None:
    table = pa.table({"t": [1, 2, 3], "x": [None, 2, None]})
    found = sf.rolling(
        on="t",
        f=sf.first("x", nulls="keep").over(2),
        l=sf.last("x", nulls="keep").over(2),
        c=sf.collect("x", nulls="keep").over(2),
        m=sf.collect("x", nulls="keep").over(2, min_count=1),
    ).run(table)
    assert found["f"].to_pylist() == [None, None, 2]
    assert found["l"].to_pylist() == [None, 2, None]
    assert found["c"].to_pylist() == [[None], [None, 2], [2, None]]
    assert found["m"].to_pylist() == [None, [None, 2], [2, None]]


def test_a_struct_has_a_field_for_each_part() -> None:
    table = pa.table({"t": [1, 2, 3], "x": [1, None, 4], "w": ["a", "b", None]})
    both = sf.struct(total=sf.sum("x"), last=sf.last("w"), n=sf.count("w"))
    definition = sf.rolling(on="t", r=both.over(1))
    found = definition.run(table)["r"]
    assert found.type == pa.struct({"total": pa.int64(), "last": pa.string(), "n": pa.int64()})
    assert found.to_pylist() == [
        {"total": 1, "last": "a", "n": 1},
        {"total": None, "last": "b", "n": 1},
        {"total": 4, "last": None, "n": 0},
    ]
    assert sf.Rolling.from_dict(definition.to_dict()) == definition
    assert "r.total: sf.sum('x') of int64" in definition.explain(table)


KINDS: dict[str, list[Any]] = {
    "int8": [1, -2, 3, None, 3],
    "uint16": [1, 2, 3, None, 3],
    "uint64": [2**64 - 1, 0, 2**63, None, 5],
    "halffloat": [np.float16(0.5), np.float16(-1), np.float16(2), None, np.float16(2)],
    "float": [0.5, -1.0, 2.0, None, 2.0],
    "string": ["b", "", "é", None, "a"],
    "large_string": ["b", "", "é", None, "a"],
    "binary": [b"b", b"", b"\xff", None, b"a"],
    "bool": [True, False, True, None, False],
    "date32[day]": [3, 1, -2, None, 2],
    "date64[ms]": [86400000, 0, -86400000, None, 0],
    "time32[s]": [3, 1, 2, None, 2],
    "time64[us]": [3, 1, 2, None, 2],
    "timestamp[ns]": [3, 1, -2, None, 2],
    "duration[ms]": [3, 1, -2, None, 2],
}


def typed(name: str) -> Any:
    if name == "decimal128":
        return pa.array(
            [Decimal("1.5"), Decimal("-2"), None, Decimal("7"), None], pa.decimal128(38, 3)
        )
    kind = pa.type_for_alias(name)
    values = KINDS[name]
    if name.startswith(("date", "time", "duration")):
        whole = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(values, whole).cast(kind)
    return pa.array(values, kind)


@pytest.mark.parametrize("name", [*KINDS, "decimal128"])
def test_types_are_kept(name: str) -> None:
    """Operators that pick a value give it back as it was, whatever its type."""
    values = typed(name)
    table = pa.table({"t": range(5), "x": values})
    found = sf.rolling(
        on="t",
        first=sf.first("x").over(3),
        most=sf.max("x").over(3),
        least=sf.min("x").over(3),
        by=(),
        columns={"own": sf.max_by("x", "t").over(3), "all": sf.collect("x").over(3)},
    ).run(table)
    plain = values.to_pylist()
    for row in range(5):
        window = [v for v in plain[max(0, row - 2) : row + 1] if v is not None]
        due = {
            "first": window[0] if window else None,
            "most": max(window, default=None),
            "least": min(window, default=None),
            "own": window[-1] if window else None,
            "all": window or None,
        }
        assert {key: found[key][row].as_py() for key in due} == due
    for key in ("first", "most", "least", "own"):
        assert found[key].type == values.type
    assert found["all"].type == pa.list_(values.type)


def test_sums_of_decimals_are_exact_or_refused() -> None:
    near = Decimal(10) ** 37 * 9
    table = pa.table({"t": [1, 2, 3], "x": pa.array([near, -near, near], pa.decimal128(38, 0))})
    found = sf.rolling(on="t", s=sf.sum("x").over(2)).run(table)["s"]
    assert found.to_pylist() == [near, 0, 0]
    with pytest.raises(sf.errors.ResultOverflowError, match="more than 38 digits"):
        sf.rolling(on="t", s=sf.sum("x").over(sf.delta(5, on="t"), min_count=1)).run(
            table.set_column(1, "x", pa.array([near, near, near], pa.decimal128(38, 0)))
        )


@sf.operator(state={"n": "i8", "sum": "f8"}, returns={"n": "i8", "mean": "f8"}, commutative=True)
class Mean(sf.Fold):
    identity = staticmethod(lambda: (0, 0.0))
    lift = staticmethod(lambda x: (1, x))
    combine = staticmethod(lambda a, b: (a.n + b.n, a.sum + b.sum))
    lower = staticmethod(lambda s: (s.n, s.sum / s.n))


@sf.operator
class Longest(sf.Fold):
    lift = staticmethod(lambda word: word)
    combine = staticmethod(lambda older, newer: max(older, newer, key=len))
    lower = staticmethod(lambda word: word)


def test_operators_of_users() -> None:
    table = pa.table({"t": [1, 2, 3, 4], "x": [1, 3, None, 5], "w": ["a", "fold", None, "it"]})
    definition = sf.rolling(on="t", m=Mean("x").over(2), longest=Longest("w").over(2))
    found = definition.run(table)
    assert found["m"].to_pylist() == [
        {"n": 1, "mean": 1.0},
        {"n": 2, "mean": 2.0},
        {"n": 1, "mean": 3.0},
        {"n": 1, "mean": 5.0},
    ]
    assert found["longest"].to_pylist() == ["a", "fold", "fold", "it"]
    assert definition.to_dict()["columns"]["m"]["operator"].endswith("test_operators:Mean")
    with pytest.raises(sf.errors.ValueTypeError, match="Mean takes float64, the column 'w'"):
        sf.rolling(on="t", m=Mean("w").over(2)).run(table)


def test_equality_of_the_helper() -> None:
    assert equal(pa.array([1.0, None]), pa.array([1.0, None]))
    assert not equal(pa.array([1.0, None]), pa.array([None, 1.0]))
    assert not equal(pa.array([1]), pa.array([1.0]))


UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@pytest.mark.parametrize("make", [pa.timestamp, pa.duration])
@pytest.mark.parametrize("unit", UNITS)
def test_times_beside_values_are_seconds(make: Any, unit: str) -> None:
    """A column in nanoseconds (pandas) and one in microseconds (Spark) give the same numbers."""
    steps = pa.array([UNITS[unit] * second for second in (0, 600, 1800)])
    table = pa.table({"n": [1, 2, 3], "t": steps.cast(make(unit)), "x": [1.0, 3.0, 7.0]})
    found = sf.rolling(
        on="n",
        slope=sf.trend("x", "t").over(2),
        joint=sf.covariance("x", "t").over(2),
        recent=sf.decayed_mean("x", "t", half_life=600).over(2),
        same=sf.decayed_mean("x", "t", half_life="10m").over(2),
    ).run(table)
    assert found["slope"].to_pylist() == [None, *map(pytest.approx, (2 / 600, 4 / 1200))]
    recent = (1.0, (3 + 1 / 2) / (1 + 1 / 2), (7 + 3 / 4) / (1 + 1 / 4))
    assert found["recent"].to_pylist() == [pytest.approx(value) for value in recent]
    assert found["same"] == found["recent"]
    assert found["joint"].to_pylist() == [None, *map(pytest.approx, (600.0, 2400.0))]
    wrong = sf.rolling(on="n", r=sf.decayed_mean("x", "n", half_life="10m").over(2))
    with pytest.raises(sf.errors.ValueTypeError, match="beside a half_life that is a duration"):
        wrong.run(table)


def test_dates_beside_values_are_seconds() -> None:
    days = pa.array([0, 2], pa.int32()).cast(pa.date32())
    table = pa.table({"n": [1, 2], "t": days, "x": [1.0, 5.0]})
    slope = sf.rolling(on="n", slope=sf.trend("x", "t").over(2)).run(table)["slope"]
    assert slope.to_pylist() == [None, pytest.approx(4 / (2 * 86400))]
