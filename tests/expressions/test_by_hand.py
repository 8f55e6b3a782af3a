"""Expressions whose values are known: overflows, times, decimals, texts, constants."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.definition.expressions import Call, Column, Literal, compile_expressions, parse
from slidefold.errors import ColumnError, ResultOverflowError, SlidefoldError, ValueTypeError
from tests.expressions.trees import (
    same,
)
from tests.support.for_each import for_each


def evaluated(text: str, table: Any) -> Any:
    """Return what native code gives over a table."""
    kinds = dict(zip(table.schema.names, table.schema.types, strict=True))
    found = compile_expressions([("found", parse(text))], kinds).columns(table)["found"]
    found.validate(full=True)
    return found


# ---- by hand -------------------------------------------------------------------------------------

TOP, LOW = 2**63 - 1, -(2**63)
BY_HAND: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("x // y", {"x": [7, -7, 7, -7, 0], "y": [2, 2, -2, -2, 5]}, [3, -4, -4, 3, 0]),
    ("x % y", {"x": [7, -7, 7, -7, 0], "y": [2, 2, -2, -2, 5]}, [1, 1, -1, -1, 0]),
    ("x // 0", {"x": [1, 0, -1, None]}, [None] * 4),
    ("x % 0", {"x": [1, 0, LOW, None]}, [None] * 4),
    ("x % -1", {"x": [LOW, TOP]}, [0, 0]),
    ("x / 0", {"x": [1, -1, None]}, [math.inf, -math.inf, None]),
    ("x / -0.0", {"x": [1, -1]}, [-math.inf, math.inf]),
    ("x // 0.0", {"x": [1.0, -1.0]}, [math.inf, -math.inf]),
    ("-x", {"x": [0.0, math.inf, -1.5]}, [-0.0, -math.inf, 1.5]),
    ("x + 1", {"x": pa.array([127, -128], pa.int8())}, [128, -127]),
    ("x - 1", {"x": pa.array([0, 2**63 - 1], pa.uint64())}, [-1, TOP - 1]),
    ("x == 'a'", {"x": ["a", "A", None]}, [True, False, None]),
    ("x in []", {"x": [1, None]}, [False, None]),
    ("x not in [1]", {"x": [1, 2, None]}, [False, True, None]),
    ("x in [1, 2.5]", {"x": [1, 2, None]}, [True, False, None]),
    ("x in [True]", {"x": [True, False, None]}, [True, False, None]),
    ("x is None", {"x": pa.nulls(2)}, [True, True]),
    ("x is not None", {"x": [math.nan, None]}, [True, False]),
    ("x and None", {"x": [True, False, None]}, [None, False, None]),
    ("None or x", {"x": [True, False, None]}, [True, None, None]),
    ("not x", {"x": pa.nulls(2)}, [None, None]),
    ("x + None", {"x": [1, 2]}, [None, None]),
    ("fill_null(x, 5) + 1", {"x": pa.nulls(2)}, [6, 6]),
    ("fill_null(x, 0.5)", {"x": [1, None]}, [1.0, 0.5]),
    ("fill_null(x, None)", {"x": [1, None]}, [1, None]),
    ("0 < x < 3", {"x": [0, 1, 2, 3, None]}, [False, True, True, False, None]),
    ("cast(x, 'int64')", {"x": [2.0, -3.0, -0.0]}, [2, -3, 0]),
    ("cast(x, 'bool')", {"x": [0.0, -0.0, math.nan, 2.0]}, [False, False, True, True]),
    ("x - 0.1 == 0.2", {"x": [0.3]}, [False]),
    ("log(x)", {"x": [0, 1, -1]}, [-math.inf, 0.0, math.nan]),
    ("7", {"x": [1, 2, 3]}, [7, 7, 7]),
]


@for_each("text, columns, expected", BY_HAND)
def test_by_hand(text: str, columns: dict[str, Any], expected: list[Any]) -> None:
    given = {name: values if isinstance(values, pa.Array) else _array(values)
             for name, values in columns.items()}  # fmt: skip
    found = evaluated(text, pa.table(given)).to_pylist()
    assert len(found) == len(expected)
    for got, due in zip(found, expected, strict=True):
        assert same(got, due), f"{text}: {found} and not {expected}"


def _array(values: Sequence[Any]) -> Any:
    mixed = any(isinstance(value, float) for value in values)
    return pa.array(values, pa.float64()) if mixed else pa.array(values)


OVERFLOWS: list[tuple[str, Any, int]] = [
    ("x + 1", [0, TOP, TOP], 1),
    ("x - 1", [LOW], 0),
    ("x * 2", [None, 2**62], 1),
    ("-x", [1, LOW], 1),
    ("abs(x)", [1, LOW], 1),
    ("x // -1", [1, LOW], 1),
    ("x + 0", pa.array([1, 2**63], pa.uint64()), 1),
    ("x == 1", pa.array([2**64 - 1], pa.uint64()), 0),
    ("cast(x, 'int64')", [1.0, 1.5], 1),
    ("cast(x, 'int64')", [math.nan], 0),
    ("cast(x, 'int64')", [2.0**63], 0),
    ("cast(x, 'int64')", [Decimal("1.00"), Decimal("1.01")], 1),
    ("cast(x, 'int64')", [Decimal(2**63)], 0),
    ("x * x + x * x", [Decimal(10**10), Decimal(10**19 - 1)], 1),
    ("x + duration('1us')", pa.array([0, TOP], pa.timestamp("us")), 1),
    ("x == datetime('2020-01-01')", pa.array([0, TOP], pa.timestamp("s")), 1),
]


@for_each("text, values, row", OVERFLOWS)
def test_what_does_not_fit_names_its_row(text: str, values: Any, row: int) -> None:
    column = values if isinstance(values, pa.Array) else pa.array(values)
    with pytest.raises(ResultOverflowError, match=rf" at row {row}$") as caught:
        evaluated(text, pa.table({"x": column}))
    assert caught.value.row == row
    # The same value without an error: nulls take part in none.
    nulls = pa.array([None] * len(column), column.type)
    assert evaluated(text, pa.table({"x": nulls})).null_count == len(column)


@for_each(
    "text, columns, expected",
    [
        ("fill_null(x, date('2021-01-01'))", {"x": [date(2020, 1, 1), None]},
         [date(2020, 1, 1), date(2021, 1, 1)]),
        ("fill_null(x, datetime('2021-01-01T05:00'))", {"x": [date(2020, 1, 1), None]},
         [datetime(2020, 1, 1), datetime(2021, 1, 1, 5)]),
        ("x - y", {"x": [date(2020, 3, 1)], "y": [datetime(2020, 2, 28, 12)]},
         [timedelta(days=1, hours=12)]),
        ("x + y", {"x": [date(2020, 2, 28)], "y": [timedelta(days=2)]}, [datetime(2020, 3, 1)]),
        ("x < datetime('2020-01-01T00:00+01:00')",
         {"x": [datetime(2019, 12, 31, hour, tzinfo=UTC) for hour in (22, 23)]},
         [True, False]),
        ("x / y", {"x": [timedelta(hours=1)], "y": [timedelta(minutes=40)]}, [1.5]),
        ("x * 3", {"x": [timedelta(hours=1), None]}, [timedelta(hours=3), None]),
        ("-x", {"x": [timedelta(hours=1)]}, [timedelta(hours=-1)]),
        ("x + decimal('0.005')", {"x": [Decimal("1.10"), None]}, [Decimal("1.105"), None]),
        ("x * 3", {"x": [Decimal("0.10")]}, [Decimal("0.30")]),
        ("x == 0.1", {"x": [Decimal("0.1")]}, [True]),
        ("x == decimal('0.100')", {"x": [Decimal("0.1")]}, [True]),
        ("x + decimal('12345678901234567890123456789012345.12')", {"x": [Decimal("0.01")]},
         [Decimal("12345678901234567890123456789012345.13")]),
        ("x < 'b'", {"x": pa.array(["a", "b", None]).dictionary_encode()}, [True, False, None]),
        ("x < b'b'", {"x": [b"a", b"b\x00", b"b"]}, [True, False, False]),
        ("x == 'a\\0b'", {"x": ["a\0b", "a"]}, [True, False]),
        ("x in ['a long text of many bytes', '']", {"x": ["a long text of many bytes", "", "b"]},
         [True, True, False]),
    ],
)  # fmt: skip
def test_times_decimals_and_texts_by_hand(
    text: str, columns: dict[str, Any], expected: list[Any]
) -> None:
    given = {name: values if isinstance(values, pa.Array | pa.DictionaryArray) else pa.array(values)
             for name, values in columns.items()}  # fmt: skip
    assert evaluated(text, pa.table(given)).to_pylist() == expected


# ---- constants and columns -----------------------------------------------------------------------


class Status(enum.StrEnum):
    DECLINED = "declined"


class Level(enum.IntEnum):
    HIGH = 3


@for_each(
    "value, plain",
    [
        (Status.DECLINED, "declined"),
        (Level.HIGH, 3),
        (np.int8(3), 3),
        (np.float32(0.5), 0.5),
        (np.str_("a"), "a"),
        (np.bool_(True), True),
        (np.datetime64("2020-01-01T00:00:01", "us"), datetime(2020, 1, 1, 0, 0, 1)),
        (np.timedelta64(3, "h"), timedelta(hours=3)),
        (pd.Timestamp("2020-01-01"), datetime(2020, 1, 1)),
        (pd.Timestamp("2020-01-01", tz="UTC"), datetime(2020, 1, 1, tzinfo=UTC)),
        (pd.Timedelta("1h"), timedelta(hours=1)),
    ],
)
def test_constants_of_other_classes_become_plain(value: Any, plain: Any) -> None:
    found = sf.col("x") == value
    assert found.node == (sf.col("x") == plain).node
    assert parse(found.node.text()) == found.node


@for_each(
    "value",
    [
        2**63,
        -(2**63) - 1,
        1j,
        object(),
        [1],
        {"a": 1},
        "\ud800",
        pd.Timestamp("2020-01-01T00:00:00.000000001"),
        pd.Timedelta("1ns"),
        pd.NaT,
        timedelta.max,
        sf.sum("x"),
        math,
    ],
)
def test_constants_that_are_refused(value: Any) -> None:
    with pytest.raises(SlidefoldError) as caught:
        sf.col("x") + value
    assert "\n" not in str(caught.value)


@for_each("value", ["NaN", "sNaN", "Infinity", "1e38", "1e-39", "1e999999", "1" * 39])
def test_decimals_that_do_not_fit_are_refused(value: str) -> None:
    node = Call("add", (Column("x"), Literal(Decimal(value))))
    with pytest.raises(ValueTypeError):
        compile_expressions([("found", node)], {"x": pa.int64()})


@for_each(
    "kind", [pa.list_(pa.int64()), pa.struct({"a": pa.int64()}), pa.decimal256(50, 2),
             pa.month_day_nano_interval(), pa.binary(4), pa.decimal128(5, -2)]
)  # fmt: skip
def test_columns_of_other_types_are_refused(kind: Any) -> None:
    with pytest.raises(
        ValueTypeError, match=r"^the expression 'is_null\(x\)' reads the column 'x'"
    ):
        compile_expressions([("found", parse("is_null(x)"))], {"x": kind})


def test_a_missing_column_is_named_with_a_hint() -> None:
    with pytest.raises(ColumnError, match="'ammount', which does not exist; did you mean 'amount'"):
        compile_expressions([("found", parse("ammount > 1"))], {"amount": pa.int64()})


def test_equal_parts_are_computed_once() -> None:
    nodes = [("a", parse("(x + y) * (x + y)")), ("b", parse("x + y > 0"))]
    compiled = compile_expressions(nodes, {"x": pa.int64(), "y": pa.int64()})
    codes = [step["code"] for step in compiled.steps]
    assert codes.count("add_whole") == 1
    assert len(compiled.inputs) == 2


def test_columns_that_no_cache_holds() -> None:
    """Results of large tables are written in another way."""
    rows = 1_100_003
    rng = np.random.default_rng(8)
    x, y, missing = rng.random(rows), rng.integers(0, 5, rows) / 4, rng.random(rows) < 0.3
    with np.errstate(divide="ignore"):
        ratio = x / y - 1
    found = sf.rolling(
        on="t",
        ratio=sf.col("x") / sf.col("y") - 1,
        half=(sf.col("x") / sf.col("y") - 1) * 0.5,
        sum=sf.col("x") + sf.col("n"),
    ).run(pa.table({"t": np.arange(rows), "x": x, "y": y, "n": pa.array(y, mask=missing)}))
    assert np.array_equal(found["ratio"].to_numpy(), ratio, equal_nan=True)
    assert np.array_equal(found["half"].to_numpy(), ratio * 0.5, equal_nan=True)
    assert found["sum"].combine_chunks().equals(pa.array(x + y, mask=missing))
