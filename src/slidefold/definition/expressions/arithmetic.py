"""Steps of arithmetic: numbers, decimals, times and durations."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from slidefold.definition.expressions.kinds import MOST_DIGITS, UNITS, is_clock_time, unit_of
from slidefold.definition.expressions.nodes import Call, Node
from slidefold.definition.expressions.registers import Registers, Value
from slidefold.errors import ValueTypeError


class Arithmetic(Registers):
    """Compile operators and functions of numbers and times."""

    def _arithmetic(self, node: Call) -> Value:
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
        if scale > MOST_DIGITS or digits - scale > MOST_DIGITS + 1:
            raise ValueTypeError(
                f"{node.text()!r} needs decimals of {digits} digits: cast to float64"
            )
        return pa.decimal128(min(digits, MOST_DIGITS), scale)

    def _same_scale(self, node: Node, a: Value, b: Value) -> tuple[Value, Value]:
        scale = max(a.kind.scale, b.kind.scale)
        return self._scaled(node, a, scale), self._scaled(node, b, scale)

    def _in_time(self, node: Call, a: Value, b: Value) -> Value:
        """Compile arithmetic of times, dates and durations."""
        types, function = pa.types, node.function
        spans = [bool(types.is_duration(value.kind)) for value in (a, b)]
        if function == "subtract" and a.temporal and b.temporal and not any(spans):
            if is_clock_time(a.kind) or is_clock_time(b.kind):
                raise self._wrong(node, a, "timestamps or dates")
            a, b, unit = self._same_unit(node, a, b)
            return self._step("subtract_whole", node, a, b, kind=pa.duration(unit), words="whole")
        both = function in ("add", "subtract") and a.temporal and b.temporal
        if both and spans[1] and not is_clock_time(a.kind):
            return self._moved(node, a, b)
        if both and function == "add" and spans[0] and not is_clock_time(b.kind):
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

    def _moved(self, node: Call, time: Value, span: Value) -> Value:
        """Return a time or a duration plus or minus a duration."""
        time, span, unit = self._same_unit(node, time, span)
        kind = time.kind
        if pa.types.is_duration(kind):
            kind = pa.duration(unit)
        else:
            kind = pa.timestamp(unit, kind.tz if pa.types.is_timestamp(kind) else None)
        code = f"{node.function}_whole"
        return self._step(code, node, time, span, kind=kind, words="whole")

    def _same_unit(self, node: Node, a: Value, b: Value) -> tuple[Value, Value, str]:
        """Return times or durations in the finer unit of both."""
        unit = max(unit_of(a.kind), unit_of(b.kind), key=lambda one: UNITS[one])
        return self._in_unit(node, a, unit), self._in_unit(node, b, unit), unit

    def _negate(self, node: Call) -> Value:
        return self._signed(node, "negate")

    def _abs(self, node: Call) -> Value:
        return self._signed(node, "absolute")

    def _signed(self, node: Call, function: str) -> Value:
        value = self.value(node.given[0])
        if not (value.number or pa.types.is_duration(value.kind)):
            raise self._wrong(node, value, "numbers or durations")
        if value.words == "null":
            value = self._real(node, value)
        kind = pa.float64() if value.words == "real" else value.kind
        if value.words == "whole" and not value.temporal:
            kind = pa.int64()
        return self._step(f"{function}_{value.words}", node, value, kind=kind, words=value.words)

    def _fade(self, node: Call) -> Value:
        """Compile what is left of a value after some time, given its half-life."""
        value, since = (self.value(given) for given in node.given)
        half_life = float(node.option)
        if since.temporal:
            half_life *= UNITS[unit_of(since.kind)]
        elapsed = self._step("whole_to_real", node, since, kind=pa.float64(), words="real")
        if since.words == "real":
            elapsed = since
        lives = self._constant(half_life, "real", pa.float64())
        parts = {"kind": pa.float64(), "words": "real"}
        ages = self._step("divide_real", node, elapsed, lives, **parts)
        return self._step("fade_real", node, self._real(node, value), ages, **parts)

    def _log(self, node: Call) -> Value:
        value = self.value(node.given[0])
        if not value.number:
            raise self._wrong(node, value, "numbers")
        value = self._real(node, value)
        return self._step("log_real", node, value, kind=pa.float64(), words="real")
