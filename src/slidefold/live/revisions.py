"""Find results that a batch has changed, and count their revisions, for `emit="revise"`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slidefold.definition.rolling import Rolling
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.live.equality import same_rows
from slidefold.live.lateness import times_of
from slidefold.live.tables import groups_of, with_later

REVISION = "revision"
NUMBER = "slidefold.row"  # the number of a row in order of arrival


def numbers_of(rows: Any) -> Ints:
    """Return the numbers of rows."""
    return rows[NUMBER].combine_chunks().to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def newer_results(folded: Any, results: Any, names: list[str]) -> tuple[Any, Any]:
    """Return the results that differ from the last ones, and the updated last results."""
    before = numbers_of(results)  # ascending
    own = numbers_of(folded)
    place = np.searchsorted(before, own)
    known = place < len(before)
    known[known] = before[place[known]] == own[known]
    then = results.take(pa.array(np.where(known, place, 0), mask=~known))
    changed = ~known | ~same_rows(folded, then, names)
    emitted = next_revision(folded, then, changed, known)
    stays = ~np.isin(before, numbers_of(emitted))
    newer = emitted.select(results.column_names)
    both = with_later(results.filter(pa.array(stays)), newer)
    return emitted, both.take(pa.array(np.argsort(numbers_of(both)))).combine_chunks()


def next_revision(
    now: Any, then: Any, changed: npt.NDArray[np.bool_], known: npt.NDArray[np.bool_]
) -> Any:
    """Return the changed results with revisions that follow those of `then`."""
    last = then[REVISION].combine_chunks().fill_null(-1).to_numpy(zero_copy_only=False)
    place = now.column_names.index(REVISION)
    counted = now.set_column(place, REVISION, pa.array(np.where(known, last + 1, 0)))
    return counted.filter(pa.array(changed))


def newer_ends(folded: Any, results: Any, definition: Rolling) -> tuple[Any, Any]:
    """Return the results that differ from the last ones at their ends, and all last ones."""
    past = len(results)
    both = with_later(results, folded).combine_chunks()
    groups = groups_of(both, definition.by)
    ends = times_of(both, "window_end")
    order = np.lexsort((np.arange(len(both)), ends, groups))  # the earlier result first
    again = np.zeros(len(both), np.bool_)
    again[1:] = (np.diff(groups[order]) == 0) & (np.diff(ends[order]) == 0)
    earlier = np.full(len(both), -1)
    earlier[order[1:]] = np.where(again[1:], order[:-1], -1)
    place = earlier[past:]
    known = place >= 0
    then = both.take(pa.array(np.where(known, place, 0), mask=~known))
    changed = ~known | ~same_rows(folded, then, list(definition.columns))
    emitted = next_revision(folded, then, changed, known)
    stays = np.ones(past, np.bool_)
    stays[place[known & changed]] = False
    newer = with_later(results.filter(pa.array(stays)), emitted)
    return emitted, newer.combine_chunks()


def first_revision(results: Any) -> Any:
    """Return results with a column of revisions, all 0."""
    return results.append_column(REVISION, pa.array(np.zeros(len(results), np.int64)))
