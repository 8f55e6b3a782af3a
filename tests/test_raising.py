"""An operator that raises, at any call: the exception comes out as it is, the window stays."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import slidefold as sf
from slidefold import reference
from slidefold.algorithms import Amta, FlatFat
from tests.support.algorithms import REGISTERED, STEPPING, WINDOWS, make, takes
from tests.support.traps import KINDS, Checker, SprungError, SprungHard, Trap
from tests.support.user_operators import made


class StopSign(StopIteration):
    """An exception that means something to Python itself."""


class MissingError(KeyError):
    """Another one."""


MOST = 400  # calls; no script makes that many


def combinations(names: list[str]) -> list[Any]:
    """Return every algorithm with every kind of operator it takes and each of its functions."""
    return [
        pytest.param(name, kind, where, id=f"{name}-{kind}-{where}")
        for name in names
        for kind, functions in KINDS.items()
        for where in functions
        if takes(name, Trap(kind).operator)
    ]


def words(seed: int) -> Callable[[], str]:
    """Return a source of words of one to four letters."""
    rng = random.Random(seed)
    return lambda: rng.choice("abcdefgh") * rng.randint(1, 4)


def at_every_call(run: Callable[[int], int]) -> int:
    """Spring the trap at the 1st, 2nd, ... call, until a run makes fewer calls than that."""
    for k in range(1, MOST):
        if run(k) == 0:
            return k
    raise AssertionError("the script makes more calls than expected")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("code", ["checked", "unchecked", "reference"])
@pytest.mark.parametrize(("name", "kind", "where"), combinations(STEPPING))
def test_insert_evict_query(name: str, kind: str, where: str, code: str) -> None:
    def run(k: int) -> int:
        trap = Trap(kind)
        if code == "reference":
            window = getattr(reference, REGISTERED[name].__name__)(trap.plain)
        else:
            window = make(name, trap.operator, checked=code == "checked")
        check = Checker(trap, window)
        new, rng = words(1), random.Random(2)
        trap.set(where, k)
        for at in range(36):
            growing = 0.9 if at % 18 < 9 else 0.3
            if rng.random() < growing or not check.held:
                word = new()
                check.run(partial(check.window.insert, word), [*check.held, word])
            else:
                check.run(check.window.evict, check.held[1:])
            if rng.random() < 0.5:
                check.run(check.window.query, check.held)
        return check.sprung

    tried = at_every_call(run)
    only = {"remove": "subtract_on_evict", "newer_wins": "slick_deque"}.get(where, name)
    never = name != only or (name == "slick_deque" and where == "combine")
    assert never == (tried == 1), "the trap was never sprung"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("closed", ["right", "left"])
@pytest.mark.parametrize(("name", "kind", "where"), combinations(WINDOWS))
def test_push_by_rows(name: str, kind: str, where: str, closed: str) -> None:
    def run(k: int) -> int:
        trap = Trap(kind)
        window = sf.Window(trap.operator, sf.rows(4, closed=closed), algorithm=name, checked=True)
        check, new = Checker(trap, window), words(3)
        pushed: list[str] = []
        trap.set(where, k)
        for at in range(16):
            word = new()
            after = (pushed if closed == "left" else [*pushed, word])[-4:]
            before = check.sprung
            step = window.push if at % 3 else window.insert
            check.run(partial(step, word), after)
            if check.sprung == before:
                pushed.append(word)
        return check.sprung

    at_every_call(run)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("closed", ["right", "left", "both", "neither"])
@pytest.mark.parametrize(("name", "kind", "where"), combinations(WINDOWS))
def test_push_and_advance_by_time(name: str, kind: str, where: str, closed: str) -> None:
    """Several rows may leave in one step, and rows that wait may enter: all of it or nothing."""

    def inside(t: int, now: int) -> bool:
        start = t >= now - 5 if closed in ("left", "both") else t > now - 5
        return start and (t <= now if closed in ("right", "both") else t < now)

    def run(k: int) -> int:
        trap = Trap(kind)
        window = sf.Window(trap.operator, sf.time(5, closed=closed), algorithm=name, checked=True)
        check, new, rng = Checker(trap, window), words(4), random.Random(5)
        rows: list[tuple[int, str]] = []
        now = 0
        trap.set(where, k)
        for at in range(20):
            then = now + rng.choice([0, 0, 1, 2, 4, 7])
            word = new()
            advance = at % 4 == 3
            seen = rows if advance else [*rows, (then, word)]
            after = [w for t, w in seen if inside(t, then)]
            before = check.sprung
            if advance:
                check.run(partial(window.advance, then), after)
            else:
                check.run(partial(window.push, then, word), after)
            if check.sprung == before:
                now, rows = then, seen
        return check.sprung

    at_every_call(run)


@pytest.mark.parametrize("where", ["lift", "combine", "lower"])
@pytest.mark.parametrize("options", [{}, {"batch": True}, {"capacity": 6}], ids=str)
@pytest.mark.parametrize("code", ["native", "reference"])
def test_flat_fat_positions(code: str, options: dict[str, Any], where: str) -> None:
    def run(k: int) -> int:
        trap = Trap()
        window: Any = reference.FlatFat(trap.plain, **options)
        if code == "native":
            window = FlatFat(trap.operator, checked=True, **options)
        check, new, rng = Checker(trap, window), words(6), random.Random(7)
        places: dict[int, str] = {}
        trap.set(where, k)

        def step(action: Callable[[], Any], after: dict[int, str]) -> None:
            nonlocal places
            before = check.sprung
            check.run(action, [after[p] for p in sorted(after)])
            if check.sprung == before:
                places = after

        number = 0
        for _ in range(25):
            choice = rng.random()
            some = rng.choice(sorted(places)) if places else 0
            if choice < 0.5 or not places:
                if len(places) == options.get("capacity", 100):
                    continue
                word, before = new(), check.sprung
                step(partial(window.insert, word), {**places, number: word})
                number += check.sprung == before
            elif choice < 0.7:
                after = {p: w for p, w in places.items() if p != some}
                step(partial(window.evict, some), after)
            elif choice < 0.85:
                both = {some: new(), min(places): new()}
                step(partial(window.update, list(both), list(both.values())), {**places, **both})
            else:
                step(partial(window.prefix, some), places)
                step(partial(window.suffix, some), places)
                step(window.trigger, places)
        return check.sprung

    at_every_call(run)


@pytest.mark.parametrize("where", ["lift", "combine", "lower"])
@pytest.mark.parametrize("code", ["native", "reference"])
def test_amta_bulk_evict(code: str, where: str) -> None:
    def run(k: int) -> int:
        trap = Trap()
        native = code == "native"
        window: Any = Amta(trap.operator, checked=True) if native else reference.Amta(trap.plain)
        check, new, rng = Checker(trap, window), words(8), random.Random(9)
        trap.set(where, k)
        for _ in range(12):
            for _ in range(rng.randint(0, 4)):
                word = new()
                check.run(partial(check.window.insert, word), [*check.held, word])
            gone = rng.randint(0, len(check.held))
            check.run(partial(check.window.bulk_evict, gone), check.held[gone:])
            check.run(check.window.query, check.held)
        return check.sprung

    at_every_call(run)


@pytest.mark.parametrize("error_kind", [SprungError, SprungHard, StopSign, MissingError])
@pytest.mark.parametrize("name", STEPPING)
def test_the_very_object_comes_out(name: str, error_kind: type[BaseException]) -> None:
    error = error_kind("this one")
    for kind in KINDS:
        trap = Trap(kind)
        if not takes(name, trap.operator):
            continue
        window = make(name, trap.operator, checked=True)
        window.insert("a")
        steps: dict[str, Any] = {"lift": partial(window.insert, "b"), "lower": window.query}
        for where, step in steps.items():
            trap.set(where, 1, error)
            with pytest.raises(type(error)) as caught:
                step()
            assert caught.value is error
            trap.unset()
            assert window.query() == "<a>"


@pytest.mark.parametrize("name", STEPPING)
def test_slide_raises_what_the_operator_raised(name: str) -> None:
    for kind, functions in KINDS.items():
        trap = Trap(kind)
        if not takes(name, trap.operator):
            continue
        window = make(name, trap.operator, checked=True)
        window.insert("kept")
        for where in functions:
            for k in (1, 2, 7):
                for drain in (False, True):
                    trap.set(where, k)
                    raised: BaseException | None = None
                    try:
                        window.slide(list("abcdefgh"), 3, drain=drain)
                    except SprungError as error:
                        raised = error
                    assert raised is (trap.error if trap.countdown <= 0 else None)
                    trap.unset()
                    window.check()
                    assert (len(window), window.query()) == (1, "<kept>")


def test_an_identity_that_raises() -> None:
    """The identity is asked for where the window is made."""
    trap = Trap("identity")
    window = make("daba_lite", trap.operator)
    window.insert("a")
    for use in (
        lambda: make("daba_lite", trap.operator),
        lambda: sf.Window(trap.operator, sf.rows(3)),
        lambda: sf.Window(trap.operator, sf.time(3), algorithm="recalc"),
    ):
        trap.set("identity", 1)
        with pytest.raises(SprungError) as caught:
            use()
        assert caught.value is trap.error
        trap.unset()
        use()
    assert window.query() == "<a>"


def test_a_truth_that_raises() -> None:
    """newer_wins may give anything with a truth value, and that may raise too."""

    class Moody:
        def __bool__(self) -> bool:
            raise SprungError

    @sf.operator
    class Choice:
        lift = staticmethod(lambda value: value)
        combine = staticmethod(lambda older, newer: older)
        lower = staticmethod(lambda value: value)
        newer_wins = staticmethod(lambda older, newer: Moody())

    window = make("slick_deque", made(Choice))
    window.insert(1)
    with pytest.raises(SprungError):
        window.insert(2)
    assert (len(window), window.query()) == (1, 1)


class TestUsingTheWindowInside:
    """An operator that uses its own window, half way through a step."""

    @staticmethod
    def meddling(where: str) -> tuple[Any, list[Any]]:
        """Return an operator that calls what is in the list."""
        inside: list[Any] = []

        def call(function: str) -> None:
            if function == where and inside:
                inside[0]()

        @sf.operator
        class Meddling:
            @staticmethod
            def lift(word: str) -> str:
                call("lift")
                return word

            @staticmethod
            def combine(older: str, newer: str) -> str:
                call("combine")
                return older + newer

            @staticmethod
            def lower(state: str) -> str:
                call("lower")
                return state

        return made(Meddling), inside

    @pytest.mark.parametrize("where", ["lift", "combine", "lower"])
    @pytest.mark.parametrize("name", [n for n in STEPPING if takes(n, Trap().operator)])
    def test_is_refused(self, name: str, where: str) -> None:
        operator, inside = self.meddling(where)
        window = make(name, operator, checked=True)
        live = sf.Window(operator, sf.time(100), algorithm=name, checked=True)
        for at, letter in enumerate("abcdefg"):
            window.insert(letter)
            live.push(at, letter)
        refusals = 0
        for subject, steps, meddles in (
            (
                window,
                [lambda: window.insert("y"), window.evict, window.query],
                [lambda: window.insert("x"), window.evict, window.query, window.check, window.copy],
            ),
            (
                live,
                [lambda: live.push(50, "y"), lambda: live.advance(101), live.query],
                [lambda: live.push(99, "x"), lambda: live.advance(500), live.query, live.copy],
            ),
        ):
            for step in steps:
                for meddle in meddles:
                    before = len(subject), subject.query()
                    inside[:] = [meddle]
                    busy = ""
                    try:
                        step()
                    except sf.errors.BusyError as error:
                        busy = str(error)
                    inside.clear()
                    if busy:
                        assert "at work" in busy
                        assert (len(subject), subject.query()) == before
                        refusals += 1
                    subject.check()
        assert refusals > 0

    def test_another_window_is_fine(self) -> None:
        operator, inside = self.meddling("combine")
        other = make("daba_lite", sf.concat())
        inside.append(lambda: other.insert("z"))
        window = make("daba_lite", operator, checked=True)
        for letter in "abcd":
            window.insert(letter)
        assert window.query() == "abcd"
        assert len(other) > 0
