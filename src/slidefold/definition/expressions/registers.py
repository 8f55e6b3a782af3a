"""Registers: what the steps of a compiled expression read and write.

A register is what a step has written: whole numbers, floats, truths, texts, or decimals. Times and
durations are whole numbers of their unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from slidefold.definition.expressions.compiled import Compiled
from slidefold.definition.expressions.kinds import MOST_DIGITS, UNITS, is_text, unit_of
from slidefold.definition.expressions.nodes import Column, Literal, Node
from slidefold.errors import ColumnError, ValueTypeError, nearest

_DIGITS = {1: 3, 2: 5, 4: 10, 8: 19}  # of integers, by their bytes
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Value:
    """A register: its number, what its words are, and the Arrow type of its values."""

    register: int
    words: str  # whole, unsigned, real, truth, text, wide, or null
    kind: Any
    own: bool = False  # whether it is a column as it is, in its own type

    @property
    def temporal(self) -> bool:
        """Whether it holds times, dates or durations."""
        return bool(pa.types.is_temporal(self.kind)) and self.words == "whole"

    @property
    def number(self) -> bool:
        """Whether arithmetic of numbers takes it."""
        return self.words in ("whole", "unsigned", "real", "wide", "null") and not self.temporal


@dataclass
class Registers:
    """Inputs, constants and steps; families of steps build on it."""

    given: Mapping[str, Any]
    whole: Node | None = None  # the expression at hand, for errors
    inputs: list[str] = field(default_factory=list)
    kinds: list[Any] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    known: dict[Any, Value] = field(default_factory=dict)

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

    def _input(self, name: str) -> Value:
        return self._widened(self._raw(name), Column(name))

    def _raw(self, name: str) -> Value:
        """Return a column as it is read."""
        kind = self._kind_of(name)
        if pa.types.is_null(kind):
            return self._constant(None, "null", kind)
        if name not in self.inputs:
            self.inputs.append(name)
            self.kinds.append(kind)
        register = -self.inputs.index(name) - 1
        return Value(register, self._words(name, kind), kind)

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
        if is_text(kind):
            return "text"
        if types.is_integer(kind) or (types.is_temporal(kind) and not types.is_interval(kind)):
            return "whole"
        raise ValueTypeError(
            f"the expression {self._text()} reads the column {name!r} of type {kind}: expressions "
            "take numbers, booleans, strings, bytes, times and decimals of up to 38 digits"
        )

    def _widened(self, value: Value, node: Node) -> Value:
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
        a: Value,
        b: Value | None = None,
        *,
        kind: Any,
        words: str,
        number: int = 0,
        values: Sequence[Any] = (),
    ) -> Value:
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
            self.known[key] = Value(len(self.steps) - 1, words, kind)
        return self.known[key]

    def _constant(self, value: Any, words: str, kind: Any) -> Value:
        key = ("constant", repr(value), words, str(kind))
        if key not in self.known:
            self.steps.append({"code": "constant", "value": value})
            self.known[key] = Value(len(self.steps) - 1, words, kind)
        return self.known[key]

    # ---- nodes

    def value(self, node: Node) -> Value:
        """Return the register of a node."""
        raise NotImplementedError

    def _literal(self, node: Literal) -> Value:
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

    def _decimal(self, value: Decimal) -> Value:
        if not value.is_finite():
            raise ValueTypeError(f"an expression cannot hold {value!r}")
        sign, given, exponent = value.as_tuple()
        scale = max(0, -int(exponent))
        # Counted before they are made: a short text can have a large exponent.
        digits = max(len(given) + max(0, int(exponent)), scale)
        if digits > MOST_DIGITS:
            raise ValueTypeError(f"a decimal must have at most {MOST_DIGITS} digits, got {value}")
        # By hand, since the methods of decimals round to the digits of the context, mostly 28.
        whole = int("".join(map(str, given))) * 10 ** max(0, int(exponent)) * (-1 if sign else 1)
        halves = (whole & (2**64 - 1), (whole >> 64) & (2**64 - 1))
        return self._constant(halves, "wide", pa.decimal128(digits, scale))

    # ---- other forms of a value

    def _real(self, node: Node, value: Value) -> Value:
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
        step = self.steps[value.register] if value.register >= 0 else None
        if step is not None and step["code"] == "constant":
            return self._constant(float(step["value"]), "real", pa.float64())
        return self._step("whole_to_real", node, value, kind=pa.float64(), words="real")

    def _wide(self, node: Node, value: Value) -> Value:
        if value.words == "wide":
            return value
        digits = _DIGITS[value.kind.bit_width // 8]
        kind = pa.decimal128(digits, 0)
        return self._step("whole_to_wide", node, value, kind=kind, words="wide")

    def output(self, value: Value) -> Value:
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

    def _scaled(self, node: Node, value: Value, scale: int) -> Value:
        more = scale - value.kind.scale
        if more == 0:
            return value
        digits = min(value.kind.precision + more, MOST_DIGITS)
        kind = pa.decimal128(digits, scale)
        return self._step("scale_wide", node, value, kind=kind, words="wide", number=more)

    def _in_unit(self, node: Node, value: Value, unit: str) -> Value:
        times = UNITS[unit] // UNITS[unit_of(value.kind)]
        if pa.types.is_date32(value.kind):
            times = 86400 * UNITS[unit]
        if times == 1:
            return value
        return self._step("scale_whole", node, value, kind=value.kind, words="whole", number=times)

    # ---- errors

    def _text(self) -> str:
        assert self.whole is not None
        return repr(self.whole.text())

    def _wrong(self, node: Node, value: Value, takes: str) -> ValueTypeError:
        return ValueTypeError(
            f"{node.text()!r} takes {takes}, got {value.kind} in the expression {self._text()}"
        )
