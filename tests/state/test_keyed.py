"""Keyed sets: saved in the middle of their history, and made of bytes that are none."""

from __future__ import annotations

import json
import pickle
import random
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import slidefold as sf
from slidefold.algorithms import KeyedWindows
from slidefold.errors import SlidefoldError, StateError
from tests.support.cases import BY_ID, Case
from tests.support.envelopes import flips, opened, sealed, with_header
from tests.support.saving import Walk, shown
from tests.support.unchanged import one_sentence, refused

CASES = [BY_ID[name] for name in ("sum-int64", "max_by-str-float64", "concat", "user-product")]
WINDOWS: dict[str, dict[str, Any]] = {
    "time": {"window": sf.time(8)},
    "late": {"window": sf.time(8, closed="left"), "lateness": 5},
    "part": {"window": sf.time(6.5), "lateness": 2},
}


def step(made: Any, walk: Walk, case: Case, names: bool) -> Any:
    """Push a batch, long for one key, and ask each key."""
    rng = walk.rng
    walk.later(0, 1, 2)
    keys: list[Any] = [rng.randrange(6) for _ in range(rng.randrange(9))]
    if rng.random() < 0.1:
        keys += [0] * 250  # several leaves
    times = [int(walk.now - rng.choice([0, 0, 1, 4, rng.randrange(30)])) for _ in keys]
    values = case.kind.column([case.kind.draw(rng) for _ in keys])
    named = [f"key {key}" for key in keys] if names else keys
    answers = made.push(named, times, values).to_pylist() if keys else []
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
    made = KeyedWindows(case.operator, sf.time(6.5), lateness=2)
    made.push([1, 2, 1], [1, 2, 3], [1.0, 2.0, 3.0])
    data = made.to_bytes()
    header, payload = opened(data)
    for forged in flips(payload):
        survives(sealed(header, forged), case, names=False)
    for damaged in flips(data):
        with pytest.raises(StateError):
            KeyedWindows.from_bytes(damaged)


@pytest.mark.parametrize("name", ["kind", "operator", "window", "lateness", "late", "rows"])
@pytest.mark.parametrize("value", [0.5, "x", [], {}, True, {"kind": "rows", "n": 1, "closed": "x"}])
def test_headers(name: str, value: Any) -> None:
    data = KeyedWindows(sf.sum(), sf.time("5s")).to_bytes()
    with refused(StateError):
        KeyedWindows.from_bytes(with_header(data, **{name: value}))


def test_random_bytes() -> None:
    rng = random.Random(1)
    made = KeyedWindows(sf.sum(), sf.time(5))
    made.push([1], [1], [1.0])
    header, _ = opened(made.to_bytes())
    for length in range(0, 300, 3):
        with pytest.raises(StateError):
            KeyedWindows.from_bytes(sealed(header, rng.randbytes(length)))


EARLIER = Path(__file__).parent.parent / "golden" / "keyed"


@pytest.mark.parametrize(
    "name", ["sum_int", "sum_float", "max_days", "first_text", "tree", "empty"]
)
def test_states_of_versions_without_rows(name: str) -> None:
    """Version 0.1 saved a state per key and time; they go on as its windows did."""
    keyed = KeyedWindows.from_bytes((EARLIER / f"{name}.bin").read_bytes())
    expected = json.loads((EARLIER / f"{name}.json").read_text())
    assert {str(key): keyed.query(key) for key in keyed.keys()} == expected["query"]  # noqa: SIM118
    times = expected["times"]
    if name == "max_days":
        times = [datetime.fromisoformat(time) for time in times]
    again = KeyedWindows.from_bytes(keyed.to_bytes())
    for each in (keyed, again):
        found = each.push(expected["keys"], times, expected["values"])
        assert found.to_pylist() == expected["answers"]
        assert each.late == expected["late"]
        each.check()


def test_states_that_have_no_rows_are_refused() -> None:
    for name, reason in (("mean", "states of mean, which have no rows"), ("floats", "float times")):
        with refused(StateError, reason):
            KeyedWindows.from_bytes((EARLIER / f"{name}.bin").read_bytes())


@pytest.mark.parametrize("name", ["sum_int", "first_text", "tree"])
def test_damaged_states_of_earlier_versions(name: str) -> None:
    header, payload = opened((EARLIER / f"{name}.bin").read_bytes())
    rng = random.Random(name)
    for _ in range(300):
        damaged = bytearray(payload)
        for _ in range(rng.choice([1, 1, 2, 5])):
            at = rng.randrange(len(damaged))
            damaged[at] = rng.choice([0, 1, 255, damaged[at] ^ 1, damaged[at] ^ 128])
        try:
            keyed = KeyedWindows.from_bytes(sealed(header, bytes(damaged)))
        except StateError as error:
            one_sentence(error)
            continue
        keyed.check()
        keyed.to_bytes()
    for cut in range(0, len(payload), 41):
        with pytest.raises(StateError):
            KeyedWindows.from_bytes(sealed(header, payload[:cut]))
