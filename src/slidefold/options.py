"""Which options `run` and `explain` take, by the kind of data; others are refused by name."""

from __future__ import annotations

from collections.abc import Iterable

from slidefold.errors import DefinitionError, nearest

# By what the data is. Those of Spark are here too, so that they are known without pyspark.
OPTIONS: dict[str, tuple[str, ...]] = {
    "data in this process": ("threads",),
    "Spark DataFrames": ("partitions", "types", "skew", "presorted", "spill", "engine"),
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
    """Refuse options that are not for this kind of data, naming the nearest that is.

    >>> require_options("run", IN_PROCESS, ["thread"])
    Traceback (most recent call last):
    slidefold.errors.DefinitionError: run has no thread=; did you mean threads=?
    """
    takes = OPTIONS[kind]
    for name in sorted(given):
        if name in takes:
            continue
        hint = f"for {kind} it takes {'=, '.join(takes)}="
        there = [other for other, names in OPTIONS.items() if name in names]
        if there:
            raise DefinitionError(
                f"{name}= of {function} is for {' and '.join(there)} only; {hint}"
            )
        near = nearest(name, takes, "{}=")
        raise DefinitionError(f"{function} has no {name}={near or f'; {hint}'}")
