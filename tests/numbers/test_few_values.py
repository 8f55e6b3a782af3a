"""Results over fewer values than an operator or `min_count` needs: null, and never an error."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import ResultOverflowError

BIG = 2**63 - 1


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("ddof", [0, 1, 2])
@pytest.mark.parametrize("rows", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["int64", "float64", "uint64", "decimal128(9, 2)"])
def test_spreads_of_few_rows_are_null(name: str, ddof: int, rows: int, kind: str) -> None:
    whole = [1, 2, 4, 8, 16]
    decimal = pa.decimal128(21, 2), pa.decimal128(9, 2)
    column = pa.array(whole)
    for made in decimal if kind.startswith("decimal") else (kind,):
        column = column.cast(made)
    table = pa.table({"t": range(5), "x": column})
    definition = sf.rolling(on="t", v=getattr(sf, name)("x", ddof=ddof).over(rows))
    found = definition.run(table)["v"].to_pylist()
    for one, other in zip(found, _feed(definition, table), strict=True):
        assert (one is None) == (other is None)
        assert one is None or math.isclose(one, other, rel_tol=1e-12)
    for i, value in enumerate(found):
        held = whole[max(0, i + 1 - rows) : i + 1]
        if len(held) <= ddof:
            assert value is None
            continue
        var = sum((x - sum(held) / len(held)) ** 2 for x in held) / (len(held) - ddof)
        assert math.isclose(value, var if name == "var" else math.sqrt(var), rel_tol=1e-12)


@pytest.mark.parametrize("operator", [sf.sum("x"), sf.range("x")])
@pytest.mark.parametrize("window", [2, sf.time(2)])
@pytest.mark.parametrize("by", [(), ("k",)])
@pytest.mark.parametrize("emit", ["final", "arrival", "revise"])
def test_what_min_count_hides_may_overflow(
    operator: Any, window: Any, by: tuple[str, ...], emit: str
) -> None:
    table = pa.table({"t": [1, 2, 4], "x": [BIG, -BIG, 5], "k": [1, 1, 1], "id": [0, 1, 2]})
    if operator.name == "sum":
        table = table.set_column(1, "x", pa.array([BIG, BIG, 5]))
    wide = operator.over(window, min_count=3)
    definition = sf.rolling(on="t", by=by, order="id", v=wide, n=sf.count().over(window))
    assert definition.run(table)["v"].to_pylist() == [None, None, None]
    assert _feed(definition, table, emit) == [None, None, None]
    narrow = sf.rolling(on="t", by=by, order="id", v=operator.over(window, min_count=2))
    with pytest.raises(ResultOverflowError, match="more than 64 bits at row 1"):
        narrow.run(table)
    with pytest.raises(ResultOverflowError, match="more than 64 bits"):
        _feed(narrow, table, emit)


def test_an_overflow_that_min_count_hides_leaves_the_others() -> None:
    x = [BIG, BIG, -BIG, 0, 3, 4, 5]
    table = pa.table({"t": range(7), "x": x})
    for window in (sf.time(4), sf.rows(4)):
        definition = sf.rolling(on="t", v=sf.sum("x").over(window, min_count=3))
        expected = [
            None if i < 2 else sum(x[max(0, i - 3) : i + 1]) for i in range(7)
        ]  # 2 * BIG at row 1 would not fit
        assert definition.run(table)["v"].to_pylist() == expected
        live = definition.live(lateness=0)
        found = [live.feed(table.slice(i, 1))["v"].to_pylist() for i in range(7)]
        assert [value for part in found for value in part] == expected


def test_unsigned_and_decimal_sums_that_min_count_hides() -> None:
    digits = 10**37 * 9
    table = pa.table(
        {
            "t": [1, 2],
            "u": pa.array([2**64 - 1, 5], pa.uint64()),
            "d": pa.array([digits, digits], pa.decimal128(38, 0)),
        }
    )
    for name in ("u", "d"):
        definition = sf.rolling(on="t", v=sf.sum(name).over(2, min_count=3))
        assert definition.run(table)["v"].to_pylist() == [None, None]
        assert _feed(definition, table) == [None, None]


def test_ranges_that_do_not_fit_are_errors() -> None:
    ends = pa.array([-(2**63), 2**63 - 1])
    far = pa.array([-(10**38) + 1, 10**38 - 1], pa.decimal128(38, 0))
    for column in (ends.cast(pa.timestamp("ns")), ends.cast(pa.duration("us")), ends, far):
        table = pa.table({"t": [1, 2], "x": column})
        with pytest.raises(ResultOverflowError, match="range needs more than"):
            sf.rolling(on="t", v=sf.range("x").over(2)).run(table)
        assert sf.rolling(on="t", v=sf.range("x").over(2, min_count=3)).run(table)[
            "v"
        ].to_pylist() == [None, None]


@pytest.mark.parametrize("kind", [pa.decimal128(38, 2), pa.decimal128(5, 2), pa.decimal256(50, 2)])
def test_ranges_of_decimals_have_one_digit_more(kind: Any) -> None:
    table = pa.table(
        {"t": [1, 2], "x": pa.array([-999, 999]).cast(pa.decimal128(21, 2)).cast(kind)}
    )
    found = sf.rolling(on="t", v=sf.range("x").over(2)).run(table)["v"]
    assert [int(value) for value in found.to_pylist()] == [0, 1998]
    assert found.type.precision == (38 if kind.precision == 38 else kind.precision + 1)


@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint8", "uint64", "float32"])
@pytest.mark.parametrize("nulls", [False, True])
def test_geomean_of_integers_over_time(kind: str, nulls: bool) -> None:
    values = [1, 3, 9, 2, None if nulls else 5]
    table = pa.table({"t": [1, 2, 3, 5, 6], "x": pa.array(values, kind)})
    definition = sf.rolling(on="t", g=sf.geomean("x").over(sf.time(3)), m=sf.mean("x").over(2))
    found = definition.run(table)
    held = [[1], [1, 3], [1, 3, 9], [9, 2], [2] if nulls else [2, 5]]
    expected = [math.exp(np.log(part).mean()) for part in held]
    assert found["g"].to_pylist() == pytest.approx(expected, rel=1e-14)
    assert _feed(
        definition.__class__(definition.on, (), definition.items[:1]), table, name="g"
    ) == (pytest.approx(expected, rel=1e-14))


def _feed(definition: Any, table: Any, emit: str = "final", name: str = "v") -> list[Any]:
    live = definition.live(lateness=0, emit=emit, id="id" if emit == "revise" else ())
    fed = live.feed(table)
    rest = live.finish()
    found = pa.concat_tables([fed, rest], promote_options="default")
    return found[name].to_pylist()  # type: ignore[no-any-return]
