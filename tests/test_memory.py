"""Windows that are filled and emptied for ever do not grow, and let go of what has left."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.algorithms import Fiba
from tests.support.algorithms import STEPPING, WINDOWS, fitting, make, takes
from tests.support.cases import BY_ID, SHORT, Case
from tests.support.for_each import for_each
from tests.support.traps import SprungError, Trap
from tests.support.user_operators import made

PAIRS = [
    pytest.param(name, case, id=f"{name}-{case}")
    for case in SHORT
    for name in fitting(case.operator)
]


CHUNK = 4096  # queues take memory in pieces; where a window lies in them changes as it moves


class Thing:
    """Something whose end can be watched."""


@sf.operator
class Latest:
    """The latest thing, with states of its own: selective."""

    lift = staticmethod(lambda thing: thing)
    combine = staticmethod(lambda older, newer: newer)
    lower = staticmethod(lambda thing: None)
    newer_wins = staticmethod(lambda older, newer: True)


@sf.operator
class Bag:
    """All things, in tuples: invertible."""

    lift = staticmethod(lambda thing: (thing,))
    combine = staticmethod(lambda older, newer: older + newer)
    lower = staticmethod(len)
    remove = staticmethod(lambda whole, older: whole[len(older) :])


HOLDERS: dict[str, Any] = {
    "first": sf.first(dtype="object"),
    "last": sf.last(dtype="object"),
    "collect": sf.collect(dtype="object"),
    "user-latest": made(Latest),
    "user-bag": made(Bag),
}
HOLDING = [
    pytest.param(name, operator, id=f"{name}-{which}")
    for which, operator in HOLDERS.items()
    for name in fitting(operator)
]


@for_each("name, case", PAIRS)
def test_filled_and_emptied_for_ever(name: str, case: Case) -> None:
    heavy = case.operator.name in ("concat", "collect") or name == "recalc"
    size = 60 if heavy else 700
    window = make(name, case.operator)
    values = case.stream(size)
    full, empty = [], []
    for _ in range(12):
        for value in values:
            window.insert(value)
        full.append(window.nbytes)
        window.query()
        while len(window):
            window.evict()
        empty.append(window.nbytes)
    assert max(full[3:]) <= max(full[:3]) + CHUNK, full
    assert max(empty[3:]) <= max(empty[:3]) + CHUNK, empty


@for_each("name, case", PAIRS)
def test_slid_for_ever(name: str, case: Case) -> None:
    size = 40
    window = make(name, case.operator)
    values = case.stream(50 * size)
    seen = []
    for at, value in enumerate(values):
        window.insert(value)
        if len(window) > size:
            window.evict()
        if at % 7 == 0:
            window.query()
        if at % size == 0:
            seen.append(window.nbytes)
    assert max(seen[10:]) <= max(seen[:10]) + CHUNK, seen


@pytest.mark.parametrize("closed", ["right", "left"])
@pytest.mark.parametrize("name", WINDOWS)
def test_live_windows_do_not_grow(name: str, closed: str) -> None:
    operator = sf.sum(dtype="int64") if takes(name, sf.sum(dtype="int64")) else sf.max()
    by_row = sf.Window(operator, sf.rows(30, closed=closed), algorithm=name)
    by_time = sf.Window(operator, sf.time(30, closed=closed), algorithm=name)
    seen = []
    for at in range(6000):
        by_row.push(1)
        if at % 10:
            by_time.push(at, 1)
        else:
            by_time.advance(at)
        if at % 100 == 99:
            seen.append(by_row.nbytes + by_time.nbytes)
    assert max(seen[20:]) <= max(seen[:20]) + CHUNK


@pytest.mark.parametrize(("name", "operator"), HOLDING)
def test_evicted_objects_are_released(name: str, operator: Any) -> None:
    window = make(name, operator)
    for size in (1, 2, 3, 10, 100):
        alive: weakref.WeakSet[Thing] = weakref.WeakSet()
        for _ in range(size):
            thing = Thing()
            alive.add(thing)
            window.insert(thing)
        del thing
        window.query()
        while len(window):
            window.evict()
        assert len(alive) == 0, f"{len(alive)} of {size} are held by an empty window"


@pytest.mark.parametrize(("name", "operator"), HOLDING)
def test_a_sliding_window_holds_few_objects(name: str, operator: Any) -> None:
    """What has left may live on in an aggregate for a while, never for long."""
    size = 20
    window = make(name, operator)
    alive: weakref.WeakSet[Thing] = weakref.WeakSet()
    most = 0
    for at in range(50 * size):
        thing = Thing()
        alive.add(thing)
        window.insert(thing)
        del thing
        if len(window) > size:
            window.evict()
        if at % 3 == 0:
            window.query()
        if at > 2 * size:
            most = max(most, len(alive))
    assert most <= 2 * size + 2
    del window
    assert len(alive) == 0


@pytest.mark.parametrize(("name", "operator"), HOLDING)
def test_copies_hold_their_own(name: str, operator: Any) -> None:
    window = make(name, operator, checked=True)
    alive: weakref.WeakSet[Thing] = weakref.WeakSet()
    for _ in range(10):
        thing = Thing()
        alive.add(thing)
        window.insert(thing)
    del thing
    twin = window.copy()
    del window
    twin.check()
    assert len(alive) > 0
    twin.query()
    del twin
    assert len(alive) == 0


@pytest.mark.parametrize("where", ["combine", "lower"])
@pytest.mark.parametrize("name", WINDOWS)
def test_what_was_refused_is_released(name: str, where: str) -> None:
    trap = Trap()
    if not takes(name, trap.operator):
        trap = Trap("invertible" if name == "subtract_on_evict" else "selective")

    class Word(str):
        """A string that can be watched."""

        __slots__ = ("__weakref__",)

    window = sf.Window(trap.operator, sf.rows(5), algorithm=name)
    for k in range(40):
        trap.set(where, k % 4 + 1)
        word = Word("x" * (k % 3 + 1))
        watch = weakref.ref(word)
        refused = False
        try:
            window.push(word)
        except SprungError:
            refused = True
        trap.unset()
        del word
        assert not refused or watch() is None


@pytest.mark.parametrize("name", STEPPING)
def test_no_reference_is_lost(name: str) -> None:
    """10^5 steps with one and the same object, errors among them: its count is what it was."""
    thing = Thing()
    for operator in HOLDERS.values():
        if not takes(name, operator):
            continue
        window = make(name, operator)
        before = sys.getrefcount(thing)
        for at in range(10_000 if name == "recalc" else 25_000):
            window.insert(thing)
            if at % 5 == 0:
                window.query()
            if len(window) > 8:
                window.evict()
        while len(window):
            window.evict()
        with pytest.raises(IndexError):
            window.evict()
        del window
        assert sys.getrefcount(thing) == before


def test_no_block_is_lost() -> None:
    """Errors, copies, slides and results, again and again: as many blocks of memory as before."""
    trap = Trap()

    def round_trip() -> None:
        for name in WINDOWS:
            for operator in (sf.concat(), sf.max_by(dtype="object"), trap.operator, sf.bloom()):
                if not takes(name, operator):
                    continue
                window = sf.Window(operator, sf.rows(3), algorithm=name, checked=True)
                right = {"max_by": ("x", 1.0), "bloom": 1.0}.get(operator.name, "x")
                for _ in range(6):
                    window.push(right)
                for wrong in (b"x", 1j):
                    if operator is not trap.operator:
                        with pytest.raises(TypeError):
                            window.push(wrong)
                trap.set("combine", 1)
                try:
                    window.push(right)
                    window.copy().push(right)
                except SprungError:
                    pass
                trap.unset()
        for case_id in ("sum-float64", "concat", "collect-int64", "bloom-str-300"):
            case = BY_ID[case_id]
            make("daba_lite", case.operator).slide(case.kind.column(case.stream(20)), 3)
            with pytest.raises(TypeError):
                make("daba_lite", case.operator).slide(np.zeros(3, dtype="f4")[::2], 3)

    for _ in range(3):
        round_trip()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(20):
        round_trip()
    gc.collect()
    # A block lost for each call would be thousands; the interpreter's own caches take hundreds.
    assert sys.getallocatedblocks() - before < 1000


def test_nothing_is_left_at_exit() -> None:
    """The binding library reports every object that outlives the interpreter."""
    code = (
        "import numpy as np, slidefold as sf\n"
        "w = sf.Window(sf.first(dtype='object'), sf.rows(3)); w.push(object()); v = w.copy()\n"
        "a = sf.algorithms.DabaLite(sf.sum()); r = a.slide(np.arange(9.0), 3)\n"
        "f = sf.Window(sf.bloom(), sf.rows(2)).push(1.0)\n"
        "try: a.insert('x')\n"
        "except TypeError: pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=120,
    )
    assert done.stderr == ""


class TestMemoryComesBack:
    """A window that was large and is small again keeps little."""

    N = 100_000

    @pytest.mark.parametrize("which", ["max", "approx_distinct", "last"])
    @pytest.mark.parametrize("name", [n for n in STEPPING if takes(n, sf.max())])
    def test_of_algorithms(self, name: str, which: str) -> None:
        operator = sf.last(dtype="object") if which == "last" else getattr(sf, which)()
        if not takes(name, operator):
            pytest.skip("the pair does not exist")
        n = self.N if which == "max" else 5_000
        window = make(name, operator)
        for at in range(n):
            window.insert(float(-at))
        full = window.nbytes
        for _ in range(n - 9):
            window.evict()
        assert window.nbytes < max(full / 50, 4 * CHUNK)
        assert window.copy().nbytes <= window.nbytes
        assert len(window) == 9
        window.check()

    @pytest.mark.parametrize("cls", [sf.algorithms.Fiba, sf.algorithms.BTree])
    @pytest.mark.parametrize("operator", [sf.sum(), sf.std(), sf.approx_distinct()], ids=str)
    def test_of_trees(self, cls: Any, operator: Any) -> None:
        n = 10_000 if operator.name == "approx_distinct" or cls is sf.algorithms.BTree else 500_000
        tree = cls(operator)
        tree.bulk_insert(np.arange(n), np.ones(n))
        full = tree.nbytes
        tree.bulk_evict(n - 10)
        tree.check()
        assert len(tree) == 9
        assert tree.nbytes < max(full / 10, 300_000)
        assert tree.copy().nbytes <= tree.nbytes

    @pytest.mark.parametrize("lateness", [None, 5])
    @pytest.mark.parametrize("operator", [sf.sum(), sf.max(), sf.median()], ids=str)
    def test_of_live_windows(self, operator: Any, lateness: Any) -> None:
        n = self.N
        window: Any = sf.Window(operator, sf.time(n), lateness=lateness)
        for at in range(n):
            window.push(at, float(at % 1000))
        full = window.nbytes
        window.advance(2 * n - 9)
        window.check()
        assert 7 <= len(window) <= 9
        assert window.nbytes < full / 3
        for at in range(2 * n, 2 * n + 20):
            window.push(at, 1.0)
        assert window.nbytes < full / 8

    @pytest.mark.parametrize("keys", ["integers", "texts"])
    def test_of_keyed_windows(self, keys: str) -> None:
        keyed = sf.algorithms.KeyedWindows(sf.sum(), sf.time(10))
        n = 50_000
        names: Any = np.arange(n) if keys == "integers" else [f"key {i}" for i in range(n)]
        some = names[100:110]
        keyed.push(names, np.zeros(n, np.int64), np.ones(n))
        keyed.push(some, np.full(10, 50), np.ones(10))
        full = keyed.nbytes
        keyed.advance(30)
        keyed.check()
        assert len(keyed) == 10
        assert sorted(keyed.keys()) == sorted(some)
        # Texts stay until the next batches have doubled their number.
        assert keyed.nbytes < full / (50 if keys == "integers" else 3)
        assert [keyed.query(key) for key in some] == [1.0] * 10
        keyed.push(names, np.full(n, 55), np.ones(n))
        assert keyed.query(some[3]) == 2.0
        assert keyed.nbytes < 1.1 * full
        keyed.advance(1000)
        keyed.check()
        assert (len(keyed), keyed.entries) == (0, 0)
        assert keyed.nbytes < (10_000 if keys == "integers" else full / 3)
        keyed.push(some, np.full(10, 2000), np.ones(10))
        keyed.check()
        assert len(keyed) == 10

    def test_of_a_live_run_whose_keys_come_and_go(self) -> None:
        """Keys that come later take the lowest places, so that those of gone ones go too."""
        definition = sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(10)))
        live: Any = definition.live(lateness=0, emit="arrival")
        n = 5_000

        def feed(t: int, keys: Any) -> list[int]:
            rows = pa.table({"t": np.full(len(keys), t), "k": keys, "x": np.ones(len(keys), int)})
            return live.feed(rows)["s"].to_pylist()  # type: ignore[no-any-return]

        feed(0, np.arange(n))
        full = live._engine.native.core.nbytes
        for step in range(1, 90):  # one key of the first lives on for a while
            keys = [*range(200 * step + n, 200 * step + n + 100), *([n - 1] if step < 20 else [])]
            assert feed(8 * step, keys)[:100] == [1] * 100
            live._engine.native.core.check()
        assert live._engine.native.core.nbytes < full / 5

    def test_a_failed_batch_of_new_keys_and_an_advance(self) -> None:
        keyed = sf.algorithms.KeyedWindows(sf.sum(dtype="int64"), sf.time(10))
        with pytest.raises(sf.errors.ResultOverflowError):
            keyed.push([1, 2, 2], [5, 5, 5], [1, 2**62, 2**62])
        keyed.advance(100)
        keyed.check()
        assert (len(keyed), keyed.entries) == (0, 0)


def _live_bytes(keys: int, rows: int, **features: Any) -> float:
    """Return the bytes per row of live windows that hold so many rows of each key."""
    live = sf.rolling(on="t", by="k", **features).live(lateness=10, emit="arrival")
    times = np.arange(keys * rows)
    live.feed(pa.table({"t": times, "k": times % keys, "x": times / 7}))
    return live.nbytes / (keys * rows)


def test_windows_of_live_share_their_rows() -> None:
    """Three windows over two operators take a quarter of what a tree per window takes."""
    operators = {"sum": sf.sum("x"), "max": sf.max("x")}
    features = {
        f"{name}_{length}": operator.over(sf.time(length))
        for name, operator in operators.items()
        for length in (10_000, 100_000, 1_000_000)
    }
    tree = Fiba(sf.struct(a=sf.sum(), b=sf.max()))
    tree.bulk_insert(np.arange(2_000), (np.ones(2_000), np.ones(2_000)))
    assert _live_bytes(20, 2_000, **features) <= 0.25 * 3 * tree.nbytes / 2_000


def test_keys_with_few_rows_are_small() -> None:
    """A leaf of 64 rows would take 1,500 bytes."""
    sums = {f"sum_{length}": sf.sum("x").over(sf.time(length)) for length in (10_000, 100_000)}
    assert 2 * _live_bytes(3_000, 2, **sums) < 500
