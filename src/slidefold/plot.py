"""`features.plot(table)`: the values, results, window and late rows of one key, with plotly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidefold.columns.sources import source_of
from slidefold.definition.arguments import rolling
from slidefold.definition.lowering import windows_in
from slidefold.definition.operators import count
from slidefold.definition.operators import max as largest
from slidefold.definition.operators import min as smallest
from slidefold.definition.windows import Given
from slidefold.errors import ColumnError, DataError, DefinitionError, nearest

if TYPE_CHECKING:
    from slidefold.definition.rolling import Rolling

BLUE, GREY, RED = "#3b82f6", "#94a3b8", "#dc2626"


def figure(
    features: Rolling,
    table: Any,
    column: str | None = None,
    *,
    key: Any = None,
    row: int | None = None,
    lateness: Given | None = None,
) -> Any:
    """Return the chart of one column over the rows of one key."""
    try:
        import plotly.graph_objects as go
    except ImportError:
        raise DefinitionError("plot needs plotly: pip install 'slidefold[plot]'") from None
    if features.slide is not None:
        raise DefinitionError("plot draws one result per row: leave out every= in sf.rolling")
    column = _chosen(features, column)
    over = next(windows_in(features.columns[column]))
    data = source_of(table).select(features.required)
    places = _rows_of(features, data, key, row)
    results = features.only(column).run(data)[column].take(places)
    times = data[features.on].take(places)
    picked = len(places) - 1 if row is None else places.to_pylist().index(row)
    bounds = _bounds(features, data, over, places, picked)

    chart = go.Figure()
    numbers = [name for name in over.columns if _is_number(data, name)]
    if numbers:
        x, y = times.to_pylist(), data[numbers[0]].take(places).to_pylist()
        marker = {"color": GREY, "size": 6}
        chart.add_scatter(x=x, y=y, mode="markers", name=numbers[0], marker=marker)
    if pa.types.is_list(results.type) or pa.types.is_struct(results.type):
        raise DataError(f"plot draws numbers and texts, and {column!r} holds {results.type}")
    order = pc.sort_indices(times)
    chart.add_scatter(
        x=times.take(order).to_pylist(),
        y=results.take(order).to_pylist(),
        mode="lines+markers",
        name=column,
        line={"color": BLUE, "shape": "hv"},
    )
    if bounds is not None:
        chart.add_vrect(
            x0=bounds[0], x1=bounds[1], fillcolor=BLUE, opacity=0.15, line={"color": BLUE}
        )
    chart.add_scatter(
        x=[times[picked].as_py()],
        y=[results[picked].as_py()],
        mode="markers",
        name="the row whose window is shown",
        marker={"color": BLUE, "size": 12, "symbol": "diamond"},
    )
    if lateness is not None:
        late = [p for p in _late(features, data, lateness) if p in set(places.to_pylist())]
        values = data[numbers[0]].take(pa.array(late, pa.int64())).to_pylist() if numbers else None
        chart.add_scatter(
            x=data[features.on].take(pa.array(late, pa.int64())).to_pylist(),
            y=values or [0] * len(late),
            mode="markers",
            name=f"late by more than {lateness}",
            marker={"color": RED, "size": 10, "symbol": "x"},
        )
    title = f"{column} = {features.columns[column].text(features.default_closed)}"
    chart.update_layout(title=title, xaxis_title=features.on, template="plotly_white")
    return chart


def _chosen(features: Rolling, column: str | None) -> str:
    """Return the column to draw: the first one, unless another is named."""
    names = list(features.columns)
    if column is not None and column not in names:
        raise ColumnError(f"the definition has no column {column!r}{nearest(column, names)}")
    chosen = names[0] if column is None else column
    if not any(True for _ in windows_in(features.columns[chosen])):
        raise ColumnError(f"{chosen!r} has no window to draw")
    return chosen


def _rows_of(features: Rolling, data: Any, key: Any, row: int | None) -> Any:
    """Return the places of the rows of one key."""
    if len(data) == 0:
        raise DataError("the table has no rows to plot")
    if row is not None and not 0 <= row < len(data):
        raise DataError(f"row must be from 0 to {len(data) - 1}, got {row}")
    if key is None:
        key = tuple(data[name][row or 0].as_py() for name in features.by)
    elif not isinstance(key, tuple):
        key = (key,)
    if len(key) != len(features.by):
        raise DataError(f"expected a key of {len(features.by)} columns, got {key!r}")
    same = np.ones(len(data), bool)
    for name, value in zip(features.by, key, strict=True):
        values = data[name].to_pylist()
        same &= np.array([other == value for other in values], bool)
    if not same.any():
        raise DataError(f"the table has no rows of the key {key!r}")
    if row is not None and not same[row]:
        raise DataError(f"row {row} is not of the key {key!r}")
    return pa.array(np.flatnonzero(same))


def _bounds(features: Rolling, data: Any, over: Any, places: Any, picked: int) -> Any:
    """Return the times of the first and the last row in the window of a row; None if empty."""
    ends = rolling(
        on=features.on,
        by=features.by,
        order=features.order,
        columns={
            "first": smallest(features.on).over(over.window),
            "last": largest(features.on).over(over.window),
        },
    ).run(data.select(features.used))
    place = places[picked].as_py()
    first, last = ends["first"][place].as_py(), ends["last"][place].as_py()
    return None if first is None else (first, last)


def _is_number(data: Any, name: str) -> bool:
    if name not in data.column_names:
        return False
    kind = data.schema.field(name).type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _late(features: Rolling, data: Any, lateness: Given) -> list[int]:
    """Return the places of the rows that a live run drops, if rows arrive one by one."""
    # Only times decide what is late. The columns are left out: some, such as those with ahead=True,
    # have no live run.
    live = rolling(on=features.on, n=count().over(1)).live(lateness=lateness)
    times = data.select([features.on])
    late = []
    for place in range(len(data)):
        before = live.late
        live.feed(times.slice(place, 1))
        if live.late > before:
            late.append(place)
    return late
