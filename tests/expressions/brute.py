"""Definitions as plain values, and what they must give: each window folded by itself, in Python."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import slidefold as sf
from slidefold.definition.expressions import Call, Column, Expression, Literal, Node, Result
from tests.expressions.folds import FOLDS, LISTS, ROUNDED, Held
from tests.expressions.oracle import Oracle, Values

SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "k": pa.string(),
        "t": pa.int64(),
        "x": pa.int64(),
        "z": pa.int32(),
        "y": pa.float64(),
        "w": pa.float64(),
        "s": pa.string(),
        "p": pa.bool_(),
        "m": pa.bool_(),
        "km": pa.int64(),
    }
)
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Feature:
    """An operator over a window: its name, what it folds, which rows, and the window."""

    name: str
    columns: tuple[Node, ...] = ()
    window: Any = None  # None if the operator has its own
    where: Node | None = None
    least: int | None = None
    params: tuple[tuple[str, Any], ...] = ()

    def over(self) -> Any:
        """Return the column as slidefold has it."""
        given = [c.name if isinstance(c, Column) else Expression(c) for c in self.columns]
        found: Any = getattr(sf, self.name)(*given, **dict(self.params))
        if self.where is not None:
            found = found.where(Expression(self.where))
        if self.window is None:
            return found
        said = {} if self.least is None else {"min_count": self.least}
        return found.over(self.window, **said)


@dataclass(frozen=True)
class Formula:
    """An expression of the row's columns, of other columns, and of windows of its own (`$0`)."""

    node: Node
    windows: tuple[Feature, ...] = ()

    @property
    def used(self) -> list[Feature]:
        """The windows that the expression names."""
        return [w for i, w in enumerate(self.windows) if f"${i}" in self.node.columns()]

    def expression(self) -> Expression:
        """Return the expression as slidefold has it."""

        def written_out(node: Node) -> Node:
            if isinstance(node, Column) and node.name.startswith("$"):
                return Result(self.windows[int(node.name[1:])].over())
            return node

        return Expression(self.node.replaced(written_out))


@dataclass(frozen=True)
class Defined:
    """A definition."""

    columns: Mapping[str, Feature | Formula]
    by: tuple[str, ...] = ("k",)
    order: tuple[str, ...] = ("id",)
    more: Mapping[str, Any] = field(default_factory=dict)

    def rolling(self) -> sf.Rolling:
        """Return the definition as slidefold has it."""
        made = {
            name: item.over() if isinstance(item, Feature) else item.expression()
            for name, item in self.columns.items()
        }
        return sf.rolling(on="t", by=self.by, order=self.order, columns=made, **self.more)

    def features(self) -> list[Feature]:
        """Return all operators over windows."""
        found: list[Feature] = []
        for item in self.columns.values():
            found += [item] if isinstance(item, Feature) else item.used
        return found


# ---- which rows ----------------------------------------------------------------------------------


def sort_key(value: Any) -> tuple[int, Any]:
    """Order values: nulls first, NaN last."""
    if value is None:
        return (0, 0)
    return (2, 0) if isinstance(value, float) and math.isnan(value) else (1, value)


def groups(rows: Sequence[Row], by: Sequence[str], order: Sequence[str]) -> list[list[int]]:
    """Return the places of the rows of each key, in order."""
    found: dict[Any, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        found[tuple(sort_key(row[name]) for name in by)].append(place)
    return [
        sorted(group, key=lambda i: [sort_key(rows[i][name]) for name in ("t", *order)])
        for group in found.values()
    ]


def inside(x: Any, low: Any, high: Any, closed: str) -> bool:
    """Tell whether a value is between two ends."""
    left, right = closed in ("left", "both"), closed in ("right", "both")
    return bool((low < x or (left and x == low)) and (x < high or (right and x == high)))


def held(window: Any, rows: Sequence[Row], group: list[int], place: int) -> list[int]:
    """Return the rows in the window of the row at a place of its key.

    A row that is `asked` is a question: it is in no window, not even its own.
    """
    kind, now = type(window).__name__, rows[group[place]]
    times = [rows[i]["t"] for i in group]
    t = now["t"]
    if now.get("asked"):
        return _asked(window, rows, group, place)
    if kind == "Rows":
        end = place + (window.closed == "right")
        return group[max(0, end - window.n) : end]
    if kind == "Time":
        low, high = t - window.range - (window.delay or 0), t - (window.delay or 0)
        if window.ahead:
            low, high = t, t + window.range
        return [i for i, u in zip(group, times, strict=True) if inside(u, low, high, window.closed)]
    if kind == "Lifetime":
        return [i for i, u in zip(group, times, strict=True)
                if u < t or (u == t and window.closed == "right")]  # fmt: skip
    if kind == "Session":
        first = place
        while first > 0 and times[first] - times[first - 1] <= window.gap:
            first -= 1
        return [i for i, u in zip(group[first:], times[first:], strict=True) if u <= t]
    if kind == "Delta":
        x = now[window.on]
        return [i for i in group if rows[i]["t"] <= t
                and inside(rows[i][window.on], x - window.range, x, window.closed)]  # fmt: skip
    assert kind == "Punctuated"
    first = place
    while first > 0 and not rows[group[first - 1]][window.column]:
        first -= 1
    last = next((j for j in range(first, len(group)) if rows[group[j]][window.column]), len(group))
    return [i for i in group[first : last + 1] if rows[i]["t"] <= t]


def _asked(window: Any, rows: Sequence[Row], group: list[int], place: int) -> list[int]:
    asking = rows[group[place]]
    t = asking["t"]
    if type(window).__name__ == "Rows":
        late = window.closed == "right"
        before = [i for i in group if rows[i]["t"] < t or (late and rows[i]["t"] == t)]
        return [i for i in before if not rows[i].get("asked")][-window.n :]
    plain = [dict(row, asked=False) for row in rows]
    found = held(window, plain, group, place)
    return [i for i in found if not rows[i].get("asked")]


def result_type(feature: Feature, kinds: Sequence[Any]) -> Any:
    """Return the type of a feature; None for lists."""
    if feature.name in LISTS:
        return None
    if feature.name in ("count", "distinct", "longest_gap", "since_last", "since_first"):
        return pa.int64()
    if feature.name in ("any", "all"):
        return pa.bool_()
    if feature.name == "sum":
        return pa.float64() if pa.types.is_floating(kinds[0]) else pa.int64()
    same = ("min", "max", "first", "last", "nth", "mode", "max_by", "min_by", "concat", "lag")
    return kinds[0] if feature.name in same else pa.float64()


def folded(feature: Feature, rows: Sequence[Row], group: list[int], brute: Brute) -> list[Any]:
    """Return the results of a feature for the rows of a key."""
    inputs = brute.inputs(feature)
    passing = brute.passing(feature)
    params = dict(feature.params)
    keeps = params.get("nulls") == "keep" or not feature.columns
    found: list[Any] = []
    for place in range(len(group)):
        now = rows[group[place]]["t"]
        window = feature.window
        taken = [i for i in held(window, rows, group, place) if passing[i]]
        there = [i for i in taken if all(column[i] is not None for column in inputs)]
        if feature.least is not None and len(there) < feature.least:
            found.append(None)
            continue
        chosen = taken if keeps else there
        pair = len(inputs) > 1
        values = [tuple(c[i] for c in inputs) if pair else inputs[0][i] if inputs else True
                  for i in chosen]  # fmt: skip
        end = now - (getattr(window, "delay", None) or 0)
        if window.ahead:
            end = now + window.range
        own = inputs[0][group[place]] if inputs else None
        times = [rows[i]["t"] for i in chosen]
        found.append(FOLDS[feature.name](Held(values, times, end, own, params)))
    return found


class Brute:
    """Computes the columns of a definition, one window at a time."""

    def __init__(self, defined: Defined, rows: Sequence[Row]) -> None:
        """Take a definition and the rows."""
        self.defined, self.rows = defined, rows
        self.columns = {
            name: Values(kind, [row[name] for row in rows])
            for name, kind in zip(SCHEMA.names, SCHEMA.types, strict=True)
        }
        # The column of a delta window must not decrease, so it comes first.
        walked = [f.window.on for f in defined.features() if type(f.window).__name__ == "Delta"]
        self.groups = groups(rows, defined.by, (*walked[:1], *defined.order))

    def evaluate(self, node: Node, more: Mapping[str, Values]) -> Values:
        """Return an expression of rows, which must have no errors."""
        oracle = Oracle({**self.columns, **more}, len(self.rows))
        found = oracle.output(node)
        if oracle.failed:
            raise OverflowError
        return found

    def inputs(self, feature: Feature) -> list[list[Any]]:
        """Return the values that a feature folds."""
        return [self._input(column).values for column in feature.columns]

    def _input(self, column: Node) -> Values:
        return (
            self.columns[column.name] if isinstance(column, Column) else self.evaluate(column, {})
        )

    def passing(self, feature: Feature) -> list[bool]:
        """Return which rows a feature folds."""
        if feature.where is None:
            return [True] * len(self.rows)
        return [value is True for value in self.evaluate(feature.where, {}).values]

    def feature(self, feature: Feature) -> Values:
        """Return the results of a feature in the order of the rows."""
        if feature.window is None:
            return self._before(feature)
        values: list[Any] = [None] * len(self.rows)
        for group in self.groups:
            for i, value in zip(group, folded(feature, self.rows, group, self), strict=True):
                values[i] = value
        kinds = [self._input(column).kind for column in feature.columns]
        return Values(result_type(feature, kinds), values)

    def _before(self, feature: Feature) -> Values:
        """Return lag, change and ratio_change."""
        own = self._input(feature.columns[0])
        n = dict(feature.params).get("n", 1)
        before: list[Any] = [None] * len(self.rows)
        for group in self.groups:
            for i, place in enumerate(group):
                # A question is no row: the newest event is the one before it.
                closed = "right" if self.rows[place].get("asked") else "left"
                rest = held(sf.rows(n, closed=closed), self.rows, group, i)
                before[place] = own.values[rest[0]] if len(rest) == n else None
        if feature.name == "lag":
            return Values(own.kind, before)
        more = {"$own": own, "$before": Values(own.kind, before)}
        pair = (Column("$own"), Column("$before"))
        node: Node = Call("subtract", pair)
        if feature.name == "ratio_change":
            node = Call("subtract", (Call("divide", pair), Literal(1.0)))
        return self.evaluate(node, more)

    def column(self, name: str) -> Values:
        """Return a column of the definition."""
        item = self.defined.columns[name]
        if isinstance(item, Feature):
            return self.feature(item)
        more = {f"${i}": self.feature(window) for i, window in enumerate(item.windows)}
        for other in item.node.columns():
            if other in self.defined.columns:
                more[other] = self.column(other)
        return self.evaluate(item.node, more)


def rounded(defined: Defined, name: str) -> bool:
    """Tell whether a column is compared within a tolerance."""
    item = defined.columns[name]
    if isinstance(item, Feature):
        return item.name in ROUNDED
    if any(window.name in ROUNDED for window in item.windows):
        return True
    return any(rounded(defined, one) for one in item.node.columns() if one in defined.columns)


def near(a: Any, b: Any) -> bool:
    """Compare floats within 1e-9; NaN is itself, and -0.0 is 0.0."""
    if isinstance(a, float) and isinstance(b, float):
        if math.isfinite(a) and math.isfinite(b):
            return abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b))
        return (a != a and b != b) or a == b
    return exact(a, b)


def exact(a: Any, b: Any) -> bool:
    """Compare values with their types; NaN is itself, and -0.0 is 0.0."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(exact, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(exact(a[name], b[name]) for name in a)
    return type(a) is type(b) and bool(a == b or (a != a and b != b))


def assert_columns(defined: Defined, rows: Sequence[Row], found: Any, what: str = "") -> None:
    """Compare a table of results, whose rows have the order of `rows`, with brute force."""
    brute = Brute(defined, rows)
    for name in defined.columns:
        due = brute.column(name)
        column = found[name]
        if due.kind is not None:
            assert column.type == due.kind, f"{what} {name}: {column.type} and not {due.kind}"
        alike = near if rounded(defined, name) else exact
        for row, (a, b) in enumerate(zip(column.to_pylist(), due.values, strict=True)):
            assert alike(a, b), f"{what} {name} at row {row}: {a!r} and not {b!r}\n{defined}"
