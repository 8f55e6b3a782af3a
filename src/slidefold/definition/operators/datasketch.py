"""Sketches of the datasketches package: KLL quantiles, theta sets, frequent items.

Their states are Python objects, so every combine calls Python and takes a few microseconds; a
native combine takes nanoseconds. Up to 64 values are stored without a sketch, because a sketch is
larger. A combine creates a new sketch and changes neither argument.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from slidefold.definition.operators.base import Input, Operator, columns_of, share_of, whole_of
from slidefold.definition.operators.record import Record, recorded
from slidefold.errors import OperatorError, StateError, ValueTypeError

FEW = 64  # the number of values that are stored without a sketch
Functions = dict[str, Any]


@dataclass(frozen=True, repr=False)
class SketchOperator(Operator):
    """An operator of the datasketches package; its states are Python objects."""

    @property
    def native_name(self) -> str:
        """The native type, shared with users' operators; it calls Python."""
        return "object"

    @property
    def native_params(self) -> dict[str, Any]:
        """The functions to call."""
        module = _datasketches(self.name)
        functions = _FUNCTIONS[self.name](module, **dict(self.params))
        return {**functions, **_saving(getattr(module, _SAVED[self.name]), functions["lift"])}


@recorded(Record(types=("float64",), column="reals"), built_in=False)
def approx_quantile(column: Input | None = None, q: float = 0.5, *, k: int = 200) -> SketchOperator:
    """Estimate the q-quantile with a KLL sketch; the result is a float.

    The error of the rank is below 1.33% at k = 200 with 99% confidence, and smaller for larger k;
    up to 64 values are exact. NaN is skipped. The sketch draws random numbers, so equal windows of
    more values may give different results within that bound. Commutative. State: the values, then
    a sketch of about `8 * k` bytes. Needs `pip install slidefold[sketches]`, and calls Python for
    every combine.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.approx_quantile(q=0.5), sf.rows(3))
    >>> [w.push(x) for x in (5.0, 1.0, 3.0, 4.0)]
    [5.0, 1.0, 3.0, 3.0]
    """
    share = share_of(q, "approx_quantile", "q")
    k = whole_of(k, 8, "approx_quantile", "k", most=2**16 - 1)
    return _sketch("approx_quantile", column, q=share, k=k)


@recorded(Record(types=("float64", "str"), column="theta", reads="bits"), built_in=False)
def theta(column: Input | None = None, *, lg_k: int = 12) -> SketchOperator:
    """Build a theta sketch of the distinct values, for `result.get_estimate()` and set operations.

    The result is a compact sketch of the datasketches package, which offers unions, intersections
    and differences. The relative error of an estimate is about `2 / sqrt(2 ** lg_k)` with 95%
    confidence. Equal sets of values give equal sketches. As in that package, empty strings are
    skipped. Commutative. State: the values, then a sketch of up to `8 * 2 ** lg_k` bytes. Needs
    `pip install slidefold[sketches]`, and calls Python for every combine.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.theta(), sf.rows(3))
    >>> [w.push(x).get_estimate() for x in "abaac"]
    [1.0, 2.0, 2.0, 2.0, 2.0]
    """
    lg_k = whole_of(lg_k, 5, "theta", "lg_k", most=26)
    return _sketch("theta", column, lg_k=lg_k)


@recorded(Record(types=("str",), column="frequent_items"), built_in=False)
def frequent_items(
    column: Input | None = None, *, lg_max_k: int = 8, at_least: int = 1
) -> SketchOperator:
    """Find the most frequent strings, as a list of `(item, estimate)`, most frequent first.

    The result has only items that certainly occur at least `at_least` times. Of n values, it has
    every item with more than `n * 3.5 / 2 ** lg_max_k` occurrences. The estimates of many different
    items depend on the order of the values, within that bound, so it is not commutative. State: the
    values, then a map of up to `2 ** lg_max_k` items. Needs `pip install slidefold[sketches]`, and
    calls Python for every combine.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.frequent_items(), sf.rows(3))
    >>> [w.push(x) for x in "abaa"][-1]
    [('a', 2), ('b', 1)]
    """
    lg_max_k = whole_of(lg_max_k, 3, "frequent_items", "lg_max_k", most=26)
    at_least = whole_of(at_least, 1, "frequent_items", "at_least")
    return _sketch("frequent_items", column, lg_max_k=lg_max_k, at_least=at_least)


def _datasketches(operator: str) -> Any:
    try:
        return importlib.import_module("datasketches")
    except ImportError:
        raise OperatorError(
            f"{operator} needs the datasketches package: pip install slidefold[sketches]"
        ) from None


def _sketch(name: str, column: Input | None, **params: float) -> SketchOperator:
    _datasketches(name)  # raise now if the package is missing
    return SketchOperator(name, columns_of(column), dtype="object", params=tuple(params.items()))


class Sketch:
    """A sketch as a state: it never changes, and it is serialized at most once.

    Sketches of equal values may differ, so two sketches are equal if they hold as many values.
    """

    __slots__ = ("data", "inner", "values")

    def __init__(self, inner: Any, values: int, data: bytes | None = None) -> None:
        self.inner, self.values, self.data = inner, values, data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sketch) and self.values == other.values

    __hash__ = None  # type: ignore[assignment]

    def serialize(self) -> bytes:
        """Return the bytes, always the same; the package may serialize a sketch in several ways."""
        if self.data is None:
            self.data = self.inner.serialize()
        return self.data


def _size(state: Any) -> int:
    return len(state) if isinstance(state, tuple) else state.values


def _merging(
    merge: Callable[[Any, Any], Any], order: Callable[[Any], Any] | None = None
) -> Callable[[Any, Any], Any]:
    """Return a combine for states that are tuples of a few values, or sketches.

    With `order` the values are sorted by it, so that equal values are equal states.
    """

    def combine(older: Any, newer: Any) -> Any:
        both = _size(older) + _size(newer)
        if both > FEW:
            return Sketch(merge(older, newer), both)
        few = older + newer  # both are tuples
        return few if order is None else tuple(sorted(few, key=order))

    return combine


def _updating(sketch: Callable[[], Any]) -> Callable[[Any, Any], Any]:
    """Return a merge into a new sketch, for sketches that also accept single values."""

    def merge(older: Any, newer: Any) -> Any:
        whole = sketch()
        for part in (older, newer):
            if isinstance(part, tuple):
                for value in part:
                    whole.update(value)
            else:
                whole.merge(part.inner)
        return whole

    return merge


def _saving(sketch: Any, lift: Callable[[Any], Any]) -> Functions:
    """Return `dump` and `load` for states; datasketches serializes the sketches."""
    # `slidefold.state` imports the operators, so it cannot be imported at the top.
    from slidefold.state import dump_value, load_value

    def dump(state: Any) -> bytes:
        few = isinstance(state, tuple)
        return bytes(dump_value(state if few else [state.values, state.serialize()]))

    def load(data: bytes) -> Any:
        state = load_value(data)
        if isinstance(state, tuple) and len(state) <= FEW:
            for value in state:
                lift(value)
            return state
        kinds = [type(item) for item in state] if isinstance(state, list) else []
        if kinds != [int, bytes] or state[0] <= FEW:
            raise StateError(
                f"expected a saved state with at most {FEW} values or a sketch, got neither"
            )
        try:
            return Sketch(sketch.deserialize(state[1]), *state)
        except (IndexError, ValueError, RuntimeError, MemoryError):
            raise StateError("the bytes of a sketch are damaged") from None

    return {"dump": dump, "load": load}


def _quantile_functions(module: Any, q: float, k: int) -> Functions:
    def lift(value: Any) -> tuple[float, ...]:
        if isinstance(value, str) or not hasattr(value, "__float__"):
            raise ValueTypeError(f"expected a number, got {value!r}")
        number = float(value)
        return () if math.isnan(number) else (number,)

    def lower(state: Any) -> float | None:
        if not isinstance(state, tuple):
            return float(state.inner.get_quantile(q, True))
        return sorted(state)[max(0, math.ceil(q * len(state)) - 1)] if state else None

    combine = _merging(_updating(lambda: module.kll_doubles_sketch(k)), float)
    return {"lift": lift, "combine": combine, "lower": lower, "commutative": True}


def _theta_functions(module: Any, lg_k: int) -> Functions:
    def compact(state: Any) -> Any:
        if not isinstance(state, tuple):
            return state.inner
        sketch = module.update_theta_sketch(lg_k)
        for value in state:
            sketch.update(value)
        # A sketch that has dropped values keeps more than k of them, which depend on their order.
        if sketch.is_estimation_mode():
            sketch.trim()
        return sketch.compact()

    def merge(older: Any, newer: Any) -> Any:
        union = module.theta_union(lg_k)
        union.update(compact(older))
        union.update(compact(newer))
        return union.get_result()

    def lift(value: Any) -> tuple[Any]:
        if isinstance(value, str):
            return (value,)
        if isinstance(value, Integral):  # also numpy's, which datasketches does not accept
            whole = int(value)
            if not -(2**63) <= whole < 2**64:
                raise ValueTypeError(f"expected a 64-bit integer, got {whole}")
            # The same bits as a signed integer: the package would round a larger one to a float.
            return (whole - 2**64 if whole >= 2**63 else whole,)
        if isinstance(value, Real):
            return (float(value),)
        raise ValueTypeError(f"expected a number or a string, got {value!r}")

    def order(value: Any) -> tuple[bool, bool, Any]:
        return isinstance(value, str), value != value, value if value == value else 0

    combine = _merging(merge, order)
    return {"lift": lift, "combine": combine, "lower": compact, "commutative": True}


def _frequent_functions(module: Any, lg_max_k: int, at_least: int) -> Functions:
    def sketch() -> Any:
        return module.frequent_strings_sketch(lg_max_k)

    def lower(state: Any) -> list[tuple[str, int]]:
        if isinstance(state, tuple):
            whole = sketch()
            for value in state:
                whole.update(value)
        else:
            whole = state.inner
        kind = module.frequent_items_error_type.NO_FALSE_POSITIVES
        pairs = [(item, int(least)) for item, _, least, _ in whole.get_frequent_items(kind, 0)]
        frequent = [pair for pair in pairs if pair[1] >= at_least]
        return sorted(frequent, key=lambda pair: (-pair[1], pair[0]))

    def lift(value: Any) -> tuple[str]:
        if not isinstance(value, str):
            raise ValueTypeError(f"expected a string, got {value!r}")
        return (value,)

    return {"lift": lift, "combine": _merging(_updating(sketch)), "lower": lower}


_SAVED = {  # the classes that deserialize the sketches
    "approx_quantile": "kll_doubles_sketch",
    "theta": "compact_theta_sketch",
    "frequent_items": "frequent_strings_sketch",
}
_FUNCTIONS: dict[str, Callable[..., Functions]] = {
    "approx_quantile": _quantile_functions,
    "theta": _theta_functions,
    "frequent_items": _frequent_functions,
}
