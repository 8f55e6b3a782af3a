"""Rounds of damage to saved states: bits flipped, bytes cut off or put in, also with a checksum
that is right again.

Damaged bytes must end in a StateError. Bytes with a right checksum, such as only somebody who means
harm would write, may also make an object: one that holds its invariants and can be used.
"""

from __future__ import annotations

from hashlib import blake2b
from random import Random
from typing import Any

from slidefold.errors import InvariantError, SlidefoldError, StateError
from tools.fuzz.rounds import Failure, Round
from tools.fuzz.subjects import Subject, subject_of

DAMAGES = 500  # a round
DIGEST = 16  # bytes of blake2b at the end, over all before them


def digest(body: bytes | bytearray) -> bytes:
    """Return the checksum that saved states end with."""
    return blake2b(body, digest_size=DIGEST).digest()


def run_round(seed: int, number: int) -> Round:
    """Save one object, and damage what was saved in many ways."""
    rng = Random(f"{seed}/{number}")
    subject = subject_of(rng)
    if subject is None:
        return Round(0)
    about = {"kind": subject.kind}
    data = whole = subject.made.to_bytes()
    told = _restored(subject, whole)
    for done in range(DAMAGES):
        if told is not None:
            shown = f"{subject.kind}, {subject.operator}: bytes.fromhex({data.hex()!r})"
            return Round(done, about, Failure(told, shown))
        how, data = _damaged(whole, rng)
        if data != whole:  # two flips of one bit are none
            told = _refused(subject, data, rng, signed="signed" in how)
            told = told and f"{how}: {told}"
    return Round(DAMAGES, about)


def _restored(subject: Subject, data: bytes) -> str | None:
    """Tell what is wrong with what undamaged bytes make."""
    again = type(subject.made).from_bytes(data)
    again.check()
    if again.to_bytes() != data:
        return "saved, restored and saved again, it is not the same bytes"
    got, expected = subject.ask(again), subject.ask(subject.made)
    if got != expected and repr(got) != repr(expected):  # NaN is only spelled the same
        return f"restored it gives {got!r}, not {expected!r}"
    return None


def _damaged(data: bytes, rng: Random) -> tuple[str, bytes]:
    """Return damaged bytes, and how they were damaged."""
    how = rng.choice(["bit", "bit", "bits", "cut", "put in", "byte", "signed", "signed bits"])
    raw = bytearray(data)
    body = len(raw) - DIGEST
    if how == "cut":
        return how, data[: rng.randrange(len(data))]
    if how == "put in":
        at = rng.randrange(len(raw) + 1)
        raw[at:at] = rng.randbytes(rng.choice([1, 1, 2, 8]))
    elif how == "byte":
        raw[rng.randrange(len(raw))] ^= rng.randrange(1, 256)
    else:
        for _ in range(rng.randint(2, 6) if "bits" in how else 1):
            raw[rng.randrange(body if "signed" in how else len(raw))] ^= 1 << rng.randrange(8)
    if "signed" in how:
        raw[body:] = digest(raw[:body])
    return how, bytes(raw)


def _refused(subject: Subject, data: bytes, rng: Random, *, signed: bool) -> str | None:
    """Tell what is wrong with how damaged bytes are taken."""
    try:
        made = type(subject.made).from_bytes(data)
    except StateError as error:
        text = str(error)
        return None if text and "\n" not in text else f"the error is no sentence: {text!r}"
    except BaseException as error:
        return f"{type(error).__name__} instead of StateError: {error}"
    if not signed:
        return "the damage went unnoticed"
    return _usable(subject, made, rng)


def _usable(subject: Subject, made: Any, rng: Random) -> str | None:
    """Tell what goes wrong when an object from bytes with a right checksum is used."""
    try:
        made.check()
        for _ in range(4):
            subject.ask(made)
            subject.step(made, rng)
        made.to_bytes()
    except InvariantError as error:
        return f"it does not hold its invariants: {error}"
    except SlidefoldError:
        return None  # such as a time that went backwards, or a sum beyond 64 bits
    except Exception as error:
        return None if subject.user else f"{type(error).__name__} in use: {error}"
    return None
