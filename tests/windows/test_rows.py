"""Rows windows, against the rows themselves."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from tests.support.algorithms import WINDOWS, fitting
from tests.support.cases import CASES, SHORT, Case
from tests.support.for_each import for_each

PAIRS = [
    pytest.param(name, case, id=f"{name}-{case}")
    for case in SHORT
    for name in fitting(case.operator, WINDOWS)
]


@pytest.mark.parametrize("closed", ["right", "left"])
@for_each("name, case", PAIRS)
def test_against_the_rows(name: str, case: Case, closed: str) -> None:
    values = case.stream(40)
    for n in (1, 2, 3, 7, 39, 40, 41):
        window = sf.Window(case.operator, sf.rows(n, closed=closed), algorithm=name, checked=True)
        assert len(window) == 0
        assert case.right(window.query(), [])
        for at, value in enumerate(values):
            end = at + 1 if closed == "right" else at
            seen = values[max(0, end - n) : end]
            assert case.right(window.push(value), seen)
            assert case.right(window.query(), seen)
            assert len(window) == len(seen)
            window.check()


@for_each("case", CASES)
def test_insert_is_push_without_a_result(case: Case) -> None:
    pushed = sf.Window(case.operator, sf.rows(4))
    inserted = sf.Window(case.operator, sf.rows(4))
    values = case.stream(11)
    for value in values:
        pushed.push(value)
        inserted.insert(value)
    assert len(inserted) == len(pushed) == 4
    assert case.right(inserted.query(), values[-4:])


@given(st.data())
def test_copies_go_their_own_way(data: st.DataObject) -> None:
    for closed in ("right", "left"):
        for name in fitting(sf.concat(), WINDOWS):
            window = sf.Window(sf.concat(), sf.rows(3, closed=closed), algorithm=name)
            letters = data.draw(st.text("abc", max_size=9))
            for letter in letters:
                window.push(letter)
            twins = [window.copy(), copy.copy(window), copy.deepcopy(window)]
            expected = window.query()
            for number, twin in enumerate(twins):
                assert (twin.query(), len(twin)) == (expected, len(window))
                twin.push(str(number))
                twin.push("!")
                twin.check()
                twin.push("?")
            assert window.query() == expected
            window.check()
            for number, twin in enumerate(twins):
                assert (
                    twin.query()
                    == (
                        (letters + f"{number}!?")[:-1]
                        if closed == "left"
                        else letters + f"{number}!?"
                    )[-3:]
                )


def test_a_window_much_larger_than_its_rows() -> None:
    window = sf.Window(sf.sum(), sf.rows(2**61))
    assert [window.push(1.0) for _ in range(5)] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert window.nbytes < 10**5


def test_its_face() -> None:
    window = sf.Window(sf.max(), sf.rows(3))
    window.push(1.0)
    assert repr(window) == "<Window sf.max() over sf.rows(3), 1 rows>"
    assert sf.rows(3) == sf.Rows(3) != sf.rows(3, closed="left")
    assert str(sf.rows(3, closed="left")) == "sf.rows(3, closed='left')"
    with pytest.raises(AttributeError):
        sf.rows(3).n = 4  # type: ignore[misc]
