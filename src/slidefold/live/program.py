"""Compile a definition for rows of given types into the program that the native engine runs.

The program is made of plain values. Inputs are the columns that the definition reads. Stored
columns are what the engine keeps of each row: an input as it is, or converted for an operator. A
presence is a set of inputs that must have a value. A part is an operator over stored columns, a
window names its parts, and an output turns what a part gives into a column of results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.expressions import core_schema, derivation
from slidefold.columns.objects import (
    bayes_counts,
    frequent_structs,
    moment_structs,
    sketch_bytes,
)
from slidefold.columns.per import maps_of
from slidefold.columns.reading import takes_times
from slidefold.columns.tally import frequent_lists
from slidefold.columns.users import user_column
from slidefold.columns.values import is_temporal, is_text, steps_per_second
from slidefold.definition.operators import (
    Operator,
    PerOperator,
    QuantileOperator,
    StructOperator,
    UserOperator,
)
from slidefold.definition.operators import count as counting
from slidefold.definition.operators.pairs import half_life_of
from slidefold.definition.rolling import Leaf, Rolling
from slidefold.definition.windows import Clock, WindowKind, counted
from slidefold.planner import retyped

Finish = Callable[[Any], Any]


_MOST_COLUMNS = 16  # of one part


class _UnsupportedError(Exception):
    """Raised for types that the native engine does not take."""


@dataclass
class Result:
    """An output: the arguments for the native engine, and how Python completes the column."""

    name: str
    native: dict[str, Any]
    finish: Finish | None = None  # of an Arrow array, or of (values, valid) from Python


@dataclass
class Program:
    """A compiled definition."""

    native: dict[str, Any]
    results: list[Result]
    inputs: tuple[str, ...]
    reach: int | None  # how far before the watermark rows are needed; None if rows decide
    plain: bool  # whether native code gives the results of a row as Python objects


@dataclass
class _Builder:
    definition: Rolling
    schema: Any
    target: Any  # the schema of results
    clock: Clock
    inputs: list[str] = field(default_factory=list)
    columns: list[dict[str, Any]] = field(default_factory=list)
    presences: list[tuple[int, ...]] = field(default_factory=list)
    parts: list[dict[str, Any]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    windows: dict[WindowKind, dict[str, Any]] = field(default_factory=dict)
    plain: bool = True  # whether native code can give each result as a Python object

    def input(self, name: str) -> int:
        if name not in self.inputs:
            self.inputs.append(name)
        return self.inputs.index(name)

    def kind(self, name: str) -> Any:
        kind = self.schema.field(name).type
        return kind.value_type if pa.types.is_dictionary(kind) else kind

    def stored(self, name: str, reading: str = "raw", **more: Any) -> int:
        column = {"input": self.input(name), "reading": reading, **more}
        return _place(self.columns, column)

    def presence(self, names: tuple[str, ...]) -> int:
        """Return the bit of rows that have a value in all of these columns; -1 for all rows."""
        if not names:
            return -1
        return _place(self.presences, tuple(sorted({self.input(name) for name in names})))

    def part(self, **part: Any) -> int:
        return _place(self.parts, {"counts": False, **part})

    def fold(self, operator: Operator, columns: list[int], presence: int) -> int:
        """Return the part of a native operator over stored columns."""
        traits = operator.traits
        if len(columns) > _MOST_COLUMNS:
            raise _UnsupportedError
        return self.part(
            kind="fold",
            op=operator,
            columns=columns,
            presence=presence,
            commutative=traits.commutative,
        )

    def count(self, presence: int) -> int:
        """Return the part that counts the rows of a presence."""
        return self.part(
            kind="fold",
            op=counting(),
            columns=[],
            presence=presence,
            commutative=True,
            counts=True,
        )

    def window(self, window: WindowKind) -> dict[str, Any]:
        if window not in self.windows:
            rule = window.engine_rule(self.clock, self.schema)
            if self.definition.slide is not None:
                rule = self.definition.slide.window_rule(window, rule, self.clock)
            column = rule.pop("walks", None)
            if column is not None:
                if pa.types.is_dictionary(self.schema.field(column).type):
                    raise _UnsupportedError
                rule["column"] = self.stored(column)
            asks = -1 if rule["kind"] != "delta" else self.input(str(column))
            self.windows[window] = {**rule, "parts": [], "uses": [], "asks": asks}
        return self.windows[window]

    def use(
        self, leaf: Leaf, part: int, presence: int, source: str, kind: Any, **more: Any
    ) -> None:
        """Add an output of a part over the leaf's window, of an Arrow type."""
        window = self.window(leaf.window)
        if leaf.operator.keeps_nulls and leaf.min_count:  # nulls that are kept do not count
            flag = leaf.operator.flag
            presence = self.presence((*leaf.operator.columns, *(() if flag is None else (flag,))))
        counts = -1
        if presence >= 0:
            counts = _place(window["parts"], self.count(presence))
        place = _place(window["parts"], part)
        finish = more.pop("finish", None)
        objects, records = more.pop("objects", False), more.pop("records", False)
        native: dict[str, Any] = {
            # Where a result is a column by itself, it has its name.
            "name": leaf.path[0] if len(leaf.path) == 1 else f"\0{len(self.results)}",
            "source": source,
            "part": part,
            "least": leaf.min_count or 0,
            "scale": 1.0,
            "times": 1,
            "shifted": False,
            "objects": objects,
            "records": records,
            **more,
        }
        if objects or records or finish is not None or len(leaf.path) > 1 or not is_plain(kind):
            self.plain = False
        if not (objects or records):
            native["type"] = pa.field("", kind).__arrow_c_schema__()
            native["arrow"] = kind
        window["uses"].append((len(self.results), place, counts))
        self.results.append(Result(native["name"], native, finish))


def _place(items: list[Any], item: Any) -> int:
    if item not in items:
        items.append(item)
    return items.index(item)


# ---- what is stored of a column ------------------------------------------------------------------


def is_plain(kind: Any) -> bool:
    """Tell whether native code makes Python objects of values of a type, and back."""
    if pa.types.is_list(kind):
        return is_plain(kind.value_type)
    return bool(
        (_is_number(kind) and not pa.types.is_float16(kind))
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or _is_bytes(kind)
    )


def _is_number(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _narrow_decimal(kind: Any) -> bool:
    return bool(pa.types.is_decimal(kind) and kind.precision <= 18 and kind.scale >= 0)


def _is_bytes(kind: Any) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _compared(build: _Builder, name: str) -> tuple[int, str]:
    """Return a column in a form that is compared, and the native type of that form."""
    kind = build.kind(name)
    types = pa.types
    if types.is_floating(kind):
        return build.stored(name), "float64"
    if types.is_uint64(kind):
        return build.stored(name, "shifted"), "int64"
    if types.is_integer(kind) or types.is_boolean(kind) or is_temporal(kind):
        return build.stored(name), "int64"
    if _narrow_decimal(kind):
        return build.stored(name), "int64"
    if is_text(kind) or _is_bytes(kind):
        return build.stored(name), "str"
    raise _UnsupportedError


def _read(build: _Builder, operator: Operator, index: int) -> tuple[int, str]:
    """Return a column as `columns.reading.read` gives it to kernels, and its native type."""
    name = operator.columns[index]
    kind, types = build.kind(name), pa.types
    record = operator.record
    takes = record.key_types if index > 0 and record.pair else record.types
    floats = "float64" in takes
    numbers = floats or "int64" in takes
    hashed = record.reads == "hashed"
    if types.is_uint64(kind):
        if record.reads in ("truths", "bits"):
            return build.stored(name), "int64"
        if hashed:
            return build.stored(name, "shifted"), "int64"
        if record.reads == "numbers" and "float64" in record.types:
            return build.stored(name, "real"), "float64"
        raise _UnsupportedError
    if hashed and _is_bytes(kind):
        return build.stored(name, "latin"), "str"
    if hashed and _narrow_decimal(kind):
        return build.stored(name), "int64"
    if is_text(kind) and "str" in takes:
        return build.stored(name), "str"
    if not numbers:
        raise _UnsupportedError
    if types.is_boolean(kind):
        return build.stored(name), "bool" if _takes_truths(operator) else "int64"
    counts = is_temporal(kind) and takes_times(operator, index)
    if types.is_integer(kind) or counts:
        return build.stored(name), "int64"
    if types.is_floating(kind) and floats:
        return build.stored(name), "float64"
    if _narrow_decimal(kind) and floats:
        return build.stored(name, "real"), "float64"
    raise _UnsupportedError


def _takes_truths(operator: Operator) -> bool:
    return operator.record.reads == "truths" and operator.dtype == "bool"


def _in_units(build: _Builder, operator: Operator, index: int) -> tuple[int, str, float]:
    """Return a column for an operator that uses only differences, and how many steps make 1."""
    name = operator.columns[index]
    kind = build.kind(name)
    if pa.types.is_uint64(kind):
        return build.stored(name, "shifted"), "int64", 1.0
    if _narrow_decimal(kind):
        return build.stored(name), "int64", 10.0**kind.scale
    column, code = _read(build, operator, index)
    return column, code, steps_per_second(kind) if is_temporal(kind) else 1.0


def _as_words(operator: Operator, **more: Any) -> Operator:
    """Return an operator that picks or keeps values, over words of any type."""
    return replace(operator, dtype="int64", **more)


# ---- operators, by the word of their record for folds over columns ------------------------------


def _counted(build: _Builder, leaf: Leaf, kind: Any) -> None:
    presence = build.presence(leaf.operator.columns)
    # All rows are counted as long as none has a null.
    build.use(leaf, build.fold(counting(), [], -1), presence, "count", pa.int64())


def _value(build: _Builder, leaf: Leaf, name: str) -> tuple[list[int], int]:
    """Return the stored words of a column, with flags if nulls are kept, and the presence."""
    flag = leaf.operator.flag
    if leaf.operator.keeps_nulls:
        presence = -1 if flag is None else build.presence((flag,))
        return [build.stored(name), build.stored(name, "flag")], presence
    return [build.stored(name)], build.presence((name,))


def _placed(build: _Builder, leaf: Leaf, kind: Any) -> None:
    """Compile first, last and nth: the result is a value of the column."""
    name = leaf.operator.columns[0]
    columns, presence = _value(build, leaf, name)
    operator = _as_words(leaf.operator)
    if _outlives(build, leaf, name):
        operator = replace(leaf.operator, dtype="str")
    part = build.fold(operator, columns, presence)
    _use_own(build, leaf, part, presence, "fold", name)


def _outlives(build: _Builder, leaf: Leaf, name: str) -> bool:
    """Tell whether states hold texts longer than any row does, so that they need copies."""
    kind = build.kind(name)
    if not leaf.window.forever or not (
        is_text(kind) or _is_bytes(kind) or pa.types.is_decimal(kind)
    ):
        return False
    if pa.types.is_decimal(kind):
        if _narrow_decimal(kind):
            return False
        raise _UnsupportedError
    if leaf.operator.keeps_nulls:
        raise _UnsupportedError
    return True


def _use_own(
    build: _Builder, leaf: Leaf, part: int, presence: int, source: str, name: str, **more: Any
) -> None:
    """Add an output whose values are those of a column."""
    kind = build.schema.field(name).type
    build.use(leaf, part, presence, source, _exported(kind), finish=_restoring(kind), **more)


def _exported(kind: Any) -> Any:
    """Return the type in which native code returns values of a column."""
    types = pa.types
    if types.is_dictionary(kind):
        return _exported(kind.value_type)
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    return pa.float32() if types.is_float16(kind) else kind


def _restoring(kind: Any) -> Finish | None:
    exported = _exported(kind)
    if exported == kind:
        return None
    if pa.types.is_dictionary(kind):
        return lambda values: values.dictionary_encode().cast(kind)
    return lambda values: values.cast(kind)


def _walked(source: str) -> Callable[[_Builder, Leaf, Any], None]:
    """Compile a list of the values of a window."""

    def compiled(build: _Builder, leaf: Leaf, kind: Any) -> None:
        name = leaf.operator.columns[0]
        own = build.schema.field(name).type
        if _exported(own) != own or (source == "distinct" and pa.types.is_null(own)):
            raise _UnsupportedError
        columns, presence = _value(build, leaf, name)
        part = build.part(kind="walk", columns=columns, presence=presence)
        build.use(leaf, part, presence, source, pa.list_(own))

    return compiled


def _concat(build: _Builder, leaf: Leaf, kind: Any) -> None:
    name = leaf.operator.columns[0]
    if not is_text(build.kind(name)):
        raise _UnsupportedError
    presence = build.presence((name,))
    part = build.part(kind="walk", columns=[build.stored(name)], presence=presence)
    build.use(leaf, part, presence, "concat", _exported(build.kind(name)),
              finish=_restoring(build.kind(name)))  # fmt: skip


def _extreme(build: _Builder, leaf: Leaf, kind: Any) -> None:
    name = leaf.operator.columns[0]
    column, code = _compared(build, name)
    presence = build.presence((name,))
    part = build.fold(replace(leaf.operator, dtype=code), [column], presence)
    shifted = pa.types.is_uint64(build.kind(name))
    own = build.kind(name)
    build.use(leaf, part, presence, "fold", _exported(own), shifted=shifted, finish=_cast(own))


def _cast(kind: Any) -> Finish | None:
    return None if _exported(kind) == kind else lambda values: values.cast(kind)


def _extreme_count(build: _Builder, leaf: Leaf, kind: Any) -> None:
    name = leaf.operator.columns[0]
    column, code = _compared(build, name)
    presence = build.presence((name,))
    part = build.fold(replace(leaf.operator, dtype=code), [column], presence)
    build.use(leaf, part, presence, "fold", pa.int64())


def _extreme_by(build: _Builder, leaf: Leaf, kind: Any) -> None:
    arg, key = leaf.operator.columns
    column, code = _compared(build, key)
    presence = build.presence((arg, key))
    dtype = "str" if _outlives(build, leaf, arg) else "int64"
    operator = replace(leaf.operator, dtype=dtype, key_dtype=code)
    part = build.fold(operator, [build.stored(arg), column], presence)
    _use_own(build, leaf, part, presence, "fold", arg)


def _quantile(build: _Builder, leaf: Leaf, kind: Any) -> None:
    operator = leaf.operator
    assert isinstance(operator, QuantileOperator)
    name = operator.columns[0]
    own = build.kind(name)
    column, code = _compared(build, name)
    presence = build.presence((name,))
    keys = _KEYS[code]
    part = build.part(kind="order", keys=keys, columns=[column], presence=presence)
    decimal, unsigned = pa.types.is_decimal(own), pa.types.is_uint64(own)
    result = own if operator.picks or is_temporal(own) else pa.float64()
    if keys == "text" and not operator.picks:
        raise _UnsupportedError
    build.use(
        leaf,
        part,
        presence,
        "quantile",
        _exported(result),
        finish=_cast(result),
        q=operator.q,
        between=operator.interpolation,
        real_keys=keys == "real",
        between_whole=bool(is_temporal(own)),
        between_reals=bool(decimal or unsigned),
        decimals=own.scale if decimal else 0,
        shifted=bool(unsigned),
    )


def _tallied(source: str, ordered: bool) -> Callable[[_Builder, Leaf, Any], None]:
    """Compile an operator that needs to know how often values occur."""

    def compiled(build: _Builder, leaf: Leaf, kind: Any) -> None:
        name = leaf.operator.columns[0]
        own = build.kind(name)
        column, code = _compared(build, name)
        presence = build.presence((name,))
        part = build.part(
            kind="tally", keys=_KEYS[code], ordered=ordered, columns=[column], presence=presence
        )
        shifted = bool(pa.types.is_uint64(own))
        if source == "mode":
            result, finish = _exported(own), _cast(own)
            build.use(leaf, part, presence, source, result, finish=finish, shifted=shifted)
        elif source == "frequent":
            k = dict(leaf.operator.params)["k"]
            values = replace(leaf, path=(*leaf.path, "value"))
            counts = replace(leaf, path=(*leaf.path, "count"))
            items = pa.list_(_exported(own))
            finish = None if _exported(own) == own else _listed(own)
            build.use(values, part, presence, source, items, k=k, shifted=shifted, finish=finish)
            build.use(counts, part, presence, "frequencies", pa.list_(pa.int64()), k=k)
        else:
            build.use(leaf, part, presence, source, kind)

    return compiled


def _listed(kind: Any) -> Finish:
    """Return a function that casts the items of lists."""
    return lambda values: values.cast(pa.list_(kind))


_KEYS = {"float64": "real", "int64": "whole", "str": "text"}


def _rank(build: _Builder, leaf: Leaf, kind: Any) -> None:
    operator = leaf.operator
    name = operator.columns[0]
    column, code = _compared(build, name)
    presence = build.presence((name,))
    part = build.part(kind="order", keys=_KEYS[code], columns=[column], presence=presence)
    stored, _ = _compared(build, operator.own)
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


def _per(build: _Builder, leaf: Leaf, kind: Any) -> None:
    """Compile results per category: the keys of the maps, and their values."""
    operator = leaf.operator
    assert isinstance(operator, PerOperator)
    category, inner = operator.category, operator.inner
    own = build.kind(category)
    if pa.types.is_floating(own) or pa.types.is_decimal(own) or leaf.window.forever:
        raise _UnsupportedError
    before = len(build.results)
    window = build.window(leaf.window)
    parts, uses = list(window["parts"]), list(window["uses"])
    plain = build.plain
    word = inner.record.column
    if word not in _COMPILED or word in _NO_FOLDS:
        raise _UnsupportedError
    result = kind.item_type
    if word == "count":
        part = build.fold(counting(), [], -1)
        native: dict[str, Any] = {"type": pa.field("", pa.int64()).__arrow_c_schema__()}
        finish = None
        exported: Any = pa.int64()
    else:
        _COMPILED[word](build, replace(leaf, operator=inner, path=("", "")), result)
        made = build.results[before]
        native, finish = made.native, made.finish
        part = native["part"]
        exported = None
        if native["source"] != "fold" or native["objects"] or native["records"]:
            raise _UnsupportedError
        if len(build.results) != before + 1 or native["times"] != 1:
            raise _UnsupportedError
        exported = native.pop("arrow")
    # The inner operator has no result of its own.
    del build.results[before:]
    window["parts"], window["uses"], build.plain = parts, uses, plain
    flags = [build.stored(name, "flag") for name in inner.columns]
    columns = [build.stored(category), *flags, *build.parts[part]["columns"]]
    presence = build.presence((category,))
    per = build.part(
        kind="per",
        inner=part,
        flags=len(flags),
        columns=columns,
        presence=presence,
        commutative=inner.traits.commutative,
    )
    more = {"inner": part, "limit": operator.limit, "category": category, "by": columns[0]}
    restored = _restoring(build.schema.field(category).type)
    keys = pa.list_(_exported(own))
    build.use(
        replace(leaf, path=(*leaf.path, "key")), per, presence, "categories", keys, **more,
        finish=None if restored is None else _items(restored),
    )  # fmt: skip
    scaled = {name: native[name] for name in ("scale", "shifted") if name in native}
    build.use(
        replace(leaf, path=(*leaf.path, "value")), per, presence, "per", pa.list_(exported),
        **more, **scaled, finish=None if finish is None else _items(finish),
    )  # fmt: skip


def _items(finish: Finish) -> Finish:
    """Return a function that completes the items of lists."""
    return lambda lists: pa.ListArray.from_arrays(
        lists.offsets, finish(lists.values), mask=lists.is_null()
    )


# Operators whose results do not come from a state alone.
_NO_FOLDS = ("per", "m4", "user")


def _gap(build: _Builder, leaf: Leaf, kind: Any) -> None:
    name = leaf.operator.columns[0]
    own = build.kind(name)
    if not (is_temporal(own) or pa.types.is_integer(own)) or pa.types.is_uint64(own):
        raise _UnsupportedError
    presence = build.presence((name,))
    part = build.fold(replace(leaf.operator, dtype="int64"), [build.stored(name)], presence)
    times = round(steps_per_second(kind) / steps_per_second(own)) if is_temporal(own) else 1
    build.use(leaf, part, presence, "fold", kind, times=times)


def _top_k(build: _Builder, leaf: Leaf, kind: Any) -> None:
    name = leaf.operator.columns[0]
    own = build.kind(name)
    if _exported(own) != own:
        raise _UnsupportedError
    column, code = _compared(build, name)
    presence = build.presence((name,))
    part = build.fold(replace(leaf.operator, dtype=code), [column], presence)
    build.use(leaf, part, presence, "fold", pa.list_(own), shifted=pa.types.is_uint64(own))


def _sum(build: _Builder, leaf: Leaf, kind: Any) -> None:
    name = leaf.operator.columns[0]
    own, types = build.kind(name), pa.types
    operator, presence = leaf.operator, build.presence((name,))
    if types.is_uint64(own):
        operator = replace(operator, dtype="int64", variant="unsigned_sum")
        part = build.fold(operator, [build.stored(name)], presence)
        build.use(leaf, part, presence, "fold", pa.uint64())
        return
    if types.is_decimal(own) and not types.is_decimal256(own):
        narrow = _narrow_decimal(own)
        if not narrow and own.bit_width != 128:
            raise _UnsupportedError
        digits = min(38, own.precision + 10)
        variant = "decimal_sum" if narrow else "wide_decimal_sum"
        operator = _Native(
            operator, variant, "int64" if narrow else "str", digits=digits, type=str(own)
        )
        part = build.fold(operator, [build.stored(name)], presence)
        build.use(leaf, part, presence, "fold", pa.decimal128(digits, own.scale))
        return
    if types.is_duration(own):
        part = build.fold(retyped(operator, "int64"), [build.stored(name)], presence)
        build.use(leaf, part, presence, "fold", own)
        return
    _numbers(build, leaf, kind)


def _mean(build: _Builder, leaf: Leaf, kind: Any) -> None:
    name = leaf.operator.columns[0]
    own = build.kind(name)
    operator, presence = leaf.operator, build.presence((name,))
    if pa.types.is_duration(own):
        operator = replace(operator, dtype="int64", variant="whole_mean")
        part = build.fold(operator, [build.stored(name)], presence)
        build.use(leaf, part, presence, "fold", own)
        return
    if _narrow_decimal(own):
        operator = _Native(operator, "decimal_mean", "int64", unit=10**own.scale)
        part = build.fold(operator, [build.stored(name)], presence)
        build.use(leaf, part, presence, "fold", pa.float64())
        return
    _unsigned(build, leaf, kind)


class _Native(Operator):
    """A native operator with parameters of its own."""

    def __init__(self, like: Operator, native: str, dtype: str, **params: Any) -> None:
        super().__init__(like.name, like.columns, dtype, variant=native)
        object.__setattr__(self, "_given", params)

    @property
    def native_name(self) -> str:
        return self.variant

    @property
    def native_params(self) -> dict[str, Any]:
        return dict(self._given)  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Native):
            return False
        mine, theirs = ((one.variant, one.dtype, one.native_params) for one in (self, other))
        return mine == theirs

    __hash__ = None  # type: ignore[assignment]


def _unsigned(build: _Builder, leaf: Leaf, kind: Any) -> None:
    """Compile an operator that has a variant for uint64."""
    name = leaf.operator.columns[0]
    if not pa.types.is_uint64(build.kind(name)):
        _numbers(build, leaf, kind)
        return
    coding = leaf.operator.record.travel("uint64", False)
    assert coding is not None
    operator = replace(leaf.operator, dtype="int64", variant=coding.variant)
    presence = build.presence((name,))
    part = build.fold(operator, [build.stored(name, "shifted")], presence)
    build.use(leaf, part, presence, "fold", kind)


def _numbers(build: _Builder, leaf: Leaf, kind: Any, **more: Any) -> None:
    """Compile an operator over numbers or strings as they are."""
    operator = leaf.operator
    read = [_read(build, operator, i) for i in range(len(operator.columns))]
    presence = build.presence(operator.columns)
    typed = retyped(operator, *(code for _, code in read))
    part = build.fold(typed, [column for column, _ in read], presence)
    build.use(leaf, part, presence, "fold", kind, **more)


def _bits(build: _Builder, leaf: Leaf, kind: Any) -> None:
    name = leaf.operator.columns[0]
    if not (pa.types.is_integer(build.kind(name)) or pa.types.is_boolean(build.kind(name))):
        raise _UnsupportedError
    _numbers(build, leaf, kind)


def _range(build: _Builder, leaf: Leaf, kind: Any) -> None:
    name = leaf.operator.columns[0]
    own = build.kind(name)
    presence = build.presence((name,))
    if pa.types.is_uint64(own):
        operator = replace(leaf.operator, dtype="int64", variant="unsigned_range")
        part = build.fold(operator, [build.stored(name, "shifted")], presence)
        build.use(leaf, part, presence, "fold", kind)
        return
    if is_temporal(own) or _narrow_decimal(own):
        part = build.fold(replace(leaf.operator, dtype="int64"), [build.stored(name)], presence)
        times = 1
        if is_temporal(own):
            if not pa.types.is_duration(kind):
                raise _UnsupportedError
            times = round(steps_per_second(kind) / steps_per_second(own))
        build.use(leaf, part, presence, "fold", kind, times=times)
        return
    _numbers(build, leaf, kind)


def _decayed(build: _Builder, leaf: Leaf, kind: Any) -> None:
    operator = leaf.operator
    second = build.kind(operator.columns[1])
    said = dict(operator.params)["half_life"]
    if isinstance(said, str) and not is_temporal(second):
        raise _UnsupportedError
    value, code = _read(build, operator, 0)
    time, time_code, steps = _in_units(build, operator, 1)
    half_life = half_life_of(operator) * steps
    typed = retyped(replace(operator, params=(("half_life", half_life),)), code, time_code)
    presence = build.presence(operator.columns)
    part = build.fold(typed, [value, time], presence)
    build.use(leaf, part, presence, "fold", kind)


def _spread(build: _Builder, leaf: Leaf, kind: Any) -> None:
    operator = leaf.operator
    read = [_in_units(build, operator, i) for i in range(len(operator.columns))]
    typed = retyped(operator, *(code for _, code, _ in read))
    presence = build.presence(operator.columns)
    part = build.fold(typed, [column for column, _, _ in read], presence)
    scale = typed.record.unit(read[0][2], read[-1][2])
    build.use(leaf, part, presence, "fold", kind, scale=float(scale))


def _histogram(build: _Builder, leaf: Leaf, kind: Any) -> None:
    if pa.types.is_uint64(build.kind(leaf.operator.columns[0])):
        name = leaf.operator.columns[0]
        operator = replace(leaf.operator, dtype="int64", variant="unsigned_histogram")
        presence = build.presence((name,))
        part = build.fold(operator, [build.stored(name, "shifted")], presence)
        build.use(leaf, part, presence, "fold", kind)
        return
    _numbers(build, leaf, kind)


def _objects(convert: Callable[[Leaf, _Builder], Finish]) -> Callable[[_Builder, Leaf, Any], None]:
    """Compile an operator whose results are Python objects."""

    def compiled(build: _Builder, leaf: Leaf, kind: Any) -> None:
        finish = convert(leaf, build)
        _numbers(build, leaf, kind, objects=True, finish=lambda found: finish(found[0]))

    return compiled


def _bayes(leaf: Leaf, build: _Builder) -> Finish:
    kinds = [build.kind(name) for name in leaf.operator.columns]
    if not all(is_text(kind) or pa.types.is_integer(kind) for kind in kinds):
        raise _UnsupportedError
    codes = ["str" if is_text(kind) else "int64" for kind in kinds]
    if len({*codes[1:]}) > 1:
        raise _UnsupportedError
    features = leaf.operator.columns[1:]
    return lambda results: bayes_counts(codes[0], codes[-1], features, results)


def _bytes(results: list[Any]) -> Any:
    return pa.array([None if each is None else each.to_bytes() for each in results], pa.binary())


def _user(build: _Builder, leaf: Leaf, kind: Any) -> None:
    assert isinstance(leaf.operator, UserOperator)
    kinds = [build.kind(name) for name in leaf.operator.columns]
    operator = leaf.operator.for_columns(kinds)
    definition = operator.definition
    presence = build.presence(operator.columns)
    if definition.state is None:
        if not all(_is_number(kind) or is_text(kind) or _is_bytes(kind) for kind in kinds):
            raise _UnsupportedError
        columns = [build.stored(name) for name in operator.columns]
    else:
        columns = []
        for name, own, code in zip(operator.columns, kinds, definition.inputs.codes, strict=True):
            fits = pa.types.is_boolean(own) if code == "b1" else _is_number(own)
            fits = fits or (is_temporal(own) and code == "i8")
            if not fits:
                raise _UnsupportedError
            due = np.dtype(code).name
            complaint = f"{operator.name} takes {due}, the column {name!r} is {own}"
            columns.append(build.stored(name, "code", code=code, complaint=complaint))
    part = build.fold(operator, columns, presence)
    if operator.compiled:
        dtype = (
            definition.results if isinstance(definition.results, str) else definition.results.dtype
        )

        def records(found: Any) -> Any:
            data, valid = np.frombuffer(found[0], dtype), np.array(found[1], np.bool_)
            spread = np.zeros(len(valid), dtype)
            spread[valid] = data
            return user_column(operator, spread, valid)

        build.use(leaf, part, presence, "fold", kind, records=True, finish=records)
        return

    def objects(found: Any) -> Any:
        values, valid = found
        if definition.state is None:
            return user_column(operator, values, np.array(valid, np.bool_))
        from slidefold.definition.operators.plain import close_rows

        closed = close_rows(definition.results, values)
        return user_column(operator, closed, np.array(valid, np.bool_))

    build.use(leaf, part, presence, "fold", kind, objects=True, finish=objects)


_COMPILED: dict[str, Callable[[_Builder, Leaf, Any], None]] = {
    "bits": _bits,
    "collect": _walked("collect"),
    "collect_distinct": _walked("distinct"),
    "concat": _concat,
    "count": _counted,
    "decayed": _decayed,
    "distinct": _tallied("unique", ordered=False),
    "entropy": _tallied("entropy", ordered=False),
    "extreme": _extreme,
    "extreme_by": _extreme_by,
    "extreme_count": _extreme_count,
    "first": _placed,
    "frequent_items": _objects(lambda leaf, build: frequent_structs),
    "gap": _gap,
    "histogram": _histogram,
    "last": _placed,
    "mean": _mean,
    "mode": _tallied("mode", ordered=True),
    "most_frequent": _tallied("frequent", ordered=True),
    "moments": _objects(lambda leaf, build: moment_structs),
    "naive_bayes": _objects(_bayes),
    "nth": _placed,
    "numbers": _numbers,
    "per": _per,
    "quantile": _quantile,
    "range": _range,
    "rank": _rank,
    "reals": _objects(lambda leaf, build: lambda results: pa.array(results, pa.float64())),
    "sketch": _objects(lambda leaf, build: _bytes),
    "spread": _spread,
    "sum": _sum,
    "theta": _objects(lambda leaf, build: sketch_bytes),
    "top_k": _top_k,
    "unsigned": _unsigned,
    "user": _user,
}


# ---- a definition --------------------------------------------------------------------------------


def compile_program(definition: Rolling, schema: Any, target: Any, emit: str) -> Program | None:
    """Return the program of a definition, None if the native engine does not take its types.

    `target` is the schema of the results of a run.
    """
    try:
        return _compiled(definition, schema, target, emit)
    except _UnsupportedError:
        return None


def _compiled(definition: Rolling, schema: Any, target: Any, emit: str) -> Program:
    on = definition.on
    clock, _ = counted(on, pa.array([], schema.field(on).type))
    given = schema
    derived = derivation(definition, given)
    schema = core_schema(definition, given)
    build = _Builder(definition, schema, target, clock)
    build.input(on)
    for name in (*definition.used, *(derived.inputs if derived is not None else ())):
        if not _readable(build.kind(name)):
            raise _UnsupportedError
        build.input(name)
    for name, _ in definition.derived:
        build.input(name)
    rows = [name for name in definition.used if name != on and name not in definition.by]
    # Each column is kept as it is, for saved states, with a bit that tells whether it has a value.
    for name in rows:
        build.stored(name)
        build.presence((name,))
    reach: int | None = 0
    for leaf in definition.leaves:
        if leaf.algorithm is not None:
            raise _UnsupportedError
        own = target.field(leaf.path[0]).type
        for step in leaf.path[1:]:
            own = own.field(step).type
        word = leaf.operator.record.column
        if word == "m4":
            _compile_m4(build, leaf)
            continue
        if word not in _COMPILED:
            raise _UnsupportedError
        _COMPILED[word](build, leaf, own)
    for window in definition.windows:
        back = window.reach(clock)
        reach = None if back is None or reach is None else max(reach, back[0])
    ties = []
    for name in definition.ties:
        if name == on or name in definition.by:
            continue
        ties.append((build.stored(name), build.presence((name,))))
    rising = [
        (build.stored(name), build.presence((name,)))
        for name in dict.fromkeys(n for window in definition.windows for n in window.walks)
    ]
    if max(len(build.presences), len(definition.by)) > 60:  # bits of a word
        raise _UnsupportedError
    slide: dict[str, Any] = {"slide": ""}
    if definition.slide is not None:
        slide = definition.slide.engine_rule(list(build.windows), clock)
        kind = schema.field(on).type
        # A window may start before what a smaller type holds.
        bounds = pa.int64() if pa.types.is_integer(kind) else kind
        slide["bounds"] = pa.field("", bounds).__arrow_c_schema__()
    native = {
        **slide,
        "inputs": [
            {
                "name": name,
                "column": given.get_field_index(name),
                "type": pa.field("", schema.field(name).type).__arrow_c_schema__(),
            }
            for name in build.inputs
        ],
        "derived": None
        if derived is None
        else {**derived.native(), "from": [build.input(name) for name in derived.inputs]},
        "fields": list(given.names),
        "time": build.input(on),
        "keys": [build.input(name) for name in definition.by],
        "columns": build.columns,
        "presences": [list(presence) for presence in build.presences],
        "parts": build.parts,
        "windows": [_counts_first(window, build.parts) for window in build.windows.values()],
        "outputs": [result.native for result in build.results],
        "ties": ties,
        "rising": rising,
        "waits": emit in ("final", "change"),
        "again": emit == "revise",
    }
    inputs = tuple(name for name in build.inputs if name in given.names)
    return Program(native, build.results, inputs, reach, build.plain)


def _counts_first(window: dict[str, Any], parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a window whose parts that count come before the parts that need to know."""
    old = window["parts"]
    order = sorted(range(len(old)), key=lambda place: not parts[old[place]]["counts"])
    place_of = {before: after for after, before in enumerate(order)}
    uses = [
        (output, place_of[place], -1 if counts < 0 else place_of[counts])
        for output, place, counts in window["uses"]
    ]
    return {**window, "parts": [old[place] for place in order], "uses": uses}


def _compile_m4(build: _Builder, leaf: Leaf) -> None:
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


def _readable(kind: Any) -> bool:
    types = pa.types
    if types.is_decimal(kind):
        return bool(kind.scale >= 0 and (_narrow_decimal(kind) or kind.bit_width >= 128))
    return bool(
        (_is_number(kind) and True) or is_text(kind) or _is_bytes(kind) or is_temporal(kind)
    )


# ---- the columns of a definition from those of its outputs ---------------------------------------


def columns_of(definition: Rolling, arrays: Iterator[Any]) -> dict[str, Any]:
    """Return the columns of a definition, given the arrays of its outputs in order."""
    return {name: _column(over.operator, arrays) for name, over in definition.overs.items()}


def _column(operator: Operator, arrays: Iterator[Any]) -> Any:
    if isinstance(operator, StructOperator):
        parts = [_column(part, arrays) for _, part in operator.parts]
        return pa.StructArray.from_arrays(parts, [name for name, _ in operator.parts])
    if operator.record.column == "per":
        keys, values = next(arrays), next(arrays)
        ends = np.asarray(keys.offsets).astype(np.int64)
        return maps_of(ends, keys.values, values.values)
    if operator.record.column == "most_frequent":
        items, counts = next(arrays), next(arrays)
        held = items.is_valid().to_numpy(zero_copy_only=False)
        ends = np.asarray(items.offsets)
        return frequent_lists(items.values, counts.values.to_numpy(), ends, held)
    if operator.record.column == "m4":
        names = ["first", "last", "min", "max"]
        four = [next(arrays) for _ in names]
        mask = four[0].is_null() if four[0].null_count else None
        own = four[2].type
        return pa.StructArray.from_arrays([a.cast(own) for a in four], names, mask=mask)
    return next(arrays)
