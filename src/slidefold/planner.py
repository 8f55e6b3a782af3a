"""Choose the kernel and the algorithm, with a reason; `algorithm=` overrides the choice.

Planning is pure. A `ColumnPlan` says how to compute one operator over one window of a table; the
columns engine executes it and decides nothing else. A `Plan` does the same for one live window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from html import escape
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold import _native, pictures
from slidefold.definition.expressions.nodes import Column, Node, Written
from slidefold.definition.operators import Operator, UserOperator, require_events
from slidefold.definition.operators.over_window import EVENT_ALGORITHMS, require_algorithm
from slidefold.definition.rolling import Leaf, Rolling
from slidefold.definition.windows import Given, Length, Rows, Time, lateness_of, window_of
from slidefold.errors import PairError, ValueTypeError, WindowError

__all__ = ["EVENT_ALGORITHMS", "ColumnPlan", "Plan", "TablePlan", "plan", "plan_table"]

LATE_ALGORITHM = "fiba"  # the only one that accepts events out of order
ORDER_ALGORITHM = "order_statistics"  # runs median and quantile, with or without late events

_COST = {
    "recalc": "n-1 combines per step",
    "subtract_on_evict": "1 combine and 1 remove per step",
    "two_stacks": "3 combines per step on average, n at worst",
    "two_stacks_lite": "3 combines per step on average, n at worst",
    "daba": "5 combines per step on average, 8 at worst",
    "daba_lite": "4 combines per step on average, 6 at worst",
    "flat_fat": "O(log n) combines per step",
    "b_int": "O(log n) combines per step",
    "flat_fit": "3 combines per step on average, n at worst",
    "slick_deque": "fewer than 2 comparisons per step on average, n at worst",
    "fiba": "O(log d) combines per step on average for an event d places late; O(1) in order",
    "order_statistics": "O(log n) comparisons per step, no combines",
    "register_queues": "O(1) per row, no combines",
    "top_values": "O(log k) comparisons per row, no combines",
    "bins": "one count per row that enters or leaves",
    "amta": "O(1) combines per step on average, O(log n) at worst",
}
_INVERTIBLE = "the operator is exactly invertible, so the oldest value can be subtracted"


@dataclass(frozen=True)
class Plan:
    """Hold the algorithm of one live window and the reason for it."""

    operator: Operator
    window: Rows | Time
    algorithm: str
    reason: str
    lateness: Length | None = None

    def __str__(self) -> str:
        state = self.operator.traits.state_bytes
        return (
            f"{self.operator} over {self.window.text('right')}\n"
            f"  algorithm: {self.algorithm}, because {self.reason}\n"
            f"  cost:      {_COST.get(self.algorithm, 'see its page')}\n"
            f"  keeps:     {self._kept()}, {state} bytes per state"
        )

    def _repr_html_(self) -> str:
        return self.html(())

    def html(self, more: Sequence[tuple[str, str]]) -> str:
        """Return the plan as a table for notebooks, with more lines of a name and a text."""
        extent, state = self.window.extent(), self.operator.traits.state_bytes
        picture = pictures.bar(extent, pictures.scales([extent])[extent.axis])
        lines = [
            ("window", f"{picture} {pictures.code(self.window.text('right'))}"),
            ("algorithm", f"{pictures.code(self.algorithm)}, because {escape(self.reason)}"),
            ("cost", escape(_COST.get(self.algorithm, "see its page"))),
            ("keeps", f"{escape(self._kept())}, {state} bytes per state"),
            *((name, escape(text)) for name, text in more),
        ]
        return pictures.table(pictures.code(str(self.operator)), ("", ""), lines)

    def _kept(self) -> str:
        kept = self.window.retention()
        return kept if self.lateness is None else f"{kept} and {self.lateness} more for late events"


def plan(
    operator: Operator,
    window: Rows | Time | str | timedelta | int | np.timedelta64,
    *,
    optimize: str = "latency",
    algorithm: str | None = None,
    lateness: Given | None = None,
) -> Plan:
    """Choose the algorithm for one live window; `lateness` is how late events may arrive.

    As in `over`, a string or a timedelta means a time window and an integer means a rows window.

    >>> import slidefold as sf
    >>> plan(sf.sum(), sf.rows(100)).algorithm
    'daba_lite'
    >>> plan(sf.max(), sf.rows(100), optimize="throughput").algorithm
    'slick_deque'
    """
    require_events(operator)
    window = live_window(window)
    lateness = None if lateness is None else lateness_of(lateness)
    if optimize not in ("latency", "throughput"):
        raise WindowError(f"optimize must be 'latency' or 'throughput', got {optimize!r}")
    if lateness is not None:
        if not window.in_time:
            raise WindowError(f"lateness needs a time window, such as time('1h'), got {window}")
        window.lateness_rule(lateness)  # type: ignore[union-attr]
    if not operator.monoid:
        _require_order(operator, algorithm)
        because = operator.record.because
        return Plan(operator, window, ORDER_ALGORITHM, because, lateness)
    if lateness is not None:
        if algorithm not in (None, LATE_ALGORITHM):
            raise PairError(
                f"{algorithm} needs events in order; with lateness= use algorithm='fiba'"
            )
        reason = "events may arrive late, and only it accepts events out of order (lateness=)"
        return Plan(operator, window, LATE_ALGORITHM, reason, lateness)
    if algorithm is not None:
        if algorithm == LATE_ALGORITHM:
            raise PairError(
                "algorithm='fiba' needs lateness=; use lateness=0 if events arrive in order"
            )
        require_algorithm(algorithm)
        return Plan(operator, window, algorithm, "algorithm= requested it")
    traits = operator.traits
    if traits.invertible:
        return Plan(operator, window, "subtract_on_evict", _INVERTIBLE)
    if optimize == "latency":
        reason = "its worst step takes constant time (optimize='latency')"
        return Plan(operator, window, "daba_lite", reason)
    if traits.selective:
        reason = "the operator is selective, so losing values are dropped (optimize='throughput')"
        return Plan(operator, window, "slick_deque", reason)
    reason = "it needs the fewest combines on average (optimize='throughput')"
    return Plan(operator, window, "two_stacks_lite", reason)


def live_window(given: object) -> Rows | Time:
    """Parse the window of a single operator as `over` does, but accept only rows and time."""
    window: Any = window_of(given)
    if not window.live:
        raise WindowError(
            f"expected a rows or time window, such as sf.rows(100) or sf.time('1h'), got {window}; "
            "use sf.rolling for other windows"
        )
    return window  # type: ignore[no-any-return]


def _require_order(operator: Operator, algorithm: str | None) -> None:
    if algorithm not in (None, ORDER_ALGORITHM):
        raise PairError(
            f"{operator.name} has no associative combine, so {algorithm} cannot fold it; leave out "
            "algorithm="
        )


# ---- tables -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnPlan:
    """Describe how one operator over one window of a table is computed, and why."""

    leaf: Leaf
    operator: Operator  # typed by its columns
    kernel: str  # "windows": one native pass over all windows; "frames": frame by frame; or a name
    algorithm: str
    reason: str

    @property
    def cost(self) -> str:
        """Describe the cost per row in words."""
        return _COST.get(self.algorithm, "no combines")

    @property
    def kept(self) -> str:
        """Describe in words what is kept in memory."""
        kept = self.leaf.window.retention()
        if self.algorithm in ("bounds", "register_queues"):
            return f"{kept}, no states"
        return f"{kept}, {self.operator.traits.state_bytes} bytes per state"


@dataclass(frozen=True)
class TablePlan:
    """Describe how a definition runs over tables of a schema; the engine executes and prints it."""

    definition: Rolling
    schema: Any  # an Arrow schema, or None if the types are unknown
    columns: tuple[ColumnPlan, ...]

    def __str__(self) -> str:
        lines = [str(self.definition), *self._derived()]
        for column in self.columns:
            leaf = column.leaf
            window = leaf.window.text(self.definition.default_closed)
            lines += [
                f"{'.'.join(leaf.path)}: {leaf.operator}{self._types(leaf)} over {window}",
                f"  algorithm: {column.algorithm}, because {column.reason}",
                f"  kernel:    {_KERNELS.get(column.kernel, column.kernel)}",
                f"  cost:      {column.cost}",
                f"  keeps:     {column.kept}",
            ]
        return "\n".join([*lines, *self._formulas()])

    def _repr_html_(self) -> str:
        """Return the plan as a table for notebooks."""
        extents = [column.leaf.window.extent() for column in self.columns]
        scale = pictures.scales(extents)
        rows = [
            (
                pictures.code(".".join(column.leaf.path)),
                pictures.bar(extent, scale[extent.axis]),
                pictures.code(f"{column.leaf.operator}{self._types(column.leaf)}"),
                f"{pictures.code(column.algorithm)}, because {escape(column.reason)}",
                escape(_KERNELS.get(column.kernel, column.kernel)),
                escape(column.cost),
                escape(column.kept),
            )
            for column, extent in zip(self.columns, extents, strict=True)
        ]
        heads = ("column", "window", "operator", "algorithm", "kernel", "cost per row", "keeps")
        note = "\n".join([*self._derived(), *self._formulas()])
        return pictures.table("plan", heads, rows, note)

    def _derived(self) -> list[str]:
        """Describe the columns that are computed from a row before the windows."""
        derived = [name for name, _ in self.definition.derived]
        lines = ["computed from each row, before the windows:"] if derived else []
        for name in derived:
            kind = "" if self.schema is None else f" ({self.schema.field(name).type})"
            lines.append(f"  {name}{kind}")
        return lines

    def _formulas(self) -> list[str]:
        """Describe the columns that are computed from results after the windows."""
        core = self.definition.core.columns
        hidden = {name for name in core if name not in self.definition.columns}

        def shown(node: Node) -> Node:
            # The name of a result that is not a column is how it is written.
            bare = isinstance(node, Column) and node.name in hidden
            return Written(node.name) if bare else node  # type: ignore[attr-defined]

        made = [(name, node) for name, node in self.definition.formulas if name not in core]
        lines = ["computed from results, after the windows:"] if made else []
        return [*lines, *(f"  {name}: {node.replaced(shown).text()}" for name, node in made)]

    def _types(self, leaf: Leaf) -> str:
        columns = leaf.operator.columns
        if self.schema is None or not columns:
            return ""
        return f" of {', '.join(str(self.schema.field(name).type) for name in columns)}"


_KERNELS = {
    "windows": "one native pass shared by all columns with this kernel",
    "frames": "one native call for this column",
    "python": "one call into Python per combine",
}


def plan_table(definition: Rolling, schema: Any = None, *, by_frame: bool = False) -> TablePlan:
    """Plan a definition for an Arrow schema; without a schema, assume float columns.

    With `by_frame` or `every=`, kernels get explicit frames, because readers and arrival-order
    engines need the results of some rows only.

    >>> import slidefold as sf
    >>> features = sf.rolling(on="t", n=sf.count().over("1h"), top=sf.max("x").over("1h"))
    >>> [column.algorithm for column in plan_table(features).columns]
    ['bounds', 'two_stacks_lite']
    """
    by_frame = by_frame or definition.slide is not None
    columns = []
    for leaf in definition.leaves:
        names = leaf.operator.columns
        kinds = None if schema is None else tuple(schema.field(name).type for name in names)
        columns.append(plan_leaf(leaf, kinds, by_frame=by_frame))
    return TablePlan(definition, schema, tuple(columns))


def plan_leaf(leaf: Leaf, kinds: Sequence[Any] | None, *, by_frame: bool = True) -> ColumnPlan:
    """Plan one operator over one window for columns of the given Arrow types."""
    operator, asked = leaf.operator, leaf.algorithm
    record = operator.record
    if not operator.monoid:
        _require_order(operator, asked)
    else:
        require_algorithm(asked)
    typed = operator if kinds is None else typed_operator(operator, kinds)
    native = "python" if typed.calls_python else "frames"
    # An operator that needs only the bounds of a window runs without an algorithm, even if one was
    # requested.
    if record.algorithm and (asked is None or record.algorithm in ("bounds", ORDER_ALGORITHM)):
        whole = record.one_pass and not by_frame and _in_windows(leaf, kinds)
        kernel = "windows" if whole else record.algorithm
        return ColumnPlan(leaf, typed, kernel, record.algorithm, record.because)
    if asked is not None:
        needs = next(need for need in _native.algorithms() if need[0] == asked)
        for needed, word in zip(needs[1:], ("invertible", "selective"), strict=True):
            if needed and not getattr(typed.traits, word):
                raise PairError(
                    f"{asked} needs an operator that is {word}, and {_in_words(typed)} is not"
                )
        return ColumnPlan(leaf, typed, native, asked, "algorithm= requested it")
    one_pass = record.one_pass and not operator.variant and not by_frame
    if one_pass and _in_windows(leaf, kinds):
        native = "windows"
    if typed.traits.invertible:
        return ColumnPlan(leaf, typed, native, "subtract_on_evict", _INVERTIBLE)
    reason = "it needs the fewest combines on average, and its loops have no branches"
    return ColumnPlan(leaf, typed, native, "two_stacks_lite", reason)


def _in_windows(leaf: Leaf, kinds: Sequence[Any] | None) -> bool:
    """Tell whether the native pass over windows supports this window and these columns."""
    if not (leaf.window.in_time or leaf.window.last_rows) or leaf.algorithm is not None:
        return False
    if not leaf.window.one_pass:
        return False
    operator, word = leaf.operator, leaf.operator.record.one_pass
    if operator.flag is not None:
        return False  # the pass has no rows that are neither nulls nor folded
    if leaf.min_count is not None and operator.keeps_nulls and operator.columns:
        return False  # min_count counts values that are not null, and the pass all that it folds
    if kinds is None or word in ("count", "pick"):
        return True
    if word in ("compared", "by"):
        return _has_order(kinds[-1])
    if word == "pair":
        return _is_number(kinds[0]) and (_is_number(kinds[1]) or _is_time(kinds[1]))
    return _is_number(kinds[0])


def _is_number(kind: Any) -> bool:
    """Tell whether a column type is floating-point or an integer type that fits in int64."""
    types = pa.types
    return bool(types.is_floating(kind) or (types.is_integer(kind) and not types.is_uint64(kind)))


def _is_time(kind: Any) -> bool:
    return bool(pa.types.is_temporal(kind) and not pa.types.is_interval(kind))


def _has_order(kind: Any) -> bool:
    """Tell whether values of a type convert to numbers of the same order."""
    number = _is_number(kind) or pa.types.is_uint64(kind) or pa.types.is_boolean(kind)
    return bool(number or _is_time(kind))


def _in_words(operator: Operator) -> str:
    typed = operator.dtype not in ("any", "object")
    return f"{operator.name} of {operator.dtype}" if typed else operator.name


# ---- types --------------------------------------------------------------------------------------


def typed_operator(operator: Operator, kinds: Sequence[Any]) -> Operator:
    """Return the operator for columns of the given Arrow types."""
    if not kinds:
        return operator
    if isinstance(operator, UserOperator):
        return operator.for_columns(kinds)
    codes = [_code(operator, kind) for kind in kinds]
    if operator.record.pair and operator.record.reads == "compared":
        codes[0] = "int64"  # a row number
    return retyped(operator, *codes)


def _code(operator: Operator, kind: Any) -> str:
    """Return the native type used to fold a column of an Arrow type."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    record, types = operator.record, pa.types
    compares = record.reads == "compared"
    if types.is_null(kind) and not compares and "float64" not in record.types:
        return record.types[0]
    if types.is_floating(kind) or types.is_null(kind):
        return "float64"
    if types.is_decimal(kind) and not compares:
        return "int64" if record.exact_decimals else "float64"
    if types.is_boolean(kind) and operator.dtype == "bool":
        return "bool"
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return "str" if text and not compares else "int64"


def retyped(operator: Operator, *codes: str) -> Operator:
    """Return the operator for columns of the given native types."""
    if operator.dtype in ("any", "object"):
        return operator
    types = operator.record.types
    if len(types) == 1 and codes[0] != types[0]:
        raise ValueTypeError(
            f"{operator.name} expects {types[0]}, but column {operator.columns[0]!r} is {codes[0]}"
        )
    key = codes[-1] if len(codes) > 1 else "float64"
    typed = replace(operator, dtype=codes[0], key_dtype=key)
    if operator.variant and codes[0] != "float64":  # only floats need it: integers are exact
        typed = replace(typed, variant="", params=())
    return typed


def fiba_arity(operator: Operator) -> int:
    """Return the minimum arity of a FiBA tree: nodes hold fewer states when states are large."""
    return 4 if operator.traits.state_bytes <= 64 else 2
