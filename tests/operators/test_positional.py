"""First, last, concat and collect: operators that tell the order of their values."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from tests.support.algorithms import fitting, make
from tests.support.folds import fold, folds, slid


def test_ends() -> None:
    for dtype, values in (("int64", [1, 2, 3]), ("str", ["a", "b", "c"]), ("object", [(), 1, 2])):
        assert fold(sf.first(dtype=dtype), values) == values[0]
        assert fold(sf.last(dtype=dtype), values) == values[-1]
    assert math.isnan(fold(sf.first(), [math.nan, 1.0]))
    assert math.isnan(fold(sf.last(), [1.0, math.nan]))
    assert math.copysign(1, fold(sf.first(), [-0.0, 1.0])) == -1


def test_nothing_is_not_a_value() -> None:
    """A kept None is a first value; an empty window has none, and len tells them apart."""
    kept = sf.first(dtype="object", nulls="keep")
    for name in fitting(kept):
        window = make(name, kept)
        assert (window.query(), len(window)) == (None, 0)
        window.insert(None)
        window.insert(1)
        assert (window.query(), len(window)) == (None, 2)


def test_concat_keeps_every_character() -> None:
    words = ["", "a\0b", "é", "\U0001f600", "", "日本", "\0"]
    assert fold(sf.concat(), words) == "".join(words)
    assert fold(sf.concat(), [""]) == ""
    assert set(folds(sf.concat(), []).values()) == {None}


@given(st.lists(st.text(max_size=4), max_size=20), st.integers(1, 6))
def test_concat_slides(words: list[str], n: int) -> None:
    expected = ["".join(words[max(0, i + 1 - n) : i + 1]) for i in range(len(words))]
    for name in fitting(sf.concat()):
        assert slid(sf.concat(), words, n, algorithm=name) == expected
        assert make(name, sf.concat()).slide(words, n) == expected


def test_collect_gives_lists_of_their_own() -> None:
    for name in fitting(sf.collect(dtype="int64")):
        window = make(name, sf.collect(dtype="int64"))
        window.insert(1)
        first = window.query()
        first.append(99)
        assert window.query() == [1]


def test_collect_keeps_identity() -> None:
    things = [object() for _ in range(20)]
    for name in fitting(sf.collect(dtype="object")):
        window = sf.Window(sf.collect(dtype="object"), sf.rows(5), algorithm=name)
        for at, thing in enumerate(things):
            result = window.push(thing)
            assert all(map(lambda a, b: a is b, result, things[max(0, at - 4) : at + 1]))


def test_collect_of_nan_passes_check() -> None:
    for name in fitting(sf.collect()):
        window = make(name, sf.collect(), checked=True)
        for value in [math.nan, 1.0, math.nan, -0.0] * 5:
            window.insert(value)
            window.check()
        window.evict()
        window.check()


def test_strings_may_come_as_an_array() -> None:
    words = np.array(["a", "bc", "d"])
    assert make("two_stacks_lite", sf.concat()).slide(words, 2) == ["a", "abc", "bcd"]
