"""The order among peers: groups, times and what decides between rows of one time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.definition.windows.ties import tie_order


def order_of(
    starts: list[int], times: list[int], values: list[Any], order: list[int] | None = None
) -> list[int] | None:
    """What `tie_order` makes of rows with one column that decides."""
    found = tie_order(
        None if order is None else np.array(order, np.uint32),
        np.array(starts, np.int64),
        np.array(times, np.int64),
        ["value"],
        {"value": pa.array(values)}.__getitem__,
    )
    return None if found is None else found.tolist()


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
    assert order_of([0, 4], [1, 5, 5, 6], [0, 1, 1, 0], [3, 2, 1, 0]) == [3, 2, 1, 0]
