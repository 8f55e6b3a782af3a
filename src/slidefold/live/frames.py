"""Run the batch kernel for some rows of a table; other rows only fill their windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slidefold.columns.compute import frame_columns
from slidefold.columns.grouping import Sorted, group_numbers, sort_table
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import Frames, WindowKind
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import ValueTypeError
from slidefold.live.lateness import times_of
from slidefold.live.numbered import NUMBER, numbers_of

OLDEST, NEWEST = -(2**63), 2**63 - 1


def results_of(definition: Rolling, history: Any, due: Any, folded: Rolling | None = None) -> Any:
    """Return the due rows in time order with the new columns, folded together with a history.

    `folded` selects the columns to compute; rows are sorted for the whole definition.
    """
    folded = folded or definition
    ordered = in_order(definition, history, due)
    if ordered.order is None:
        places = np.arange(len(history), len(ordered.rows))
    else:
        places = np.flatnonzero(ordered.order >= len(history))
    frames = {window: window.frames(ordered.rows) for window in folded.windows}
    return results_at(folded, ordered, frames, places, due, len(history))


def in_order(definition: Rolling, *tables: Any) -> Sorted:
    """Return the rows of several tables in window order."""
    read = [*definition.used, NUMBER]
    table = pa.concat_tables([table.select(read) for table in tables])
    return sort_table(table, definition.on, definition.by, definition.ties, numbers_of(table))


def results_at(
    definition: Rolling | None,
    ordered: Sorted,
    frames: Mapping[WindowKind, Frames],
    places: Ints,
    due: Any,
    past: int,
) -> Any:
    """Return the rows at some places in time order, with the new columns if there are any.

    `due` holds the rows that were given after `past` other rows.
    """
    by_time = np.argsort(ordered.rows.times[places], kind="stable")
    origin = places if ordered.order is None else ordered.order[places].astype(np.int64)
    result = due.take(pa.array(origin[by_time] - past))
    if definition is not None:
        chosen = {window: (lo[places], hi[places]) for window, (lo, hi) in frames.items()}
        for name, values in frame_columns(definition, ordered, chosen).items():
            result = result.append_column(name, values.take(pa.array(by_time)))
    return result


def with_later(results: Any, later: Any) -> Any:
    """Return results and later results in one table.

    Results of an operator without declared types may need a wider type later.
    """
    try:
        return pa.concat_tables([results, later], promote_options="permissive")
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise ValueTypeError(
            f"results changed their type between batches ({reason}); declare state= and returns= "
            "of the operator"
        ) from None


def of_same_keys(history: Any, due: Any, by: Sequence[str]) -> Any:
    """Return the rows of a history whose keys have due rows."""
    if not by or len(history) == 0:
        return history if len(due) else history.slice(0, 0)
    keys = pa.concat_tables([history.select(list(by)), due.select(list(by))])
    groups, count = group_numbers(keys, by)
    assert groups is not None
    touched = np.zeros(count, np.bool_)
    touched[groups[len(history) :]] = True
    return history.filter(pa.array(touched[groups[: len(history)]]))


def groups_of(table: Any, by: Sequence[str]) -> Ints:
    """Return the group of each row, or 0 if there are no keys."""
    groups, _ = group_numbers(table, by)
    return np.zeros(len(table), np.int64) if groups is None else groups.astype(np.int64)


def past_rows(rows: Any, on: str, watermark: int | None) -> npt.NDArray[np.bool_]:
    """Tell which rows are at or before a watermark."""
    times = times_of(rows, on)
    return np.zeros(len(times), np.bool_) if watermark is None else times <= watermark
