"""Chunks of time folded apart, in process: what Spark does without a key, without Spark."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.columns.chunked import fold_chunk, modes, summarize, wants_order
from slidefold.columns.expressions import core_schema
from slidefold.columns.layout import Layout, needs_middles, total_counts
from slidefold.definition.operators import Operator
from slidefold.definition.windows import counted
from tests.support.exact import hard_columns, moments_of

SEEDS = int(os.environ.get("CHUNK_SEEDS", "8"))  # more look further
CLOSED = ("right", "left", "both", "neither")


def run_chunked(
    definition: Any, table: pa.Table, cuts: list[int], bins: list[int], rng: random.Random
) -> tuple[pa.Table, int]:
    """Return the results and how many rows were sent: scattered, summarized, sent, folded."""
    clock, times = counted(definition.on, table[definition.on].combine_chunks())
    layout = Layout(
        definition,
        core_schema(definition, table.schema),
        clock,
        tuple(sorted(set(cuts))),
        int(times.max()),
        modes(definition, table.schema),
        tuple(sorted(set(bins) | set(cuts))),
    )
    edges = layout.edges
    scattered = np.array([rng.randrange(3) for _ in range(len(table))])
    if wants_order(definition, layout.mode):
        scattered = np.searchsorted(np.array(edges, np.int64), times, "right") % 3
    summaries = [
        summarize(definition, table.filter(pa.array(scattered == i)), edges, layout.cutting)
        for i in range(3)
    ]
    layout = replace(layout, counts=total_counts(summaries, len(edges) + 1))
    middles = layout.middles(summaries) if needs_middles(layout) else [{}] * layout.chunks
    segment = np.searchsorted(np.array(edges, np.int64), times, "right")
    goes = layout.targets()
    sent: list[list[int]] = [[] for _ in range(layout.chunks)]
    for row, where in enumerate(segment):
        for chunk in goes[where]:
            sent[chunk].append(row)
    found = []
    for chunk, rows in enumerate(sent):
        if not rows:
            continue
        rng.shuffle(rows)
        spans = {path: each[chunk] for path, each in layout.spans.items()}
        part = fold_chunk(definition, table.take(rows), spans, middles[chunk])
        assert len(part) == layout.own_counts()[chunk]
        found.append(part)
    return pa.concat_tables(found, promote_options="permissive"), sum(map(len, sent))


def random_rows(rng: random.Random) -> pa.Table:
    rows = rng.randint(1, 80)
    kind = rng.choice(["spread", "dense", "bursty"])
    if kind == "spread":
        times = [rng.randint(-100, 100) for _ in range(rows)]
    elif kind == "dense":
        times = [rng.randint(0, 8) for _ in range(rows)]
    else:
        times = [rng.randint(0, 3) if rng.random() < 0.8 else rng.randint(0, 500)] * 3
        times = [rng.choice([*times, rng.randint(0, 500)]) for _ in range(rows)]
    missing = [rng.random() < 0.2 for _ in range(rows)]
    return pa.table(
        {
            "id": pa.array(range(rows)),
            "t": pa.array(times, pa.int64()),
            "x": pa.array(
                [rng.randint(-9, 9) for _ in range(rows)], pa.int64(), mask=np.array(missing)
            ),
            "y": pa.array([rng.randint(-40, 40) / 4 for _ in range(rows)]),
            "s": pa.array([chr(0x4E00 + i) for i in range(rows)]),
            "b": pa.array([rng.choice([True, False, None]) for _ in range(rows)]),
            # Far from zero, where means of floats have lost what the trend is made of.
            "when": pa.array([10**15 + time for time in times], pa.timestamp("us")),
            "same": pa.array([0.1 if i < 40 else 0.3 for i in range(rows)]),
        }
    )


def random_window(rng: random.Random) -> Any:
    if rng.random() < 0.3:
        return sf.rows(rng.choice([1, 2, 5, 40, 1000]), closed=rng.choice(["right", "left"]))
    length = rng.choice([1, 2, 3, rng.randint(1, 40), 200, 900, 2**62])
    return sf.time(length, closed=rng.choice(CLOSED))


@sf.operator(state={"n": "i8", "sum": "f8"}, returns="f8", compile="never", commutative=True)
class Mean(sf.Fold):
    identity = staticmethod(lambda: (0, 0.0))
    lift = staticmethod(lambda x: (1, x))
    combine = staticmethod(lambda a, b: (a.n + b.n, a.sum + b.sum))
    lower = staticmethod(lambda s: s.sum / s.n if s.n else 0.0)


@sf.operator(
    state={"first": "f8", "last": "f8", "up": "f8", "some": "b1"},
    returns={"up": "f8", "net": "f8"},
    inputs=("f8", "i8"),
    compile="require",
)
class Climb(sf.Fold):
    """How far it goes up, step by step; it does not commute, and has no identity."""

    lift = staticmethod(lambda x, w: (x + w, x + w, 0.0, w > 0))
    combine = staticmethod(
        lambda a, b: (a.first, b.last, a.up + b.up + max(0.0, b.first - a.last), a.some or b.some)
    )
    lower = staticmethod(lambda s: (s.up if s.some else -1.0, s.last - s.first))


OPERATORS: list[Operator] = [
    sf.count(),
    sf.count("x"),
    sf.sum("x"),
    sf.sum("y"),
    sf.mean("x"),
    sf.mean("y"),
    sf.geomean("y"),
    sf.var("y"),
    sf.std("x", ddof=0),
    sf.covariance("x", "y"),
    sf.covariance("y", "when"),
    sf.correlation("x", "y"),
    sf.trend("y", "t"),
    sf.trend("x", "when"),
    sf.correlation("y", "same"),
    sf.min("x"),
    sf.max("s"),
    sf.max("y"),
    sf.range("x"),
    sf.m4("y"),
    sf.top_k("y", 3),
    sf.max_by("s", "x"),
    sf.min_by("s", "y"),
    sf.max_count("x"),
    sf.min_count("y"),
    sf.first("s"),
    sf.first("x", nulls="keep"),
    sf.last("x"),
    sf.nth("s", 3),
    sf.nth("x", 2, nulls="keep"),
    sf.any("b"),
    sf.all("b"),
    sf.any("x"),
    sf.bit_and("x"),
    sf.bit_or("x"),
    sf.bit_xor("x"),
    sf.histogram("y", edges=[-5, 0, 5]),
    sf.collect("x", nulls="keep"),
    sf.concat("s"),
    sf.collect_distinct("x"),
    sf.approx_distinct("x"),
    sf.bloom("x", bits=64),
    sf.relative_variation("y"),
    sf.median("y"),
    sf.struct(a=sf.sum("x"), b=sf.max_by("s", "x")),
    sf.sum("y", compensated=True),
    sf.decayed_mean("x", "t", half_life=20),
    sf.decayed_mean("y", "when", half_life=3e-6),
    sf.decayed_mean("y", "when", half_life="3us"),
    sf.decayed_mean("x", "when", half_life=timedelta(microseconds=4)),
    Mean("y"),
    Mean("x"),
    Climb("y", "x"),
    sf.struct(a=Climb("x", "id"), b=sf.count()),
]


def assert_equal(found: pa.Table, definition: Any, table: pa.Table, what: str) -> None:
    """Compare rows as a multiset: those that are equal in all columns used may swap results."""
    due = definition.run(table)
    assert found.column_names == due.column_names
    names = [*definition.used, *definition.columns]
    got, expected = (_rows(part.select(names)) for part in (found, due))
    assert len(got) == len(expected), what
    for a, b in zip(got, expected, strict=True):
        assert all(_near(x, y) for x, y in zip(a, b, strict=True)), f"{what}: {a} and not {b}"


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return sorted(rows, key=lambda row: [_rounded(value) for value in row])


def _rounded(value: Any) -> str:
    return f"{round(value, 6) + 0.0:.6f}" if isinstance(value, float) else repr(value)


def _near(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-9 * max(1.0, abs(b)) or a == b or (a != a and b != b)
    return bool(a == b)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda op: f"{op.name}-{op.columns}")
def test_chunks_give_what_the_whole_gives(operator: Operator) -> None:
    for seed in range(SEEDS):
        rng = random.Random(seed)
        table = random_rows(rng)
        columns = {
            f"r{i}": operator.over(
                random_window(rng), min_count=rng.choice([None, None, 2]) if i else None
            )
            for i in range(rng.choice([1, 1, 2, 3]))
        }
        definition = sf.rolling(on="t", columns=columns)
        times = table["t"].to_pylist()
        cuts = [rng.choice(times) + rng.choice([-1, 0, 1]) for _ in range(rng.randint(0, 6))]
        bins = [rng.choice(times) for _ in range(rng.randint(0, 12))]
        found, _ = run_chunked(definition, table, cuts, bins, rng)
        assert_equal(found, definition, table, f"seed {seed}, cuts {sorted(set(cuts))}")


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda op: f"{op.name}-{op.columns}")
def test_a_row_travels_twice_at_most(operator: Operator) -> None:
    """Once as itself and once as halo, however long the window: states of a fixed size."""
    rng = random.Random(1)
    table = random_rows(rng)
    if "whole" in modes(sf.rolling(on="t", r=operator.over(3)), table.schema).values():
        assert operator.name in GROWING
        return
    table = table.set_column(1, "t", pa.array(range(len(table))))
    cuts = list(range(1, len(table), 8))
    definition = sf.rolling(on="t", r=operator.over(sf.time(len(table) // 2)))
    found, sent = run_chunked(definition, table, cuts, [], rng)
    assert_equal(found, definition, table, operator.name)
    assert sent <= 2 * len(table)


# Their states grow with the window.
GROWING = ("collect", "concat", "median")


@pytest.mark.parametrize("hard", (COLUMNS := hard_columns(900)))
def test_merged_spreads_keep_their_digits(hard: str) -> None:
    """Where a mean rounded to the size of the values has lost what the spread is made of."""
    xs, ys = COLUMNS[hard]
    table = pa.table({"t": np.arange(900), "x": xs, "y": ys})
    one = {name: getattr(sf, name)("x").over(sf.time(700)) for name in ("var", "std")}
    two = {
        name: getattr(sf, name)("x", "y").over(sf.time(700))
        for name in ("covariance", "correlation", "trend")
    }
    definition = sf.rolling(on="t", columns={**one, **two})
    bins = list(range(0, 900, 50))
    found, _ = run_chunked(definition, table, [200, 450, 800], bins, random.Random(hard))
    found = found.sort_by("t")
    for row in (0, 449, 700, 850, 899):
        exact = moments_of(*(c[max(0, row - 699) : row + 1].tolist() for c in (xs, ys)))
        for name in (*one, *two):
            got = found[name][row].as_py()
            assert got is None if row == 0 else exact.right(name, got), (name, row, got)


def test_other_windows_do_not_cut_a_column_into_more_pieces() -> None:
    """Each of 35 lengths adds edges, but a column is summarized between its own."""
    table = pa.table({"t": range(4000), "x": range(4000)})
    lengths = range(300, 3800, 100)
    columns = {
        f"c{n}": (sf.sum, sf.max)[n // 100 % 2]("x").over(sf.time(n + n // 100)) for n in lengths
    }
    definition = sf.rolling(on="t", columns=columns)
    clock, _ = counted("t", table["t"].combine_chunks())
    cuts, mode = tuple(range(250, 4000, 250)), modes(definition, table.schema)
    layout = Layout(definition, table.schema, clock, cuts, 3999, mode)
    assert len(layout.edges) > 400
    summary = summarize(definition, table, layout.edges, layout.cutting)
    assert len(summary.counts) == len(layout.edges) + 1
    assert summary.pieces.keys() == layout.spans.keys()
    assert max(len(pieces.counts) for pieces in summary.pieces.values()) <= 2 * layout.chunks
