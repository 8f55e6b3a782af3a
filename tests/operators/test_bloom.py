"""Bloom filters: what they must never say, and how often they may be wrong."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from tests.support.algorithms import fitting, make
from tests.support.folds import fold, folds, slid

INTS = st.integers(-(2**63), 2**63 - 1)
KINDS = {"float64": st.floats(), "int64": INTS, "str": st.text(max_size=5)}


@pytest.mark.parametrize("dtype", KINDS)
@given(data=st.data())
def test_no_false_negatives(dtype: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(KINDS[dtype], min_size=1, max_size=40))
    for bits in (1, 64, 100, 1 << 14):
        for hashes in (1, 3):
            window = sf.Window(sf.bloom(bits=bits, hashes=hashes, dtype=dtype), sf.rows(7))
            for at, value in enumerate(values):
                found = window.push(value)
                assert all(each in found for each in values[max(0, at - 6) : at + 1])


@pytest.mark.parametrize("dtype", KINDS)
def test_false_positives_are_as_rare_as_promised(dtype: str) -> None:
    bits, hashes, n = 1 << 12, 3, 500
    rng = random.Random(3)
    numbers = rng.sample(range(10**9), n + 20_000)
    as_value: dict[str, Any] = {"float64": lambda x: x + 0.5, "int64": int, "str": str}
    values = [as_value[dtype](number) for number in numbers]
    found = fold(sf.bloom(bits=bits, hashes=hashes, dtype=dtype), values[:n])
    rate = sum(value in found for value in values[n:]) / 20_000
    expected = (1 - math.exp(-hashes * n / bits)) ** hashes
    assert expected * 0.7 < rate < expected * 1.3


def test_small_whole_numbers_are_spread_too() -> None:
    """Consecutive integers, and floats that differ in few bits."""
    for dtype, values in (("int64", range(400)), ("float64", [i / 8 for i in range(400)])):
        found = fold(sf.bloom(bits=4096, hashes=3, dtype=dtype), values)
        others = range(10_000, 14_000) if dtype == "int64" else [i / 8 for i in range(4000, 8000)]
        rate = sum(value in found for value in others) / 4000
        assert rate < 2 * (1 - math.exp(-3 * 400 / 4096)) ** 3


def test_the_filter_does_not_depend_on_the_algorithm() -> None:
    """The same set gives the same filter, in whatever order and by whatever algorithm."""
    operator = sf.bloom(bits=1024, dtype="int64")
    values = [random.Random(1).randrange(50) for _ in range(200)]
    results = folds(operator, values)
    ordered = folds(operator, sorted(set(values)))
    first = results["recalc"]
    for result in [*results.values(), *ordered.values()]:
        assert result == first
        assert result.to_bytes() == first.to_bytes()
    for name in fitting(operator):
        assert slid(operator, values, 200, algorithm=name)[-1] == first
        assert make(name, operator).slide(np.array(values), 200)[-1] == first
    assert fold(operator, [*range(49)]) != first


def test_equality() -> None:
    one = fold(sf.bloom(bits=100), [1.0])
    assert one == fold(sf.bloom(bits=100), [1.0, 1.0])
    assert one != fold(sf.bloom(bits=100), [2.0])
    assert one != fold(sf.bloom(bits=101), [1.0])
    assert one != fold(sf.bloom(bits=100, hashes=4), [1.0])
    assert one != "filter"
    with pytest.raises(TypeError, match="unhashable"):  # it is compared by value
        hash(one)


def test_what_was_pushed_is_found_as_it_was_pushed() -> None:
    """A window of floats takes integers, and its filter says yes to them."""
    found = fold(sf.bloom(), [3, 2**53 + 1, True, 0.5])
    for value in (3, 3.0, 2**53 + 1, 1, True, 0.5):
        assert value in found, value
    found = fold(sf.bloom(dtype="int64"), [3, 2**62 + 1])
    for value in (3, 3.0, 2**62 + 1):
        assert value in found, value
    assert 3.5 not in found


def test_one_zero_and_one_nan() -> None:
    found = fold(sf.bloom(), [-0.0, math.nan])
    assert 0.0 in found
    assert -0.0 in found
    assert all(nan in found for nan in (math.nan, -math.nan))


def test_a_filter_of_another_type_refuses() -> None:
    numbers, words = fold(sf.bloom(), [1.0]), fold(sf.bloom(dtype="str"), ["1"])
    for found, value in ((numbers, "1"), (words, 1), (words, 1.0), (numbers, None)):
        with pytest.raises(sf.errors.ValueTypeError):
            assert value in found


def test_its_shape() -> None:
    found = fold(sf.bloom(bits=100, hashes=2), [1.0])
    assert (found.bits, found.hashes) == (100, 2)
    assert len(found.to_bytes()) == 16
    assert sum(byte.bit_count() for byte in found.to_bytes()) in (1, 2)
    assert set(folds(sf.bloom(), []).values()) == {None}


def test_few_bits_pass_check() -> None:
    for bits in (1, 2, 63, 64, 127, 128, 129, 256):
        for name in fitting(sf.bloom(bits=bits)):
            window = make(name, sf.bloom(bits=bits), checked=True)
            for value in (1.0, 1.0, 2.0, 1.0, 3.0, 4.0):
                window.insert(value)
                window.check()
            window.evict()
            window.check()
