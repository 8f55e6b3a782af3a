"""The papers' own examples, in both implementations."""

from __future__ import annotations

import pytest

import slidefold as sf
from tests.support.algorithms import PUSHING, fitting
from tests.support.cases import BY_ID, Case
from tests.support.implementations import IMPLEMENTATIONS, build, every

MAX_COUNT = sf.max_count(dtype="int64")
both = pytest.mark.parametrize("code", IMPLEMENTATIONS)


@pytest.mark.parametrize(("code", "name", "case"), every([BY_ID["max_count-int64"]]))
def test_max_count(code: str, name: str, case: Case) -> None:
    """DABA, section 2.3: 4,5,3,4,0,4,4, then evict, evict, insert 2, insert 6."""
    window = build(code, name, case, checked=True)
    beside = build(code, name, BY_ID["max-int64"], checked=True)
    results = []

    def step(insert: int | None = None) -> None:
        for each in (window, beside):
            each.evict() if insert is None else each.insert(insert)
            each.check()
        results.append((beside.query(), window.query()))

    for number in (4, 5, 3, 4, 0, 4, 4):
        step(number)
    assert results[-1] == (5, 1)
    step()
    assert results[-1] == (5, 1)
    step()
    assert results[-1] == (4, 3)
    step(2)
    assert results[-1] == (4, 3)
    step(6)
    assert results[-1] == (6, 1)
    # On to the end: the oldest leave one by one.
    while len(window) > 1:
        step()
    assert results[-6:] == [(6, 1)] * 6


@pytest.mark.parametrize("name", fitting(MAX_COUNT))
def test_max_count_of_the_window_as_rows(name: str) -> None:
    """The same stream through a rows window of 7."""
    window = sf.Window(MAX_COUNT, sf.rows(7), algorithm=name)
    results = [window.push(number) for number in (4, 5, 3, 4, 0, 4, 4, 2, 6)]
    assert results == [1, 1, 1, 1, 1, 1, 1, 1, 1]
    window = sf.Window(MAX_COUNT, sf.rows(5), algorithm=name)
    results = [window.push(number) for number in (4, 5, 3, 4, 0, 4, 4, 2, 6)]
    assert results == [1, 1, 1, 1, 1, 1, 3, 3, 1]


@pytest.mark.parametrize(("code", "name", "case"), every([BY_ID["concat"]]))
def test_flip_cycles_keep_the_order(code: str, name: str, case: Case) -> None:
    """DABA, figures 1 to 7: seven values, then a slide through every case of the fix-up."""
    window = build(code, name, case, checked=True)
    letters = "abcdefghijklmnopqrstuvwxyz" * 3
    for letter in letters[:7]:
        window.insert(letter)
        window.check()
    for at in range(7, len(letters)):
        window.evict()
        window.check()
        window.insert(letters[at])
        window.check()
        assert window.query() == letters[at - 6 : at + 1]


@both
def test_flat_fat_ring_of_4(code: str) -> None:
    """Reactive Aggregator, figure 5: the latest 4 numbers in a ring of 4, inverted by event 6."""
    window = build(code, "flat_fat", BY_ID["collect-int64"], capacity=4, checked=True)
    for number in (4, 7, 3, 2):
        window.insert(number)
        window.check()
    assert window.query() == [4, 7, 3, 2]
    window.evict()
    assert window.query() == [7, 3, 2]
    window.insert(9)  # into the slot that 4 left: the ring is inverted
    window.check()
    assert window.query() == window.aggregate() == [7, 3, 2, 9]
    assert window.capacity == 4
    with pytest.raises(sf.errors.CapacityError):
        window.insert(1)
    assert window.query() == [7, 3, 2, 9]


@both
def test_flat_fat_update_of_figure_4(code: str) -> None:
    """Reactive Aggregator, figure 4: a[1], a[2], a[4], a[7] of 8 change in 6 combines."""
    window = build(code, "flat_fat", BY_ID["concat"], counted=True, capacity=8)
    positions = [window.insert(letter) for letter in "abcdefgh"]
    before = window.combines
    window.update([positions[i] for i in (0, 1, 3, 6)], ["A", "B", "D", "G"])
    assert window.combines - before == 6
    assert window.aggregate() == "ABcDefGh"
    assert window.prefix(positions[6]) == "ABcDefG"
    assert window.suffix(positions[6]) == "Gh"


@both
@pytest.mark.parametrize("name", PUSHING)
def test_boundary_of_figure_2(code: str, name: str) -> None:
    """PBA, figure 2: max over W[10, 2] with chunks of 5 slices."""
    stream = [5, 4, 6, 3, 0, 0, 1, 0, 2, 3, 1, 2, 7, 5, 3, 4, 9, 5, 4, 8]
    for chunk in (5, 4, None):
        window = build(code, name, BY_ID["max-int64"], range=10, slide=2, chunk=chunk)
        results = [window.push(number) for number in stream]
        assert results[1::2] == [None] * 4 + [6, 6, 7, 7, 9, 9]
        assert results[::2] == [None] * 10


@both
@pytest.mark.parametrize("name", PUSHING)
def test_boundary_of_figure_3(code: str, name: str) -> None:
    """PBA, figure 3: W[16, 1] with chunks of 4."""
    window = build(code, name, BY_ID["concat"], range=16, slide=1, chunk=4)
    results = [window.push(letter) for letter in "abcdefghijklmnopq"]
    assert results == [None] * 15 + ["abcdefghijklmnop", "bcdefghijklmnopq"]
