"""Run random operations on the native trees, in lockstep with the oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

from slidefold import algorithms
from tools.fuzz.histories import Operation, Plan, Source, plan_of
from tools.fuzz.operators import KINDS, Blown, Fuse
from tools.fuzz.oracle import Oracle
from tools.fuzz.rounds import Failure, Round
from tools.fuzz.shrink import shrunk

SMALL = 64  # up to this many entries everything is compared after each step
SELDOM = 1000  # above, only after this many steps

Make = Callable[[Plan], Any]


class Disagreement(Exception):  # noqa: N818 - not an error of this program
    """Raised if the tree and the oracle differ."""


def native(plan: Plan) -> Any:
    """Create the tree of a plan."""
    most = {} if plan.max_arity is None else {"max_arity": plan.max_arity}
    operator = KINDS[plan.operator].make()
    return getattr(algorithms, plan.tree)(operator, min_arity=plan.min_arity, **most)


class Lockstep:
    """A tree and the oracle, with the same operations applied to both."""

    def __init__(self, plan: Plan, make: Make) -> None:
        self.tree = make(plan)
        self.oracle = Oracle(KINDS[plan.operator])
        self.steps = 0

    def apply(self, operation: Operation) -> None:
        """Apply an operation to both; raise Disagreement if they differ."""
        name, *arguments = operation
        if name == "armed":
            fuse, inner = arguments
            Fuse.left = fuse
            try:
                self._apply(inner[0], inner[1:])
            except Blown:
                pass  # the oracle is unchanged, so the tree must be too
            finally:
                Fuse.left = 0
        else:
            self._apply(name, arguments)
        self.steps += 1
        if len(self.oracle.times) <= SMALL:
            self._compare(every=self.steps % 16 == 0)
        elif self.steps % SELDOM == 0:
            self._compare(every=True)
        elif self.steps % 50 == 0:
            _same("query()", self.tree.query(), self.oracle.query())

    def finish(self) -> None:
        """Compare everything at the end."""
        self._compare(every=True)

    def _apply(self, name: str, arguments: Sequence[Any]) -> None:
        tree, oracle = self.tree, self.oracle
        if name == "copy":
            self.tree = tree.copy()
            tree.bulk_evict(float("inf"))  # must not affect the copy
            return
        got = getattr(tree, name)(*arguments)
        Fuse.left = 0
        _same(name, got, getattr(oracle, name)(*arguments))
        times = oracle.times
        _same("len", len(tree), len(times))
        _same("oldest", tree.oldest, times[0] if times else None)
        _same("youngest", tree.youngest, times[-1] if times else None)

    def _compare(self, every: bool) -> None:
        self.tree.check()
        _same("query()", self.tree.query(), self.oracle.query())
        if every:
            _same("list", list(self.tree), self.oracle.items())


def _same(what: str, got: Any, expected: Any) -> None:
    if got != expected:
        raise Disagreement(f"{what}: expected {_short(expected)}, got {_short(got)}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:120]} ... {text[-60:]}"


def fault(plan: Plan, history: Iterable[Operation], make: Make = native) -> str | None:
    """Run a history from the start; return what goes wrong, None if nothing does."""
    lockstep = Lockstep(plan, make)
    try:
        for operation in history:
            lockstep.apply(operation)
        lockstep.finish()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def run_round(seed: int, number: int, make: Make = native) -> Round:
    """Run a round; if it fails, shorten its history."""
    rng = Random(f"{seed}/{number}")
    plan = plan_of(rng)
    lockstep = Lockstep(plan, make)
    history: list[Operation] = []
    about = {"tree": plan.tree, "operator": plan.operator, "arity": str(plan.min_arity)}
    try:
        for operation in Source(plan, rng, lockstep.oracle).operations():
            history.append(operation)
            lockstep.apply(operation)
        lockstep.finish()
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        return Round(len(history), about, Failure(message, explain(plan, history, make)))
    return Round(len(history), about)


def explain(plan: Plan, history: list[Operation], make: Make = native) -> str:
    """Return the shortened history as code, and its fault."""
    short = shrunk(history, lambda some: fault(plan, some, make) is not None)
    lines = [plan.source, *map(_code, short), f"# {fault(plan, short, make)}"]
    return "\n".join(lines)


def _code(operation: Operation) -> str:
    name, *arguments = operation
    if name == "armed":
        fuse, inner = arguments
        return f"Fuse.left = {fuse}; {_code(inner)}"
    if name == "copy":
        return "tree = tree.copy()"
    return f"tree.{name}({', '.join(map(repr, arguments))})"
