"""Folding a few values with every algorithm that takes the operator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import slidefold as sf
from slidefold.definition.operators import Operator
from tests.support.algorithms import fitting, make


def folds(operator: Operator, values: Iterable[Any]) -> dict[str, Any]:
    """Return what each algorithm gives for the values, inserted one by one."""
    held = list(values)
    results = {}
    for name in fitting(operator):
        for counted in (False, True):  # the operator as a template, and known at run time only
            algorithm = make(name, operator, counted=counted)
            for value in held:
                algorithm.insert(value)
            results[f"{name}{'+counted' * counted}"] = algorithm.query()
    return results


def fold(operator: Operator, values: Iterable[Any]) -> Any:
    """Return what all algorithms give; they must agree to the last bit."""
    results = folds(operator, values)
    first = next(iter(results.values()))
    for name, result in results.items():
        same = result == first or (result != result and first != first)
        assert same, f"{name} gives {result!r}, others {first!r}"
    return first


def slid(operator: Operator, values: Sequence[Any], n: int, **options: Any) -> list[Any]:
    """Return the results of a rows window that slides over the values."""
    window = sf.Window(operator, sf.rows(n), **options)
    return [window.push(value) for value in values]
