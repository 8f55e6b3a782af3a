"""Fuzzing saved states: a short run finds nothing, and each way to take damage wrongly is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any, Self

import pytest

from slidefold.errors import InvariantError, StateError
from tools.fuzz import state
from tools.fuzz.subjects import KINDS_OF_STATE, OPERATORS, Subject, subject_of

ROOT = Path(__file__).parents[2]


def test_a_short_run() -> None:
    command = [sys.executable, "-m", "tools.fuzz", "--state", "--seed", "7", "--operations", "2000"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0
    first, *_, last = done.stdout.splitlines()
    assert first == "fuzz: python -m tools.fuzz --state --seed 7"
    assert last == "fuzz: nothing found"


@pytest.mark.parametrize("number", range(20))
def test_damage(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "DAMAGES", 100)
    assert state.run_round(5, number).failure is None


def test_subjects_of_every_kind() -> None:
    subjects = [subject_of(Random(number)) for number in range(1500)]
    assert {each.kind for each in subjects if each} == set(KINDS_OF_STATE)
    assert {each.operator for each in subjects if each} == set(OPERATORS)


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
        (Loose, "it does not hold its invariants: I1: the number is 5"),
        (Fickle, "saved, restored and saved again, it is not the same bytes"),
        (Crashing, "ZeroDivisionError in use: integer division or modulo by zero"),
    ],
)
def test_each_way_to_take_damage_wrongly(
    kind: type[Any], told: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = Subject("Fake", "none", kind(), False, lambda made, rng: None)
    monkeypatch.setattr(state, "subject_of", lambda rng: subject)
    failure = state.run_round(1, 1).failure
    if told is None:
        assert failure is None
    else:
        assert failure is not None
        assert failure.told.endswith(told)
        assert failure.shown.startswith("Fake, none: bytes.fromhex('")
