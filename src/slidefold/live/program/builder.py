"""Collect the inputs, stored columns, parts, windows and outputs of a program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from slidefold.definition.operators import Operator
from slidefold.definition.operators import count as counting
from slidefold.definition.rolling import Leaf, Rolling
from slidefold.definition.windows import Clock, WindowKind
from slidefold.live.program.types import is_plain, is_time

Finish = Callable[[Any], Any]


_MOST_COLUMNS = 16  # of one part


class UnsupportedError(Exception):
    """Raised for an operator over types that the engine keeps no states of."""


@dataclass
class Result:
    """An output: the arguments for the native engine, and how Python completes the column."""

    name: str
    native: dict[str, Any]
    finish: Finish | None = None  # of an Arrow array, or of (values, valid) from Python


@dataclass(frozen=True)
class Join:
    """How several outputs make one column."""

    outputs: int
    join: Callable[[list[Any]], Any]


@dataclass
class Builder:
    """A program in the making."""

    definition: Rolling
    schema: Any
    target: Any  # the schema of results
    clock: Clock
    slices: bool = True  # whether states may take the place of rows, with `every=` in time
    inputs: list[str] = field(default_factory=list)
    columns: list[dict[str, Any]] = field(default_factory=list)
    presences: list[tuple[int, ...]] = field(default_factory=list)
    parts: list[dict[str, Any]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    windows: dict[tuple[WindowKind, bool], dict[str, Any]] = field(default_factory=dict)
    joins: dict[tuple[str, ...], Join] = field(default_factory=dict)
    refolded: set[str] = field(default_factory=set)  # columns that Python folds from rows
    plain: bool = True  # whether native code can give each result as an object; times as integers

    def mark(self) -> tuple[Any, ...]:
        """Return what `back_to` needs to forget what is added from here on."""
        windows = {
            window: {**rule, "parts": list(rule["parts"]), "uses": list(rule["uses"])}
            for window, rule in self.windows.items()
        }
        lists = self.inputs, self.columns, self.presences, self.parts, self.results
        return *(list(items) for items in lists), windows, dict(self.joins), self.plain

    def back_to(self, mark: tuple[Any, ...]) -> None:
        """Forget what was added after a mark."""
        self.inputs, self.columns, self.presences, self.parts, self.results, *others = mark
        self.windows, self.joins, self.plain = others

    def input(self, name: str) -> int:
        """Return the place of an input."""
        if name not in self.inputs:
            self.inputs.append(name)
        return self.inputs.index(name)

    def kind(self, name: str) -> Any:
        """Return the type of a column, of the values if it is encoded."""
        kind = self.schema.field(name).type
        return kind.value_type if pa.types.is_dictionary(kind) else kind

    def stored(self, name: str, reading: str = "raw", **more: Any) -> int:
        """Return the place of what is stored of a column."""
        column = {"input": self.input(name), "reading": reading, **more}
        return place(self.columns, column)

    def presence(self, names: tuple[str, ...]) -> int:
        """Return the bit of rows that have a value in all of these columns; -1 for all rows."""
        if not names:
            return -1
        return place(self.presences, tuple(sorted({self.input(name) for name in names})))

    def part(self, **part: Any) -> int:
        """Return the place of a part."""
        return place(self.parts, {"counts": False, **part})

    def fold(self, operator: Operator, columns: list[int], presence: int, **more: Any) -> int:
        """Return the part of a native operator over stored columns."""
        traits = operator.traits
        if len(columns) > _MOST_COLUMNS:
            raise UnsupportedError
        return self.part(
            kind="fold",
            op=operator,
            columns=columns,
            presence=presence,
            commutative=traits.commutative,
            **more,
        )

    def count(self, presence: int) -> int:
        """Return the part that counts the rows of a presence."""
        return self.part(
            kind="fold",
            op=counting(),
            columns=[],
            presence=presence,
            commutative=True,
            counts=True,
        )

    def window(self, window: WindowKind, all_rows: bool = False) -> dict[str, Any]:
        """Return a window of the program; with `all_rows`, it keeps the rows of a lifetime."""
        all_rows = all_rows and window.forever
        if (window, all_rows) not in self.windows:
            rule = window.engine_rule(self.clock, self.schema)
            if self.definition.slide is not None:
                rule = self.definition.slide.window_rule(window, rule, self.clock)
            if all_rows:
                rule = {"kind": "time", "oldest": 2**63 - 1, "newest": rule["newest"]}
            column = rule.pop("walks", None)
            if column is not None:
                rule["column"] = self.stored(column)
            asks = -1 if rule["kind"] != "delta" else self.input(str(column))
            self.windows[window, all_rows] = {**rule, "parts": [], "uses": [], "asks": asks}
        return self.windows[window, all_rows]

    def use(
        self, leaf: Leaf, part: int, presence: int, source: str, kind: Any, **more: Any
    ) -> None:
        """Add an output of a part over the leaf's window, of an Arrow type."""
        window = self.window(leaf.window, more.pop("all_rows", False))
        if leaf.operator.keeps_nulls and leaf.min_count:  # nulls that are kept do not count
            flag = leaf.operator.flag
            presence = self.presence((*leaf.operator.columns, *(() if flag is None else (flag,))))
        counts = -1
        if presence >= 0:
            counts = place(window["parts"], self.count(presence))
        at = place(window["parts"], part)
        finish = more.pop("finish", None)
        objects, records = more.pop("objects", False), more.pop("records", False)
        native: dict[str, Any] = {
            # Where a result is a column by itself, it has its name.
            "name": leaf.path[0] if len(leaf.path) == 1 else f"\0{len(self.results)}",
            "source": source,
            "part": part,
            "least": leaf.min_count or 0,
            "scale": 1.0,
            "times": 1,
            "shifted": False,
            "ordered": False,
            "latin": False,
            "objects": objects,
            "records": records,
            **more,
        }
        fits = is_plain(kind) or is_time(kind)
        if objects or records or finish is not None or len(leaf.path) > 1 or not fits:
            self.plain = False
        if not (objects or records):
            native["type"] = pa.field("", kind).__arrow_c_schema__()
            native["arrow"] = kind
        window["uses"].append((len(self.results), at, counts))
        self.results.append(Result(native["name"], native, finish))


def place(items: list[Any], item: Any) -> int:
    """Return the place of an item in a list; append it if it is not there."""
    if item not in items:
        items.append(item)
    return items.index(item)
