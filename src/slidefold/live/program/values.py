"""Compile operators that pick, order or count values of a column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.tally import frequent_lists
from slidefold.columns.values import is_temporal, is_text, steps_per_second
from slidefold.definition.operators import QuantileOperator
from slidefold.definition.operators import count as counting
from slidefold.definition.rolling import Leaf
from slidefold.live.program.builder import Builder, Join, UnsupportedError
from slidefold.live.program.stored import (
    compared,
    copied,
    export_type,
    form_of,
    in_lists,
    restoring,
    use_own,
    value,
)
from slidefold.live.program.types import wide_decimal


def _counted(build: Builder, leaf: Leaf, kind: Any) -> None:
    presence = build.presence(leaf.operator.columns)
    # All rows are counted as long as none has a null.
    build.use(leaf, build.fold(counting(), [], -1), presence, "count", pa.int64())


def _placed(build: Builder, leaf: Leaf, kind: Any) -> None:
    """Compile first, last and nth: the result is a value of the column."""
    name = leaf.operator.columns[0]
    columns, presence = value(build, leaf, name)
    columns[0], dtype, latin = copied(build, leaf, name)
    part = build.fold(replace(leaf.operator, dtype=dtype), columns, presence)
    use_own(build, leaf, part, presence, "fold", name, latin=latin)


def _walked(source: str) -> Callable[[Builder, Leaf, Any], None]:
    """Compile a list of the values of a window."""

    def compiled(build: Builder, leaf: Leaf, kind: Any) -> None:
        name = leaf.operator.columns[0]
        own = build.schema.field(name).type
        columns, presence = value(build, leaf, name)
        part = build.part(kind="walk", columns=columns, presence=presence)
        items = pa.list_(export_type(own))
        build.use(leaf, part, presence, source, items, finish=in_lists(restoring(own)))

    return compiled


def _concat(build: Builder, leaf: Leaf, kind: Any) -> None:
    name = leaf.operator.columns[0]
    if not is_text(build.kind(name)):
        raise UnsupportedError
    presence = build.presence((name,))
    part = build.part(kind="walk", columns=[build.stored(name)], presence=presence)
    build.use(leaf, part, presence, "concat", export_type(build.kind(name)),
              finish=restoring(build.kind(name)))  # fmt: skip


def _extreme(build: Builder, leaf: Leaf, kind: Any) -> None:
    name = leaf.operator.columns[0]
    column, code = compared(build, name)
    presence = build.presence((name,))
    part = build.fold(replace(leaf.operator, dtype=code), [column], presence)
    own = build.kind(name)
    build.use(
        leaf, part, presence, "fold", export_type(own), finish=restoring(own),
        **form_of(own),
    )  # fmt: skip


def _extreme_count(build: Builder, leaf: Leaf, kind: Any) -> None:
    name = leaf.operator.columns[0]
    column, code = compared(build, name)
    presence = build.presence((name,))
    part = build.fold(replace(leaf.operator, dtype=code), [column], presence)
    build.use(leaf, part, presence, "fold", pa.int64())


def _extreme_by(build: Builder, leaf: Leaf, kind: Any) -> None:
    arg, key = leaf.operator.columns
    column, code = compared(build, key)
    presence = build.presence((arg, key))
    value, dtype, latin = copied(build, leaf, arg)
    operator = replace(leaf.operator, dtype=dtype, key_dtype=code)
    part = build.fold(operator, [value, column], presence)
    use_own(build, leaf, part, presence, "fold", arg, latin=latin)


def _quantile(build: Builder, leaf: Leaf, kind: Any) -> None:
    operator = leaf.operator
    assert isinstance(operator, QuantileOperator)
    name = operator.columns[0]
    own = build.kind(name)
    column, code = compared(build, name)
    presence = build.presence((name,))
    keys = _KEYS[code]
    part = build.part(kind="order", keys=keys, columns=[column], presence=presence)
    decimal, unsigned = pa.types.is_decimal(own), pa.types.is_uint64(own)
    result = own if operator.picks or is_temporal(own) else pa.float64()
    scaled = not decimal or (not wide_decimal(own) and own.scale >= 0)
    if not operator.picks and (keys == "text" or not scaled or pa.types.is_null(own)):
        raise UnsupportedError
    build.use(
        leaf,
        part,
        presence,
        "quantile",
        export_type(result),
        finish=restoring(result),
        q=operator.q,
        between=operator.interpolation,
        real_keys=keys == "real",
        between_whole=bool(is_temporal(own)),
        between_reals=bool(decimal or unsigned),
        decimals=own.scale if decimal else 0,
        **form_of(own),
    )


def _tallied(source: str, ordered: bool) -> Callable[[Builder, Leaf, Any], None]:
    """Compile an operator that needs to know how often values occur."""

    def compiled(build: Builder, leaf: Leaf, kind: Any) -> None:
        name = leaf.operator.columns[0]
        own = build.kind(name)
        column, code = compared(build, name)
        presence = build.presence((name,))
        part = build.part(
            kind="tally", keys=_KEYS[code], ordered=ordered, columns=[column], presence=presence
        )
        how = form_of(own)
        if source == "mode":
            finish = restoring(own)
            build.use(leaf, part, presence, source, export_type(own), finish=finish, **how)
        elif source == "frequent":
            k = dict(leaf.operator.params)["k"]
            values = replace(leaf, path=(*leaf.path, "value"))
            counts = replace(leaf, path=(*leaf.path, "count"))
            items = pa.list_(export_type(own))
            finish = in_lists(restoring(own))
            build.use(values, part, presence, source, items, k=k, finish=finish, **how)
            build.use(counts, part, presence, "frequencies", pa.list_(pa.int64()), k=k)
            build.joins[leaf.path] = Join(2, _frequent)
        else:
            build.use(leaf, part, presence, source, kind)

    return compiled


def _frequent(arrays: list[Any]) -> Any:
    """Return values and their counts as one column."""
    items, counts = arrays
    held = items.is_valid().to_numpy(zero_copy_only=False)
    return frequent_lists(items.values, counts.values.to_numpy(), np.asarray(items.offsets), held)


_KEYS = {"float64": "real", "int64": "whole", "str": "text"}


def _rank(build: Builder, leaf: Leaf, kind: Any) -> None:
    operator = leaf.operator
    name = operator.columns[0]
    column, code = compared(build, name)
    presence = build.presence((name,))
    part = build.part(kind="order", keys=_KEYS[code], columns=[column], presence=presence)
    stored, _ = compared(build, operator.own)
    params = dict(operator.params)
    build.use(
        leaf,
        part,
        presence,
        "rank",
        pa.float64(),
        ties=params["method"],
        share=bool(params["pct"]),
        own_input=build.input(operator.own),
        own_stored=stored,
        own_presence=build.presence((operator.own,)),
    )


def _top_k(build: Builder, leaf: Leaf, kind: Any) -> None:
    name = leaf.operator.columns[0]
    own = build.kind(name)
    column, code = compared(build, name)
    presence = build.presence((name,))
    part = build.fold(replace(leaf.operator, dtype=code), [column], presence)
    build.use(
        leaf, part, presence, "fold", pa.list_(export_type(own)), finish=in_lists(restoring(own)),
        **form_of(own),
    )  # fmt: skip


def _gap(build: Builder, leaf: Leaf, kind: Any) -> None:
    name = leaf.operator.columns[0]
    own = build.kind(name)
    if not (is_temporal(own) or pa.types.is_integer(own)) or pa.types.is_uint64(own):
        raise UnsupportedError
    presence = build.presence((name,))
    part = build.fold(replace(leaf.operator, dtype="int64"), [build.stored(name)], presence)
    times = round(steps_per_second(kind) / steps_per_second(own)) if is_temporal(own) else 1
    build.use(leaf, part, presence, "fold", kind, times=times)


def _m4(build: Builder, leaf: Leaf, kind: Any) -> None:
    from slidefold.definition import operators

    columns = leaf.operator.columns
    four = {
        "first": operators.first(*columns),
        "last": operators.last(*columns),
        "min": operators.min(*columns),
        "max": operators.max(*columns),
    }
    for name, operator in four.items():
        compiled = _placed if name in ("first", "last") else _extreme
        compiled(build, replace(leaf, path=(*leaf.path, name), operator=operator), None)
    build.joins[leaf.path] = Join(4, _four)


def _four(arrays: list[Any]) -> Any:
    """Return first, last, min and max as one column."""
    mask = arrays[0].is_null() if arrays[0].null_count else None
    own = arrays[2].type
    names = ["first", "last", "min", "max"]
    return pa.StructArray.from_arrays([a.cast(own) for a in arrays], names, mask=mask)


VALUES: dict[str, Callable[[Builder, Leaf, Any], None]] = {
    "collect": _walked("collect"),
    "collect_distinct": _walked("distinct"),
    "concat": _concat,
    "count": _counted,
    "distinct": _tallied("unique", ordered=False),
    "entropy": _tallied("entropy", ordered=False),
    "extreme": _extreme,
    "extreme_by": _extreme_by,
    "extreme_count": _extreme_count,
    "first": _placed,
    "gap": _gap,
    "last": _placed,
    "m4": _m4,
    "mode": _tallied("mode", ordered=True),
    "most_frequent": _tallied("frequent", ordered=True),
    "nth": _placed,
    "quantile": _quantile,
    "rank": _rank,
    "top_k": _top_k,
}
