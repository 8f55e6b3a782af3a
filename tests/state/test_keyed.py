"""Keyed sets: saved in the middle of their history, and made of bytes that are none."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pytest

import slidefold as sf
from slidefold.algorithms import KeyedWindows
from slidefold.errors import SlidefoldError, StateError
from tests.support.cases import BY_ID, Case
from tests.support.envelopes import flips, opened, sealed, with_header
from tests.support.saving import Walk, shown
from tests.support.unchanged import one_sentence, refused

CASES = [BY_ID[name] for name in ("sum-float64", "max_by-str-float64", "concat", "user-product")]
WINDOWS: dict[str, dict[str, Any]] = {
    "time": {"window": sf.time(8)},
    "late": {"window": sf.time(8, closed="left"), "lateness": 5},
    "real": {"window": sf.time(6.5), "lateness": 2.5},
}


def step(made: Any, walk: Walk, case: Case, names: bool) -> Any:
    """Push a batch, long for one key, and ask each key."""
    rng = walk.rng
    walk.later(0, 1, 2)
    keys: list[Any] = [rng.randrange(6) for _ in range(rng.randrange(9))]
    if rng.random() < 0.1:
        keys += [0] * 250  # a run becomes a tree
    times = [walk.now - rng.choice([0, 0, 1, 4, rng.random() * 30 // 1]) for _ in keys]
    values = case.kind.column([case.kind.draw(rng) for _ in keys])
    typed = [float(t) for t in times] if made.window == sf.time(6.5) else [int(t) for t in times]
    named = [f"key {key}" for key in keys] if names else keys
    answers = made.push(named, typed, values).to_pylist() if keys else []
    if rng.random() < 0.1:
        made.advance(walk.now - 3)
    asked = [made.query(f"key {key}" if names else key) for key in range(6)]
    return answers, asked, made.late, made.watermark


def after(steps: int, case: Case, names: bool, options: dict[str, Any]) -> tuple[Any, Walk]:
    made, walk = KeyedWindows(case.operator, **options), Walk(steps)
    for _ in range(steps):
        step(made, walk, case, names)
    return made, walk


@pytest.mark.parametrize("names", [False, True], ids=["integers", "texts"])
@pytest.mark.parametrize("which", WINDOWS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_goes_on_as_the_original(case: Case, which: str, names: bool) -> None:
    for steps in (0, 1, 8, 30):
        original, walk = after(steps, case, names, WINDOWS[which])
        data = original.to_bytes()
        again = KeyedWindows.from_bytes(data)
        assert again.to_bytes() == data
        assert sorted(again.keys()) == sorted(original.keys())
        assert pickle.loads(pickle.dumps(original)).to_bytes() == data
        twin = walk.twin()
        for _ in range(15):
            left, right = step(original, walk, case, names), step(again, twin, case, names)
            assert shown(left) == shown(right)
        again.check()


def survives(data: bytes, case: Case, names: bool) -> None:
    try:
        made = KeyedWindows.from_bytes(data)
    except StateError as error:
        one_sentence(error)
        return
    walk = Walk(1)
    for _ in range(3):
        try:
            step(made, walk, case, names)
        except SlidefoldError:
            pass
        except (TypeError, ValueError, OverflowError):  # of a user's operator, on nonsense
            assert "user" in case.id


@pytest.mark.parametrize("which", WINDOWS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_forged_payloads(case: Case, which: str) -> None:
    names = case.id == "concat"
    original, walk = after(12, case, names, WINDOWS[which])
    header, payload = opened(original.to_bytes())
    for cut in range(0, len(payload), 7):
        with pytest.raises(StateError):
            KeyedWindows.from_bytes(sealed(header, payload[:cut]))
    with refused(StateError):
        KeyedWindows.from_bytes(sealed(header, payload + b"\0"))
    rng = walk.rng
    for _ in range(150):
        damaged = bytearray(payload)
        for _ in range(rng.choice([1, 1, 2, 5])):
            at = rng.randrange(len(damaged))
            damaged[at] = rng.choice([0, 1, 255, damaged[at] ^ 1, damaged[at] ^ 128])
        survives(sealed(header, bytes(damaged)), case, names)


def test_every_bit_of_a_small_set() -> None:
    case = BY_ID["sum-float64"]
    made = KeyedWindows(case.operator, sf.time(6.5), lateness=2.5)
    made.push([1, 2, 1], [1.0, 2.0, 3.5], [1.0, 2.0, 3.0])
    data = made.to_bytes()
    header, payload = opened(data)
    for forged in flips(payload):
        survives(sealed(header, forged), case, names=False)
    for damaged in flips(data):
        with pytest.raises(StateError):
            KeyedWindows.from_bytes(damaged)


@pytest.mark.parametrize("name", ["kind", "operator", "window", "lateness", "late"])
@pytest.mark.parametrize("value", [0.5, "x", [], {}, True, {"kind": "rows", "n": 1, "closed": "x"}])
def test_headers(name: str, value: Any) -> None:
    data = KeyedWindows(sf.sum(), sf.time("5s")).to_bytes()
    with refused(StateError):
        KeyedWindows.from_bytes(with_header(data, **{name: value}))


def test_nothing_hangs_beyond_all_times() -> None:
    made = KeyedWindows(sf.sum(), sf.time(2.5))
    assert made.query(1) is None
    made.push([1], [1.0], [2.0])
    assert made.query(1) == 2.0
    made.advance(float("inf"))
    assert (len(made), made.query(1), made.watermark) == (0, None, float("inf"))


def test_random_bytes() -> None:
    rng = random.Random(1)
    header, _ = opened(KeyedWindows(sf.sum(), sf.time(5)).to_bytes())
    for length in range(0, 300, 3):
        with pytest.raises(StateError):
            KeyedWindows.from_bytes(sealed(header, rng.randbytes(length)))


def test_integers_that_arrow_has_no_type_for() -> None:
    """They come back as a list, like other results that are no Arrow values."""
    keyed = KeyedWindows(sf.last(dtype="object"), sf.time(9))
    assert keyed.push(["a", "b"], [1, 2], [2**70, None]) == [2**70, None]
