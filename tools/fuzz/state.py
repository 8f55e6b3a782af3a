"""Damage saved states: flip bits, cut or insert bytes, change values of the header and words of the
payload, with and without a valid checksum.

Loading damaged bytes must raise StateError. Bytes with a valid checksum, which only an attacker
would write, may also load as an object, which must hold its invariants and be usable. Neither may
hang, allocate much memory, or import a module.
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

DAMAGES = 500  # per round
LONGEST = 600  # characters of an error message
_NEVER = ("this", "antigravity")  # modules that damaged headers name and that must not be imported


def run_round(seed: int, number: int) -> Round:
    """Save one object, and damage its bytes in many ways."""
    rng = Random(f"{seed}/{number}")
    subject = subject_of(rng)
    if subject is None:
        return Round(0)
    limit_memory()
    about = {"kind": subject.kind, "operator": subject.operator.partition("(")[0]}
    data = whole = subject.made.to_bytes()
    with limited_time():
        fault = _restored(subject, whole)
        for done in range(DAMAGES):
            if fault is not None:
                shown = f"{subject.kind}, {subject.operator}: bytes.fromhex({data.hex()!r})"
                return Round(done, about, Failure(fault, shown))
            how, data = damaged(whole, rng)
            if data != whole:  # flipping a bit twice changes nothing
                begin_case()
                fault = _refused(subject, data, rng, signed="signed" in how)
                fault = fault and f"{how}: {fault}"
    return Round(DAMAGES, about)


def _restored(subject: Subject, data: bytes) -> str | None:
    """Return what is wrong with an object restored from undamaged bytes; None if nothing is."""
    again = type(subject.made).from_bytes(data)
    saved = again.to_bytes()
    # The first restore may put the keys of lifetime windows in another order.
    if saved != data and type(subject.made).from_bytes(saved).to_bytes() != saved:
        return "after a restore, the object saves different bytes"
    _check(again)
    got, expected = _shown(subject.ask(again)), _shown(subject.ask(subject.made))
    return None if got == expected else f"after a restore, expected {expected}, got {got}"


def _shown(result: Any) -> str:
    """Return a result as text, since NaN and sketches do not compare as equal."""
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
    """Return what is wrong with loading damaged bytes; None if nothing is."""
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
    """Return what is wrong with an error message; None if nothing is."""
    text = str(error)
    if isinstance(error.__cause__, MemoryError):
        return f"loading ran out of memory: {text}"
    good = text and text.isprintable() and len(text) <= LONGEST
    return None if good else f"the error is not a printable sentence: {text!r}"


def _usable(subject: Subject, made: Any, rng: Random) -> str | None:
    """Use an object from bytes with a valid checksum; return what goes wrong, None if nothing."""
    try:
        _check(made)
        for _ in range(4):
            subject.ask(made)
            subject.step(made, rng)
            _check(made)
        again = type(made).from_bytes(made.to_bytes())
        subject.ask(again)
    except InvariantError as error:
        return f"an invariant is violated: {error}"
    except StateError as error:
        # A count or position that was at its limit and was increased; or values of a type that a
        # changed header takes as any objects, of which not all can be saved.
        beyond = subject.user or "too large" in str(error) or "cannot be saved" in str(error)
        return None if beyond else f"the object cannot load what it saved: {error}"
    except SlidefoldError:
        return None  # such as a time that goes back, or a sum beyond 64 bits
    except (Hang, MemoryError) as error:
        return f"{type(error).__name__} in use: {error}"
    except Exception as error:
        return None if subject.user else f"{type(error).__name__} in use: {error}"
    return None
