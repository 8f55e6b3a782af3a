"""The order among peers: groups, times and what decides between rows of one time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slidefold import _native
from slidefold.definition.windows.ties import tie_order
from slidefold.errors import DataError


def order_of(
    starts: list[int], times: list[int], values: list[Any], order: list[int] | None = None
) -> list[int] | None:
    """The order that `tie_order` makes of rows with one column that decides, None if it stays."""
    return ordered(starts, times, {"value": pa.array(values)}, order)


def ordered(
    starts: list[int], times: list[int], columns: dict[str, Any], order: list[int] | None = None
) -> list[int] | None:
    groups = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    *_, ties = _native.order_rows(groups, len(starts) - 1, np.array(times, np.int64), peers=True)
    if ties is None:
        return None
    listed = None if order is None else np.array(order, np.uint32)
    found = tie_order(listed, ties, list(columns), columns.__getitem__)
    if found is None:
        return None
    result = list(range(len(times))) if order is None else list(order)
    for row, place in zip(*found, strict=True):
        assert result[place] != row, "only rows that moved are told"
        result[place] = int(row)
    return result


def test_rows_of_two_groups_are_no_peers() -> None:
    # The last row of the first group and the first one of the second have one time.
    assert order_of([0, 2, 4], [1, 5, 5, 6], [0, 9, 1, 0]) is None
    assert order_of([0, 1, 2, 3], [5, 5, 5], [3, 2, 1]) is None


def test_peers_are_sorted_within_their_group_only() -> None:
    assert order_of([0, 3, 6], [1, 5, 5, 5, 5, 6], [0, 9, 8, 2, 1, 0]) == [0, 2, 1, 4, 3, 5]
    # Rows that came in another order: the first group is 5, 4, 3.
    ordered = order_of([0, 3, 6], [5, 5, 5, 5, 5, 6], [7, 8, 9, 3, 2, 1], [5, 4, 3, 2, 1, 0])
    assert ordered == [5, 4, 3, 1, 2, 0]


def test_peers_in_order_stay_as_they_are() -> None:
    assert order_of([0, 4], [1, 5, 5, 6], [0, 1, 2, 0]) is None
    assert order_of([0, 4], [1, 5, 5, 6], [0, 1, 1, 0], [3, 2, 1, 0]) is None


def test_no_row_and_one_row_have_no_peers() -> None:
    assert order_of([0], [], []) is None
    assert order_of([0, 1], [5], [0]) is None


NAN = float("nan")
ASCENDING = {
    "int64": pa.array([None, -(2**63), -1, 0, 7, 2**63 - 1]),
    "uint64": pa.array([None, 0, 7, 2**63 - 1, 2**63, 2**64 - 1], pa.uint64()),
    "int8": pa.array([None, -128, -1, 0, 7, 127], pa.int8()),
    "bool": pa.array([None, False, True]),
    "float64": pa.array([None, float("-inf"), -1.5, 0.0, 1e300, float("inf"), NAN]),
    "float32": pa.array([None, float("-inf"), -1.5, 0.0, 1.5, NAN], pa.float32()),
    "float16": pa.array(np.array([-1.5, 0.0, 2.0, NAN], np.float16)),
    "date32": pa.array([None, -5, 0, 9], pa.date32()),
    "time32": pa.array([None, 0, 9], pa.time32("s")),
    "timestamp": pa.array([None, -5, 0, 9], pa.timestamp("ns", "UTC")),
    "duration": pa.array([None, -5, 0, 9], pa.duration("ms")),
    "decimal": pa.array([None, -5, 0, 9], pa.decimal128(9, 2)),
    "decimal64": pa.array([None, -5, 0, 9], pa.decimal128(9, 2)).cast(pa.decimal64(9, 2)),
    "string": pa.array([None, "", "B", "a", "b"]),
    "binary": pa.array([None, b"", b"a", b"b"]),
    "dictionary": pa.array([None, "a", "b"]).dictionary_encode(),
    "struct": pa.array([None, {"a": None}, {"a": 1}, {"a": 2}]),
    "null": pa.nulls(1),
}


@pytest.mark.parametrize("kind", ASCENDING)
def test_nulls_come_first_and_nan_last(kind: str) -> None:
    values = ASCENDING[kind]
    count = len(values)
    for seed in range(20):
        shuffled = np.random.default_rng(seed).permutation(count)
        columns = {"value": values.take(pa.array(shuffled))}
        found = ordered([0, count], [5] * count, columns)
        assert (found or list(range(count))) == np.argsort(shuffled).tolist()


def test_equal_values_are_told_apart_by_the_next_column_or_not_at_all() -> None:
    zeros = pa.array([0.0, -0.0, 0.0, -0.0, NAN, NAN])
    assert ordered([0, 6], [5] * 6, {"x": zeros}) is None
    second = pa.array([None, 2, 1, None, 4, 3])
    assert ordered([0, 6], [5] * 6, {"x": zeros, "y": second}) == [0, 3, 2, 1, 5, 4]


def test_a_column_is_not_read_if_those_before_it_decide() -> None:
    columns = {"x": pa.array([2, 1])}
    ties = np.array([0, 1], np.uint32), np.array([0, 2], np.uint32)
    found = tie_order(None, ties, ["x", "no"], columns.get)
    assert found is not None
    assert [part.tolist() for part in found] == [[1, 0], [0, 1]]


def test_values_that_have_no_order_are_refused() -> None:
    with pytest.raises(DataError, match="cannot be sorted by the column 'value'"):
        ordered([0, 2], [5, 5], {"value": pa.array([[1], [2]])})


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.integers(0, 4),
            st.none() | st.sampled_from([0.0, -0.0, 1.0, NAN]),
            st.none() | st.sampled_from(["a", "b"]),
        ),
        max_size=30,
    ),
    st.booleans(),
)
def test_random_rows_come_in_order_of_all_columns(rows: list[Any], shuffled: bool) -> None:
    # Rows in order of group and time, the input in another one.
    by_time = sorted(range(len(rows)), key=lambda i: rows[i][:2])
    order = by_time if shuffled else None
    held = rows if shuffled else [rows[i] for i in by_time]
    now = list(range(len(rows))) if order is None else order
    starts = np.searchsorted([held[i][0] for i in now], [0, 1, 2, 3]).tolist()
    x, y = (pa.array([row[part] for row in held], kind) for part, kind in _KINDS)

    def key(i: int) -> Any:
        group, time, number, text = held[i]
        known = number is not None
        nan = known and math.isnan(number)
        return (group, time, known, nan, 0 if nan else number or 0, text is not None, text or "")

    found = ordered(starts, [held[i][1] for i in now], {"x": x, "y": y}, order)
    assert (found or now) == sorted(now, key=key)


_KINDS = ((2, pa.float64()), (3, pa.string()))
