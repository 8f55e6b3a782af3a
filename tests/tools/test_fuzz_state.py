"""Fuzzing saved states: a short run finds nothing, and each way to take damage wrongly is found."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any, Self

import pytest

import slidefold as sf
from slidefold.definition.operators import NAMED, RECORDS
from slidefold.errors import InvariantError, StateError
from tests.support.envelopes import opened
from tools.fuzz import limits, state
from tools.fuzz.damage import damaged
from tools.fuzz.subjects import KINDS_OF_STATE, LIVE, Subject, subject_of
from tools.fuzz.values import FAMILIES

ROOT = Path(__file__).parents[2]


def test_a_short_run() -> None:
    command = [sys.executable, "-m", "tools.fuzz", "--state", "--seed", "7", "--operations", "2000"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0
    first, *_, last = done.stdout.splitlines()
    assert first == "fuzz: python -m tools.fuzz --state --seed 7"
    assert last == "fuzz: no failure"


@pytest.mark.parametrize("number", range(20))
def test_damage(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "DAMAGES", 100)
    monkeypatch.setattr(state, "limit_memory", lambda: None)
    assert state.run_round(5, number).failure is None


def test_subjects_of_every_kind() -> None:
    subjects = [each for number in range(1600) if (each := subject_of(Random(number)))]
    assert {each.kind for each in subjects} == {*KINDS_OF_STATE, LIVE}
    lives = {each.operator for each in subjects if each.kind == LIVE}
    assert lives == {"final", "arrival", "revise", "change"}
    names = {name: family for family, valued in FAMILIES.items() for name in valued}
    assert {names.get(each.operator) for each in subjects if each.kind != LIVE} == {*FAMILIES}
    assert {name for name in NAMED if RECORDS[name].events} < set(FAMILIES)


def test_headers_are_changed_in_every_way() -> None:
    """Numbers, texts, kinds and names of a header change, and its checksum is right again."""
    window = sf.Window(sf.bloom(bits=64), sf.rows(3))
    whole, rng = window.to_bytes(), Random(1)
    headers: list[Any] = []
    for _ in range(2000):
        how, data = damaged(whole, rng)
        if how.endswith("header, signed"):
            assert data[-state.DIGEST :] == state.digest(data[: -state.DIGEST])
            headers.append(opened(data)[0])
    operators = [header["operator"] for header in headers if type(header.get("operator")) is dict]
    params = [each["params"] for each in operators if type(each.get("params")) is dict]
    assert any(type(each.get("bits")) is int and each["bits"] >= 10**12 for each in params)
    assert any("hashes" not in each for each in params)
    assert any(len(each) > 2 for each in params)
    assert {type(each.get("name")) for each in operators} >= {str, int, type(None)}
    assert any("\n" in str(each.get("name")) for each in operators)


class Good:
    """Saves a number and a checksum as slidefold does, and refuses what does not fit."""

    unsigned_is_refused = True
    error: type[Exception] = StateError
    sound = True

    def __init__(self, number: int = 5) -> None:
        self.number = number

    def to_bytes(self) -> bytes:
        body = self.number.to_bytes(4, "little")
        return body + state.digest(body)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        if len(data) != 4 + state.DIGEST:
            raise StateError("the length is wrong")
        if cls.unsigned_is_refused and data[4:] != state.digest(data[:4]):
            raise cls.error("the checksum is wrong")
        return cls(int.from_bytes(data[:4], "little"))

    def check(self) -> None:
        if self.number != 5 and not self.sound:
            raise InvariantError("I1: the number is 5")

    def query(self) -> int:
        return self.number


class Credulous(Good):
    """Takes what is damaged."""

    unsigned_is_refused = False


class Blunt(Good):
    """Raises something else."""

    error = ValueError


class Loose(Good):
    """Makes what does not hold its invariants."""

    sound = False


class Fickle(Good):
    """Restores something else."""

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        return cls(super().from_bytes(data).number + 1)


class Slow(Good):
    """Takes its time."""

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        made = super().from_bytes(data)
        while made.number != 5:
            time.sleep(0.01)
        return made


class Greedy(Good):
    """Asks for memory before it looks at what there is."""

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        made = super().from_bytes(data)
        try:
            bytes(0 if made.number == 5 else 2**60)
        except MemoryError as error:
            raise StateError("there is not enough memory") from error
        return made


class Crashing(Good):
    """Cannot be used."""

    def query(self) -> int:
        return 1 // (1 if self.number == 5 else 0)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (Good, None),
        (Credulous, "the damage went unnoticed"),
        (Blunt, "ValueError instead of StateError: the checksum is wrong"),
        (Loose, "an invariant is violated: I1: the number is 5"),
        (Fickle, "after a restore, the object saves different bytes"),
        (Slow, "Hang instead of StateError: more than 1 seconds"),
        (Greedy, "loading ran out of memory: there is not enough memory"),
        (Crashing, "ZeroDivisionError in use: integer division or modulo by zero"),
    ],
)
def test_each_way_to_take_damage_wrongly(
    kind: type[Any], told: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = Subject("Fake", "none", kind(), False, lambda made, rng: None)
    monkeypatch.setattr(state, "subject_of", lambda rng: subject)
    monkeypatch.setattr(state, "limit_memory", lambda: None)
    monkeypatch.setattr(limits, "SECONDS", 1.0)
    failure = state.run_round(1, 1).failure
    if told is None:
        assert failure is None
    else:
        assert failure is not None
        assert failure.message.endswith(told)
        assert failure.shown.startswith("Fake, none: bytes.fromhex('")
