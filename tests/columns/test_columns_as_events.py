"""Types that columns and single events read alike, and refuse alike."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import permutations
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.columns.streaming import run_reader
from slidefold.errors import ValueTypeError


def over_all(operator: sf.Operator, **columns: Any) -> Any:
    """Return the column of results over all rows so far."""
    rows = len(next(iter(columns.values())))
    table = pa.table({"t": range(rows), **columns})
    return sf.rolling(on="t", found=operator.over(100)).run(table)["found"]


def pushed(operator: sf.Operator, values: list[Any]) -> Any:
    """Return the result of a window that has seen these events."""
    window = sf.Window(operator, sf.rows(100))
    return [window.push(value) for value in values][-1]


def test_a_decimal_is_the_float_nearest_to_it() -> None:
    """Arrow's cast makes 99.99000000000001 of 99.99."""
    prices = pa.array([Decimal("99.99")], pa.decimal128(7, 2))
    assert over_all(sf.histogram("x", edges=[0, 50, 99.99]), x=prices).to_pylist() == [[0, 1]]
    assert over_all(sf.moments("x"), x=prices).to_pylist()[0]["max"] == 99.99
    wide = pa.array([Decimal("12345678901234567890.123456")], pa.decimal128(30, 6))
    assert over_all(sf.moments("x"), x=wide).to_pylist()[0]["max"] == 12345678901234567890.123456


def test_wide_decimals_that_are_one_float_are_several_values() -> None:
    texts = ["12345678901234567890.1", "12345678901234567890.2", "12345678901234567890.3"]
    numbers = [Decimal(text) for text in texts]
    column = pa.array(numbers, pa.decimal128(30, 6))
    assert over_all(sf.approx_distinct("x"), x=column).to_pylist() == [1, 2, 3]


@pytest.mark.parametrize("digits", [(7, 2), (18, 2), (30, 6)])
def test_sketches_of_decimals_are_the_same_of_columns_and_of_events(
    digits: tuple[int, int],
) -> None:
    numbers = [Decimal("1.5"), Decimal("-7.25"), Decimal("1.5")]
    column, dtype = pa.array(numbers, pa.decimal128(*digits)), f"decimal{digits}"
    for make in (sf.bloom, sf.count_min):
        found = over_all(make("x"), x=column).to_pylist()[-1]
        assert found == pushed(make(dtype=dtype), numbers).to_bytes()


def test_theta_tells_large_integers_apart() -> None:
    """Beyond 63 bits the package rounds to a float."""
    from datasketches import compact_theta_sketch

    numbers = [2**63, 2**63 + 1, 2**64 - 1]
    assert pushed(sf.theta(), numbers).get_estimate() == 3
    found = over_all(sf.theta("x"), x=pa.array(numbers, pa.uint64())).to_pylist()[-1]
    assert compact_theta_sketch.deserialize(found).get_estimate() == 3
    with pytest.raises(ValueTypeError, match="expected a 64-bit integer"):
        pushed(sf.theta(), [2**64])


def test_sketches_refuse_a_column_by_its_type_also_where_all_is_null() -> None:
    for x, operator, takes in (
        (pa.array([None], pa.int64()), sf.frequent_items("x"), "strings"),
        (pa.array(["a"]), sf.approx_quantile("x"), "numbers"),
        (pa.array([None], pa.string()), sf.approx_quantile("x"), "numbers"),
        (pa.array([1], pa.timestamp("us")), sf.approx_quantile("x"), "numbers"),
        (pa.array([1], pa.date32()), sf.sum("x", compensated=True), "numbers"),
    ):
        with pytest.raises(ValueTypeError, match=f"takes {takes}, the column 'x' is"):
            over_all(operator, x=x)
    large = pa.array([2**63, 1], pa.uint64())
    assert over_all(sf.approx_quantile("x"), x=large).to_pylist() == [2.0**63, 1.0]
    empty = over_all(sf.approx_quantile("x"), x=pa.array([None], pa.float64()))
    assert empty.type == pa.float64()


def test_a_column_of_type_null_holds_nothing_for_any_operator() -> None:
    x, s = pa.nulls(2), pa.array(["a", "b"])
    for operator in (sf.concat("x"), sf.bit_and("x"), sf.bit_or("x"), sf.bit_xor("x")):
        assert over_all(operator, x=x).to_pylist() == [None, None]
    for operator in (sf.naive_bayes("x", "s"), sf.naive_bayes("s", "x")):
        assert over_all(operator, x=x, s=s).to_pylist() == [None, None]


def test_lists_of_nulls_come_out_of_a_reader() -> None:
    table = pa.table({"t": range(8), "x": pa.nulls(8)})
    definition = sf.rolling(on="t", found=sf.collect("x", nulls="keep").over(5))
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=3))
    found = run_reader(definition, reader, chunk=4).read_all()
    assert found["found"].equals(definition.run(table)["found"])


def test_infinite_times_fade_the_same_in_any_order() -> None:
    for rows, mean in (
        ([(1.0, -math.inf), (2.0, -math.inf), (4.0, 3.0)], 4.0),
        ([(1.0, math.inf), (3.0, math.inf), (4.0, 3.0)], 2.0),
    ):
        for order in permutations(rows):
            assert pushed(sf.decayed_mean(half_life=10), [*order]) == mean
