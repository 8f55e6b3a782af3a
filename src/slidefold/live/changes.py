"""Find results that differ from the previous result of their key, for `emit="change"`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.grouping import sort_table
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows.ties import sort_keys
from slidefold.errors import DataError
from slidefold.live.equality import same_rows
from slidefold.live.tables import groups_of, objects, with_later


def peer_order(definition: Rolling, rows: Any, carried: list[str]) -> Any:
    """Return the order of rows in which what comes out does not depend on arrival; None if any is.

    It is key by key, in time order; peers are sorted by the definition's order, then by all columns
    that are emitted.
    """
    if definition.order == "input" or definition.slide is not None:
        return None
    names = dict.fromkeys((*definition.ties, *definition.order, *definition.used, *carried))
    table = pa.table({name: _ordered(rows[name]) for name in names})
    found = sort_table(table, definition.on, definition.by, list(names)).order
    return np.arange(len(rows)) if found is None else found


def last_columns(definition: Rolling, results: Any) -> Any:
    """Return the columns of results that are compared: keys and new columns."""
    return results.select([*definition.by, *definition.columns])


def changed_results(definition: Rolling, last: Any, results: Any) -> tuple[Any, Any]:
    """Return the results that differ from the previous one of their key, and the new last ones."""
    table = with_later(last, last_columns(definition, results))
    past = len(last)
    groups = groups_of(table, definition.by)
    order = np.argsort(groups, kind="stable")
    table, groups = table.take(pa.array(order)), groups[order]
    if len(table) == 0:
        return results, last
    fresh = np.append(True, groups[1:] != groups[:-1])
    again = ~fresh
    names = list(definition.columns)
    again[1:] &= same_rows(table.slice(0, len(table) - 1), table.slice(1), names)
    now = table.filter(pa.array(np.append(fresh[1:], True))).combine_chunks()
    changed = np.sort(order[~again & (order >= past)]) - past
    return results.take(pa.array(changed)), now


def _ordered(column: Any) -> Any:
    """Return a column that can be sorted; lists and maps become their repr."""
    try:
        sort_keys("", pa.array([], column.type))
    except DataError:
        return pa.array([None if value is None else repr(value) for value in objects(column)])
    return column
