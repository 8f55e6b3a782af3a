"""Check the laws of an operator on many examples, and report the smallest that breaks one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from slidefold.definition.operators import Operator, OperatorFactory, UserOperator, require_events
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

# An example holds, for each state in a law, the values that fold to it.
Example = tuple[tuple[Any, ...], ...]
# A law returns what is wrong with an example, or "" if the example satisfies the law.
Law = Callable[[Example], str]


@dataclass(frozen=True)
class Report:
    """The laws that were checked, and the number of examples."""

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
    """Test the laws of an operator; raise `LawError` with the smallest counterexample found.

    The laws: `combine` is associative; `identity` is neutral on both sides; a commutative operator
    commutes; `remove(combine(a, b), a)` is `b`; `combine` returns what `newer_wins` says; functions
    return the same result twice and do not change their arguments; compiled code agrees with plain
    Python. User operators are checked as plain Python, built-in operators in native code.

    `samples` are values for `lift` (tuples if it takes several arguments). By default, `check` uses
    numbers of the declared types. `strategy` is a hypothesis strategy that generates such values.
    Floats are equal if they differ by at most `tolerance`, relative to their size and to the
    samples.

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
    checked: Any = operator() if isinstance(operator, OperatorFactory) else operator
    require_events(checked)
    if not isinstance(examples, int) or examples < 1:
        raise OperatorError(f"examples must be an integer of at least 1, got {examples!r}")
    if not tolerance >= 0:
        raise OperatorError(f"tolerance must be at least 0, got {tolerance!r}")
    if samples is not None and strategy is not None:
        raise OperatorError("check takes samples or a strategy, got both; leave one out")
    values = _values(checked, samples) if strategy is None else []
    laws = _Laws(checked, algebra_of(checked), tolerance)
    for number, (_, states, law) in enumerate(laws.kept):
        if strategy is not None:
            _search(law, states, strategy, examples)
        else:
            _sample(law, states, values, examples, number, free=samples is None)
    return Report(_title(checked), tuple(name for name, _, _ in laws.kept), examples)


def _title(operator: Operator) -> str:
    """Return the name of a user's class, or a built-in operator with its parameters."""
    return operator.name if isinstance(operator, UserOperator) else str(operator)


def _values(operator: Operator, samples: Sequence[Any] | None) -> list[Any]:
    if samples is None:
        defaults = default_samples(operator)
        if defaults is None:
            raise OperatorError(
                f"{_title(operator)} does not declare its input types; pass samples= or strategy= "
                "to check"
            )
        return defaults
    values = list(samples)
    if not values:
        raise OperatorError("samples must have at least one value, got none")
    return simplest_first(values)


def _sample(
    law: Law, states: int, values: list[Any], examples: int, seed: int, *, free: bool
) -> None:
    """Test a law on random folds of samples, and shrink the first failure."""
    chance = random.Random(seed)  # the same examples in every run
    for _ in range(examples):
        example: Example = tuple(
            tuple(chance.choice(values) for _ in range(chance.choice((1, 1, 2, 3))))
            for _ in range(states)
        )
        message = law(example)
        if message:
            raise LawError(_smallest(law, example, message, values, free))


def _smallest(law: Law, example: Example, message: str, values: list[Any], free: bool) -> str:
    """Return the law's message for a smaller example that fails in the same way."""
    kind = message.split(":")[0]  # not in another way, such as an exception at zero
    smaller = shrunk(example, lambda e: law(e).startswith(kind), values, free=free)
    return law(smaller) or message  # an impure function may pass the second time


def _search(law: Law, states: int, strategy: Any, examples: int) -> None:
    """Search for a counterexample with hypothesis, which also shrinks it."""
    import hypothesis
    from hypothesis import strategies

    if not isinstance(strategy, strategies.SearchStrategy):
        raise OperatorError(f"strategy must be a hypothesis strategy, got {strategy!r}")
    state = strategies.lists(strategy, min_size=1, max_size=3).map(tuple)
    messages: list[str] = []

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
        message = law(example)
        if message:
            messages.append(message)
            raise LawError(message)

    try:
        holds()
    except Exception as error:
        if not messages:
            raise
        # The last example that hypothesis tried is the smallest.
        raise LawError(messages[-1]) from (None if isinstance(error, LawError) else error)


class _Laws:
    """The laws that an operator must satisfy: (name, number of states, law)."""

    def __init__(self, operator: Operator, algebra: Algebra, tolerance: float) -> None:
        self.operator, self.algebra, self.tolerance = operator, algebra, tolerance
        self.name = _title(operator)
        self.kept = list(self._all())

    def _all(self) -> Iterator[tuple[str, int, Law]]:
        has = self.algebra.has
        yield "functions are pure", 2, self._guarded(self.pure)
        yield "combine is associative", 3, self._guarded(self.associative)
        if "identity" in has:
            yield "identity is neutral", 1, self._guarded(self.neutral)
        if self.operator.traits.commutative:
            yield "combine commutes", 2, self._guarded(self.commutative)
        if "remove" in has:
            yield "remove undoes combine", 2, self._guarded(self.invertible)
        if "newer_wins" in has:
            yield "combine returns what newer_wins says", 2, self._guarded(self.selective)
        if isinstance(self.operator, UserOperator) and self.operator.compiled:
            self.native = NativeAlgebra(self.operator)
            yield "compiled code agrees with plain Python", 1, self._guarded(self.agrees)

    def _guarded(self, law: Law) -> Law:
        """Return the law with exceptions reported as failures."""

        def guarded(example: Example) -> str:
            try:
                return law(example)
            except Exception as error:
                reason = str(error) if isinstance(error, OperatorError) else _described(error)
                return f"{self.name} raises: {reason}, for {_named(example)}"

        return guarded

    def _fold(self, values: tuple[Any, ...], algebra: Algebra | None = None) -> Any:
        algebra = algebra or self.algebra
        state = algebra.lift(values[0])
        for value in values[1:]:
            state = algebra.combine(state, algebra.lift(value))
        return state

    def _differ(self, what: str, law: str, example: Example, left: Any, right: Any) -> str:
        """Return a message about two states that should be equal, or "" if they are."""
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
        # Call everything twice and compare exactly: rounding is the same in both calls.
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
                    f"{self.name} is not pure: {name} returns {first!r} and then {second!r} "
                    f"for {_named(example)}"
                )
        return ""

    def agrees(self, example: Example) -> str:
        plain = self.algebra.lower(self._fold(example[0]))
        compiled = self.native.lower(self._fold(example[0], self.native))
        law = "plain Python and compiled code differ"
        return self._unequal("is not the same when compiled", law, example, plain, compiled)


def _described(error: Exception) -> str:
    notes = [note for note in getattr(error, "__notes__", ()) if isinstance(note, str)]
    return " ".join([f"{type(error).__name__}: {error}", *(f"({note})" for note in notes)])


def _named(example: Example) -> str:
    """Write an example as lift(1.0) for one value and fold(1.0, 2.0) for several."""
    return ", ".join(
        f"{'lift' if len(values) == 1 else 'fold'}({', '.join(map(repr, values))})"
        for values in example
    )
