"""Random formulas of windows, each written twice: for slidefold, and as SQL over windows."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import slidefold as sf

MINUTE = 60_000_000
# (length in minutes, closed): each is a frame of SQL over times in microseconds.
WINDOWS = [(length, closed) for length in (3, 20, 90) for closed in ("right", "left", "both")]
KEYS = ("k",)


@dataclass(frozen=True)
class Both:
    """An expression and its SQL."""

    made: Any
    sql: str


def rows(seed: int, count: int) -> Any:
    """Return rows in order of arrival: ties, nulls, NaN, late by up to ten minutes."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 240, count)) * MINUTE
    late = rng.integers(0, 10 * MINUTE, count) * (rng.random(count) < 0.2)

    def column(values: Any, kind: Any, nulls: float = 0.1) -> Any:
        return pa.array(values, kind, mask=rng.random(count) < nulls)

    y = rng.integers(-8, 9, count) / 4
    return pa.table(
        {
            "id": np.arange(count),
            "ts": pa.array(times - late, pa.timestamp("us", "UTC")),
            "k": column(rng.integers(0, 3, count), pa.int64(), 0.05),
            "x": column(rng.integers(-5, 6, count), pa.int64()),
            "y": column(y, pa.float64()),
            "v": column(np.where(rng.random(count) < 0.05, np.nan, y), pa.float64()),
            "s": column(rng.choice(["a", "b", "c"], count), pa.string()),
            "p": column(rng.random(count) < 0.4, pa.bool_()),
        }
    )


class Formulas:
    """Draws formulas whose numbers stay small; nothing that may be NaN is compared."""

    def __init__(self, rng: random.Random) -> None:
        """Draw from a generator of random numbers."""
        self.rng = rng

    def result(self, depth: int = 3) -> Both:
        """Return a formula over results."""
        kind = self.rng.choice(["whole", "real", "truth", "any"])
        if kind == "any":
            return self.quotient(depth)
        return getattr(self, kind)(depth, True)  # type: ignore[no-any-return]

    def quotient(self, depth: int) -> Both:
        """Return floats that may be NaN or infinite."""
        a, b = self.real(depth - 1, True), self.number(depth - 1, True)
        if self.rng.random() < 0.3:
            held = self.window("mean", "v", "avg")
            return Both(a.made - held.made, f"({a.sql} - {held.sql})")
        return Both(a.made / b.made, f"(({a.sql})::DOUBLE / ({b.sql})::DOUBLE)")

    def number(self, depth: int, over: bool) -> Both:
        """Return whole numbers or floats."""
        return self.whole(depth, over) if self.rng.random() < 0.5 else self.real(depth, over)

    def whole(self, depth: int, over: bool) -> Both:
        """Return whole numbers: of a row, or of results too if `over`."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.2:
            if over and rng.random() < 0.7:
                name, function = rng.choice([("max", "max"), ("min", "min"), ("count", "count")])
                return self.window(name, "x", function)
            return Both(sf.col("x"), "x")
        a, b = self.whole(depth - 1, over), self.whole(depth - 1, over)
        way = rng.choice(["add", "subtract", "multiply", "floor", "rest", "abs", "fill", "negate"])
        if way == "add":
            return Both(a.made + b.made, f"({a.sql} + {b.sql})")
        if way == "subtract":
            return Both(a.made - b.made, f"({a.sql} - {b.sql})")
        if way == "multiply":
            factor = rng.choice([2, -3])
            return Both(a.made * factor, f"({a.sql} * {factor})")
        floored = f"CAST(floor(({a.sql})::DOUBLE / nullif({b.sql}, 0)::DOUBLE) AS BIGINT)"
        if way == "floor":
            return Both(a.made // b.made, floored)
        if way == "rest":
            return Both(a.made % b.made, f"({a.sql} - {b.sql} * {floored})")
        if way == "abs":
            return Both(a.made.abs() if hasattr(a.made, "abs") else abs(a.made), f"abs({a.sql})")
        if way == "fill":
            return Both((a.made + 0).fill_null(b.made), f"coalesce({a.sql}, {b.sql})")
        return Both(-a.made, f"(-({a.sql}))")

    def real(self, depth: int, over: bool) -> Both:
        """Return floats without NaN."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.2:
            if over and rng.random() < 0.7:
                name, function = rng.choice([("sum", "sum"), ("max", "max"), ("mean", "avg")])
                return self.window(name, "y", function)
            return Both(sf.col("y"), "y")
        a, b = self.real(depth - 1, over), self.number(depth - 1, over)
        if rng.random() < 0.5:
            return Both(a.made - b.made, f"({a.sql} - {b.sql})")
        if rng.random() < 0.5:
            return Both((a.made + 0).fill_null(0.5), f"coalesce({a.sql}, 0.5::DOUBLE)")
        return Both(a.made * 0.25 + b.made, f"({a.sql} * 0.25::DOUBLE + {b.sql})")

    def truth(self, depth: int, over: bool) -> Both:
        """Return a condition."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.1:
            return rng.choice(
                [
                    Both(sf.col("p"), "p"),
                    Both(sf.col("s") == "b", "(s = 'b')"),
                    Both(sf.col("s").is_in(["a", "c"]), "(s IN ('a', 'c'))"),
                    Both(sf.col("x").is_null(), "(x IS NULL)"),
                ]
            )
        if rng.random() < 0.5:
            a, b = self.whole(depth - 1, over), self.whole(depth - 1, over)
            left = a.made + 0  # else `==` compares two definitions
            ways = {"<": left < b.made, "<=": left <= b.made, "=": left == b.made}
            ways["<>"] = left != b.made
            way = rng.choice(list(ways))
            return Both(ways[way], f"({a.sql} {way} {b.sql})")
        one, other = self.truth(depth - 1, over), self.truth(depth - 1, over)
        way = rng.choice(["&", "|", "~"])
        if way == "&":
            return Both(one.made & other.made, f"({one.sql} AND {other.sql})")
        if way == "|":
            return Both(one.made | other.made, f"({one.sql} OR {other.sql})")
        return Both(~one.made, f"(NOT {one.sql})")

    def window(self, name: str, column: str, function: str) -> Both:
        """Return an operator over a window, sometimes of an expression, or with a condition."""
        rng = self.rng
        place = rng.randrange(len(WINDOWS))
        length, closed = WINDOWS[place]
        folded = Both(column, column)
        if column != "v" and rng.random() < 0.3:
            folded = self.whole(1, False) if column == "x" else self.real(1, False)
        operator = getattr(sf, name)(folded.made)
        passing = ""
        if rng.random() < 0.4:
            condition = self.truth(1, False)
            operator = operator.where(condition.made)
            passing = f" FILTER (WHERE {condition.sql})"
        over = operator.over(sf.time(f"{length}m", closed=closed))
        return Both(over, f"({function}({folded.sql}){passing} OVER w{place})")


@sf.operator(state={"sum": "i8"}, returns="i8", compile="never", commutative=True)
class Rests(sf.Fold):
    """An operator of integers: numbers and times reach it in their own types, not as floats."""

    identity = staticmethod(lambda: (0,))
    lift = staticmethod(lambda x: (x % 97,))
    combine = staticmethod(lambda a, b: (a.sum + b.sum,))
    lower = staticmethod(lambda s: s.sum)


def own_operator() -> dict[str, Both]:
    """Return columns of an operator of one's own over integers and over times."""
    rests: Any = Rests
    place = WINDOWS.index((20, "right"))
    return {
        name: Both(
            rests(column).over("20m"),
            f"(sum(((({sql}) % 97) + 97) % 97) OVER w{place})",
        )
        for name, column, sql in (("rest", "x", "x"), ("ticks", "ts", "us"))
    }


def definition_of(seed: int, columns: int, by: tuple[str, ...] = KEYS) -> tuple[sf.Rolling, Any]:
    """Return a definition, and the same columns in SQL."""
    formulas = Formulas(random.Random(seed))
    drawn = {f"c{i}": formulas.result() for i in range(columns)} | own_operator()
    made = {name: both.made for name, both in drawn.items()}
    return sf.rolling(on="ts", by=by, columns=made), {n: both.sql for n, both in drawn.items()}


def in_duckdb(table: Any, columns: dict[str, str], by: tuple[str, ...] = KEYS) -> Any:
    """Return the columns of SQL in order of id."""
    keys = f"PARTITION BY {', '.join(by)} " if by else ""
    frames = []
    for place, (length, closed) in enumerate(WINDOWS):
        start = length * MINUTE - (closed == "right")
        end = "1 PRECEDING" if closed == "left" else "CURRENT ROW"
        frames.append(f"w{place} AS ({keys}ORDER BY us RANGE BETWEEN {start} PRECEDING AND {end})")
    picked = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
    with duckdb.connect() as connection:
        connection.sql("SET ieee_floating_point_ops = true")
        connection.register("given", table.append_column("us", table["ts"].cast(pa.int64())))
        query = f"SELECT id, {picked} FROM given WINDOW {', '.join(frames)} ORDER BY id"
        return pa.table(connection.sql(query).to_arrow_table())


def assert_equal(found: Any, expected: Any, names: Any, what: str) -> None:
    """Compare columns in order of id; floats to 1e-9."""
    found = found.sort_by("id")
    assert found["id"].to_pylist() == expected["id"].to_pylist(), what
    for name in names:
        pairs = zip(found[name].to_pylist(), expected[name].to_pylist(), strict=True)
        for row, (a, b) in enumerate(pairs):
            assert _same(a, b), f"{what} {name} of row {row}: {a!r}, and {b!r} in SQL"


def _same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    a, b = float(a), float(b)
    return bool(a == b or (a != a and b != b) or abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b)))
