"""Simulate a stream without Spark: attempts fail, are aborted and retried, while caches survive.

Each seed is one stream of one bucket. Any of three workers, each with its own cache, attempts a
batch until an attempt is committed. An attempt may fail at any write, or finish and be aborted:
then the state is rolled back, but the worker and its cache are not. A retry brings other rows,
which Spark never does. At the end the committed results must equal a run over all accepted rows,
every row once. Each batch must equal the same batch without faults.

    python -m tools.crash.simulation --seeds 10000
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import pyarrow as pa

import slidefold as sf
from slidefold.live.engine import Engine
from slidefold.live.lateness import judge
from slidefold.spark.bucket import Outcome, step
from slidefold.spark.cache import Cache, NoCache
from slidefold.spark.engines import maker_of
from slidefold.spark.log import DictStore, Log

SCHEMA = pa.schema(
    {"t": pa.int64(), "k": pa.string(), "x": pa.int64(), "mark": pa.bool_(), "id": pa.int64()}
)
_END = 10**6
BATCHES = 25
_TEXT = {"text": sf.concat("k").over(sf.time(40)), "sum": sf.sum("x").over(sf.time(90))}

DEFINITIONS = (
    sf.rolling(on="t", by="k", order="id", columns={**_TEXT, "top": sf.max("x").over(sf.time(7))}),
    sf.rolling(on="t", by="k", order="id", columns={**_TEXT, "three": sf.collect("id").over(3)}),
    sf.rolling(on="t", by="k", order="id", all=sf.collect("id").over(sf.session(6))),
    sf.rolling(on="t", by="k", order="id", all=sf.sum("x").over(sf.punctuated("mark"))),
    sf.rolling(on="t", by="k", every=sf.time(10), s=sf.sum("x").over(sf.time(25))),
    sf.rolling(on="t", by="k", every=4, order="id", s=sf.collect("id").over(3)),
    sf.rolling(on="t", by="k", every="window", s=sf.sum("x").over(sf.session(6))),
    # One of each kind of window.
    sf.rolling(
        on="t",
        by="k",
        order="id",
        text=sf.concat("k").over(sf.time(40)),
        earlier=sf.sum("x").over(sf.time(20, delay=9)),
        middle=sf.median("x").over(sf.time(30)),
        three=sf.collect("id").over(3),
        run=sf.max_by("id", "x").over(sf.session(6)),
        marked=sf.sum("x").over(sf.punctuated("mark")),
        walked=sf.sum("x").over(sf.delta(12, on="t")),
        all=sf.sum("x").over("lifetime"),
    ),
    sf.rolling(
        on="t",
        by="k",
        every=sf.time(10),
        fill=True,
        order="id",
        s=sf.sum("x").over(sf.time(7)),
        three=sf.collect("id").over(3),
    ),
)

CASES: tuple[tuple[sf.Rolling, str, tuple[str, ...]], ...] = (
    *((definition, "final", ()) for definition in DEFINITIONS),
    (DEFINITIONS[0], "arrival", ()),
    (DEFINITIONS[0], "revise", ("id",)),
    (DEFINITIONS[1], "revise", ("id",)),
    (DEFINITIONS[4], "revise", ()),
    (DEFINITIONS[0], "change", ()),
    (DEFINITIONS[4], "change", ()),
    *((DEFINITIONS[7], emit, ("id",)) for emit in ("arrival", "change", "revise")),
)


class AttemptError(Exception):
    """Raised where an attempt fails."""


class MemoryStore(DictStore):
    """The states of a bucket; fails when `writes_left` is used up."""

    def __init__(self) -> None:
        super().__init__()
        self.writes_left: int | None = None

    def copy(self) -> MemoryStore:
        """Return a copy that can be discarded."""
        store = MemoryStore()
        store.head, store.entries, store.marks = self.head, dict(self.entries), dict(self.marks)
        return store

    def _write(self) -> None:
        if self.writes_left is not None:
            self.writes_left -= 1
            if self.writes_left < 0:
                raise AttemptError

    def write_head(self, head: tuple[Any, ...]) -> None:
        self._write()
        super().write_head(head)

    def write_entry(self, version: int, data: bytes) -> None:
        self._write()
        super().write_entry(version, data)

    def write_mark(self, version: int, mark: tuple[Any, ...]) -> None:
        self._write()
        super().write_mark(version, mark)

    def drop(self, version: int) -> None:
        self._write()
        super().drop(version)


@dataclass
class Report:
    """The outcome of one seed, or of many."""

    seeds: int = 0
    wrong: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, other: Report) -> None:
        """Add the outcome of other seeds."""
        self.seeds += other.seeds
        self.wrong += other.wrong
        self.counts += other.counts


def simulate(seed: int, batches: int = BATCHES) -> Report:
    """Run one stream, and compare its results with a run over the accepted rows."""
    random = Random(seed)
    definition, emit, id = CASES[seed % len(CASES)]
    maker = maker_of(definition, SCHEMA, emit, id, slack=random.choice((5, 40, 10_000)))
    undisturbed = Engine(definition, SCHEMA, emit, id)
    entry_bytes = random.choice((200, 1 << 20))
    budget = random.choice((0, 2_000, 1 << 20, 1 << 20))
    caches = [Cache(budget) if budget else NoCache() for _ in range(3)]
    store, watermark, ids = MemoryStore(), None, 0
    accepted, emitted, report = [], [], Report(1)
    late = taken = 0
    wake: int | None = None
    for number in range(batches + 1):
        while True:
            ends = number == batches
            rows = None
            if not ends and random.random() < 0.8:
                rows = _rows(random, watermark, ids)
                ids += rows.num_rows
            # In Spark the watermark of a batch is the same in all attempts; here it may differ.
            moved = _END if ends else _moved(random, watermark)
            attempt = store.copy()
            if random.random() < 0.15:
                attempt.writes_left = random.randrange(6)
            cache = random.choice(caches)
            try:
                log = Log(attempt, SCHEMA, "same", entry_bytes)
                outcome = step(log, maker, cache, ("q", 0), rows, moved)
                log.save()
            except AttemptError:
                report.counts["failed"] += 1
                continue
            if random.random() < 0.25:
                report.counts["aborted"] += 1
                continue
            break
        store, watermark = attempt, moved
        good, bad = judge(SCHEMA.empty_table() if rows is None else rows, "t", moved)
        if _lines(outcome.due) != _lines(undisturbed.take(good, moved)):
            report.wrong.append(f"seed {seed}: batch {number} differs from a run without faults")
        _count(report, outcome)
        emitted.append(outcome.due)
        asleep = wake is None or moved is None or moved < wake
        if rows is None and asleep and outcome.due.num_rows:
            report.wrong.append(f"seed {seed}: results were ready before the timer")
        wake = outcome.wake
        if rows is not None:
            accepted.append(good)
            late += bad.num_rows
            taken += rows.num_rows
            if outcome.late.num_rows != bad.num_rows:
                report.wrong.append(f"seed {seed}: late rows are lost")
    history = pa.concat_tables([SCHEMA.empty_table(), *accepted])
    if history.num_rows + late != taken:
        report.wrong.append(f"seed {seed}: rows are neither accepted nor late")
    results = _lines(pa.concat_tables(emitted))
    expected = _lines(definition.run(history)) if emit == "final" else results
    if results != expected:
        lost, more = expected - results, results - expected
        report.wrong.append(f"seed {seed}: {lost.total()} rows lost, {more.total()} too many")
    report.counts["rows"] += results.total()
    return report


def _lines(table: Any) -> Counter[str]:
    return Counter(map(str, table.to_pylist()))


def _rows(random: Random, watermark: int | None, first: int) -> Any:
    now = 0 if watermark is None else watermark
    count = random.choice((0, 1, 3, 8, 20))
    return pa.table(
        {
            "t": [
                None if random.random() < 0.02 else now + random.randint(-6, 30)
                for _ in range(count)
            ],
            "k": [random.choice("ab") for _ in range(count)],
            "x": [random.randint(-99, 99) for _ in range(count)],
            "mark": [random.random() < 0.2 for _ in range(count)],
            "id": list(range(first, first + count)),
        },
        SCHEMA,
    )


def _moved(random: Random, watermark: int | None) -> int | None:
    if watermark is None:
        return None if random.random() < 0.5 else random.randint(-20, 5)
    return watermark + random.choice((0, 0, 1, 5, 20))


def _count(report: Report, outcome: Outcome) -> None:
    for name in ("hits", "catch_ups", "rebuilds", "compactions"):
        report.counts[name] += getattr(outcome.counts, name)


def run(first: int, seeds: int) -> Report:
    """Simulate some seeds."""
    report = Report()
    for seed in range(first, first + seeds):
        report.add(simulate(seed))
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate many seeds; return 1 if one gives a wrong row."""
    parser = argparse.ArgumentParser(prog="python -m tools.crash.simulation")
    parser.add_argument("--seeds", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args(arguments)
    share = 100
    starts = range(chosen.first, chosen.first + chosen.seeds, share)
    total = Report()
    with ProcessPoolExecutor(chosen.workers) as pool:
        for report in pool.map(partial(run, seeds=share), starts):
            total.add(report)
            if total.seeds % 1000 == 0:
                print(f"simulation: {total.seeds:,} seeds, {len(total.wrong)} wrong", flush=True)
    counts = ", ".join(f"{name} {count:,}" for name, count in sorted(total.counts.items()))
    print(f"simulation: {total.seeds:,} seeds, {len(total.wrong)} wrong; {counts}")
    for line in total.wrong[:10]:
        print(line)
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
