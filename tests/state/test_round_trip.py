"""Saved in the middle of a random history, loaded, and then in lockstep with the original."""

from __future__ import annotations

import copy
import pickle
from datetime import datetime
from typing import Any

import numpy as np
import pytest

import slidefold as sf
from slidefold.algorithms import Boundary, DabaLite, Fiba, FlatFat, Pba, Recalc
from tests.support.cases import CASES, Case
from tests.support.for_each import for_each
from tests.support.saving import KEPT, Kept, Walk, shown, stepping


def lockstep(kept: Kept, left: Any, right: Any, walk: Walk, steps: int = 25) -> None:
    """Take the same steps on both sides, and compare every answer."""
    twin = walk.twin()
    for _ in range(steps):
        assert shown(kept.step(left, walk)) == shown(kept.step(right, twin))
        assert len(left) == len(right)
    left.check()
    right.check()
    assert getattr(left, "combines", None) == getattr(right, "combines", None)
    assert left.to_bytes() == right.to_bytes()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kept", KEPT, ids=str)
def test_goes_on_as_the_original(kept: Kept) -> None:
    for steps in (0, 1, 2, 7, 20, 45):
        original, walk = kept.after(steps, seed=steps)
        data = original.to_bytes()
        assert original.to_bytes() == data
        again = type(original).from_bytes(data)
        assert type(again) is type(original)
        assert again.to_bytes() == data
        lockstep(kept, original, again, walk)


@for_each("case", CASES)
def test_every_operator_and_type(case: Case) -> None:
    kept = stepping("daba_lite", case, checked=True)
    original, walk = kept.after(30)
    again = DabaLite.from_bytes(original.to_bytes())
    assert again.operator == original.operator
    lockstep(kept, original, again, walk, 40)


UNCOUNTED = [kept for kept in KEPT if "counted" not in kept.id]  # a copy counts with its original


@pytest.mark.parametrize("kept", UNCOUNTED[::5], ids=str)
def test_pickle_and_copies(kept: Kept) -> None:
    original, walk = kept.after(20)
    copies = [pickle.loads(pickle.dumps(original, protocol)) for protocol in (2, 5)]
    copies += [copy.copy(original), copy.deepcopy(original)]
    for each in copies:
        assert type(each) is type(original)
        lockstep(kept, original.copy(), each, walk.twin(), 10)
    nested = pickle.loads(pickle.dumps({"kept": [original]}))
    assert nested["kept"][0].to_bytes() == original.to_bytes()


@pytest.mark.parametrize("kept", KEPT[::11], ids=str)
def test_saving_changes_nothing(kept: Kept) -> None:
    left, walk = kept.after(0)
    right, twin = kept.after(0)
    for _ in range(30):
        assert shown(kept.step(left, walk)) == shown(kept.step(right, twin))
        right.to_bytes()


def test_positions_of_flat_fat_stay_valid() -> None:
    a = FlatFat(sf.concat(), checked=True)
    places = [a.insert(x) for x in "abcdefgh"]
    a.evict(places[3])
    a.evict()
    b = FlatFat.from_bytes(a.to_bytes())
    for each in (a, b):
        each.update([places[4]], ["E"])
        each.evict(places[5])
        assert each.prefix(places[4]) == "bcE"
        assert each.suffix(places[6]) == "gh"
        assert each.insert("i") == 8
        each.check()
        with pytest.raises(sf.errors.EmptyWindowError):
            each.evict(places[3])
    assert a.to_bytes() == b.to_bytes()


def test_a_large_window() -> None:
    """Many chunks of the queue, hand-overs to the second thread, and a million bytes."""
    values = np.random.default_rng(1).normal(size=60_000)
    a = DabaLite(sf.sum())
    p = Pba(sf.sum(), range=20_000)
    for value in values:
        a.insert(value)
        p.push(value)
    b, q = DabaLite.from_bytes(a.to_bytes()), Pba.from_bytes(p.to_bytes())
    for value in values[:30_000]:
        for each in (a, b):
            each.evict()
            each.insert(value)
        assert p.push(value) == q.push(value)
    assert a.query() == b.query()
    assert a.to_bytes() == b.to_bytes()
    assert p.to_bytes() == q.to_bytes()


def test_a_large_tree() -> None:
    rng = np.random.default_rng(2)
    times = np.arange(50_000) - rng.integers(0, 900, 50_000)
    values = rng.normal(size=50_000)
    a = Fiba(sf.sum())
    a.bulk_insert(times, values)
    b = Fiba.from_bytes(a.to_bytes())
    for at in range(2_000):
        for each in (a, b):
            each.insert(50_000 + at - (at % 3) * 400, values[at])
            each.evict(int(times[at]))
        assert a.query() == b.query()
        assert a.query(at, 30_000 + at) == b.query(at, 30_000 + at)
    b.check()
    assert a.to_bytes() == b.to_bytes()


def test_the_plan_comes_back() -> None:
    w = sf.Window(sf.max("x"), sf.time("90s"), optimize="throughput")
    again = sf.Window.from_bytes(w.to_bytes())
    assert again.plan == w.plan
    assert again.explain() == w.explain()
    late = sf.Window(sf.max("x"), sf.time("90s"), lateness="1m", late="raise")
    twin = sf.Window.from_bytes(late.to_bytes())
    assert twin.plan == late.plan
    for each in (late, twin):
        each.push(datetime(2024, 1, 1), 1.0)
        with pytest.raises(sf.errors.TimeOrderError):
            each.push(datetime(2023, 1, 1), 1.0)


def test_options_of_numpy_type() -> None:
    a = FlatFat(sf.sum(), capacity=np.int64(5))  # type: ignore[arg-type]
    b: Boundary = sf.algorithms.Sba(sf.sum(), range=np.int64(5))  # type: ignore[arg-type]
    w = sf.Window(sf.sum(), sf.rows(np.int64(3)))  # type: ignore[arg-type]
    t = sf.Window(sf.sum(), sf.time(np.float64(2.5)))
    assert FlatFat.from_bytes(a.to_bytes()).capacity == 5
    assert sf.algorithms.Sba.from_bytes(b.to_bytes()).chunk == b.chunk
    assert sf.Window.from_bytes(w.to_bytes()).plan.window == sf.rows(3)
    assert sf.Window.from_bytes(t.to_bytes()).plan.window == sf.time(2.5)
    late = sf.Window(sf.sum(), sf.time(5), lateness=np.int64(3))  # type: ignore[arg-type]
    assert sf.Window.from_bytes(late.to_bytes()).plan.lateness == 3


def test_any_bytes_like_object() -> None:
    a = Recalc(sf.sum())
    a.insert(1.0)
    data = a.to_bytes()
    for form in (bytearray(data), memoryview(data)):
        assert Recalc.from_bytes(form).query() == 1.0  # type: ignore[arg-type]


def test_a_subclass_comes_back_as_itself() -> None:
    class Mine(DabaLite):
        pass

    a = Mine(sf.sum())
    a.insert(2.0)
    assert type(Mine.from_bytes(a.to_bytes())) is Mine
    assert DabaLite.from_bytes(a.to_bytes()).query() == 2.0
