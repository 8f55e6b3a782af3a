"""The table [features]: a rolling definition, and whether the columns of the source suit it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from slidefold.definition.files import read
from slidefold.definition.operators import count
from slidefold.definition.rolling import Rolling, rolling
from slidefold.errors import SlidefoldError, nearest
from slidefold.pipeline.tables import Mistakes


def read_features(told: Mapping[str, Any], mistakes: Mistakes) -> Rolling | None:
    """Read the definition; None where it is wrong."""
    if not told:
        return None
    said, wrong = read(told)
    for key, error in wrong:
        mistakes.note(f"features.{key}", error)
    if "on" not in said or not said["columns"]:
        if not wrong:
            mistakes.note("features.columns", "there must be at least one column")
        return None
    try:
        made = rolling(**said)
    except SlidefoldError as error:
        mistakes.note("features", error)
        return None
    if made.order == "input":
        mistakes.note("features.order", "'input' is for tables: rows of files have no order")
    return None if mistakes.at("features") else made


def check_against(
    definition: Rolling, told: Mapping[str, Any], schema: Any, format: str, mistakes: Mistakes
) -> Any:
    """Note what the columns of the source do not suit; return the schema of the results."""
    names = list(schema.names)
    for name in dict.fromkeys(each for each in names if names.count(each) > 1):
        mistakes.note("source.path", f"has {names.count(name)} columns named {name!r}")
    _require("features.on", (definition.on,), names, mistakes)
    _require("features.by", definition.by, names, mistakes)
    if not isinstance(definition.order, str):
        _require("features.order", definition.order, names, mistakes)
    places = _places(told)
    for name, over in definition.items:
        _require(places[name], over.columns, names, mistakes)
    if mistakes.at("features") or mistakes.at("source"):
        return None
    # Running no rows finds every type that does not suit: of times and keys, of each column alone.
    empty = schema.empty_table()
    head: dict[str, Any] = {"on": definition.on, "by": definition.by, "order": definition.order}
    probe = rolling(**head, columns={f"n{''.join(names)}": count().over(1)})
    _try(probe, empty, "features.on", _hint((definition.on,), schema, format), mistakes)
    for name, over in definition.items if not mistakes.at("features") else ():
        hint = _hint(over.columns, schema, format)
        _try(rolling(**head, columns={name: over}), empty, places[name], hint, mistakes)
    if mistakes.at("features"):
        return None
    found = _try(definition, empty, "features", ("", ""), mistakes)
    return None if found is None else found.schema


def _try(
    definition: Rolling, empty: Any, key: str, hint: tuple[str, str], mistakes: Mistakes
) -> Any:
    try:
        return definition.run(empty)
    except SlidefoldError as error:
        column, where = hint
        mistakes.note(key, f"{error}{where if repr(column) in str(error) else ''}")
        return None


def _require(key: str, due: Sequence[str], names: list[str], mistakes: Mistakes) -> None:
    for name in due:
        if name not in names:
            hint = nearest(name, names) or f"; it has {', '.join(names[:8])}"
            mistakes.note(key, f"the source has no column {name!r}{hint}")


def _places(told: Mapping[str, Any]) -> dict[str, str]:
    """Return the key in the file for each column: a list of lengths makes several of one."""
    places = {}
    for name, column in told["columns"].items():
        for made in read({"on": "", "columns": {name: column}})[0]["columns"]:
            places[made] = f"features.columns.{name}"
    return places


def _hint(columns: Sequence[str], schema: Any, format: str) -> tuple[str, str]:
    """A column of text may be one of numbers with a slip in it: say where types come from."""
    if format == "parquet":
        return "", ""
    text = [name for name in columns if pa.types.is_string(schema.field(name).type)]
    if not text:
        return "", ""
    said = f" (types are read off the first rows: give that of {text[0]!r} in [source.columns])"
    return text[0], said
