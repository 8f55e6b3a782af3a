"""The log of a bucket and its cache, without Spark: aborted attempts, damage, budgets, labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from slidefold.errors import StateError
from slidefold.spark import bucket
from slidefold.spark.cache import Cache, Cached
from slidefold.spark.engines import maker_of
from slidefold.spark.labels import label, spark_hash
from slidefold.spark.log import Log
from tools.crash.simulation import (
    DEFINITIONS,
    SCHEMA,
    AttemptError,
    MemoryStore,
    run,
    simulate,
)

SEEDS = 36  # two of each case; `make simulate` runs 10,000


def test_aborted_attempts_and_surviving_caches_change_nothing() -> None:
    report = run(0, SEEDS)
    assert report.wrong == []
    # Nothing would have been tested if all of this had not happened.
    for name in ("hits", "catch_ups", "rebuilds", "compactions", "failed", "aborted", "rows"):
        assert report.counts[name] > 0, name


def wrong_with(monkeypatch: pytest.MonkeyPatch, rule: Any) -> bool:
    """Tell whether the simulation finds out that caches are trusted by this rule."""
    monkeypatch.setattr(bucket, "_up_to_date", rule)
    for seed in range(SEEDS):
        try:
            if simulate(seed).wrong:
                return True
        except Exception:  # the engine itself refuses rows that it has emitted already
            return True
    return False


def test_the_simulation_finds_caches_that_are_trusted_by_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def rule(cached: Cached, log: Log) -> bool:
        return log.head.oldest <= cached.version <= log.head.version

    assert wrong_with(monkeypatch, rule)


def test_the_simulation_finds_caches_that_are_trusted_with_a_later_watermark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = bucket._up_to_date
    assert wrong_with(monkeypatch, lambda cached, log: right(replace(cached, emitted=None), log))


def rows(*times: int) -> Any:
    count = len(times)
    made = {
        "t": times,
        "k": ["a"] * count,
        "x": range(count),
        "mark": [False] * count,
        "id": range(count),
    }
    return pa.table({name: list(values) for name, values in made.items()}, SCHEMA)


def opened(store: MemoryStore, entry_bytes: int = 1 << 20) -> Log:
    return Log(store, SCHEMA, "same", entry_bytes)


def filled() -> MemoryStore:
    store = MemoryStore()
    log = opened(store)
    for times in ((1, 2), (3, 9), (4,)):
        log.append(rows(*times), "t", None)
    log.save()
    return store


def test_entries_are_cut_and_leave_whole_when_the_horizon_has_passed_them() -> None:
    store = MemoryStore()
    log = opened(store, entry_bytes=rows(1).nbytes)
    log.append(rows(1, 5, 3), "t", None)
    assert (log.entries, log.head.rows) == (3, 3)
    assert log.evict(0) == 0
    assert log.evict(4) == 1  # the entry of 3 stays: the one of 5 comes before it
    assert (log.entries, log.head.oldest, log.head.horizon) == (2, 2, 4)
    assert set(store.entries) == set(store.marks) == {2, 3}
    assert log.evict(9) == 2
    assert (log.entries, log.head.rows, store.entries) == (0, 0, {})


def test_entries_that_are_long_are_written_small_and_read_as_they_were() -> None:
    store = MemoryStore()
    log = opened(store)
    short, long = rows(1, 2), rows(*range(10, 5010))
    written = [log.append(table, "t", None) for table in (short, long)]
    log.save()
    assert written == [len(store.entries[1]), len(store.entries[2])]
    assert written[1] < long.nbytes / 2
    found = list(opened(store).read(1))
    assert all(each.rows.equals(table) for each, table in zip(found, (short, long), strict=True))


@pytest.mark.parametrize("damage", ["flip", "swap", "lose", "mark", "head"])
def test_damage_is_an_error_and_never_an_answer(damage: str) -> None:
    store = filled()
    if damage == "flip":
        data = bytearray(store.entries[2])
        data[len(data) // 2] ^= 1
        store.entries[2] = bytes(data)
    elif damage == "swap":
        store.entries[1], store.entries[3] = store.entries[3], store.entries[1]
    elif damage == "lose":
        del store.entries[2]
    elif damage == "mark":
        del store.marks[2]
    else:
        assert store.head is not None
        store.head = (*store.head[:1], 2, *store.head[2:])
    with pytest.raises(StateError):
        list(opened(store).read(1))


def test_a_head_that_says_nothing_new_is_not_written() -> None:
    store = filled()
    store.writes_left = 0
    opened(store).save()


def test_a_cache_keeps_to_its_budget_and_forgets_what_was_not_used() -> None:
    class Sized:
        nbytes = 40

    cache = Cache(100)
    for number in range(2):
        cache.put(("q", number), Cached(Sized(), number, "", None))
    taken = cache.take(("q", 0))
    assert taken is not None
    assert (len(cache), cache.nbytes) == (1, 40)
    cache.put(("q", 0), taken)
    cache.put(("q", 2), Cached(Sized(), 2, "", None))
    assert (len(cache), cache.nbytes) == (2, 80)
    assert cache.take(("q", 1)) is None
    assert cache.take(("q", 0)) is taken


def test_a_call_that_fails_leaves_no_engine_behind() -> None:
    store, cache = filled(), Cache()
    maker = maker_of(DEFINITIONS[0], SCHEMA, "final", ())
    bucket.step(opened(store), maker, cache, ("q", 0), None, 2)
    assert len(cache) == 1
    store.writes_left = 0
    with pytest.raises(AttemptError):
        bucket.step(opened(store), maker, cache, ("q", 0), rows(20), 2)
    assert len(cache) == 0


def test_labels_lie_evenly_on_any_number_of_partitions() -> None:
    for partitions in (1, 2, 3, 7, 16, 200):
        lying = [spark_hash(label(i)) % partitions for i in range(4 * partitions)]
        assert all(lying.count(place) == 4 for place in range(partitions))
