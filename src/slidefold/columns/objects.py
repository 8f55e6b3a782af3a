"""Columns of results that are objects in live windows: their fields as Arrow types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

_MOMENTS = ("count", "min", "max", "mean", "chebyshev")


def moment_structs(results: list[Any]) -> Any:
    """Return moments as structs: count, min, max, mean and the Chebyshev moments."""
    kind = pa.struct(
        [
            ("count", pa.int64()),
            *((name, pa.float64()) for name in _MOMENTS[1:4]),
            ("chebyshev", pa.list_(pa.float64())),
        ]
    )
    rows = [None if r is None else {name: getattr(r, name) for name in _MOMENTS} for r in results]
    return pa.array(rows, kind)


def frequent_structs(results: list[Any]) -> Any:
    """Return frequent items as lists of structs: the item, and its least number."""
    kind = pa.list_(pa.struct([("item", pa.string()), ("n", pa.int64())]))
    return pa.array(
        [r and [{"item": item, "n": n} for item, n in r] for r in results],
        kind,
    )


def sketch_bytes(results: list[Any]) -> Any:
    """Return sketches as the bytes that the datasketches package reads."""
    return pa.array([None if r is None else r.serialize() for r in results], pa.binary())


def bayes_counts(
    label_code: str, value_code: str, features: tuple[str, ...], results: list[Any]
) -> Any:
    """Return classifiers as their counts: of each label, and of each feature's values beside it.

    The count of a label alone has neither feature nor value.
    """
    types = {"int64": pa.int64(), "str": pa.string()}
    label, value = types[label_code], types[value_code]
    kind = pa.list_(
        pa.struct([("label", label), ("feature", pa.string()), ("value", value), ("n", pa.int64())])
    )
    rows: list[list[dict[str, Any]] | None] = []
    for model in results:
        if model is None:
            rows.append(None)
            continue
        counts: list[tuple[Any, ...]] = [(name, None, None, n) for name, n in model.labels.items()]
        counts += [(name, features[i], seen, n) for name, i, seen, n in model.counts]
        names = ("label", "feature", "value", "n")
        rows.append([dict(zip(names, count, strict=True)) for count in counts])
    return pa.array(rows, kind)
