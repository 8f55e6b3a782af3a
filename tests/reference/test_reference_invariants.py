"""check() sees each numbered invariant break, and names it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from slidefold.errors import InvariantError
from slidefold.reference import (
    Amta,
    BInt,
    Daba,
    DabaLite,
    Fat,
    FlatFat,
    FlatFit,
    Recalc,
    Sba,
    SlickDeque,
    SubtractOnEvict,
    TwoStacks,
    TwoStacksLite,
)
from slidefold.reference import operators as ops
from slidefold.reference.daba import Pointers
from slidefold.reference.two_stacks import Item


def filled(make: Any, inserts: int = 13, evicts: int = 2) -> Any:
    window = make(ops.Concat())
    for i in range(inserts):
        window.insert(chr(97 + i))
    for _ in range(evicts):
        window.evict()
    window.check()
    return window


def numbers_of(module: str) -> set[int]:
    """The invariants that a module's docstring lists."""
    text = importlib.import_module(f"slidefold.reference.{module}").__doc__ or ""
    return {int(n) for n in re.findall(r"^  I(\d+) ", text, re.MULTILINE)}


def slot(position: str, shift: int = 0) -> Callable[[Any], None]:
    """Spoil the slot of a six-pointer queue at a pointer."""

    def spoil(window: Any) -> None:
        at = getattr(window.at, position) + shift
        old = window.queue[at]
        window.queue[at] = Item(old.val, "?") if isinstance(old, Item) else "?"

    return spoil


def assign(**fields: Any) -> Callable[[Any], None]:
    return lambda window: vars(window).update(fields)


def forget(window: Any) -> None:
    window._shadow.popleft()


def move(**to: int) -> Callable[[Any], None]:
    def spoil(window: Any) -> None:
        window.at = window.at._replace(**{k: getattr(window.at, k) + v for k, v in to.items()})

    return spoil


def candidate(index: int, position: int) -> Callable[[Any], None]:
    def spoil(window: Any) -> None:
        window.candidates[index] = window.candidates[index]._replace(position=position)

    return spoil


def spoil_value(window: Any) -> None:
    window.queue[window.at.F] = Item("?", window.queue[window.at.F].agg)


def stack_item(window: Any, stack: str, **fields: str) -> None:
    items = getattr(window, stack)
    items[0] = items[0]._replace(**fields)


def two_stacks() -> Any:
    window = filled(TwoStacks)
    window.insert("y")
    window.insert("z")
    return window


def two_stacks_lite() -> Any:
    window = filled(TwoStacksLite)
    window.insert("y")
    window.insert("z")
    return window


def slick() -> Any:
    window: Any = SlickDeque(ops.Max())
    for number in (9, 1, 7, 3, 5):
        window.insert(number)
    window.check()
    return window


def daba(make: Any) -> Any:
    """A window in the middle of its reversal: F < L < R < A < B < E."""
    window = filled(make, 35, 1)
    assert all(p < q for p, q in pairwise(window.at))
    return window


def amta() -> Any:
    window = filled(Amta, 16, 3)
    window.insert("y")
    window.insert("z")
    return window


def spoil_node(window: Any) -> None:
    window.nodes[next(iter(window.nodes))] = "?"


def drop_node(window: Any) -> None:
    window.nodes.popitem()


def spoil_stack(window: Any) -> None:
    window.stack[0] = window.stack[0]._replace(agg="?")


def sba() -> Any:
    window: Any = Sba(ops.Concat(), 11, 3, 2)
    for i in range(29):
        window.push(chr(65 + i))
    window.check()
    return window


def over_time() -> Any:
    window: Any = Sba.over_time(ops.Concat(), 11, 3, 1, 2)
    for i in range(30):
        window.push(i, chr(65 + i))
    window.push(28 + 1, "x")
    window.check()
    return window


def item(name: str, index: int, value: Any = "?") -> Callable[[Any], None]:
    def spoil(window: Any) -> None:
        owner = window
        for part in name.split("."):
            owner = getattr(owner, part)
        owner[index] = value

    return spoil


def chunk_ca(window: Any) -> None:
    window.core.chunks[0].ca = "?"


def chunk_lcs(window: Any) -> None:
    window.core.chunks[0].lcs[1] = "?"


def oldest(window: Any) -> None:
    window.core.chunks.popleft()


def last_state(**fields: Any) -> Callable[[Any], None]:
    def spoil(window: Any) -> None:
        window.last = window.last._replace(**fields)

    return spoil


def tree_node(window: Any) -> None:
    window.tree.nodes[1] = "?"


def stale(window: Any) -> None:
    window.tree.stale.add(0)


CASES: dict[str, tuple[Callable[[], Any], dict[int, Callable[[Any], None]]]] = {
    "recalc": (lambda: filled(Recalc), {1: forget, 2: item("values", 3)}),
    "subtract_on_evict": (
        lambda: filled(SubtractOnEvict),
        {1: forget, 2: item("values", 3), 3: assign(running="?")},
    ),
    "two_stacks": (
        two_stacks,
        {
            1: forget,
            2: lambda w: stack_item(w, "front", val="?"),
            3: lambda w: stack_item(w, "front", agg="?"),
            4: lambda w: stack_item(w, "back", val="?"),
            5: lambda w: stack_item(w, "back", agg="?"),
        },
    ),
    "two_stacks_lite": (
        two_stacks_lite,
        {
            1: forget,
            2: assign(boundary=99),
            3: item("queue", 3),
            4: item("queue", 14),
            5: assign(agg_b="?"),
        },
    ),
    "daba": (
        lambda: daba(Daba),
        {
            1: forget,
            2: move(L=-5),
            3: spoil_value,
            4: slot("F"),
            5: slot("L"),
            6: slot("R"),
            7: slot("A"),
            8: slot("B"),
        },
    ),
    "daba_lite": (
        lambda: daba(DabaLite),
        {
            1: forget,
            2: move(L=-5),
            3: slot("F"),
            4: slot("L"),
            5: slot("R"),
            6: assign(agg_ra="?"),
            7: slot("A"),
            8: slot("B"),
            9: assign(agg_b="?"),
        },
    ),
    "flat_fit": (
        lambda: filled(FlatFit),
        {
            1: forget,
            2: lambda w: item("queue", 5, w.queue[5]._replace(end=5))(w),
            3: lambda w: item("queue", 5, w.queue[5]._replace(agg="?"))(w),
        },
    ),
    "slick_deque": (
        slick,
        {1: forget, 2: candidate(1, 0), 3: lambda w: w.candidates.popleft()},
    ),
    "b_int": (
        lambda: filled(BInt),
        {
            1: forget,
            2: lambda w: w.levels[1].pop(),
            3: lambda w: w.levels[1].append(w.levels[1].pop() + "?"),
        },
    ),
    "amta": (
        amta,
        {
            1: forget,
            2: drop_node,
            3: spoil_node,
            4: lambda w: w.stack.pop(),
            5: spoil_stack,
            6: assign(back="?"),
        },
    ),
    "flat_fat": (
        lambda: filled(FlatFat),
        {
            1: lambda w: w._lifted.popitem(),
            2: assign(capacity=5),
            3: assign(front=1),
            4: lambda w: item("tree.nodes", w.tree.size + 5)(w),
            5: stale,
        },
    ),
    "fat": (
        lambda: Fat(ops.Concat(), list("abcd")),
        {1: assign(size=3), 2: item("nodes", 1)},
    ),
    "sba": (
        sba,
        {1: assign(seen=40), 2: assign(part="?"), 4: last_state(window="?")},
    ),
    "boundary": (
        sba,
        {
            1: oldest,
            2: lambda w: setattr(w.core, "csa", "?"),
            3: chunk_ca,
            4: chunk_lcs,
            5: item("core.tails", 0),
        },
    ),
    "over_time": (
        over_time,
        {1: assign(now=10), 2: assign(part="?"), 4: last_state(state="?")},
    ),
}
# I9 of Daba and I10 of DabaLite have a test of their own; I3 of sba and over_time is boundary's.
ELSEWHERE = {"daba": {9}, "daba_lite": {10}, "sba": {3}, "over_time": {3}}


@pytest.mark.parametrize(
    ("module", "number"), [(m, n) for m, (_, spoils) in CASES.items() for n in spoils]
)
def test_each_invariant(module: str, number: int) -> None:
    make, spoils = CASES[module]
    window = make()
    spoils[number](window)
    with pytest.raises(InvariantError, match=rf"breaks I{number}: "):
        window.check()


@pytest.mark.parametrize("module", CASES)
def test_each_listed_invariant_has_a_case(module: str) -> None:
    assert numbers_of(module) == set(CASES[module][1]) | ELSEWHERE.get(module, set())


@pytest.mark.parametrize(("make", "number"), [(Daba, 9), (DabaLite, 10)])
def test_sizes_of_the_sublists(make: Any, number: int) -> None:
    """Aggregates that fit their lists, but lists that do not fit each other: one flip too few."""
    window = make(ops.Concat())
    for letter in "abc":
        window.insert(letter)
    window.at = Pointers(F=0, L=1, R=1, A=1, B=1, E=3)
    if make is Daba:
        aggs = ["a", "b", "bc"]
        for position, (val, agg) in enumerate(zip("abc", aggs, strict=True)):
            window.queue[position] = Item(val, agg)
    else:
        for position, state in enumerate("abc"):
            window.queue[position] = state
        window.agg_b = "bc"
    with pytest.raises(InvariantError, match=rf"breaks I{number}: the sizes"):
        window.check()


def test_a_broken_tree_is_named() -> None:
    window = filled(FlatFat)
    tree_node(window)
    with pytest.raises(InvariantError, match="Fat breaks I2: node 1"):
        window.check()


def test_check_forgives_only_rounding() -> None:
    window: Any = TwoStacks(ops.Sum())
    for _ in range(10):
        window.insert(0.1)
    window.evict()
    window.check()
    window.front[-1] = window.front[-1]._replace(agg=0.9001)
    with pytest.raises(InvariantError, match="TwoStacks breaks I3"):
        window.check()
