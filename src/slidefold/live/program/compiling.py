"""Compile a definition for rows of given types into the program that the native engine runs.

The program is made of plain values. Inputs are the columns that the definition reads. Stored
columns are what the engine keeps of each row: an input as it is, or converted for an operator. A
presence is a set of inputs that must have a value. A part is an operator over stored columns, a
window names its parts, and an output turns what a part gives into a column of results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.expressions import core_schema, derivation
from slidefold.columns.per import maps_of
from slidefold.definition.operators import PerOperator
from slidefold.definition.operators import count as counting
from slidefold.definition.rolling import Leaf, Rolling
from slidefold.definition.windows import counted
from slidefold.live.program.builder import Builder, Join, Result, UnsupportedError
from slidefold.live.program.numbers import NUMBERS
from slidefold.live.program.refolded import refold
from slidefold.live.program.stored import export_type, in_lists, restoring
from slidefold.live.program.values import VALUES


@dataclass
class Program:
    """A compiled definition."""

    native: dict[str, Any]
    results: list[Result]
    inputs: tuple[str, ...]
    reach: int | None  # how far before the watermark rows are needed; None if rows decide
    plain: bool  # whether native code gives the results of a row as objects; times as integers
    joins: Mapping[tuple[str, ...], Join]  # of columns that several outputs make
    refolded: frozenset[str]  # columns whose windows Python folds from their values


def _per(build: Builder, leaf: Leaf, kind: Any) -> None:
    """Compile results per category: the keys of the maps, and their values."""
    operator = leaf.operator
    assert isinstance(operator, PerOperator)
    category, inner = operator.category, operator.inner
    own = build.kind(category)
    if pa.types.is_floating(own) or pa.types.is_decimal(own) or leaf.window.forever:
        raise UnsupportedError
    before = len(build.results)
    window = build.window(leaf.window)
    parts, uses = list(window["parts"]), list(window["uses"])
    plain = build.plain
    word = inner.record.column
    if word not in COMPILED or word in _NO_FOLDS:
        raise UnsupportedError
    result = kind.item_type
    if word == "count":
        part = build.fold(counting(), [], -1)
        native: dict[str, Any] = {"type": pa.field("", pa.int64()).__arrow_c_schema__()}
        finish = None
        exported: Any = pa.int64()
    else:
        COMPILED[word](build, replace(leaf, operator=inner, path=("", "")), result)
        made = build.results[before]
        native, finish = made.native, made.finish
        part = native["part"]
        exported = None
        if native["source"] != "fold" or native["objects"] or native["records"]:
            raise UnsupportedError
        if len(build.results) != before + 1 or native["times"] != 1:
            raise UnsupportedError
        exported = native.pop("arrow")
        if pa.types.is_list(exported) and word not in _PICKS:
            raise UnsupportedError
    # The inner operator has no result of its own.
    del build.results[before:]
    window["parts"], window["uses"], build.plain = parts, uses, plain
    # An operator that keeps nulls folds every row of a category.
    needed = () if inner.keeps_nulls else inner.columns
    flags = [build.stored(name, "flag") for name in needed]
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
    restored = restoring(build.schema.field(category).type)
    keys = pa.list_(export_type(own))
    build.use(
        replace(leaf, path=(*leaf.path, "key")), per, presence, "categories", keys, **more,
        finish=in_lists(restored),
    )  # fmt: skip
    scaled = {
        name: native[name] for name in ("scale", "shifted", "ordered", "latin") if name in native
    }
    build.use(
        replace(leaf, path=(*leaf.path, "value")), per, presence, "per", pa.list_(exported),
        **more, **scaled, finish=in_lists(finish),
    )  # fmt: skip
    build.joins[leaf.path] = Join(2, _maps)


def _maps(arrays: list[Any]) -> Any:
    """Return keys and values as a column of maps."""
    keys, values = arrays
    return maps_of(np.asarray(keys.offsets).astype(np.int64), keys.values, values.values)


# Operators whose results do not come from a state alone.
_NO_FOLDS = ("per", "m4", "user")
# Operators whose result is a value of the column, which may be a list itself.
_PICKS = ("first", "last", "nth", "extreme_by")


COMPILED: dict[str, Callable[[Builder, Leaf, Any], None]] = {
    **VALUES,
    **NUMBERS,
    "per": _per,
}


def compile_program(
    definition: Rolling, schema: Any, target: Any, emit: str, *, slices: bool = True
) -> Program:
    """Return the program of a definition; `target` is the schema of the results of a run.

    With `slices`, states take the place of final rows where windows end at multiples of a time.
    """
    on = definition.on
    clock, _ = counted(on, pa.array([], schema.field(on).type))
    given = schema
    derived = derivation(definition, given)
    schema = core_schema(definition, given)
    build = Builder(definition, schema, target, clock, slices)
    build.input(on)
    for name in (*definition.used, *(derived.inputs if derived is not None else ())):
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
        own = target.field(leaf.path[0]).type
        for step in leaf.path[1:]:
            own = own.field(step).type
        _compile_leaf(build, leaf, own)
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
    slide: dict[str, Any] = {"slide": ""}
    if definition.slide is not None:
        slide = definition.slide.engine_rule([window for window, _ in build.windows], clock)
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
        "slices": slices,
    }
    inputs = tuple(name for name in build.inputs if name in given.names)
    return Program(
        native, build.results, inputs, reach, build.plain, build.joins, frozenset(build.refolded)
    )


def _compile_leaf(build: Builder, leaf: Leaf, kind: Any) -> None:
    """Compile an operator over a window; `kind` is the type of its results."""
    before = build.mark()
    try:
        COMPILED[leaf.operator.record.column](build, leaf, kind)
    except UnsupportedError:
        build.back_to(before)
        refold(build, leaf)


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
