"""The table [features]: read its definition and check it against the columns of the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from slidefold.definition.arguments import rolling
from slidefold.definition.files import read
from slidefold.definition.formula import Formula
from slidefold.definition.lowering import inlined
from slidefold.definition.operators import count
from slidefold.definition.rolling import Rolling
from slidefold.errors import SlidefoldError, nearest
from slidefold.pipeline.tables import Mistakes


def read_features(table: Mapping[str, Any], mistakes: Mistakes) -> Rolling | None:
    """Read the definition; return None if it has a mistake."""
    if not table:
        return None
    arguments, wrong = read(table)
    for key, error in wrong:
        mistakes.note(f"features.{key}", error)
    if "on" not in arguments or not arguments["columns"]:
        if not wrong:
            mistakes.note("features.columns", "must have at least one column")
        return None
    try:
        definition = rolling(**arguments)
    except SlidefoldError as error:
        mistakes.note("features", error)
        return None
    if definition.order == "input":
        mistakes.note(
            "features.order", "'input' works for tables only: name the columns to order by"
        )
    return None if mistakes.at("features") else definition


def check_against(
    definition: Rolling, table: Mapping[str, Any], schema: Any, format: str, mistakes: Mistakes
) -> Any:
    """Note each mismatch with the columns of the source; return the schema of the results."""
    names = list(schema.names)
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        mistakes.note("source.path", f"has {names.count(name)} columns named {name!r}")
    _require("features.on", (definition.on,), names, mistakes)
    _require("features.by", definition.by, names, mistakes)
    if not isinstance(definition.order, str):
        _require("features.order", definition.order, names, mistakes)
    places = _places(table)
    alone = {name: _alone(definition, name) for name in definition.columns}
    known = names if definition.slide is None else [*names, "window_end"]
    for name, single in alone.items():
        _require(places[name], _read(single), known, mistakes)
    if mistakes.at("features") or mistakes.at("source"):
        return None
    # A run over an empty table finds every wrong type: of times and keys, then column by column.
    empty = schema.empty_table()
    head: dict[str, Any] = {"on": definition.on, "by": definition.by, "order": definition.order}
    probe = rolling(**head, columns={f"n{''.join(names)}": count().over(1)})
    _try(probe, empty, "features.on", _hint((definition.on,), schema, format), mistakes)
    for name, single in alone.items() if not mistakes.at("features") else ():
        if isinstance(definition.columns[name], Formula) and definition.slide is not None:
            continue  # it may read the end of its window
        hint = _hint(_read(single), schema, format)
        _try(single, empty, places[name], hint, mistakes)
    if mistakes.at("features"):
        return None
    results = _try(definition, empty, "features", ("", ""), mistakes)
    return None if results is None else results.schema


def _alone(definition: Rolling, name: str) -> Rolling:
    """Return the definition of one column, with one result per row."""
    items = ((name, inlined(name, definition)),)
    per_row: dict[str, Any] = {"every": None, "offset": None, "zone": None, "fill": False}
    return replace(definition, items=items, peers=definition.ties, **per_row)


def _read(definition: Rolling) -> tuple[str, ...]:
    """Return the columns that operators, windows and formulas read."""
    return tuple(dict.fromkeys((*definition.inputs, *definition.row_columns)))


def _try(
    definition: Rolling, empty: Any, key: str, hint: tuple[str, str], mistakes: Mistakes
) -> Any:
    try:
        return definition.run(empty)
    except SlidefoldError as error:
        column, where = hint
        mistakes.note(key, f"{error}{where if repr(column) in str(error) else ''}")
        return None


def _require(key: str, required: Sequence[str], names: list[str], mistakes: Mistakes) -> None:
    for name in required:
        if name not in names:
            hint = nearest(name, names) or f"; it has {', '.join(names[:8])}"
            mistakes.note(key, f"the source has no column {name!r}{hint}")


def _places(table: Mapping[str, Any]) -> dict[str, str]:
    """Return each column's key in the file: a list of durations gives several columns per key."""
    places = {}
    for name, column in table["columns"].items():
        for result in read({"on": "", "columns": {name: column}})[0]["columns"]:
            places[result] = f"features.columns.{name}"
    return places


def _hint(columns: Sequence[str], schema: Any, format: str) -> tuple[str, str]:
    """Return the first text column and a hint: one bad value makes a numeric column text."""
    if format == "parquet":
        return "", ""
    text = [name for name in columns if pa.types.is_string(schema.field(name).type)]
    if not text:
        return "", ""
    hint = " (types are inferred from the first rows: set the type of "
    return text[0], f"{hint}{text[0]!r} in [source.columns])"
