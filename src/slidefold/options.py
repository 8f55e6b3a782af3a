"""List the options of `run` and `explain` by kind of data, and reject all others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from slidefold.errors import DefinitionError, nearest

# Keyed by kind of data. The Spark options are here too, so that they are known without pyspark.
OPTIONS: dict[str, tuple[str, ...]] = {
    "data in this process": ("threads", "at", "known", "asked", "lateness", "since", "until"),
    "Spark DataFrames": (
        "partitions",
        "types",
        "skew",
        "presorted",
        "spill",
        "engine",
        "at",
        "known",
        "asked",
        "lateness",
        "since",
        "until",
    ),
    "Spark streams": (
        "emit",
        "id",
        "late",
        "buckets",
        "cache_bytes",
        "metrics",
        "initial",
        "after",
        "types",
        "checkpoint",
    ),
}
IN_PROCESS, BATCH, STREAM = OPTIONS


def require_options(function: str, kind: str, given: Iterable[str]) -> None:
    """Reject options that this kind of data does not take, and suggest the nearest one.

    >>> require_options("run", IN_PROCESS, ["thread"])
    Traceback (most recent call last):
    slidefold.errors.DefinitionError: run has no thread=; did you mean threads=?
    """
    takes = OPTIONS[kind]
    for name in sorted(given):
        if name in takes:
            continue
        hint = f"for {kind} it takes {'=, '.join(takes)}="
        others = [other for other, names in OPTIONS.items() if name in names]
        if others:
            raise DefinitionError(
                f"{name}= of {function} is for {' and '.join(others)} only; {hint}"
            )
        near = nearest(name, takes, "{}=")
        raise DefinitionError(f"{function} has no {name}={near or f'; {hint}'}")


def require_flags(options: dict[str, Any]) -> None:
    """Reject a string such as "no" for an option that is true or false: it would count as true.

    >>> require_flags({"presorted": "no"})
    Traceback (most recent call last):
    slidefold.errors.DefinitionError: presorted must be True or False, got 'no'
    """
    for name, unset in (("presorted", False), ("spill", None)):
        value = options.get(name, unset)
        if value is not unset and not isinstance(value, bool):
            expected = "True, False or None" if unset is None else "True or False"
            raise DefinitionError(f"{name} must be {expected}, got {value!r}")


def require_alone(name: str, others: Iterable[str], options: dict[str, Any]) -> None:
    """Reject options that another one would silently ignore."""
    for other in others:
        if options.get(other) not in (None, False):
            raise DefinitionError(f"{other}= has no effect with {name}=: leave one of them out")


def take_period(options: dict[str, Any]) -> dict[str, Any]:
    """Remove `since` and `until` from options and return those that are given.

    >>> take_period({"since": 3, "until": None, "threads": 2})
    {'since': 3}
    """
    given = {name: options.pop(name, None) for name in ("since", "until")}
    period = {name: value for name, value in given.items() if value is not None}
    if period and options.get("at") is not None:
        raise DefinitionError(
            f"{next(iter(period))}= selects rows of the data, and at= gives one result per "
            "question: filter the questions instead"
        )
    return period
