"""The types of the matrix: values of each, as columns, as events, and as the oracle reads them.

The oracle reads times and durations as whole steps of their unit, decimals as `Decimal`, and all
else as Python has it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

NULLS = ("none", "some", "all", "wild", "wild some")
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EPOCH = datetime(1970, 1, 1)
_DAY = date(1970, 1, 1)


@dataclass(frozen=True)
class Kind:
    """A type: its family, tame values, extreme ones, and its name in live windows."""

    name: str
    arrow: Any
    family: str  # bool, int, float, decimal, date, timestamp, duration, text, binary or null
    tame: tuple[Any, ...]
    wild: tuple[Any, ...]
    dtype: str | None = None  # of `sf.Window`

    def draw(self, rng: random.Random, rows: int, nulls: str) -> list[Any]:
        """Draw values as the oracle reads them; `nulls` is one of NULLS."""
        if nulls == "all" or self.family == "null":
            return [None] * rows
        values = [*self.tame, *self.wild] if nulls.startswith("wild") else self.tame
        share = 0.35 if nulls.endswith("some") else 0.0
        return [None if rng.random() < share else rng.choice(values) for _ in range(rows)]

    def array(self, values: Sequence[Any]) -> Any:
        """Return the values as an Arrow array."""
        return array_of(values, self.arrow)

    @property
    def steps_per_second(self) -> float | None:
        """How many steps of a temporal type a second has."""
        return steps_per_second(self.arrow)

    def event(self, value: Any) -> Any:
        """Return a value as `sf.Window` takes it."""
        if value is None:
            return None
        if self.family == "date":
            return _DAY + timedelta(days=value)
        if self.family == "timestamp":
            moment = _EPOCH + timedelta(microseconds=value)
            return moment.replace(tzinfo=UTC) if self.arrow.tz else moment
        return timedelta(microseconds=value) if self.family == "duration" else value

    def __str__(self) -> str:
        return self.name


def steps_per_second(kind: Any) -> float | None:
    """Return how many steps of a temporal type a second has, None for other types."""
    if not pa.types.is_temporal(kind):
        return None
    if pa.types.is_date32(kind):
        return 1 / 86400
    return float(_UNITS["ms" if pa.types.is_date64(kind) else kind.unit])


def array_of(values: Sequence[Any], kind: Any) -> Any:
    """Return what the oracle reads as an Arrow array."""
    if pa.types.is_null(kind):
        return pa.nulls(len(values))
    if pa.types.is_dictionary(kind):
        return array_of(values, kind.value_type).dictionary_encode().cast(kind)
    if pa.types.is_temporal(kind):
        return pa.array(values, pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)
    return pa.array(values, kind)


def read(values: Any) -> list[Any]:
    """Return an Arrow array as the oracle reads it."""
    if isinstance(values, pa.ChunkedArray):
        return [value for chunk in values.chunks for value in read(chunk)]
    kind, types = values.type, pa.types
    if types.is_dictionary(kind):
        return read(values.cast(kind.value_type))
    if types.is_temporal(kind):
        whole = values.cast(pa.int32()) if kind.bit_width == 32 else values
        return list(whole.cast(pa.int64()).to_pylist())
    valid = values.is_valid().to_pylist()
    if types.is_struct(kind):
        fields = [read(values.field(i)) for i in range(kind.num_fields)]
        names = [field.name for field in kind]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*fields, strict=True)]
        return [row if there else None for row, there in zip(rows, valid, strict=True)]
    if types.is_list(kind) or types.is_large_list(kind):
        flat, ends = read(values.values), values.offsets.to_pylist()
        return [flat[ends[i] : ends[i + 1]] if there else None for i, there in enumerate(valid)]
    return list(values.to_pylist())


def unread(value: Any) -> Any:
    """Return what `sf.Window` gave as the oracle reads it."""
    if isinstance(value, datetime):
        return (value.replace(tzinfo=None) - _EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (value - _DAY).days
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    if isinstance(value, list | tuple):
        return [unread(item) for item in value]
    return (
        {name: unread(item) for name, item in value.items()} if isinstance(value, dict) else value
    )


def _ints(name: str, bits: int, signed: bool) -> Kind:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    tame = (0, 1, 2, 3, 7, 12, 40) if not signed else (0, 1, -1, 2, 7, -12, 40)
    wild: tuple[int, ...] = (low, high, high - 1, low + 1)
    if bits == 64 and not signed:
        wild += (2**63, 2**63 + 1, 2**63 - 1)
    return Kind(name, getattr(pa, name)(), "int", tame, wild, name)


def _float(name: str, wild: tuple[float, ...]) -> Kind:
    tame = (0.0, 1.0, -1.0, 2.5, 0.75, -7.25, 40.0)
    special = (math.nan, math.inf, -math.inf, -0.0)
    return Kind(name, getattr(pa, name)(), "float", tame, (*special, *wild), name)


def _decimal(arrow: Any, tame: str, wild: str, dtype: str | None) -> Kind:
    given = [tuple(Decimal(text) for text in texts.split()) for texts in (tame, wild)]
    name = str(arrow).replace(" ", "")
    return Kind(name, arrow, "decimal", given[0], given[1], dtype)


def _steps(arrow: Any, family: str, dtype: str | None = None) -> Kind:
    day = 1 if pa.types.is_date32(arrow) else 86_400_000 if pa.types.is_date64(arrow) else 1
    scale = day if family == "date" else 7
    tame = tuple(scale * n for n in (0, 1, 2, 5, 11, -3))
    ages = {"s": 10**10, "ms": 10**13, "us": 10**16, "ns": 2 * 10**18}
    far = ages["ms"] // day * day if pa.types.is_date64(arrow) else 10**5
    if family != "date":
        far = ages[arrow.unit] + 1
    return Kind(str(arrow), arrow, family, tame, (far, -far, far - scale), dtype)


_WORDS = ("", "a", "b", "ab", "B", "zz")
_WILD_WORDS = ("é", "\0", "a\0", "\U0001f600", "￿", "x" * 40)
_BYTES = tuple(word.encode() for word in _WORDS)
_WILD_BYTES = (b"\0", b"\xff", b"a\0", b"\xfe\xff" * 9)
_LONG = "12345678901234567890.123456 -99999999999999999999.999999"

KINDS: tuple[Kind, ...] = (
    Kind("bool", pa.bool_(), "bool", (True, False), (), "bool"),
    *(_ints(f"int{bits}", bits, True) for bits in (8, 16, 32, 64)),
    *(_ints(f"uint{bits}", bits, False) for bits in (8, 16, 32, 64)),
    _float("float32", (2.0**100, -(2.0**100), 0.5)),
    _float("float64", (1e16, -1e16, 1e100, -1e100, 0.1, 2.0**53 + 2)),
    _decimal(
        pa.decimal128(7, 2), "0 1.5 -2.25 7.01 99.99 0.01", "99999.99 -99999.99", "decimal(7, 2)"
    ),
    _decimal(pa.decimal128(30, 6), "0 1.5 -2.25 7.010001 0.000001", _LONG, "decimal(30, 6)"),
    _decimal(
        pa.decimal256(50, 3), "0 1.5 -2.25 7.011 0.001", "1e40 -1e40 12345678901234567890.5", None
    ),
    _steps(pa.date32(), "date", "date"),
    _steps(pa.date64(), "date"),
    *(_steps(pa.timestamp(unit), "timestamp") for unit in ("s", "ms", "ns")),
    _steps(pa.timestamp("us"), "timestamp", "timestamp"),
    _steps(pa.timestamp("us", "UTC"), "timestamp", "timestamp[UTC]"),
    _steps(pa.timestamp("ns", "Europe/Berlin"), "timestamp"),
    *(_steps(pa.duration(unit), "duration") for unit in ("s", "ms", "ns")),
    _steps(pa.duration("us"), "duration", "duration"),
    Kind("string", pa.string(), "text", _WORDS, _WILD_WORDS, "str"),
    Kind("large_string", pa.large_string(), "text", _WORDS, _WILD_WORDS),
    Kind("binary", pa.binary(), "binary", _BYTES, _WILD_BYTES, "binary"),
    Kind("large_binary", pa.large_binary(), "binary", _BYTES, _WILD_BYTES),
    Kind("dictionary", pa.dictionary(pa.int32(), pa.string()), "text", _WORDS, _WILD_WORDS),
    Kind("dictionary of int64", pa.dictionary(pa.int8(), pa.int64()), "int", (0, 1, -1, 7, 40), ()),
    Kind("null", pa.null(), "null", (), ()),
)
BY_NAME = {kind.name: kind for kind in KINDS}
INT, FLOAT, TEXT = BY_NAME["int64"], BY_NAME["float64"], BY_NAME["string"]
