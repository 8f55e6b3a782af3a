"""Steps of conditions, of nulls, and of changes of type."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from slidefold.definition.expressions.kinds import (
    UNITS,
    family_of,
    is_clock_time,
    is_string,
    unit_of,
)
from slidefold.definition.expressions.nodes import Call, Column, Literal, Node
from slidefold.definition.expressions.registers import Registers, Value
from slidefold.errors import ValueTypeError

# Native code has three comparisons; the others follow from them.
COMPARISONS = {
    "equal": ("equal", False, False),
    "not_equal": ("equal", False, True),
    "less": ("less", False, False),
    "at_most": ("at_most", False, False),
    "greater": ("less", True, False),
    "at_least": ("at_most", True, False),
}


class Conditions(Registers):
    """Compile comparisons, conditions, and what decides about nulls and types."""

    def _compared(self, node: Call) -> Value:
        a, b = self._common(node, *(self.value(given) for given in node.given))
        code, swapped, negated = COMPARISONS[node.function]
        if swapped:
            a, b = b, a
        words = "whole" if a.words == "truth" else a.words
        found = self._step(f"{code}_{words}", node, a, b, kind=pa.bool_(), words="truth")
        if not negated:
            return found
        return self._step("not", node, found, kind=pa.bool_(), words="truth")

    def _common(self, node: Call, *values: Value) -> tuple[Value, ...]:
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
        if all(value.temporal and family_of(value.kind) == family_of(first.kind) for value in some):
            unit = max((unit_of(value.kind) for value in some), key=lambda one: UNITS[one])
            return tuple(
                self._typed_null(value, first)
                if value.words == "null"
                else self._in_unit(node, value, unit)
                for value in values
            )
        same_text = all(
            value.words == "text" and is_string(value.kind) == is_string(first.kind)
            for value in some
        )
        if same_text or all(value.words == "truth" for value in some):
            return tuple(self._typed_null(value, first) for value in values)
        kinds = " and ".join(str(value.kind) for value in values)
        raise ValueTypeError(
            f"{node.text()!r} compares {kinds} in the expression {self._text()}: they must have "
            "comparable types"
        )

    def _typed_null(self, value: Value, like: Value) -> Value:
        return replace(value, words=like.words, kind=like.kind) if value.words == "null" else value

    def _truth(self, node: Call, given: Node) -> Value:
        value = self.value(given)
        if value.words == "null":
            return replace(value, words="truth", kind=pa.bool_())
        if value.words != "truth":
            raise self._wrong(node, value, "conditions")
        return value

    def _and(self, node: Call) -> Value:
        a, b = (self._truth(node, given) for given in node.given)
        return self._step("and", node, a, b, kind=pa.bool_(), words="truth")

    def _or(self, node: Call) -> Value:
        a, b = (self._truth(node, given) for given in node.given)
        return self._step("or", node, a, b, kind=pa.bool_(), words="truth")

    def _not(self, node: Call) -> Value:
        value = self._truth(node, node.given[0])
        return self._step("not", node, value, kind=pa.bool_(), words="truth")

    def _is_in(self, node: Call) -> Value:
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
            "text": all(isinstance(one.value, str) == is_string(value.kind) for one in literals)
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
        either: Value | None = None
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

    def _is_null(self, node: Call) -> Value:
        given = node.given[0]
        # A value that does not fit in the form of steps is still a value.
        value = self._raw(given.name) if isinstance(given, Column) else self.value(given)
        return self._step("is_null", node, value, kind=pa.bool_(), words="truth")

    def _fill_null(self, node: Call) -> Value:
        a, b = self._common(node, *(self.value(given) for given in node.given))
        kind = self._filled(a, b)
        code = "fill_null_wide" if a.words == "wide" else "fill_null"
        return self._step(code, node, a, b, kind=kind, words=a.words)

    def _filled(self, a: Value, b: Value) -> Any:
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
        unit = max(unit_of(a), unit_of(b), key=lambda one: UNITS[one])
        if pa.types.is_duration(a):
            return pa.duration(unit)
        if is_clock_time(a):
            return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
        if pa.types.is_date(a) and pa.types.is_date(b):
            return pa.date64()
        return pa.timestamp(unit, next(kind.tz for kind in (a, b) if pa.types.is_timestamp(kind)))

    def _only(self, node: Call) -> Value:
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

    def _cast(self, node: Call) -> Value:
        value = self.value(node.given[0])
        kind = {"string": pa.string(), "bool": pa.bool_()}.get(node.option)
        kind = kind or getattr(pa, node.option)()
        words = {"string": "text", "bool": "truth", "int64": "whole", "float64": "real"}
        wanted = words[node.option]
        if value.words == "null":
            return replace(value, words=wanted, kind=kind)
        if value.words == wanted and (wanted != "text" or is_string(value.kind)):
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
