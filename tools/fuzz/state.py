"""Rounds of damage to saved states: bits flipped, bytes cut off or put in, values of the header and
words of the payload changed, also with a checksum that is right again.

Damaged bytes must end in a StateError. Bytes with a right checksum, such as only somebody who means
harm would write, may also make an object: one that holds its invariants and can be used. Neither
may hang, ask for much memory, or import a module.
"""

from __future__ import annotations

import sys
from random import Random
from typing import Any

import slidefold as sf
from slidefold.errors import InvariantError, SlidefoldError, StateError
from tools.fuzz.damage import DIGEST, damaged, digest
from tools.fuzz.limits import Hang, begin_case, limit_memory, limited_time
from tools.fuzz.rounds import Failure, Round
from tools.fuzz.subjects import Subject, subject_of

__all__ = ["DIGEST", "digest", "run_round"]

DAMAGES = 500  # a round
LONGEST = 600  # of a message
_NEVER = ("this", "antigravity")  # modules that damaged headers name


def run_round(seed: int, number: int) -> Round:
    """Save one object, and damage what was saved in many ways."""
    rng = Random(f"{seed}/{number}")
    subject = subject_of(rng)
    if subject is None:
        return Round(0)
    limit_memory()
    about = {"kind": subject.kind, "operator": subject.operator.partition("(")[0]}
    data = whole = subject.made.to_bytes()
    with limited_time():
        told = _restored(subject, whole)
        for done in range(DAMAGES):
            if told is not None:
                shown = f"{subject.kind}, {subject.operator}: bytes.fromhex({data.hex()!r})"
                return Round(done, about, Failure(told, shown))
            how, data = damaged(whole, rng)
            if data != whole:  # two flips of one bit are none
                begin_case()
                told = _refused(subject, data, rng, signed="signed" in how)
                told = told and f"{how}: {told}"
    return Round(DAMAGES, about)


def _restored(subject: Subject, data: bytes) -> str | None:
    """Tell what is wrong with what undamaged bytes make."""
    again = type(subject.made).from_bytes(data)
    if again.to_bytes() != data:
        return "saved, restored and saved again, it is not the same bytes"
    _check(again)
    got, expected = _shown(subject.ask(again)), _shown(subject.ask(subject.made))
    return None if got == expected else f"restored it gives {got}, not {expected}"


def _shown(result: Any) -> str:
    """Return a result as text: NaN is only spelled the same, and a sketch has no equal."""
    if isinstance(result, list | tuple):
        return repr([_shown(item) for item in result])
    if hasattr(result, "get_estimate"):
        return str(result.get_estimate())
    if isinstance(result, sf.BloomFilter | sf.CountMinSketch):
        return result.to_bytes().hex()
    return repr(getattr(result, "chebyshev", getattr(result, "counts", result)))


def _check(made: Any) -> None:
    if hasattr(made, "check"):  # a live run has none
        made.check()


def _refused(subject: Subject, data: bytes, rng: Random, *, signed: bool) -> str | None:
    """Tell what is wrong with how damaged bytes are taken."""
    try:
        made = type(subject.made).from_bytes(data)
    except StateError as error:
        return _sentence(error)
    except BaseException as error:
        return f"{type(error).__name__} instead of StateError: {error}"
    finally:
        imported = [name for name in _NEVER if name in sys.modules]
    if imported:
        return f"a module was imported: {imported[0]}"
    if not signed:
        return "the damage went unnoticed"
    return _usable(subject, made, rng)


def _sentence(error: StateError) -> str | None:
    """Tell what is wrong with an error."""
    text = str(error)
    if isinstance(error.__cause__, MemoryError):
        return f"so much memory was asked for that there was none: {text}"
    good = text and text.isprintable() and len(text) <= LONGEST
    return None if good else f"the error is no sentence: {text!r}"


def _usable(subject: Subject, made: Any, rng: Random) -> str | None:
    """Tell what goes wrong when an object from bytes with a right checksum is used."""
    try:
        _check(made)
        for _ in range(4):
            subject.ask(made)
            subject.step(made, rng)
            _check(made)
        again = type(made).from_bytes(made.to_bytes())
        subject.ask(again)
    except InvariantError as error:
        return f"it does not hold its invariants: {error}"
    except StateError as error:
        # A count or position that was at its limit, and went on.
        beyond = subject.user or "too large" in str(error)
        return None if beyond else f"what was saved again is refused: {error}"
    except SlidefoldError:
        return None  # such as a time that went backwards, or a sum beyond 64 bits
    except (Hang, MemoryError) as error:
        return f"{type(error).__name__} in use: {error}"
    except Exception as error:
        return None if subject.user else f"{type(error).__name__} in use: {error}"
    return None
