"""List the options of `run` and `explain` by kind of data, and reject all others."""

from __future__ import annotations

from collections.abc import Iterable

from slidefold.errors import DefinitionError, nearest

# Keyed by kind of data. The Spark options are here too, so that they are known without pyspark.
OPTIONS: dict[str, tuple[str, ...]] = {
    "data in this process": ("threads", "at", "known", "asked", "lateness"),
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
    ),
    "Spark streams": (
        "emit",
        "id",
        "late",
        "buckets",
        "cache_bytes",
        "metrics",
        "initial",
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
