"""`check`: the laws of an operator on many examples, and the smallest that breaks one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from slidefold.definition.operators import Operator, OperatorFactory, UserOperator
from slidefold.errors import LawError, OperatorError
from slidefold.laws.algebra import (
    Algebra,
    NativeAlgebra,
    algebra_of,
    close,
    default_samples,
    scale_of,
)
from slidefold.laws.shrinking import shrunk, simplest_first

# An example: for each state that a law speaks of, the values whose fold it is.
Example = tuple[tuple[Any, ...], ...]
# What is wrong with an example; nothing if it keeps the law.
Law = Callable[[Example], str]


@dataclass(frozen=True)
class Report:
    """What was checked, and on how many examples."""

    operator: str
    laws: tuple[str, ...]
    examples: int

    def __str__(self) -> str:
        return f"{self.operator} keeps {len(self.laws)} laws on {self.examples} examples each: " + (
            "; ".join(self.laws)
        )


def check(
    operator: Operator | OperatorFactory | type,
    samples: Sequence[Any] | None = None,
    strategy: Any = None,
    *,
    examples: int = 200,
    tolerance: float = 1e-9,
) -> Report:
    """Test the laws of an operator, and raise `LawError` with the smallest counterexample.

    The laws: `combine` is associative; `identity` is neutral on both sides; a commutative operator
    commutes; `remove(combine(a, b), a)` is `b`; `combine` returns what `newer_wins` says; functions
    give the same result twice and leave their arguments alone; compiled code agrees with plain
    Python. Operators of your own are checked as they are written, built-in ones in native code.

    `samples` are values that `lift` takes (tuples where it takes several); without them, numbers of
    the declared types are used. `strategy` is a hypothesis strategy for the same. Floats agree if
    they differ by no more than `tolerance`, relative to them and to the samples.

    >>> import slidefold as sf
    >>> sf.check(sf.max_by(dtype="str")).laws[1]
    'combine is associative'
    >>> @sf.operator
    ... class Difference:
    ...     lift = staticmethod(lambda x: x)
    ...     combine = staticmethod(lambda older, newer: older - newer)
    ...     lower = staticmethod(lambda x: x)
    >>> sf.check(Difference, [0, 1, 2, 3])  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    slidefold.errors.LawError: Difference is not associative: combine(combine(a, b), c) !=
    combine(a, combine(b, c)) for lift(0), lift(0), lift(1): -1 != 1
    """
    made = operator() if isinstance(operator, OperatorFactory) else operator
    if not isinstance(made, Operator):
        raise OperatorError(f"expected an operator, such as slidefold.max(), got {operator!r}")
    if not isinstance(examples, int) or examples < 1:
        raise OperatorError(f"check needs at least 1 example, got {examples!r}")
    if not tolerance >= 0:
        raise OperatorError(f"a tolerance is not negative, got {tolerance!r}")
    if samples is not None and strategy is not None:
        raise OperatorError("check takes samples or a strategy, not both")
    values = _values(made, samples) if strategy is None else []
    laws = _Laws(made, algebra_of(made), tolerance)
    for number, (_, states, law) in enumerate(laws.kept):
        if strategy is not None:
            _search(law, states, strategy, examples)
        else:
            _sample(law, states, values, examples, number, free=samples is None)
    return Report(_title(made), tuple(name for name, _, _ in laws.kept), examples)


def _title(operator: Operator) -> str:
    """Return an operator in words: a class by its name, a built-in one with its parameters."""
    return operator.name if isinstance(operator, UserOperator) else str(operator)


def _values(operator: Operator, samples: Sequence[Any] | None) -> list[Any]:
    if samples is None:
        found = default_samples(operator)
        if found is None:
            raise OperatorError(
                f"check needs samples or a strategy: {_title(operator)} does not say what it takes"
            )
        return found
    values = list(samples)
    if not values:
        raise OperatorError("check needs at least one sample")
    return simplest_first(values)


def _sample(
    law: Law, states: int, values: list[Any], examples: int, seed: int, *, free: bool
) -> None:
    """Try a law on random folds of samples, and shrink the first failure."""
    chance = random.Random(seed)  # the same examples every time
    for _ in range(examples):
        example: Example = tuple(
            tuple(chance.choice(values) for _ in range(chance.choice((1, 1, 2, 3))))
            for _ in range(states)
        )
        said = law(example)
        if said:
            raise LawError(_smallest(law, example, said, values, free))


def _smallest(law: Law, example: Example, said: str, values: list[Any], free: bool) -> str:
    """What the law says of a smaller example that fails in the same way."""
    kind = said.split(":")[0]  # not in another one, such as an exception at zero
    smaller = shrunk(example, lambda e: law(e).startswith(kind), values, free=free)
    return law(smaller) or said  # a function that is not pure may have changed its mind


def _search(law: Law, states: int, strategy: Any, examples: int) -> None:
    """Let hypothesis look for a counterexample, and shrink it."""
    import hypothesis
    from hypothesis import strategies

    if not isinstance(strategy, strategies.SearchStrategy):
        raise OperatorError(f"strategy is a hypothesis strategy, got {strategy!r}")
    state = strategies.lists(strategy, min_size=1, max_size=3).map(tuple)
    found: list[str] = []

    @hypothesis.settings(
        max_examples=examples,
        database=None,
        derandomize=True,
        deadline=None,
        print_blob=False,
        verbosity=hypothesis.Verbosity.quiet,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategies.tuples(*[state] * states))
    def holds(example: Example) -> None:
        said = law(example)
        if said:
            found.append(said)
            raise LawError(said)

    try:
        holds()
    except Exception as error:
        if not found:
            raise
        # The last one that hypothesis tried is the smallest.
        raise LawError(found[-1]) from (None if isinstance(error, LawError) else error)


class _Laws:
    """The laws that an operator has to keep: (words, how many states, law)."""

    def __init__(self, operator: Operator, algebra: Algebra, tolerance: float) -> None:
        self.operator, self.algebra, self.tolerance = operator, algebra, tolerance
        self.name = _title(operator)
        self.kept = list(self._all())

    def _all(self) -> Iterator[tuple[str, int, Law]]:
        has = self.algebra.has
        yield "functions are pure", 2, self._told(self.pure)
        yield "combine is associative", 3, self._told(self.associative)
        if "identity" in has:
            yield "identity is neutral", 1, self._told(self.neutral)
        if self.operator.traits.commutative:
            yield "combine commutes", 2, self._told(self.commutative)
        if "remove" in has:
            yield "remove undoes combine", 2, self._told(self.invertible)
        if "newer_wins" in has:
            yield "combine returns what newer_wins says", 2, self._told(self.selective)
        if isinstance(self.operator, UserOperator) and self.operator.compiled:
            self.native = NativeAlgebra(self.operator)
            yield "compiled code agrees with plain Python", 1, self._told(self.agrees)

    def _told(self, law: Law) -> Law:
        """A law for which an exception is a failure too."""

        def told(example: Example) -> str:
            try:
                return law(example)
            except Exception as error:
                said = str(error) if isinstance(error, OperatorError) else _said(error)
                return f"{self.name} raises: {said}, for {_named(example)}"

        return told

    def _fold(self, values: tuple[Any, ...], algebra: Algebra | None = None) -> Any:
        algebra = algebra or self.algebra
        state = algebra.lift(values[0])
        for value in values[1:]:
            state = algebra.combine(state, algebra.lift(value))
        return state

    def _differ(self, what: str, law: str, example: Example, left: Any, right: Any) -> str:
        """The sentence about two states that should be the same; nothing if they are."""
        seen = self.algebra.seen
        return self._unequal(what, law, example, seen(left), seen(right))

    def _unequal(self, what: str, law: str, example: Example, left: Any, right: Any) -> str:
        if close(left, right, self.tolerance, scale_of(example)):
            return ""
        return f"{self.name} {what}: {law} for {_named(example)}: {left!r} != {right!r}"

    def associative(self, example: Example) -> str:
        a, b, c = map(self._fold, example)
        combine = self.algebra.combine
        left, right = combine(combine(a, b), c), combine(a, combine(b, c))
        law = "combine(combine(a, b), c) != combine(a, combine(b, c))"
        return self._differ("is not associative", law, example, left, right)

    def neutral(self, example: Example) -> str:
        (a,) = map(self._fold, example)
        combine, identity = self.algebra.combine, self.algebra.identity
        what = "has an identity that is not neutral"
        return self._differ(
            what, "combine(identity(), a) != a", example, combine(identity(), a), a
        ) or self._differ(what, "combine(a, identity()) != a", example, combine(a, identity()), a)

    def commutative(self, example: Example) -> str:
        a, b = map(self._fold, example)
        left, right = self.algebra.combine(a, b), self.algebra.combine(b, a)
        law = "combine(a, b) != combine(b, a)"
        return self._differ("does not commute", law, example, left, right)

    def invertible(self, example: Example) -> str:
        a, b = map(self._fold, example)
        left = self.algebra.remove(self.algebra.combine(a, b), a)
        law = "remove(combine(a, b), a) != b"
        return self._differ("is not invertible", law, example, left, b)

    def selective(self, example: Example) -> str:
        a, b = map(self._fold, example)
        wins = self.algebra.newer_wins(a, b)
        law = f"combine(a, b) != {'b' if wins else 'a'}, and newer_wins(a, b) is {wins},"
        left, right = self.algebra.combine(a, b), b if wins else a
        return self._differ("is not selective", law, example, left, right)

    def pure(self, example: Example) -> str:
        a, b = map(self._fold, example)
        algebra = self.algebra
        before = algebra.seen(a), algebra.seen(b)
        # Everything twice, exactly: what rounds, rounds twice alike.
        calls: list[tuple[str, Callable[[], Any]]] = [
            ("lift(x)", lambda: algebra.seen(algebra.lift(example[0][0]))),
            ("lower(a)", lambda: algebra.lower(a)),
            ("combine(a, b)", lambda: algebra.seen(algebra.combine(a, b))),
        ]
        if "newer_wins" in algebra.has:
            calls.append(("newer_wins(a, b)", lambda: algebra.newer_wins(a, b)))
        if "remove" in algebra.has:
            whole = algebra.combine(a, b)
            calls.append(("remove(whole, a)", lambda: algebra.seen(algebra.remove(whole, a))))
        for name, call in calls:
            first, second = call(), call()
            now = algebra.seen(a), algebra.seen(b)
            if not close(before, now, 0.0, 0.0):
                changed = next(
                    pair for pair in zip(before, now, strict=True) if not close(*pair, 0.0, 0.0)
                )
                return (
                    f"{self.name} is not pure: {name} changes its argument from "
                    f"{changed[0]!r} to {changed[1]!r} for {_named(example)}"
                )
            if not close(first, second, 0.0, 0.0):
                return (
                    f"{self.name} is not pure: {name} gives {first!r} and then {second!r} "
                    f"for {_named(example)}"
                )
        return ""

    def agrees(self, example: Example) -> str:
        plain = self.algebra.lower(self._fold(example[0]))
        compiled = self.native.lower(self._fold(example[0], self.native))
        law = "plain Python and compiled code differ"
        return self._unequal("is not the same when compiled", law, example, plain, compiled)


def _said(error: Exception) -> str:
    notes = [note for note in getattr(error, "__notes__", ()) if isinstance(note, str)]
    return " ".join([f"{type(error).__name__}: {error}", *(f"({note})" for note in notes)])


def _named(example: Example) -> str:
    """lift(1.0), and fold(1.0, 2.0) for the fold of several."""
    return ", ".join(
        f"{'lift' if len(values) == 1 else 'fold'}({', '.join(map(repr, values))})"
        for values in example
    )
