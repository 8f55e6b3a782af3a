"""Choose a lateness from data: how many rows each one would lose, and what that would change.

Events are replayed in order of arrival. A row is late for every lateness up to its *lag*: the
newest time before it minus its own time. So one pass gives the late rows of all choices. For each
choice the definition runs over the rows that are in time, and its results are compared with those
over all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidefold.columns import run
from slidefold.columns.grouping import group_numbers, one_chunk, without_views
from slidefold.columns.sources import source_of
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import Clock, Given, counted, lateness_of
from slidefold.definition.windows.durations import duration_text
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import ColumnError, DefinitionError, ValueTypeError
from slidefold.live.times import lateness_steps

MOST = 20  # choices
_ROUND = (1, 2, 5)
_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
_DAYS = (1, 2, 3, 7, 14, 30, 60, 90, 180, 365)
_SECOND, _DAY = 10**9, 86_400 * 10**9


def study_lateness(
    definition: Rolling,
    data: Any,
    arrived: str | None = None,
    delays: Sequence[Given] | None = None,
) -> pa.Table:
    """Return one row per lateness: late rows, results that change, and by how much."""
    source = source_of(data)
    names = list(source.names)
    if arrived is not None and arrived not in names:
        raise ColumnError(f"the data has no column {arrived!r}, which arrived= names")
    wanted = dict.fromkeys((*definition.required, *((arrived,) if arrived else ())))
    missing = next((name for name in wanted if name not in names), None)
    if missing is not None:
        raise ColumnError(f"the data has no column {missing!r}")
    events = in_order_of_arrival(without_views(source.select(list(wanted))), arrived)
    clock, times = counted(definition.on, one_chunk(events, definition.on))
    if not np.issubdtype(times.dtype, np.integer):
        raise DefinitionError("a lateness is studied over times that are datetimes or integers")
    lag = lags(times)
    if delays is None:
        chosen = _choices(clock, int(lag.max(initial=-1)))
    elif isinstance(delays, Sequence) and not isinstance(delays, str):
        chosen = [lateness_of(delay) for delay in delays]
    else:
        raise ValueTypeError(f"expected delays as a list such as ['1s', '1m'], got {delays!r}")
    whole = run(definition, events)
    found = [
        _lost(definition, events, whole, lag >= lateness_steps(each, clock)) for each in chosen
    ]
    shown = [each if clock.unit is None else _shown(each) for each in chosen]
    return pa.table(
        {
            "lateness": pa.array(shown, pa.int64() if clock.unit is None else pa.string()),
            "late": pa.array([row[0] for row in found], pa.int64()),
            "late_share": pa.array([row[0] / max(len(events), 1) for row in found], pa.float64()),
            "changed": pa.array([row[1] for row in found], pa.int64()),
            "changed_share": pa.array([row[1] / max(len(whole), 1) for row in found], pa.float64()),
            "median_change": pa.array([row[2] for row in found], pa.float64()),
            "largest_change": pa.array([row[3] for row in found], pa.float64()),
        }
    )


def in_order_of_arrival(events: Any, arrived: str | None) -> Any:
    """Return the events that arrived, in that order; without a column, as they are."""
    if arrived is None:
        return events
    if events[arrived].null_count:
        events = events.filter(events[arrived].is_valid())
    _, came = counted(arrived, one_chunk(events, arrived))
    return events.take(pa.array(np.argsort(came, kind="stable")))


def lags(times: Ints) -> Ints:
    """Return how far each row is behind the newest before it; -1 for the first and newer rows."""
    lag: Ints = np.full(len(times), -1, np.int64)
    if len(times) > 1:
        behind = np.maximum.accumulate(times)[:-1] - times[1:]
        lag[1:] = np.maximum(behind, -1)
    return lag


def _lost(
    definition: Rolling, events: Any, whole: Any, late: np.ndarray[Any, np.dtype[np.bool_]]
) -> tuple[int, int, float | None, float | None]:
    """Return the number of late rows, of other results that change, and the size of changes."""
    count = int(late.sum())
    if count == 0:
        return 0, 0, None, None
    in_time = pa.array(~late)
    part = run(definition, events.filter(in_time))
    if definition.slide is None:
        before, gone = whole.filter(in_time), 0
    else:
        rows, places = _matches(definition, whole, part)
        gone = len(whole) - len(rows)  # results that would not be there at all
        before, part = whole.take(pa.array(rows)), part.take(pa.array(places))
    changed = np.zeros(len(before), np.bool_)
    sizes = []
    for name in definition.columns:
        differs, size = _differences(before[name], part[name])
        changed |= differs
        sizes.append(size)
    each = np.concatenate(sizes) if sizes else np.zeros(0)
    if len(each) == 0:
        return count, gone + int(changed.sum()), None, None
    return count, gone + int(changed.sum()), float(np.median(each)), float(each.max())


def _matches(definition: Rolling, whole: Any, part: Any) -> tuple[Ints, Ints]:
    """Return the results of two runs that are about the same key and end."""
    names = [*definition.by, "window_end"]
    both = pa.concat_tables([whole.select(names), part.select(names)])
    codes, _ = group_numbers(both, names)
    assert codes is not None
    ours, theirs = codes[: len(whole)], codes[len(whole) :]
    _, rows, places = np.intersect1d(ours, theirs, return_indices=True)
    return rows, places


def _differences(
    before: Any, after: Any
) -> tuple[np.ndarray[Any, np.dtype[np.bool_]], np.ndarray[Any, np.dtype[np.float64]]]:
    """Return which values differ, and for numbers by how much, relative to the value before."""
    before, after = _one(before), _one(after)
    kind = before.type
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not numbers:
        if pa.types.is_nested(kind):
            pairs = zip(before.to_pylist(), after.to_pylist(), strict=True)
            return np.array([one != other for one, other in pairs], np.bool_), np.zeros(0)
        equal = pc.fill_null(pc.equal(before, after), False)
        neither = pc.and_(before.is_null(), after.is_null())
        return ~pc.or_(equal, neither).to_numpy(zero_copy_only=False), np.zeros(0)
    null = before.is_null().to_numpy(zero_copy_only=False)
    lost = after.is_null().to_numpy(zero_copy_only=False)
    old, new = _floats(before), _floats(after)
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.abs(new - old) / np.abs(old)
        # The last digits of a float sum depend on the other rows of its block.
        near = size <= (1e-9 if pa.types.is_floating(kind) else 0.0)
    equal = (null & lost) | (
        ~null & ~lost & ((old == new) | near | (np.isnan(old) & np.isnan(new)))
    )
    sizes = size[~equal & ~null & ~lost & np.isfinite(size)]
    return ~equal, sizes


def _floats(values: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    cast = values.cast(pa.float64(), safe=False)
    return np.asarray(cast.fill_null(0.0).to_numpy(zero_copy_only=False), np.float64)


def _one(values: Any) -> Any:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _choices(clock: Clock, largest: int) -> list[Any]:
    """Return up to twenty round numbers or durations, from 0 to one that loses no row."""
    if clock.unit is None:
        steps = [a * 10**b for b in range(19) for a in _ROUND]
    else:
        finer = [a * 10**b for b in range(9) for a in _ROUND]
        steps = [*finer, *(n * _SECOND for n in _SECONDS), *(n * _DAY for n in _DAYS)]
        steps = [each // clock.unit for each in steps if each % clock.unit == 0]
    enough = next((i for i, each in enumerate(steps) if each > largest), len(steps) - 1)
    steps = [0, *steps[: enough + 1]] if largest >= 0 else [0]
    if len(steps) > MOST:  # those of little lags say least
        steps = [0, *steps[len(steps) - MOST + 1 :]]
    if clock.unit is None:
        return steps
    unit = clock.unit
    return [_duration(each * unit) for each in steps]


def _duration(nanoseconds: int) -> Any:
    if nanoseconds == 0:
        return 0
    if nanoseconds % 1000:
        return f"{nanoseconds}ns"
    return timedelta(microseconds=nanoseconds // 1000)


def _shown(delay: Any) -> str:
    """Return a lateness as a short text.

    >>> _shown(timedelta(milliseconds=20)), _shown(timedelta(0)), _shown("90s")
    ('20ms', '0s', '90s')
    """
    text = duration_text(delay) if delay else "0s"
    return f"{text[:-5]}ms" if text.endswith("000us") else text
