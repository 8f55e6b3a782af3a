"""Compile expressions for columns of given types into the steps that native code runs.

A register is what a step has written: whole numbers, floats, truths, texts, or decimals. Times and
durations are whole numbers of their unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa

from slidefold import _native
from slidefold.definition.expressions.nodes import Call, Column, Literal, Node
from slidefold.errors import ColumnError, ValueTypeError, nearest

_ARITHMETIC = ("add", "subtract", "multiply", "divide", "floor_divide", "modulo")
# Native code has three comparisons; the others follow from them.
_COMPARISONS = {
    "equal": ("equal", False, False),
    "not_equal": ("equal", False, True),
    "less": ("less", False, False),
    "at_most": ("at_most", False, False),
    "greater": ("less", True, False),
    "at_least": ("at_most", True, False),
}
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DIGITS = {1: 3, 2: 5, 4: 10, 8: 19}  # of integers, by their bytes
_MOST_DIGITS = 38
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class _Value:
    """A register: its number, what its words are, and the Arrow type of its values."""

    register: int
    words: str  # whole, unsigned, real, truth, text, wide, or null
    kind: Any
    own: bool = False  # whether it is a column as it is, in its own type

    @property
    def temporal(self) -> bool:
        return bool(pa.types.is_temporal(self.kind)) and self.words == "whole"

    @property
    def number(self) -> bool:
        return self.words in ("whole", "unsigned", "real", "wide", "null") and not self.temporal


@dataclass(frozen=True)
class Compiled:
    """Expressions for columns of given types."""

    inputs: tuple[str, ...]
    kinds: tuple[Any, ...]  # of the inputs
    steps: tuple[dict[str, Any], ...]
    outputs: tuple[tuple[str, int, Any], ...]  # name, register, Arrow type

    @property
    def types(self) -> dict[str, Any]:
        """The Arrow types of the results by name."""
        return {name: kind for name, _, kind in self.outputs}

    def native(self) -> dict[str, Any]:
        """Return the plain values for native code."""
        return {
            "inputs": len(self.inputs),
            "steps": list(self.steps),
            "outputs": [
                {"name": name, "from": register, "type": pa.field("", kind).__arrow_c_schema__()}
                for name, register, kind in self.outputs
            ],
        }

    @cached_property
    def evaluator(self) -> Any:
        """Native code that runs the expressions over columns or over one row."""
        columns = [
            {"name": name, "column": place, "type": pa.field("", kind).__arrow_c_schema__()}
            for place, (name, kind) in enumerate(zip(self.inputs, self.kinds, strict=True))
        ]
        return _native.Expressions({"columns": columns, **self.native()})

    def columns(self, table: Any) -> dict[str, Any]:
        """Return the results over a table as Arrow arrays by name."""
        arrays = [_plain(table[name], kind) for name, kind in zip(*self._read, strict=True)]
        if not arrays:  # only constants: their rows must be counted
            arrays, names = [pa.nulls(len(table))], ["rows"]
        else:
            names = list(self.inputs)
        batch = pa.RecordBatch.from_arrays(arrays, names)
        found = self.evaluator.columns(batch.__arrow_c_array__()[1])
        made = pa.RecordBatch._import_from_c_capsule(*found)
        # Not the names of the batch, which end at a NUL.
        return dict(zip(self.types, made.columns, strict=True))

    @property
    def _read(self) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        return self.inputs, self.kinds


def _plain(column: Any, kind: Any) -> Any:
    """Return a column as one array, without a dictionary."""
    if column.type != kind:
        column = column.cast(kind)
    if isinstance(column, pa.ChunkedArray):
        # Arrow would copy a single chunk too.
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks)
    return column


def compile_expressions(
    expressions: Sequence[tuple[str, Node]], kinds: Mapping[str, Any]
) -> Compiled:
    """Compile named expressions for columns of the given Arrow types; raise if they do not fit."""
    builder = _Builder(kinds)
    outputs = []
    for name, node in expressions:
        builder.whole = node
        value = builder.value(node)
        if not (_is_filtered(node) and _has_own_type(value.kind)):
            value = builder.output(value)
        outputs.append((name, value.register, value.kind))
    return builder.compiled(outputs)


@dataclass
class _Builder:
    given: Mapping[str, Any]
    whole: Node | None = None  # the expression at hand, for errors
    inputs: list[str] = field(default_factory=list)
    kinds: list[Any] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    known: dict[Any, _Value] = field(default_factory=dict)

    def compiled(self, outputs: list[tuple[str, int, Any]]) -> Compiled:
        """Return the program; inputs get the first registers."""
        count = len(self.inputs)

        def moved(register: int) -> int:
            return -register - 1 if register < 0 else register + count

        steps = tuple(
            step
            if step["code"] == "constant"
            else {**step, "a": moved(step["a"]), "b": moved(step["b"])}
            for step in self.steps
        )
        placed = tuple((name, moved(register), kind) for name, register, kind in outputs)
        return Compiled(tuple(self.inputs), tuple(self.kinds), steps, placed)

    # ---- registers: those of inputs count -1, -2, ... until their number is known

    def _kind_of(self, name: str) -> Any:
        """Return the type of a column; raise if there is no such column."""
        if name not in self.given:
            hint = nearest(name, self.given) or f": there are {', '.join(list(self.given)[:8])}"
            raise ColumnError(
                f"the expression {self._text()} reads the column {name!r}, which does not "
                f"exist{hint}"
            )
        kind = self.given[name]
        return kind.value_type if pa.types.is_dictionary(kind) else kind

    def _input(self, name: str) -> _Value:
        return self._widened(self._raw(name), Column(name))

    def _raw(self, name: str) -> _Value:
        """Return a column as it is read."""
        kind = self._kind_of(name)
        if pa.types.is_null(kind):
            return self._constant(None, "null", kind)
        if name not in self.inputs:
            self.inputs.append(name)
            self.kinds.append(kind)
        register = -self.inputs.index(name) - 1
        return _Value(register, self._words(name, kind), kind)

    def _words(self, name: str, kind: Any) -> str:
        types = pa.types
        if types.is_boolean(kind):
            return "truth"
        if types.is_uint64(kind):
            return "unsigned"
        if types.is_floating(kind):
            return "real"
        if types.is_decimal128(kind) and kind.scale >= 0:
            return "narrow" if kind.precision <= 18 else "bytes"
        if _is_text(kind):
            return "text"
        if types.is_integer(kind) or (types.is_temporal(kind) and not types.is_interval(kind)):
            return "whole"
        raise ValueTypeError(
            f"the expression {self._text()} reads the column {name!r} of type {kind}: expressions "
            "take numbers, booleans, strings, bytes, times and decimals of up to 38 digits"
        )

    def _widened(self, value: _Value, node: Node) -> _Value:
        """Return a column in the form that steps compute with."""
        if value.words == "unsigned":
            return self._step("unsigned_to_whole", node, value, kind=pa.int64(), words="whole")
        if value.words == "narrow":
            return self._step("whole_to_wide", node, value, kind=value.kind, words="wide")
        if value.words == "bytes":
            return self._step("text_to_wide", node, value, kind=value.kind, words="wide")
        return value

    def _step(
        self,
        code: str,
        node: Node,
        a: _Value,
        b: _Value | None = None,
        *,
        kind: Any,
        words: str,
        number: int = 0,
        values: Sequence[Any] = (),
    ) -> _Value:
        other = a if b is None else b
        key = (code, a.register, other.register, number, tuple(map(repr, values)), str(kind))
        if key not in self.known:
            step = {
                "code": code,
                "a": a.register,
                "b": other.register,
                "number": number,
                "text": node.text(),
                "values": list(values),
                "wide": words == "wide",
            }
            self.steps.append(step)
            self.known[key] = _Value(len(self.steps) - 1, words, kind)
        return self.known[key]

    def _constant(self, value: Any, words: str, kind: Any) -> _Value:
        key = ("constant", repr(value), words, str(kind))
        if key not in self.known:
            self.steps.append({"code": "constant", "value": value})
            self.known[key] = _Value(len(self.steps) - 1, words, kind)
        return self.known[key]

    # ---- nodes

    def value(self, node: Node) -> _Value:
        """Return the register of a node."""
        if isinstance(node, Column):
            return self._input(node.name)
        if isinstance(node, Literal):
            return self._literal(node)
        assert isinstance(node, Call)
        function = node.function
        if function in _ARITHMETIC:
            return self._arithmetic(node)
        if function in _COMPARISONS:
            return self._compared(node)
        return getattr(self, f"_{function}")(node)  # type: ignore[no-any-return]

    def _literal(self, node: Literal) -> _Value:
        value = node.value
        if value is None:
            return self._constant(None, "null", pa.null())
        if isinstance(value, bool):
            return self._constant(int(value), "truth", pa.bool_())
        if isinstance(value, int):
            return self._constant(value, "whole", pa.int64())
        if isinstance(value, float):
            return self._constant(value, "real", pa.float64())
        if isinstance(value, str):
            return self._constant(value.encode(), "text", pa.string())
        if isinstance(value, bytes):
            return self._constant(value, "text", pa.binary())
        if isinstance(value, Decimal):
            return self._decimal(value)
        if isinstance(value, datetime):
            zoned = value.replace(tzinfo=UTC) if value.tzinfo is None else value
            since = (zoned - _EPOCH) // timedelta(microseconds=1)
            kind = pa.timestamp("us", None if value.tzinfo is None else "UTC")
            return self._constant(since, "whole", kind)
        if isinstance(value, date):
            return self._constant((value - _EPOCH.date()).days, "whole", pa.date32())
        assert isinstance(value, timedelta)
        return self._constant(value // timedelta(microseconds=1), "whole", pa.duration("us"))

    def _decimal(self, value: Decimal) -> _Value:
        if not value.is_finite():
            raise ValueTypeError(f"an expression cannot hold {value!r}")
        sign, given, exponent = value.as_tuple()
        scale = max(0, -int(exponent))
        # Counted before they are made: a short text can have a large exponent.
        digits = max(len(given) + max(0, int(exponent)), scale)
        if digits > _MOST_DIGITS:
            raise ValueTypeError(f"a decimal must have at most {_MOST_DIGITS} digits, got {value}")
        # By hand, since the methods of decimals round to the digits of the context, mostly 28.
        whole = int("".join(map(str, given))) * 10 ** max(0, int(exponent)) * (-1 if sign else 1)
        halves = (whole & (2**64 - 1), (whole >> 64) & (2**64 - 1))
        return self._constant(halves, "wide", pa.decimal128(digits, scale))

    # ---- arithmetic

    def _arithmetic(self, node: Call) -> _Value:
        a, b = (self.value(given) for given in node.given)
        if a.temporal or b.temporal:
            return self._in_time(node, a, b)
        for value in (a, b):
            if not value.number:
                raise self._wrong(node, value, "numbers")
        function = node.function
        if function == "divide" or "real" in (a.words, b.words) or "null" in (a.words, b.words):
            a, b = self._real(node, a), self._real(node, b)
            return self._step(f"{function}_real", node, a, b, kind=pa.float64(), words="real")
        if "wide" not in (a.words, b.words):
            return self._step(f"{function}_whole", node, a, b, kind=pa.int64(), words="whole")
        if function in ("floor_divide", "modulo"):
            raise ValueTypeError(
                f"{node.text()!r} of decimals is not supported: cast them to 'int64' or 'float64'"
            )
        a, b = self._wide(node, a), self._wide(node, b)
        if function == "multiply":
            digits = a.kind.precision + b.kind.precision + 1
            scale = a.kind.scale + b.kind.scale
        else:
            a, b = self._same_scale(node, a, b)
            scale = a.kind.scale
            before = max(one.kind.precision - one.kind.scale for one in (a, b))
            digits = before + scale + 1
        kind = self._decimal_type(node, digits, scale)
        return self._step(f"{function}_wide", node, a, b, kind=kind, words="wide")

    def _decimal_type(self, node: Node, digits: int, scale: int) -> Any:
        if scale > _MOST_DIGITS or digits - scale > _MOST_DIGITS + 1:
            raise ValueTypeError(
                f"{node.text()!r} needs decimals of {digits} digits: cast to float64"
            )
        return pa.decimal128(min(digits, _MOST_DIGITS), scale)

    def _same_scale(self, node: Node, a: _Value, b: _Value) -> tuple[_Value, _Value]:
        scale = max(a.kind.scale, b.kind.scale)
        return self._scaled(node, a, scale), self._scaled(node, b, scale)

    def _scaled(self, node: Node, value: _Value, scale: int) -> _Value:
        more = scale - value.kind.scale
        if more == 0:
            return value
        digits = min(value.kind.precision + more, _MOST_DIGITS)
        kind = pa.decimal128(digits, scale)
        return self._step("scale_wide", node, value, kind=kind, words="wide", number=more)

    def _in_time(self, node: Call, a: _Value, b: _Value) -> _Value:
        """Compile arithmetic of times, dates and durations."""
        types, function = pa.types, node.function
        spans = [bool(types.is_duration(value.kind)) for value in (a, b)]
        if function == "subtract" and a.temporal and b.temporal and not any(spans):
            if _is_clock_time(a.kind) or _is_clock_time(b.kind):
                raise self._wrong(node, a, "timestamps or dates")
            a, b, unit = self._same_unit(node, a, b)
            return self._step("subtract_whole", node, a, b, kind=pa.duration(unit), words="whole")
        both = function in ("add", "subtract") and a.temporal and b.temporal
        if both and spans[1] and not _is_clock_time(a.kind):
            return self._moved(node, a, b)
        if both and function == "add" and spans[0] and not _is_clock_time(b.kind):
            return self._moved(node, b, a)
        if function == "divide" and all(spans):
            a, b, _ = self._same_unit(node, a, b)
            a, b = (
                self._step("whole_to_real", node, value, kind=pa.float64(), words="real")
                for value in (a, b)
            )
            return self._step("divide_real", node, a, b, kind=pa.float64(), words="real")
        times = [value for value in (a, b) if value.words == "whole" and not value.temporal]
        if function == "multiply" and any(spans) and times:
            kind = a.kind if spans[0] else b.kind
            return self._step("multiply_whole", node, a, b, kind=kind, words="whole")
        raise ValueTypeError(
            f"{node.text()!r} has no meaning for {a.kind} and {b.kind} in the expression "
            f"{self._text()}"
        )

    def _moved(self, node: Call, time: _Value, span: _Value) -> _Value:
        """Return a time or a duration plus or minus a duration."""
        time, span, unit = self._same_unit(node, time, span)
        kind = time.kind
        if pa.types.is_duration(kind):
            kind = pa.duration(unit)
        else:
            kind = pa.timestamp(unit, kind.tz if pa.types.is_timestamp(kind) else None)
        code = f"{node.function}_whole"
        return self._step(code, node, time, span, kind=kind, words="whole")

    def _same_unit(self, node: Node, a: _Value, b: _Value) -> tuple[_Value, _Value, str]:
        """Return times or durations in the finer unit of both."""
        unit = max(_unit(a.kind), _unit(b.kind), key=lambda one: _UNITS[one])
        return self._in_unit(node, a, unit), self._in_unit(node, b, unit), unit

    def _in_unit(self, node: Node, value: _Value, unit: str) -> _Value:
        times = _UNITS[unit] // _UNITS[_unit(value.kind)]
        if pa.types.is_date32(value.kind):
            times = 86400 * _UNITS[unit]
        if times == 1:
            return value
        return self._step("scale_whole", node, value, kind=value.kind, words="whole", number=times)

    def _negate(self, node: Call) -> _Value:
        return self._signed(node, "negate")

    def _abs(self, node: Call) -> _Value:
        return self._signed(node, "absolute")

    def _signed(self, node: Call, function: str) -> _Value:
        value = self.value(node.given[0])
        if not (value.number or pa.types.is_duration(value.kind)):
            raise self._wrong(node, value, "numbers or durations")
        if value.words == "null":
            value = self._real(node, value)
        kind = pa.float64() if value.words == "real" else value.kind
        if value.words == "whole" and not value.temporal:
            kind = pa.int64()
        return self._step(f"{function}_{value.words}", node, value, kind=kind, words=value.words)

    def _fade(self, node: Call) -> _Value:
        """Compile what is left of a value after some time, given its half-life."""
        value, since = (self.value(given) for given in node.given)
        half_life = float(node.option)
        if since.temporal:
            half_life *= _UNITS[_unit(since.kind)]
        elapsed = self._step("whole_to_real", node, since, kind=pa.float64(), words="real")
        if since.words == "real":
            elapsed = since
        lives = self._constant(half_life, "real", pa.float64())
        parts = {"kind": pa.float64(), "words": "real"}
        ages = self._step("divide_real", node, elapsed, lives, **parts)
        return self._step("fade_real", node, self._real(node, value), ages, **parts)

    def _log(self, node: Call) -> _Value:
        value = self.value(node.given[0])
        if not value.number:
            raise self._wrong(node, value, "numbers")
        value = self._real(node, value)
        return self._step("log_real", node, value, kind=pa.float64(), words="real")

    # ---- conditions

    def _compared(self, node: Call) -> _Value:
        a, b = self._common(node, *(self.value(given) for given in node.given))
        code, swapped, negated = _COMPARISONS[node.function]
        if swapped:
            a, b = b, a
        words = "whole" if a.words == "truth" else a.words
        found = self._step(f"{code}_{words}", node, a, b, kind=pa.bool_(), words="truth")
        if not negated:
            return found
        return self._step("not", node, found, kind=pa.bool_(), words="truth")

    def _common(self, node: Call, *values: _Value) -> tuple[_Value, ...]:
        """Return values in one form, in which they can be compared; raise if there is none."""
        some = [value for value in values if value.words != "null"]
        if not some:
            return values
        first = some[0]
        if all(value.number for value in values):
            if any(value.words == "real" for value in some):
                return tuple(self._real(node, value) for value in values)
            if any(value.words == "wide" for value in some):
                wide = [self._typed_null(value, first) for value in values]
                wide = [self._wide(node, value) for value in wide]
                scale = max(value.kind.scale for value in wide)
                return tuple(self._scaled(node, value, scale) for value in wide)
            return tuple(self._typed_null(value, first) for value in values)
        if all(value.kind == first.kind for value in some):
            return tuple(self._typed_null(value, first) for value in values)
        if all(value.temporal and _family(value.kind) == _family(first.kind) for value in some):
            unit = max((_unit(value.kind) for value in some), key=lambda one: _UNITS[one])
            return tuple(
                self._typed_null(value, first)
                if value.words == "null"
                else self._in_unit(node, value, unit)
                for value in values
            )
        same_text = all(
            value.words == "text" and _is_string(value.kind) == _is_string(first.kind)
            for value in some
        )
        if same_text or all(value.words == "truth" for value in some):
            return tuple(self._typed_null(value, first) for value in values)
        kinds = " and ".join(str(value.kind) for value in values)
        raise ValueTypeError(
            f"{node.text()!r} compares {kinds} in the expression {self._text()}: they must have "
            "comparable types"
        )

    def _typed_null(self, value: _Value, like: _Value) -> _Value:
        return replace(value, words=like.words, kind=like.kind) if value.words == "null" else value

    def _truth(self, node: Call, given: Node) -> _Value:
        value = self.value(given)
        if value.words == "null":
            return replace(value, words="truth", kind=pa.bool_())
        if value.words != "truth":
            raise self._wrong(node, value, "conditions")
        return value

    def _and(self, node: Call) -> _Value:
        a, b = (self._truth(node, given) for given in node.given)
        return self._step("and", node, a, b, kind=pa.bool_(), words="truth")

    def _or(self, node: Call) -> _Value:
        a, b = (self._truth(node, given) for given in node.given)
        return self._step("or", node, a, b, kind=pa.bool_(), words="truth")

    def _not(self, node: Call) -> _Value:
        value = self._truth(node, node.given[0])
        return self._step("not", node, value, kind=pa.bool_(), words="truth")

    def _is_in(self, node: Call) -> _Value:
        value = self.value(node.given[0])
        if not node.given[1:]:
            found = self._constant(0, "truth", pa.bool_())
            valid = self._step("is_null", node, value, kind=pa.bool_(), words="truth")
            valid = self._step("not", node, valid, kind=pa.bool_(), words="truth")
            return self._step("only", node, found, valid, kind=pa.bool_(), words="truth")
        simple = value.words in ("whole", "real", "text") and not value.temporal
        literals = [given for given in node.given[1:] if isinstance(given, Literal)]
        fits = {
            "whole": all(type(one.value) is int for one in literals),
            "real": all(type(one.value) in (int, float) for one in literals),
            "text": all(isinstance(one.value, str) == _is_string(value.kind) for one in literals)
            and all(isinstance(one.value, str | bytes) for one in literals),
        }
        if simple and fits[value.words]:
            values: list[Any] = [one.value for one in literals]
            if value.words == "real":
                values = [float(one) for one in values]
            if value.words == "text":
                values = [one.encode() if isinstance(one, str) else one for one in values]
            code = f"is_in_{value.words}"
            return self._step(code, node, value, kind=pa.bool_(), words="truth", values=values)
        either: _Value | None = None
        for given in node.given[1:]:
            one = self._compared(Call("equal", (node.given[0], given)))
            either = (
                one
                if either is None
                else self._step("or", node, either, one, kind=pa.bool_(), words="truth")
            )
        assert either is not None
        return either

    # ---- nulls and types

    def _is_null(self, node: Call) -> _Value:
        given = node.given[0]
        # A value that does not fit in the form of steps is still a value.
        value = self._raw(given.name) if isinstance(given, Column) else self.value(given)
        return self._step("is_null", node, value, kind=pa.bool_(), words="truth")

    def _fill_null(self, node: Call) -> _Value:
        a, b = self._common(node, *(self.value(given) for given in node.given))
        kind = self._filled(a, b)
        code = "fill_null_wide" if a.words == "wide" else "fill_null"
        return self._step(code, node, a, b, kind=kind, words=a.words)

    def _filled(self, a: _Value, b: _Value) -> Any:
        """Return the type of values of which some come from b."""
        if a.words == "whole" and not a.temporal:
            return pa.int64()
        if a.words == "wide":
            digits = max(value.kind.precision for value in (a, b))
            return pa.decimal128(digits, a.kind.scale)
        if a.temporal and a.kind != b.kind:
            return self._filled_times(a.kind, b.kind)
        return pa.float64() if a.words == "real" else a.kind

    def _filled_times(self, a: Any, b: Any) -> Any:
        """Return the type that holds the values of two types of times, in the finer unit."""
        unit = max(_unit(a), _unit(b), key=lambda one: _UNITS[one])
        if pa.types.is_duration(a):
            return pa.duration(unit)
        if _is_clock_time(a):
            return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
        if pa.types.is_date(a) and pa.types.is_date(b):
            return pa.date64()
        return pa.timestamp(unit, next(kind.tz for kind in (a, b) if pa.types.is_timestamp(kind)))

    def _only(self, node: Call) -> _Value:
        """Compile what `where` lets through: the first, where the second is true.

        A column keeps its type, whatever that is.
        """
        first, truth = node.given[0], self._truth(node, node.given[1])
        if isinstance(first, Column) and not pa.types.is_null(self._kind_of(first.name)):
            raw, kind, code = self._raw(first.name), self.given[first.name], "only"
            if raw.words == "bytes":  # of decimals, which steps hold as two words
                raw, code = self.value(first), "only_wide"
            found = self._step(code, node, raw, truth, kind=kind, words=raw.words)
            return replace(found, own=True)
        value = self.value(first)
        code = "only_wide" if value.words == "wide" else "only"
        return self._step(code, node, value, truth, kind=value.kind, words=value.words)

    def _cast(self, node: Call) -> _Value:
        value = self.value(node.given[0])
        kind = {"string": pa.string(), "bool": pa.bool_()}.get(node.option)
        kind = kind or getattr(pa, node.option)()
        words = {"string": "text", "bool": "truth", "int64": "whole", "float64": "real"}
        wanted = words[node.option]
        if value.words == "null":
            return replace(value, words=wanted, kind=kind)
        if value.words == wanted and (wanted != "text" or _is_string(value.kind)):
            return replace(value, kind=kind)
        if wanted == "real" and value.number:
            return self._real(node, value)
        number = value.kind.scale if value.words == "wide" else 0
        code = {
            ("whole", "truth"): "",
            ("whole", "real"): "real_to_whole",
            ("whole", "wide"): "wide_to_whole",
            ("truth", "whole"): "whole_to_truth",
            ("truth", "real"): "real_to_truth",
            ("text", "whole"): "whole_to_text",
            ("text", "truth"): "truth_to_text",
            ("real", "truth"): "whole_to_real",
        }.get((wanted, value.words))
        if code is None or (value.temporal and wanted != "whole"):
            raise ValueTypeError(
                f"{node.text()!r} cannot turn {value.kind} into {node.option} in the expression "
                f"{self._text()}"
            )
        if not code:
            return replace(value, words=wanted, kind=kind)
        return self._step(code, node, value, kind=kind, words=wanted, number=number)

    def _real(self, node: Node, value: _Value) -> _Value:
        if value.words == "null":
            return replace(value, words="real", kind=pa.float64())
        if value.words == "real":
            return value
        if value.words == "wide":
            return self._step(
                "wide_to_real",
                node,
                value,
                kind=pa.float64(),
                words="real",
                number=value.kind.scale,
            )
        return self._step("whole_to_real", node, value, kind=pa.float64(), words="real")

    def _wide(self, node: Node, value: _Value) -> _Value:
        if value.words == "wide":
            return value
        digits = _DIGITS[value.kind.bit_width // 8]
        kind = pa.decimal128(digits, 0)
        return self._step("whole_to_wide", node, value, kind=kind, words="wide")

    def output(self, value: _Value) -> _Value:
        """Return a value as a column: integers and floats widen."""
        if value.own:
            return value
        if value.words == "null":
            return replace(value, kind=pa.float64())
        if pa.types.is_string_view(value.kind):
            return replace(value, kind=pa.large_string())
        if pa.types.is_binary_view(value.kind):
            return replace(value, kind=pa.large_binary())
        if value.words == "whole" and pa.types.is_integer(value.kind):
            return replace(value, kind=pa.int64())
        return replace(value, kind=pa.float64()) if value.words == "real" else value

    # ---- errors

    def _text(self) -> str:
        assert self.whole is not None
        return repr(self.whole.text())

    def _wrong(self, node: Node, value: _Value, takes: str) -> ValueTypeError:
        return ValueTypeError(
            f"{node.text()!r} takes {takes}, got {value.kind} in the expression {self._text()}"
        )


def _is_filtered(node: Node) -> bool:
    """Tell whether this is a column of which a condition lets some values through."""
    return isinstance(node, Call) and node.function == "only" and isinstance(node.given[0], Column)


def _has_own_type(kind: Any) -> bool:
    """Tell whether native code writes numbers of this type, and not only wider ones."""
    return bool(pa.types.is_integer(kind) or pa.types.is_float32(kind))


def _is_string(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_text(kind: Any) -> bool:
    types = pa.types
    binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
    return _is_string(kind) or bool(binary)


def _is_clock_time(kind: Any) -> bool:
    return bool(pa.types.is_time(kind))


def _unit(kind: Any) -> str:
    if pa.types.is_date32(kind):
        return "s"
    return "ms" if pa.types.is_date64(kind) else str(kind.unit)


def _family(kind: Any) -> str:
    """Return a word for types whose values can be compared."""
    if pa.types.is_duration(kind):
        return "duration"
    return "time of day" if _is_clock_time(kind) else "time"
