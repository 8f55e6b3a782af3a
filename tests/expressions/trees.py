"""Random columns of every type, and random expressions over them; both come from a seed."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.definition.expressions import Call, Column, Literal, Node
from tests.expressions.oracle import Oracle, Values, WrongTypeError, types

INTEGERS = {
    "i8": pa.int8(),
    "i16": pa.int16(),
    "i32": pa.int32(),
    "i64": pa.int64(),
    "u8": pa.uint8(),
    "u16": pa.uint16(),
    "u32": pa.uint32(),
    "u64": pa.uint64(),
    "dict_i": pa.dictionary(pa.int16(), pa.int64()),
}
REALS = {"f16": pa.float16(), "f32": pa.float32(), "f64": pa.float64()}
DECIMALS = {
    "d4": pa.decimal128(4, 2),
    "d18": pa.decimal128(18, 0),
    "d20": pa.decimal128(20, 5),
    "d38": pa.decimal128(38, 9),
}
TEXTS = {
    "s": pa.string(),
    "ls": pa.large_string(),
    "sv": pa.string_view(),
    "dict_s": pa.dictionary(pa.int32(), pa.string()),
}
BYTES = {"b": pa.binary(), "lb": pa.large_binary(), "bv": pa.binary_view()}
MOMENTS = {
    "ts_s": pa.timestamp("s"),
    "ts_ms": pa.timestamp("ms", "UTC"),
    "ts_us": pa.timestamp("us"),
    "ts_ns": pa.timestamp("ns", "Europe/Berlin"),
    "day": pa.date32(),
    "day64": pa.date64(),
}
SPANS = {"du_s": pa.duration("s"), "du_ms": pa.duration("ms"), "du_ns": pa.duration("ns")}
CLOCKS = {"c_s": pa.time32("s"), "c_us": pa.time64("us")}
TRUTHS = {"p": pa.bool_(), "q": pa.bool_()}
NULLS = {"none": pa.null()}
KINDS: dict[str, Any] = {
    **INTEGERS,
    **REALS,
    **DECIMALS,
    **TEXTS,
    **BYTES,
    **MOMENTS,
    **SPANS,
    **CLOCKS,
    **TRUTHS,
    **NULLS,
}
WORDS = ("", "a", "ab", "b", "é", "\U0001f600", "\0", "a long text that does not fit in a word")
FLOATS = (0.0, -0.0, 1.0, -1.5, 2.5, math.inf, -math.inf, math.nan, 1e300, 5e-324, 2.0**63, 0.1)


def random_columns(rng: random.Random, rows: int, wild: float = 0.02) -> dict[str, Values]:
    """Return a column of each type; `wild` is the share of values at the ends of their range."""
    missing = rng.choice([0.0, 0.2, 0.2, 1.0])
    return {
        name: Values(
            kind,
            [
                None if types.is_null(kind) or rng.random() < missing else raw(rng, kind, wild)
                for _ in range(rows)
            ],
        )
        for name, kind in KINDS.items()
    }


def raw(rng: random.Random, kind: Any, wild: float) -> Any:
    """Return a random raw value of a type."""
    if types.is_dictionary(kind):
        return raw(rng, kind.value_type, wild)
    if types.is_boolean(kind):
        return rng.random() < 0.5
    if types.is_integer(kind):
        low, high = _range(kind)
        if rng.random() < wild:
            return rng.choice([low, high, high - 1])
        return max(low, min(high, rng.choice([-1, 0, 0, 1, 2, 3, rng.randint(-100, 100)])))
    if types.is_floating(kind):
        value = rng.choice(FLOATS) if rng.random() < 0.3 else rng.randint(-400, 400) / 16
        return _rounded(value, kind)
    if types.is_decimal(kind):
        most = 10**kind.precision - 1
        if rng.random() < wild:
            return rng.choice([-most, most])
        return rng.randint(-min(most, 10**4), min(most, 10**4))
    if types.is_temporal(kind):
        return _moment(rng, kind, wild)
    word = rng.choice(WORDS)
    text = kind in TEXTS.values() or kind == pa.string()
    return word if text else word.encode() + rng.choice([b"", b"\xff"])


def _range(kind: Any) -> tuple[int, int]:
    bits = kind.bit_width
    return (0, 2**bits - 1) if "uint" in str(kind) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _rounded(value: float, kind: Any) -> float:
    if types.is_float64(kind):
        return value
    with np.errstate(all="ignore"):
        return float((np.float32 if types.is_float32(kind) else np.float16)(value))


def _moment(rng: random.Random, kind: Any, wild: float) -> int:
    if types.is_time(kind):
        return rng.randint(0, 86399)
    if types.is_date32(kind):
        return rng.choice([rng.randint(-40000, 40000), 0, -1])
    if types.is_date64(kind):
        return rng.randint(-40000, 40000) * 86400 * 1000
    if rng.random() < wild:
        return rng.choice([2**62, -(2**62), 2**63 - 1])
    return rng.randint(-10, 10) * rng.choice([1, 10**3, 10**6])


def array(column: Values) -> Any:
    """Return a column as Arrow has it."""
    kind, values = column.kind, column.values
    if types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    if types.is_decimal(kind):
        return decimals(values, kind)
    if types.is_date32(kind) or types.is_time32(kind):
        return pa.array(values, pa.int32()).view(kind)
    if types.is_temporal(kind):
        return pa.array(values, pa.int64()).view(kind)
    if types.is_float16(kind):
        halves = [None if value is None else np.float16(value) for value in values]
        return pa.array(halves, kind)
    return pa.array(values, kind)


def decimals(values: list[Any], kind: Any) -> Any:
    """Return decimals of whole numbers of their last digit."""
    mask = 2**128 - 1
    buffer = b"".join(((value or 0) & mask).to_bytes(16, "little") for value in values)
    valid = pa.array([value is not None for value in values], pa.bool_())
    return pa.Array.from_buffers(kind, len(values), [valid.buffers()[1], pa.py_buffer(buffer)])


def raws(values: Any) -> list[Any]:
    """Return the raw values of an Arrow array."""
    kind = values.type
    if types.is_decimal(kind):
        size = len(values)
        data = values.buffers()[1].to_pybytes()[16 * values.offset : 16 * (values.offset + size)]
        found = [int.from_bytes(data[16 * i : 16 * i + 16], "little") for i in range(size)]
        signed = [value - 2**128 if value >> 127 else value for value in found]
        return [v if ok.as_py() else None for v, ok in zip(signed, values.is_valid(), strict=True)]
    if types.is_date32(kind) or types.is_time32(kind):
        return values.view(pa.int32()).to_pylist()  # type: ignore[no-any-return]
    if types.is_temporal(kind):
        return values.view(pa.int64()).to_pylist()  # type: ignore[no-any-return]
    return values.to_pylist()  # type: ignore[no-any-return]


def same(a: Any, b: Any) -> bool:
    """Tell whether raw values are the same: NaN is NaN, and -0.0 is not 0.0."""
    if isinstance(a, float) and isinstance(b, float):
        return (a != a and b != b) or struct.pack("d", a) == struct.pack("d", b)
    return type(a) is type(b) and a == b


# ---- expressions ---------------------------------------------------------------------------------

# What stands for a type here: expressions of it can stand where others of it can.
GROUPS: dict[str, Mapping[str, Any]] = {
    "whole": INTEGERS,
    "real": REALS,
    "decimal": DECIMALS,
    "text": TEXTS,
    "bytes": BYTES,
    "moment": MOMENTS,
    "span": SPANS,
    "clock": CLOCKS,
    "truth": TRUTHS,
}
NUMBERS = ("whole", "whole", "real", "decimal")
COMPARISONS = ("equal", "not_equal", "less", "at_most", "greater", "at_least")


class Trees:
    """Random expressions whose types fit."""

    def __init__(self, rng: random.Random, groups: Mapping[str, Mapping[str, Any]] = GROUPS):
        """Take the columns that expressions may read, by group."""
        self.rng, self.groups = rng, groups
        self.kinds = [group for group in NUMBERS if group in groups]
        self.others = [group for group in groups if group not in NUMBERS]

    def any(self, depth: int) -> Node:
        """Return an expression of any type."""
        return self.of(self.rng.choice([*self.kinds, *self.others, "truth"]), depth)

    def of(self, group: str, depth: int) -> Node:
        """Return an expression of a group of types."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.1:
            return self.leaf(group)
        if rng.random() < 0.1:
            return Call("fill_null", (self.of(group, depth - 1), self.of(group, depth - 1)))
        make: Any = getattr(self, f"_{group}", self.leaf_of)
        return make(group, depth - 1)  # type: ignore[no-any-return]

    def leaf_of(self, group: str, depth: int) -> Node:
        """Return a column or a constant."""
        return self.leaf(group)

    def leaf(self, group: str) -> Node:
        """Return a column or, rarely, a constant."""
        rng, columns = self.rng, self.groups.get(group)
        if columns and rng.random() < 0.75:
            return Column(rng.choice(list(columns)))
        if rng.random() < 0.05 and "null" in self.groups:
            return Column("none")
        return Literal(self.constant(group)) if group != "clock" else Column("c_s")

    def constant(self, group: str) -> Any:
        """Return a constant."""
        rng = self.rng
        if group == "whole":
            return rng.choice([0, 1, -1, 2, 7, -3, 10**6, 2**63 - 1, -(2**63)])
        if group == "real":
            return rng.choice(FLOATS)
        if group == "decimal":
            return rng.choice([Decimal("0.5"), Decimal("-3"), Decimal("1E+2"), Decimal("0.001")])
        if group == "text":
            return rng.choice(WORDS)
        if group == "bytes":
            return rng.choice([b"", b"a", b"\xff\x00", b"ab"])
        if group == "moment":
            moment = datetime(2020, 2, 29, 1, 2, 3, rng.choice([0, 4]))
            zoned = moment.replace(tzinfo=UTC)
            return rng.choice([moment, zoned, date(1969, 12, 31), date(1970, 1, 1)])
        if group == "span":
            return rng.choice(
                [timedelta(0), timedelta(days=-1, microseconds=1), timedelta(hours=3)]
            )
        return rng.random() < 0.5

    def _whole(self, group: str, depth: int) -> Node:
        rng = self.rng
        kind = rng.random()
        if kind < 0.6:
            function = rng.choice(["add", "subtract", "multiply", "floor_divide", "modulo"])
            return Call(function, (self.of("whole", depth), self.of("whole", depth)))
        if kind < 0.8:
            return Call(rng.choice(["negate", "abs"]), (self.of("whole", depth),))
        some = rng.choice([g for g in ("whole", "truth", "decimal", "moment", "span", "real")
                           if g in self.groups or g == "truth"])  # fmt: skip
        return Call("cast", (self.of(some, depth),), "int64")

    def _real(self, group: str, depth: int) -> Node:
        rng = self.rng
        kind = rng.random()
        if kind < 0.6:
            function = rng.choice(
                ["add", "subtract", "multiply", "divide", "floor_divide", "modulo"]
            )
            parts = [self.of("real", depth), self.of(rng.choice(self.kinds), depth)]
            rng.shuffle(parts)
            return Call(function, tuple(parts))
        if kind < 0.75:
            some = rng.choice(self.kinds)
            return Call("divide", (self.of(some, depth), self.of(rng.choice(self.kinds), depth)))
        if kind < 0.8 and "span" in self.groups:
            return Call("divide", (self.of("span", depth), self.of("span", depth)))
        if kind < 0.9:
            return Call(rng.choice(["negate", "abs", "log"]), (self.of("real", depth),))
        return Call("cast", (self.of(rng.choice([*self.kinds, "truth"]), depth),), "float64")

    def _decimal(self, group: str, depth: int) -> Node:
        rng = self.rng
        if rng.random() < 0.2:
            return Call(rng.choice(["negate", "abs"]), (self.of("decimal", depth),))
        parts = [self.of("decimal", depth), self.of(rng.choice(["decimal", "whole"]), depth)]
        rng.shuffle(parts)
        return Call(rng.choice(["add", "subtract", "multiply"]), tuple(parts))

    def _text(self, group: str, depth: int) -> Node:
        return Call(
            "cast", (self.of(self.rng.choice(["whole", "truth", "text"]), depth),), "string"
        )

    def _moment(self, group: str, depth: int) -> Node:
        if self.rng.random() < 0.3:
            return Call("add", (self.of("span", depth), self.of("moment", depth)))
        function = self.rng.choice(["add", "subtract"])
        return Call(function, (self.of("moment", depth), self.of("span", depth)))

    def _span(self, group: str, depth: int) -> Node:
        rng = self.rng
        kind = rng.random()
        if kind < 0.3:
            return Call("subtract", (self.of("moment", depth), self.of("moment", depth)))
        if kind < 0.6:
            function = rng.choice(["add", "subtract"])
            return Call(function, (self.of("span", depth), self.of("span", depth)))
        if kind < 0.8:
            return Call("multiply", (self.of("span", depth), self.of("whole", depth)))
        return Call(rng.choice(["negate", "abs"]), (self.of("span", depth),))

    def _truth(self, group: str, depth: int) -> Node:
        rng = self.rng
        kind = rng.random()
        if kind < 0.35:
            some = rng.choice([*self.kinds, *self.others])
            other = rng.choice(self.kinds) if some in NUMBERS else some
            parts = (self.of(some, depth), self.of(other, depth))
            return Call(rng.choice(COMPARISONS), parts)
        if kind < 0.6:
            function = rng.choice(["and", "or"])
            return Call(function, (self.of("truth", depth), self.of("truth", depth)))
        if kind < 0.7:
            return Call("not", (self.of("truth", depth),))
        if kind < 0.8:
            return Call("is_null", (self.any(depth),))
        if kind < 0.9:
            return Call("cast", (self.of(rng.choice(["whole", "real", "truth"]), depth),), "bool")
        some = rng.choice([group for group in (*self.kinds, *self.others) if group != "clock"])
        values = [Literal(self.constant(some)) for _ in range(rng.randint(0, 4))]
        return Call("is_in", (self.of(some, depth), *values))


def fitting(
    rng: random.Random, columns: Mapping[str, Values], rows: int, depth: int = 3, **more: Any
) -> tuple[Node, Values, set[int]]:
    """Return a random expression, what it must give, and the rows that must be an error."""
    trees = Trees(rng, **more)
    while True:
        node = trees.any(depth)
        oracle = Oracle(columns, rows)
        try:
            expected = oracle.output(node)
        except WrongTypeError:
            continue
        return node, expected, oracle.failed


ONE = ("negate", "abs", "log", "not", "is_null")
TWO = (*COMPARISONS, "add", "subtract", "multiply", "divide", "floor_divide", "modulo", "and", "or")


def wild(rng: random.Random, depth: int) -> Node:
    """Return a random expression, whether its types fit or not."""
    if depth == 0:
        return Trees(rng).leaf(rng.choice(list(GROUPS)))
    kind = rng.random()
    if kind < 0.5:
        return Call(rng.choice(TWO), (wild(rng, depth - 1), wild(rng, depth - 1)))
    if kind < 0.7:
        return Call(rng.choice(ONE), (wild(rng, depth - 1),))
    if kind < 0.8:
        return Call("fill_null", (wild(rng, depth - 1), wild(rng, depth - 1)))
    if kind < 0.9:
        option = rng.choice(["int64", "float64", "bool", "string"])
        return Call("cast", (wild(rng, depth - 1),), option)
    group = rng.choice([group for group in GROUPS if group != "clock"])
    values = [Literal(Trees(rng).constant(group)) for _ in range(rng.randint(0, 3))]
    return Call("is_in", (wild(rng, depth - 1), *values))
