"""Random definitions and rows; both come from a seed."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa

import slidefold as sf
from slidefold.definition.expressions import Call, Column, Literal, Node
from tests.expressions.brute import SCHEMA, Defined, Feature, Formula
from tests.expressions.folds import LISTS, ROUNDED
from tests.expressions.trees import Trees

CLOSED = ("right", "left", "both", "neither")
GROUPS: dict[str, Any] = {
    "whole": {"x": pa.int64(), "z": pa.int32()},
    "real": {"y": pa.float64(), "w": pa.float64()},
    "text": {"s": pa.string()},
    "truth": {"p": pa.bool_(), "m": pa.bool_()},
}


class Tame(Trees):
    """Random expressions of small numbers, so that sums of exact ones stay exact."""

    exact = False

    def constant(self, group: str) -> Any:
        """Return a constant."""
        rng = self.rng
        if group == "whole":
            return rng.choice([0, 1, -1, 2, 3])
        if group == "real":
            return rng.choice([0.5, -1.0, 2.0, 0.25])
        if group == "text":
            return rng.choice(["", "a", "b", "c"])
        return rng.random() < 0.5

    def _whole(self, group: str, depth: int) -> Node:
        rng = self.rng
        if rng.random() < 0.1:
            return Call("cast", (self.of("truth", depth),), "int64")
        if rng.random() < 0.2:
            inner = self.of("whole", depth)
            if isinstance(inner, Literal):  # a sign belongs to the number
                return inner
            return Call(rng.choice(["negate", "abs"]), (inner,))
        function = rng.choice(["add", "subtract", "multiply", "floor_divide", "modulo"])
        return Call(function, (self.of("whole", depth), self.of("whole", depth)))

    def _real(self, group: str, depth: int) -> Node:
        rng = self.rng
        functions = ["add", "subtract", "multiply"]
        if not self.exact:
            functions += ["divide", "floor_divide", "modulo"]
        parts = [self.of("real", depth), self.of(rng.choice(["real", "whole"]), depth)]
        rng.shuffle(parts)
        return Call(rng.choice(functions), tuple(parts))

    def _text(self, group: str, depth: int) -> Node:
        return Call("cast", (self.of(self.rng.choice(["whole", "truth"]), depth),), "string")


def random_rows(rng: random.Random, count: int, spread: int = 3) -> list[dict[str, Any]]:
    """Return rows in no order, with ties, nulls and keys."""
    missing = rng.choice([0.0, 0.15, 0.5])
    keys: list[str | None] = rng.choice([["a"], ["a", "b", None], ["a", "b", "c", "d"]])

    def or_null(value: Any) -> Any:
        return None if rng.random() < missing else value

    rows = []
    for i in range(count):
        t = rng.randint(-5, max(1, count * spread // 4))
        rows.append(
            {
                "id": i,
                "k": rng.choice(keys),
                "t": t,
                "x": or_null(rng.randint(-4, 4)),
                "z": or_null(rng.randint(-2, 6)),
                "y": or_null(rng.randint(-16, 16) / 4),
                "w": or_null(rng.randint(0, 8) / 2),
                "s": or_null(rng.choice(["a", "b", "a", "", "a text of many bytes"])),
                "p": or_null(rng.random() < 0.5),
                "m": or_null(rng.random() < 0.2),
                "km": 2 * t + rng.randint(0, 1),
            }
        )
    return rows


def table_of(rows: list[dict[str, Any]]) -> Any:
    """Return rows as an Arrow table."""
    return pa.Table.from_pylist(rows, SCHEMA)


def random_window(rng: random.Random, kinds: str = "time rows session lifetime delta mark") -> Any:
    """Return a window of one of some kinds."""
    kind = rng.choice(kinds.split())
    length = rng.choice([1, 2, 3, 5, 9, 20])
    if kind == "rows":
        return sf.rows(rng.choice([1, 2, 3, 7]), closed=rng.choice(["right", "left"]))
    if kind == "session":
        return sf.session(rng.choice([1, 2, 4]))
    if kind == "lifetime":
        return sf.lifetime(closed=rng.choice(["right", "left"]))
    if kind == "delta":
        return sf.delta(length, on="km", closed=rng.choice(["right", "left"]))
    if kind == "mark":
        return sf.punctuated("m")
    if kind == "ahead":
        return sf.time(length, ahead=True, closed=rng.choice(CLOSED))
    delay = rng.choice([None, None, 1, 3, 10])
    return sf.time(length, closed=rng.choice(CLOSED), delay=delay)


GROWING = ("collect", "collect_distinct", "concat", "median", "distinct", "mode", "entropy",
           "most_frequent", "rank")  # fmt: skip
KEEPERS = ("first", "last", "nth", "collect")
# What each operator folds: groups of the types of its columns, and whether they must be exact.
TAKES: dict[str, tuple[tuple[str, ...], ...]] = {
    "count": ((), ("any",)),
    "sum": (("exact",),),
    "mean": (("exact",),),
    "var": (("exact",),),
    "min": (("number",), ("text",)),
    "max": (("number",), ("text",)),
    "first": (("any",),),
    "last": (("any",),),
    "nth": (("any",),),
    "collect": (("any",),),
    "collect_distinct": (("number",), ("text",)),
    "concat": (("text",),),
    "any": (("truth",),),
    "all": (("truth",),),
    "median": (("exact",),),
    "distinct": (("number",), ("text",)),
    "mode": (("number",), ("text",)),
    "entropy": (("number",), ("text",)),
    "most_frequent": (("number",), ("text",)),
    "rank": (("number",), ("text",)),
    "skewness": (("exact",),),
    "kurtosis": (("exact",),),
    "max_by": (("any", "number"), ("any", "text")),
    "min_by": (("any", "number"),),
    "weighted_mean": (("exact", "exact"),),
    "decayed_sum": (("exact", "t"),),
    "decayed_count": (("t",),),
    "longest_gap": ((),),
    "since_last": ((), ("any",)),
    "since_first": ((), ("any",)),
}


class Definitions:
    """Random definitions."""

    def __init__(self, rng: random.Random, kinds: str = "time rows session lifetime delta mark"):
        """Take the kinds of windows."""
        self.rng, self.kinds = rng, kinds

    def expression(self, group: str, depth: int) -> Node:
        """Return what an operator folds: a column, or an expression."""
        rng = self.rng
        trees = Tame(rng, GROUPS)
        if group == "exact":
            trees.exact = True
        some = {"exact": ["whole", "real"], "number": ["whole", "real"],
                "any": ["whole", "real", "text", "truth"]}.get(group, [group])  # fmt: skip
        chosen = rng.choice(some)
        if rng.random() < 0.4:
            return Column(rng.choice(list(GROUPS[chosen])))
        while True:
            node = trees.of(chosen, depth)
            if node.columns():
                return node

    def condition(self) -> Node:
        """Return which rows are folded."""
        if self.rng.random() < 0.2:
            return Column("p")
        return self.expression("truth", 2)

    def feature(self, names: tuple[str, ...] = tuple(TAKES)) -> Feature:
        """Return an operator over a window."""
        rng = self.rng
        if rng.random() < 0.08:
            params = (("n", rng.choice([1, 2, 5])),)
            name = rng.choice(["lag", "change", "ratio_change"])
            group = "any" if name == "lag" else "number"
            return Feature(name, (self.expression(group, 2),), params=params)
        window = random_window(rng, self.kinds)
        name = rng.choice([n for n in names if not (window.forever and n in GROWING)])
        columns = tuple(
            Column("t") if group == "t" else self.expression(group, 2)
            for group in rng.choice(TAKES[name])
        )
        if window.forever and name in KEEPERS:  # texts that outlive their rows are not kept as null
            columns = (Column("x"),)
        where = self.condition() if rng.random() < 0.5 else None
        least = rng.choice([1, 2, 3]) if self._counts(name) and rng.random() < 0.2 else None
        return Feature(name, columns, window, where, least, tuple(self._params(name).items()))

    @staticmethod
    def _counts(name: str) -> bool:
        # What is made of other operators counts what those fold.
        return name not in ("since_last", "since_first", "longest_gap", "decayed_sum",
                            "decayed_count")  # fmt: skip

    def _params(self, name: str) -> dict[str, Any]:
        rng = self.rng
        found: dict[str, Any] = {}
        if name == "nth":
            found["n"] = rng.choice([1, 2, 3])
        if name == "most_frequent":
            found["k"] = rng.choice([1, 2, 3])
        if name == "rank":
            found = {"method": rng.choice(["average", "min", "max"]), "pct": rng.random() < 0.3}
        if name.startswith("decayed"):
            found["half_life"] = rng.choice([1.0, 4.0])
        if name in KEEPERS and rng.random() < 0.3:
            found["nulls"] = "keep"
        return found

    def defined(self, most: int = 5, **more: Any) -> Defined:
        """Return a definition with some operators, and some expressions of them."""
        rng = self.rng
        columns: dict[str, Feature | Formula] = {}
        for i in range(rng.randint(1, most)):
            columns[f"f{i}"] = self.feature()
        for i in range(rng.randint(0, 3)):
            columns[f"e{i}"] = self.formula(columns)
        items = list(columns.items())
        rng.shuffle(items)
        return Defined(dict(items), more=more)

    def formula(self, columns: dict[str, Feature | Formula]) -> Formula:
        """Return an expression of the row, of windows, and of other columns by name."""
        rng = self.rng
        exact = [n for n in TAKES if n not in ROUNDED and n not in LISTS]
        windows = tuple(self.feature(tuple(exact)) for _ in range(rng.randint(0, 2)))
        groups: dict[str, Any] = {name: dict(kinds) for name, kinds in GROUPS.items()}
        named = {f"${i}": window for i, window in enumerate(windows)}
        for name, item in {**named, **columns}.items():
            if not isinstance(item, Feature) or item.name in (*ROUNDED, *LISTS):
                continue
            group = _group(item)
            # Of equal values, 0.0 and -0.0, any may be picked; a division would tell them apart.
            if not (group == "real" and item.name in ("min", "max", "mode")):
                groups[group][name] = None
        trees = Tame(rng, groups)
        found = trees.of(rng.choice(["whole", "real", "truth", "text"]), 3)
        if not found.columns():
            found = Call("add", (Column("x"), Literal(1)))
        return Formula(found, windows)


def _group(feature: Feature) -> str:
    """Return what kind of values a feature gives."""
    if feature.name in ("count", "distinct", "longest_gap", "since_last", "since_first"):
        return "whole"
    if feature.name in ("any", "all"):
        return "truth"
    if feature.name in ("mean", "median", "rank", "ratio_change"):
        return "real"
    from tests.expressions.brute import Brute

    kind = Brute(Defined({}), [])._input(feature.columns[0]).kind
    if pa.types.is_integer(kind):
        return "whole"
    if pa.types.is_floating(kind):
        return "real"
    return "text" if pa.types.is_string(kind) else "truth"
