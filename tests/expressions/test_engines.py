"""Random definitions with expressions, conditions and formulas: all engines against brute force."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from slidefold.live import Live
from tests.chunks.test_chunks import run_chunked
from tests.expressions.brute import (
    Brute,
    Defined,
    Feature,
    assert_columns,
    exact,
    near,
    rounded,
)
from tests.expressions.definitions import Definitions, random_rows, table_of
from tests.expressions.folds import LISTS
from tests.support.for_each import for_each

ALL = "time rows session lifetime delta mark"
Rows = list[dict[str, Any]]


def drawn(seed: int, kinds: str = ALL, **more: Any) -> tuple[random.Random, Defined, Rows]:
    """Return a definition and rows without overflow."""
    rng = random.Random(seed)
    while True:
        rows = random_rows(rng, rng.choice([0, 1, 12, 30]))
        defined = Definitions(rng, kinds).defined(**more)
        try:
            for name in defined.columns:
                Brute(defined, rows).column(name)
        except OverflowError:
            continue
        return rng, defined, rows


def in_order(rows: Rows) -> Rows:
    return sorted(rows, key=lambda row: row["id"])


def check_table(defined: Defined, rows: Rows, found: Any, what: str) -> None:
    """Compare results that come in any order with brute force."""
    found = found.take(pc.sort_indices(found["id"])) if len(found) else found
    assert found["id"].to_pylist() == [row["id"] for row in in_order(rows)], what
    assert_columns(defined, in_order(rows), found, what)


# ---- whole tables --------------------------------------------------------------------------------


def check_run(seed: int, kinds: str = ALL) -> None:
    rng, defined, rows = drawn(seed, kinds)
    definition = defined.rolling()
    table = table_of(rows)
    found = definition.run(table)
    assert found.column_names == [*table.column_names, *defined.columns]
    check_table(defined, rows, found, "run")
    assert definition.run(table.slice(0, 0)).schema == found.schema
    for name in rng.sample(list(defined.columns), 1):
        alone = definition.only(name).run(table)
        assert exact(alone[name].to_pylist(), found[name].to_pylist())
    cut = table.slice(len(table) // 3)
    two = pa.concat_tables([table.slice(0, len(table) // 3), cut])
    check_table(defined, rows, definition.run(two), "chunks of Arrow")


@given(st.integers(0, 2**32))
def test_run_is_brute_force(seed: int) -> None:
    for more in range(3):
        check_run(seed + more)


@given(st.integers(0, 2**32))
def test_run_with_windows_ahead_is_brute_force(seed: int) -> None:
    check_run(seed, "ahead ahead time rows")


@pytest.mark.exhaustive
@pytest.mark.parametrize("start", range(0, 3000, 500))
def test_many_runs_are_brute_force(start: int) -> None:
    for seed in range(start, start + 500):
        check_run(seed)
        check_run(seed, "ahead ahead time rows")


def check_kinds(seed: int) -> None:
    """A reader, pandas and Polars give what Arrow gives."""
    _, defined, rows = drawn(seed)
    definition = defined.rolling()
    rows.sort(key=lambda row: row["t"])
    table = table_of(rows)
    reader = definition.run(table.to_reader(max_chunksize=7))
    assert isinstance(reader, pa.RecordBatchReader)
    check_table(defined, rows, reader.read_all(), "reader")
    frame = definition.run(pl.from_arrow(table))
    assert isinstance(frame, pl.DataFrame)
    check_near(definition, table, frame.to_arrow())
    if any(row[name] is None for row in rows for name in ("x", "z")):
        return  # pandas has no nulls in integers, which are floats then
    plain = [name for name, item in defined.columns.items() if _is_plain(item)]
    pandas = table.to_pandas()
    check_near(definition.only(*plain), table, pa.table(definition.only(*plain).run(pandas)))


def _is_plain(item: Any) -> bool:
    """Tell whether pandas gives the same: it cannot tell NaN from null."""
    if not isinstance(item, Feature) or item.name in LISTS:
        return False
    if item.window is not None and "m" in item.window.columns:
        return False
    nodes = [*item.columns, *(() if item.where is None else (item.where,))]
    return {name for node in nodes for name in node.columns()} <= {"x", "z", "t"}


def check_near(definition: sf.Rolling, table: Any, found: Any) -> None:
    expected = definition.run(table)
    for name in definition.columns:
        for a, b in zip(found[name].to_pylist(), expected[name].to_pylist(), strict=True):
            none = {x is None or x != x for x in (a, b)} == {True}
            assert none or near(a, b), f"{name}: {a!r} and not {b!r}"


@given(st.integers(0, 2**32))
def test_other_tables_give_the_same(seed: int) -> None:
    check_kinds(seed)


@pytest.mark.exhaustive
def test_other_tables_give_the_same_at_length() -> None:
    for seed in range(600):
        check_kinds(seed)


def check_chunks(seed: int) -> None:
    """Chunks of time folded apart give what the whole table gives."""
    rng = random.Random(seed)
    while True:
        rows = random_rows(rng, 25)
        drawn = Definitions(rng, "time rows").defined()
        defined = Defined(drawn.columns, by=())
        try:
            for name in defined.columns:
                Brute(defined, rows).column(name)
        except OverflowError:
            continue
        break
    times = sorted({row["t"] for row in rows})
    cuts = sorted(rng.sample(times, min(3, len(times))))
    bins = sorted(rng.sample(times, min(4, len(times))))
    found, _ = run_chunked(defined.rolling(), table_of(rows), cuts, bins, rng)
    check_table(defined, rows, found, f"chunks at {cuts}")


@given(st.integers(0, 2**32))
def test_chunks_of_time_are_brute_force(seed: int) -> None:
    check_chunks(seed)


@pytest.mark.exhaustive
def test_many_chunks_of_time_are_brute_force() -> None:
    for seed in range(1500):
        check_chunks(seed)


# ---- in order of arrival -------------------------------------------------------------------------


def arriving(rng: random.Random, rows: Rows) -> Iterator[Rows]:
    """Yield rows in batches, out of order."""
    rows = sorted(rows, key=lambda row: row["t"] + rng.choice([0, 0, 2, 6]))
    at = 0
    while at < len(rows):
        size = rng.choice([0, 1, 1, 3, 9])
        yield rows[at : at + size]
        at += size


class Arrivals:
    """Feeds batches, saves and restores at random, and keeps the rows that are not late."""

    def __init__(self, rng: random.Random, definition: sf.Rolling, emit: str) -> None:
        """Start a run."""
        self.rng, self.definition, self.lateness = rng, definition, rng.choice([0, 3, 7, 60])
        named: Any = {"id": "id"} if emit == "revise" else {}
        self.live = definition.live(lateness=self.lateness, emit=emit, **named)
        self.known: Rows = []
        self.watermark: int | None = None

    def accept(self, batch: Rows) -> Rows:
        """Return the rows of a batch that are not late."""
        mark = self.watermark
        fresh = [row for row in batch if mark is None or row["t"] > mark]
        if batch:
            newest = max(row["t"] for row in batch) - self.lateness
            self.watermark = newest if mark is None else max(mark, newest)
        self.known += fresh
        return fresh

    def feed(self, batch: Rows) -> tuple[Rows, Any]:
        """Feed a batch; return what was new, and what came out."""
        fresh = self.accept(batch)
        found = self.live.feed(table_of(batch))
        if self.rng.random() < 0.3:
            given = self.definition if self.rng.random() < 0.5 else None
            self.live = Live.from_bytes(self.live.to_bytes(), given)
        return fresh, found

    def push(self, batch: Rows) -> Any:
        """Push the rows of a batch one by one; return the rows that came out."""
        found: Rows = []
        for row in batch:
            self.accept([row])
            found += self.live.push(row) or []
        return found


def check_final(seed: int) -> None:
    rng, defined, rows = drawn(seed)
    run = Arrivals(rng, defined.rolling(), "final")
    found = [run.feed(batch)[1] for batch in arriving(rng, rows)]
    last = run.live.finish()
    if last is not None:
        check_table(defined, run.known, pa.concat_tables([*found, last]), "final")
    assert run.live.late == len(rows) - len(run.known)


def check_revise(seed: int) -> None:
    rng, defined, rows = drawn(seed)
    run = Arrivals(rng, defined.rolling(), "revise")
    newest: dict[int, Any] = {}
    schema = None
    for batch in arriving(rng, rows):
        _, found = run.feed(batch)
        schema = found.schema
        for row in found.to_pylist():
            before = newest.get(row["id"], {"revision": -1})
            assert row["revision"] == before["revision"] + 1
            newest[row["id"]] = row
    if schema is not None:
        last = pa.Table.from_pylist(list(newest.values()), schema)
        check_table(defined, run.known, last, "the last revisions")


def check_arrival(seed: int) -> None:
    rng, defined, rows = drawn(seed)
    run = Arrivals(rng, defined.rolling(), "arrival")
    for batch in arriving(rng, rows):
        fresh, found = run.feed(batch)
        compare_some(defined, run.known, fresh, found.to_pylist(), "arrival")


def compare_some(defined: Defined, known: Rows, asked: Rows, found: Rows, what: str) -> None:
    """Compare the results of some rows, over all rows that are known."""
    brute = Brute(defined, known)
    place = {row["id"]: i for i, row in enumerate(known)}
    results = {row["id"]: row for row in found}
    assert results.keys() == {row["id"] for row in asked}, what
    for name in defined.columns:
        due = brute.column(name).values
        alike = near if rounded(defined, name) else exact
        for row in asked:
            a, b = results[row["id"]][name], due[place[row["id"]]]
            assert alike(a, b), f"{what} {name} of {row}: {a!r} and not {b!r}\n{defined}"


def check_pushed(seed: int) -> None:
    """Events one by one give what tables give, and questions what an event would give."""
    rng, defined, rows = drawn(seed, "time rows session lifetime delta")
    run = Arrivals(rng, defined.rolling(), "final")
    run.live = defined.rolling().live(
        lateness=run.lateness, schema=table_of([]).schema, emit="final"
    )
    found: Rows = []
    for batch in arriving(rng, rows):
        found += run.push(batch)
        if rng.random() < 0.3:
            check_questions(rng, defined, run)
        if rng.random() < 0.2:
            run.live = Live.from_bytes(run.live.to_bytes())
    last = run.live.finish()
    found += [] if last is None else last.to_pylist()
    compare_some(defined, run.known, run.known, found, "pushed")


def check_questions(rng: random.Random, defined: Defined, run: Arrivals) -> None:
    if not run.known:
        return
    newest = max(row["t"] for row in run.known)
    asking = random_rows(rng, 1)[0]
    soonest = newest if run.lateness else newest + 1  # after the watermark
    asking |= {"id": 10**6, "t": soonest + rng.choice([0, 0, 1, 4])}
    walked = max(row["km"] for row in run.known)
    asking["km"] = walked + rng.choice([0, 3])
    for include in (True, False):
        now = [*run.known, asking if include else {**asking, "asked": True}]
        try:
            due = {name: Brute(defined, now).column(name).values[-1] for name in defined.columns}
        except OverflowError:
            continue
        got = run.live.ask(asking, include=include)
        table = run.live.ask(table_of([asking]), include=include)
        for name, value in due.items():
            alike = near if rounded(defined, name) else exact
            what = f"{name} of {asking}, include={include}"
            assert alike(got[name], value), f"{what}: {got[name]!r}, not {value!r}\n{defined}"
            one = table[name].to_pylist()[0]
            assert alike(one, value), f"{what} in a table: {one!r} and not {value!r}"


def check_change(seed: int) -> None:
    rng, defined, rows = drawn(seed)
    run = Arrivals(rng, defined.rolling(), "change")
    found = [run.feed(batch)[1] for batch in arriving(rng, rows)]
    last = run.live.finish()
    if last is None:
        return
    got = sorted(row["id"] for row in pa.concat_tables([*found, last]).to_pylist())
    results = defined.rolling().run(table_of(run.known)).to_pylist()
    expected = []
    for group in Brute(defined, run.known).groups:
        before: dict[str, Any] | None = None
        for i in group:
            now = {name: results[i][name] for name in defined.columns}
            if before is None or not exact(now, before):
                expected.append(results[i]["id"])
            before = now
    assert got == sorted(expected), f"change\n{defined}"


CHECKS = {
    "final": check_final,
    "revise": check_revise,
    "arrival": check_arrival,
    "pushed": check_pushed,
    "change": check_change,
}


@pytest.mark.parametrize("emit", CHECKS)
@given(st.integers(0, 2**32))
def test_arrivals_are_brute_force(emit: str, seed: int) -> None:
    CHECKS[emit](seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("emit", CHECKS)
def test_many_arrivals_are_brute_force(emit: str) -> None:
    for seed in range(1000):
        CHECKS[emit](seed)


# ---- definitions ---------------------------------------------------------------------------------


def check_file(seed: int) -> None:
    """A definition survives a file: the same columns, the same order of peers."""
    rng = random.Random(seed)
    more: dict[str, Any] = {}
    if rng.random() < 0.5:
        more["closed"] = rng.choice(["right", "left", "both", "neither"])
    definition = Definitions(rng, f"{ALL} ahead").defined(**more).rolling()
    saved = json.loads(json.dumps(definition.to_dict()))
    again = sf.Rolling.from_dict(saved)
    assert again == definition
    assert again.to_dict() == definition.to_dict()
    assert again.ties == definition.ties
    assert again.core == definition.core
    assert again.core.columns.keys() == definition.core.columns.keys()


@given(st.integers(0, 2**32))
def test_definitions_survive_files(seed: int) -> None:
    for more in range(5):
        check_file(seed + more)


@pytest.mark.exhaustive
def test_many_definitions_survive_files() -> None:
    for seed in range(5000):
        check_file(seed)


@for_each("closed", [None, "right", "left"])
def test_saved_runs_do_not_depend_on_where_closed_was_said(closed: str | None) -> None:
    said: dict[str, Any] = {} if closed is None else {"closed": closed}
    windows = [sf.time(5, **said), sf.rows(2, **said), sf.lifetime(**said)]
    columns = {f"a{i}": sf.max("x").over(window) - 1 for i, window in enumerate(windows)}
    for definition in (
        sf.rolling(on="t", columns=columns),
        sf.rolling(on="t", columns=columns, closed=closed),
        sf.rolling(on="t", columns=columns, closed="left"),
    ):
        live = definition.live(lateness=2)
        live.feed(table_of(random_rows(random.Random(1), 20)))
        assert Live.from_bytes(live.to_bytes()).to_bytes() == live.to_bytes()
        assert Live.from_bytes(live.to_bytes(), definition).to_bytes() == live.to_bytes()


def test_windows_inside_expressions_are_shared() -> None:
    mean = sf.mean("y").over(sf.time(5))
    definition = sf.rolling(
        on="t",
        mean=mean,
        above=sf.col("y") - mean,
        double=sf.col("mean") * 2,
        other=sf.mean("y").over(sf.time(5, closed="right")) / 2,
    )
    assert list(definition.core.columns) == ["mean"]
