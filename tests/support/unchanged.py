"""Asserting that something was refused in one sentence and left no mark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from slidefold.errors import SlidefoldError

BASES = {
    "EmptyWindowError": IndexError,
    "ValueTypeError": TypeError,
    "ResultOverflowError": OverflowError,
    "PairError": TypeError,
    "OperatorError": TypeError,
    "TimeOrderError": ValueError,
    "WindowError": ValueError,
    "CapacityError": ValueError,
    "BusyError": RuntimeError,
    "StateError": ValueError,
    "InvariantError": AssertionError,
}


def one_sentence(error: BaseException) -> str:
    """Return the error's message, after a look at its form."""
    text = str(error)
    assert text, "no message"
    assert "\n" not in text, text
    assert not re.search(r"[a-z]\. [A-Z]", text), f"more than one sentence: {text}"
    assert not text.endswith("."), text
    assert len(text) < 250, text
    assert "incompatible function arguments" not in text, text
    return text


@contextmanager
def refused(kind: type[Exception], *naming: str) -> Iterator[None]:
    """Expect an error of slidefold that is also the built-in it resembles, and names things."""
    with pytest.raises(kind) as caught:
        yield
    assert type(caught.value) is kind
    assert isinstance(caught.value, SlidefoldError)
    assert isinstance(caught.value, BASES[kind.__name__])
    text = one_sentence(caught.value)
    for name in naming:
        assert name in text, f"{name!r} is not in: {text}"


@contextmanager
def unchanged(*windows: Any) -> Iterator[None]:
    """Expect that windows hold what they held: the same length, result and invariants."""
    before = [(len(window), window.query()) for window in windows]
    yield
    for window, (length, result) in zip(windows, before, strict=True):
        window.check()
        assert len(window) == length
        now = window.query()
        assert now == result or repr(now) == repr(result)  # NaN is not itself, even in a list
        window.check()
