"""Windows that outgrow the first piece of their storage, shrink, and are copied on the way."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from tests.support.algorithms import fitting, make
from tests.support.cases import BY_ID, SHORT, Case
from tests.support.for_each import for_each
from tests.support.implementations import build, every

PAIRS = [
    pytest.param(name, case, id=f"{name}-{case}")
    for case in SHORT
    for name in fitting(case.operator)
]


@pytest.mark.parametrize("counted", [False, True], ids=["", "counted"])
@for_each("name, case", PAIRS)
def test_grow_slide_shrink(name: str, case: Case, counted: bool) -> None:
    """Grow past several chunks of a queue and doublings of a ring, slide, empty, and refill."""
    heavy = case.operator.name in ("concat", "collect") or case.operator.native_name == "object"
    largest = 150 if heavy else 1100
    window = make(name, case.operator, counted=counted)
    held: deque[Any] = deque()
    values = iter(case.stream(6 * largest, seed=11))

    def insert() -> None:
        held.append(next(values))
        window.insert(held[-1])

    def evict() -> None:
        held.popleft()
        window.evict()

    def verify() -> None:
        window.check()
        assert len(window) == len(held)
        assert case.right(window.query(), list(held))

    for turn in range(2):
        for step in range(largest):
            insert()
            if step % (largest // 7) == 0:
                verify()
        for step in range(largest):
            if step % 5 < 3:  # sometimes a few at once
                insert()
            else:
                evict()
                if step % 2:
                    evict()
            if step % (largest // 5) == 0:
                verify()
        if turn == 0:
            old, window = window, window.copy()
            verify()
            while len(old):
                old.evict()
            assert case.right(old.query(), [])
        while held:
            evict()
            if len(held) % (largest // 4) == 0:
                verify()
        verify()


@for_each("name, case", PAIRS)
def test_every_invariant_at_chunk_ends(name: str, case: Case) -> None:
    """The contents kept beside, around the sizes where storage takes or frees a piece."""
    heavy = case.operator.name in ("concat", "collect") or case.operator.native_name == "object"
    sizes = {40} if heavy else {84, 127, 168, 254, 300}
    window = make(name, case.operator, checked=True)
    values = iter(case.stream(2500, seed=12))
    held: deque[Any] = deque()
    for size in sorted(sizes):
        while len(held) < size:
            held.append(next(values))
            window.insert(held[-1])
        for _ in range(4):
            window.check()
            held.append(next(values))
            window.insert(held[-1])
            window.check()
            held.popleft()
            window.evict()
        window.check()
        assert case.right(window.query(), list(held))
        while len(held) > size // 3:
            held.popleft()
            window.evict()
        window.check()


@pytest.mark.parametrize(("code", "name", "case"), every([BY_ID["max-int64"], BY_ID["sum-int64"]]))
def test_emptied_and_refilled_for_ever(code: str, name: str, case: Case) -> None:
    """What a window needs when it is empty does not grow with what it has seen."""
    window = build(code, name, case)
    needs = set()
    for turn in range(50):
        for value in range(7):
            window.insert(value)
        window.query()
        for _ in range(7):
            window.evict()
        window.check()
        assert case.right(window.query(), [])
        if turn:
            needs.add(window.nbytes if code == "native" else window.states_kept())
    assert len(needs) <= 2
