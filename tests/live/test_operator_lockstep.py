"""Every operator of the registry in the engine, with every window and every `emit`.

Rows come late, with ties and nulls, in batches of any size. A batch fails now and then, and is fed
again; the run is saved and restored. After each step the engine checks itself, and what has come
out is what `run` gives over the accepted rows, which the matrix compares with its oracle.
"""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from tests.matrix.cases import CASES, Case
from tests.support.arrivals import WINDOWS
from tests.support.trapped import Trap, Trapped

SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "t": pa.int64(),
        "k": pa.string(),
        "km": pa.int64(),
        "end": pa.bool_(),
        "n": pa.int64(),
        "f": pa.float64(),
        "s": pa.string(),
    }
)
KINDS = (pa.int64(), pa.float64(), pa.bool_(), pa.string())
MORE = {"delay": sf.time(8, delay=3), "many rows": sf.rows(70)}
CHOICES: dict[str, Any] = {
    **{name: WINDOWS[name] for name in ("time", "rows", "session", "delta left", "punctuated")},
    **MORE,
}
EMITS = ("final", "arrival", "revise", "change", "every")


def values(rng: random.Random, kind: Any) -> Any:
    """Return a value of a type, or None."""
    if rng.random() < 0.15:
        return None
    if pa.types.is_boolean(kind):
        return rng.random() < 0.5
    return rng.choice("abcd") if pa.types.is_string(kind) else rng.randrange(1, 9)


def rows_of(rng: random.Random, count: int, schema: Any) -> Any:
    """Return rows in order of arrival; some are late, and some have equal times."""
    rows, now = [], 0
    for i in range(count):
        now += rng.choice([0, 0, 1, 2, 9])
        t = now - rng.choice([0, 0, 0, 2, 5])
        row = {name: values(rng, schema.field(name).type) for name in schema.names}
        rows.append({**row, "id": i, "t": t, "k": rng.choice(["a", "a", "b", None]), "km": 2 * t})
    return pa.Table.from_pylist(rows, schema)


def defined(case: Case, emit: str) -> tuple[sf.Rolling, Any]:
    """Return a definition with the operator over all windows that take it, and the schema."""
    windows = {"time": WINDOWS["time"], "rows": WINDOWS["rows"]} if emit == "every" else CHOICES
    made = case.make(*case.columns)
    columns = {"v": made} if case.own else {name: made.over(w) for name, w in windows.items()}
    if not case.grows and not case.own and emit != "every":
        columns["ever"] = made.over(sf.lifetime())
    columns["trap"] = Trapped("id").over(sf.time(9))
    every: dict[str, Any] = {"every": sf.time(4)} if emit == "every" else {}
    definition = sf.rolling(on="t", by="k", order="id", columns=columns, **every)
    for kind in KINDS:
        schema = SCHEMA.append(pa.field("x", kind))
        try:
            definition.run(schema.empty_table())
        except sf.errors.SlidefoldError:
            continue
        return definition, schema
    raise AssertionError(f"no type for {case}")


def alike(got: Any, expected: Any) -> bool:
    """Compare values; floats up to the order of additions, sketches by whether there is one."""
    if isinstance(got, bytes) and isinstance(expected, bytes):
        return len(got) > 0
    if isinstance(got, float) and isinstance(expected, float):
        near = math.isclose(got, expected, rel_tol=1e-7, abs_tol=1e-7)
        return near or (math.isnan(got) and math.isnan(expected))
    if isinstance(got, list) and isinstance(expected, list):
        return len(got) == len(expected) and all(map(alike, got, expected))
    if isinstance(got, dict) and isinstance(expected, dict):
        return got.keys() == expected.keys() and all(alike(got[n], expected[n]) for n in got)
    return bool(got == expected)


class Judge:
    """Says what has to be out after each step."""

    def __init__(self, definition: sf.Rolling, emit: str) -> None:
        self.definition, self.emit = definition, emit
        self.out: dict[Any, dict[str, Any]] = {}

    def key(self, row: dict[str, Any]) -> Any:
        return (row["k"], row["window_end"]) if self.emit == "every" else row["id"]

    def step(self, accepted: Any, emitted: Any, watermark: Any) -> None:
        """Check what came out of a step, and what has come out in all."""
        fresh = {}
        for row in emitted.to_pylist():
            row.pop("revision", None)
            fresh[self.key(row)] = row
        assert len(fresh) == len(emitted)
        if self.emit != "revise":
            assert not fresh.keys() & self.out.keys()
        run = self.definition.run(accepted).to_pylist()
        when = "window_end" if self.emit == "every" else "t"
        passed = [row for row in run if watermark is not None and row[when] <= watermark]
        before = {**self.out}
        self.out.update(fresh)
        if self.emit in ("final", "every"):
            self.require(self.out, passed)
        elif self.emit == "arrival":
            self.require(fresh, [row for row in run if self.key(row) not in before])
        elif self.emit == "revise":
            self.require(self.out, run)
        else:
            self.changes(passed)

    def require(self, found: dict[Any, dict[str, Any]], expected: list[dict[str, Any]]) -> None:
        assert found.keys() == {self.key(row) for row in expected}
        for row in expected:
            got = found[self.key(row)]
            wrong = {n: (got[n], row[n]) for n in row if not alike(got[n], row[n])}
            assert not wrong, (row["id"], row["t"], row["k"], wrong)

    def changes(self, passed: list[dict[str, Any]]) -> None:
        """Each final row that came out is right; others repeat the result before them."""
        last: dict[Any, Any] = {}
        for row in sorted(passed, key=lambda row: (row["t"], row["id"])):
            result = {name: row[name] for name in self.definition.columns}
            if row["id"] in self.out:
                assert alike(self.out[row["id"]], row)
            else:
                assert alike(last[row["k"]], result)
            last[row["k"]] = result
        assert self.out.keys() <= {row["id"] for row in passed}


@pytest.mark.sampled(24)
@pytest.mark.parametrize("emit", EMITS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_operator(case: Case, emit: str) -> None:
    if emit == "every" and (case.reads_row or case.own):
        pytest.skip("it looks at the row that asks, which an end does not have")
    rng = random.Random(f"{case} {emit}")
    definition, schema = defined(case, emit)
    options: dict[str, Any] = {"emit": "final" if emit == "every" else emit}
    if emit == "revise":
        options["id"] = "id"
    live = definition.live(lateness=6, schema=schema, **options)
    table, judge = rows_of(rng, 140, schema), Judge(definition, emit)
    seen = [schema.empty_table()]
    raised = start = 0
    while start < len(table):
        batch = table.slice(start, rng.choice([1, 2, 7, 30]))
        start += len(batch)
        core = live._engine.native.core  # type: ignore[union-attr]
        before = live.watermark
        Trap.armed = rng.randrange(1, 30)
        try:
            emitted = live.feed(batch)
        except RuntimeError:
            raised += 1
            core.check()
            assert live.watermark == before
            Trap.armed = 0
            emitted = live.feed(batch)
        Trap.armed = 0
        core.check()
        late = [before is not None and t <= before for t in batch["t"].to_pylist()]
        seen.append(batch.filter(pa.array([not each for each in late])))
        judge.step(pa.concat_tables(seen), emitted, live.watermark)
        if rng.random() < 0.3:
            live = sf.Live.from_bytes(live.to_bytes(), definition)
    assert raised
    emitted = live.finish()
    judge.step(pa.concat_tables(seen), emitted, 10**9)
