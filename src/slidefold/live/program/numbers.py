"""Compile operators that compute with numbers, and users' operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.objects import bayes_counts, frequent_structs, moment_structs, sketch_bytes
from slidefold.columns.users import user_column
from slidefold.columns.values import is_temporal, is_text, steps_per_second
from slidefold.definition.operators import Operator, UserOperator
from slidefold.definition.operators.pairs import half_life_of
from slidefold.definition.rolling import Leaf
from slidefold.live.program.builder import Builder, Finish, UnsupportedError
from slidefold.live.program.stored import in_units, read_by, restored
from slidefold.live.program.types import is_bytes, is_number, narrow_decimal, wide_decimal
from slidefold.planner import retyped


def _sum(build: Builder, leaf: Leaf, kind: Any) -> None:
    name = leaf.operator.columns[0]
    own, types = build.kind(name), pa.types
    operator, presence = leaf.operator, build.presence((name,))
    if types.is_uint64(own):
        operator = replace(operator, dtype="int64", variant="unsigned_sum")
        part = build.fold(operator, [build.stored(name)], presence)
        build.use(leaf, part, presence, "fold", pa.uint64())
        return
    if types.is_decimal(own) and not types.is_decimal256(own):
        narrow = narrow_decimal(own)
        if not narrow and not (wide_decimal(own) and own.bit_width == 128):
            raise UnsupportedError
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


def _mean(build: Builder, leaf: Leaf, kind: Any) -> None:
    name = leaf.operator.columns[0]
    own = build.kind(name)
    operator, presence = leaf.operator, build.presence((name,))
    if pa.types.is_duration(own):
        operator = replace(operator, dtype="int64", variant="whole_mean")
        part = build.fold(operator, [build.stored(name)], presence)
        build.use(leaf, part, presence, "fold", own)
        return
    if narrow_decimal(own):
        operator = _Native(operator, "decimal_mean", "int64", unit=10**own.scale)
        part = build.fold(operator, [build.stored(name)], presence)
        build.use(leaf, part, presence, "fold", pa.float64())
        return
    if pa.types.is_decimal(own):
        raise UnsupportedError  # the mean of a batch is exact
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


def _unsigned(build: Builder, leaf: Leaf, kind: Any) -> None:
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


def _numbers(build: Builder, leaf: Leaf, kind: Any, **more: Any) -> None:
    """Compile an operator over numbers or strings as they are."""
    operator = leaf.operator
    read = [read_by(build, operator, i) for i in range(len(operator.columns))]
    presence = build.presence(operator.columns)
    typed = retyped(operator, *(code for _, code in read))
    part = build.fold(typed, [column for column, _ in read], presence)
    build.use(leaf, part, presence, "fold", kind, **more)


def _bits(build: Builder, leaf: Leaf, kind: Any) -> None:
    name = leaf.operator.columns[0]
    if not (pa.types.is_integer(build.kind(name)) or pa.types.is_boolean(build.kind(name))):
        raise UnsupportedError
    _numbers(build, leaf, kind)


def _range(build: Builder, leaf: Leaf, kind: Any) -> None:
    name = leaf.operator.columns[0]
    own = build.kind(name)
    presence = build.presence((name,))
    if pa.types.is_uint64(own):
        operator = replace(leaf.operator, dtype="int64", variant="unsigned_range")
        part = build.fold(operator, [build.stored(name, "shifted")], presence)
        build.use(leaf, part, presence, "fold", kind)
        return
    if is_temporal(own) or narrow_decimal(own):
        part = build.fold(replace(leaf.operator, dtype="int64"), [build.stored(name)], presence)
        if not is_temporal(own):
            # One digit more than the column fits in 64 bits; native code takes types of more than
            # 18 digits as bytes.
            stored = kind if narrow_decimal(kind) else own
            finish = None if stored is kind else lambda values: values.cast(kind)
            build.use(leaf, part, presence, "fold", stored, finish=finish)
            return
        if not pa.types.is_duration(kind):
            raise UnsupportedError
        times = round(steps_per_second(kind) / steps_per_second(own))
        build.use(leaf, part, presence, "fold", kind, times=times)
        return
    if pa.types.is_decimal(own):
        raise UnsupportedError
    _numbers(build, leaf, kind)


def _decayed(build: Builder, leaf: Leaf, kind: Any) -> None:
    operator = leaf.operator
    second = build.kind(operator.columns[1])
    if isinstance(dict(operator.params)["half_life"], str) and not is_temporal(second):
        raise UnsupportedError
    value, code = read_by(build, operator, 0)
    time, time_code, steps = in_units(build, operator, 1)
    half_life = half_life_of(operator) * steps
    typed = retyped(replace(operator, params=(("half_life", half_life),)), code, time_code)
    presence = build.presence(operator.columns)
    part = build.fold(typed, [value, time], presence)
    build.use(leaf, part, presence, "fold", kind)


def _spread(build: Builder, leaf: Leaf, kind: Any) -> None:
    operator = leaf.operator
    read = [in_units(build, operator, i) for i in range(len(operator.columns))]
    typed = retyped(operator, *(code for _, code, _ in read))
    presence = build.presence(operator.columns)
    part = build.fold(typed, [column for column, _, _ in read], presence)
    scale = typed.record.unit(read[0][2], read[-1][2])
    build.use(leaf, part, presence, "fold", kind, scale=float(scale))


def _histogram(build: Builder, leaf: Leaf, kind: Any) -> None:
    if pa.types.is_uint64(build.kind(leaf.operator.columns[0])):
        name = leaf.operator.columns[0]
        operator = replace(leaf.operator, dtype="int64", variant="unsigned_histogram")
        presence = build.presence((name,))
        part = build.fold(operator, [build.stored(name, "shifted")], presence)
        build.use(leaf, part, presence, "fold", kind)
        return
    _numbers(build, leaf, kind)


def _objects(convert: Callable[[Leaf, Builder], Finish]) -> Callable[[Builder, Leaf, Any], None]:
    """Compile an operator whose results are Python objects."""

    def compiled(build: Builder, leaf: Leaf, kind: Any) -> None:
        finish = convert(leaf, build)
        _numbers(build, leaf, kind, objects=True, finish=lambda found: finish(found[0]))

    return compiled


def _bayes(leaf: Leaf, build: Builder) -> Finish:
    kinds = [build.kind(name) for name in leaf.operator.columns]
    if not all(is_text(kind) or pa.types.is_integer(kind) for kind in kinds):
        raise UnsupportedError
    codes = ["str" if is_text(kind) else "int64" for kind in kinds]
    if len({*codes[1:]}) > 1:
        raise UnsupportedError
    features = leaf.operator.columns[1:]
    return lambda results: bayes_counts(codes[0], codes[-1], features, results)


def _bytes(results: list[Any]) -> Any:
    return pa.array([None if each is None else each.to_bytes() for each in results], pa.binary())


class _Converting:
    """Make the Python object of a value that comes as a column of one row."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def __call__(self, capsules: Any) -> Any:
        values = pa.Array._import_from_c_capsule(*capsules)
        return restored(self.kind, values)[0].as_py()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Converting) and self.kind == other.kind

    __hash__ = None  # type: ignore[assignment]


def _converting(kind: Any) -> _Converting | None:
    """Return what makes Python objects of values, None if native code does."""
    return None if is_number(kind) or is_text(kind) or is_bytes(kind) else _Converting(kind)


def _user(build: Builder, leaf: Leaf, kind: Any) -> None:
    assert isinstance(leaf.operator, UserOperator)
    kinds = [build.kind(name) for name in leaf.operator.columns]
    operator = leaf.operator.for_columns(kinds)
    definition = operator.definition
    presence = build.presence(operator.columns)
    if definition.state is None:
        columns = [build.stored(name) for name in operator.columns]
        converts = [_converting(kind) for kind in kinds]
    else:
        columns, converts = [], None
        for name, own, code in zip(operator.columns, kinds, definition.inputs.codes, strict=True):
            number = is_number(own) or narrow_decimal(own)
            number = number or (wide_decimal(own) and code[0] == "f")
            fits = pa.types.is_boolean(own) if code == "b1" else number
            fits = fits or (is_temporal(own) and code == "i8")
            if not fits:
                raise UnsupportedError
            expected = np.dtype(code).name
            complaint = f"{operator.name} takes {expected}, the column {name!r} is {own}"
            columns.append(build.stored(name, "code", code=code, complaint=complaint))
    part = build.fold(operator, columns, presence, converts=converts)
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


NUMBERS: dict[str, Callable[[Builder, Leaf, Any], None]] = {
    "bits": _bits,
    "decayed": _decayed,
    "frequent_items": _objects(lambda leaf, build: frequent_structs),
    "histogram": _histogram,
    "mean": _mean,
    "moments": _objects(lambda leaf, build: moment_structs),
    "naive_bayes": _objects(_bayes),
    "numbers": _numbers,
    "range": _range,
    "reals": _objects(lambda leaf, build: lambda results: pa.array(results, pa.float64())),
    "sketch": _objects(lambda leaf, build: _bytes),
    "spread": _spread,
    "sum": _sum,
    "theta": _objects(lambda leaf, build: sketch_bytes),
    "unsigned": _unsigned,
    "user": _user,
}
