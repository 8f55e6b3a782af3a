"""A definition as plain values, as JSON and TOML have them, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import timedelta
from difflib import get_close_matches
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from slidefold.errors import DefinitionError, SlidefoldError
from slidefold.operators import (
    NAMED,
    Operator,
    OperatorFactory,
    Over,
    UserOperator,
    struct,
)
from slidefold.windows import KINDS, Rows, Time, WindowKind
from slidefold.windows.durations import nanoseconds

if TYPE_CHECKING:
    from slidefold.rolling.definition import Rolling

_FUNCTIONS: dict[str, Any] = dict(NAMED)
_KEYS = ("on", "by", "every", "offset", "order", "columns")
_COLUMN_KEYS = (
    "operator",
    "columns",
    "params",
    "parts",
    "over",
    "closed",
    "min_count",
    "algorithm",
)


def to_dict(definition: Rolling) -> dict[str, Any]:
    """Return a definition as plain values; what is not said is left out."""
    saved: dict[str, Any] = {"on": definition.on}
    if definition.by:
        saved["by"] = list(definition.by)
    for name in ("every", "offset"):
        value = getattr(definition, name)
        if value is not None:
            saved[name] = _window_out(value) if isinstance(value, Rows | Time) else _length(value)
    if definition.order:
        order = definition.order
        saved["order"] = order if isinstance(order, str) else list(order)
    slide = definition.slide
    default = "right" if slide is None else slide.default_closed
    saved["columns"] = {name: _column_out(over, default) for name, over in definition.items}
    return saved


def from_dict(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `rolling` that saved values say."""
    _require_known("a definition", saved, _KEYS)
    if "on" not in saved or not isinstance(saved.get("columns"), Mapping):
        raise DefinitionError("a definition needs 'on' and a table of 'columns'")
    said = dict(saved)
    for name in ("every",):
        if isinstance(said.get(name), Mapping):
            said[name] = _window_in(said[name])
    said["columns"] = {name: _column_in(name, told) for name, told in saved["columns"].items()}
    return said


def _column_out(over: Over, default: str) -> dict[str, Any]:
    saved = _operator_out(over.operator)
    window = over.window
    if isinstance(window, Time) and not isinstance(window.range, int | float):
        saved["over"] = _length(window.range)
    elif isinstance(window, Rows):
        saved["over"] = window.n
    else:
        saved["over"] = _window_out(window, default if isinstance(window, Time) else "right")
    if not isinstance(saved["over"], dict) and window.closed != default:
        saved["closed"] = window.closed
    for name in ("min_count", "algorithm"):
        if getattr(over, name) is not None:
            saved[name] = getattr(over, name)
    return saved


def _column_in(name: str, saved: Any) -> Over:
    where = f"the column {name!r}"
    if not isinstance(saved, Mapping) or "operator" not in saved or "over" not in saved:
        raise DefinitionError(f"{where} needs 'operator' and 'over'")
    _require_known(where, saved, _COLUMN_KEYS)
    window = saved["over"]
    if isinstance(window, Mapping):
        window = _window_in(window)
    said = {key: saved[key] for key in ("closed", "min_count", "algorithm") if key in saved}
    return _operator_in(where, saved).over(window, **said)


def _operator_out(operator: Operator) -> dict[str, Any]:
    if isinstance(operator, UserOperator):
        name = f"{operator.module}:{operator.qualname}"
        return {"operator": name, "columns": list(operator.columns)}
    parts = getattr(operator, "parts", None)
    if parts is not None:
        return {
            "operator": operator.name,
            "parts": {name: _operator_out(part) for name, part in parts},
        }
    saved: dict[str, Any] = {"operator": operator.name}
    if operator.columns:
        saved["columns"] = list(operator.columns)
    defaults = signature(_FUNCTIONS[operator.name]).parameters
    params = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in operator.params
        if name not in defaults or defaults[name].default != value
    }
    if params:
        saved["params"] = params
    return saved


def _operator_in(where: str, saved: Mapping[str, Any]) -> Operator:
    name = saved["operator"]
    columns = saved.get("columns", [])
    columns = [columns] if isinstance(columns, str) else list(columns)
    if not isinstance(name, str):
        raise DefinitionError(f"{where} has an operator that is no name: {name!r}")
    if ":" in name:
        return _imported(where, name)(*columns)
    if "parts" in saved:
        parts = saved["parts"]
        if name != "struct" or not isinstance(parts, Mapping):
            raise DefinitionError(f"{where} has parts, which only a struct has")
        return struct(
            **{part: _operator_in(f"{where}.{part}", told) for part, told in parts.items()}
        )
    function = _FUNCTIONS.get(name)
    if function is None:
        near = get_close_matches(name, _FUNCTIONS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise DefinitionError(f"{where} has the operator {name!r}, which does not exist{hint}")
    said = dict(saved.get("params", {}))
    try:
        return function(*columns, **said)  # type: ignore[no-any-return]
    except SlidefoldError:
        raise
    except TypeError as error:
        raise DefinitionError(f"{where}: {error}") from None


def _imported(where: str, name: str) -> OperatorFactory:
    module, _, path = name.partition(":")
    found: Any = None
    if all(part.isidentifier() for part in (*module.split("."), *path.split("."))):
        try:
            found = import_module(module)
            for part in path.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError):
            found = None
    if not isinstance(found, OperatorFactory):
        raise DefinitionError(f"{where} has the operator {name!r}, which cannot be imported")
    return found


def _window_out(window: WindowKind, default: str = "right") -> dict[str, Any]:
    saved: dict[str, Any] = {"kind": type(window).__name__.lower()}
    for each in fields(window):
        if not each.compare:
            continue
        value = getattr(window, each.name)
        if each.name != "closed" or value != default:
            saved[each.name] = _length(value)
    return saved


def _window_in(saved: Mapping[str, Any]) -> WindowKind:
    said = dict(saved)
    kind = said.pop("kind", None)
    cls = KINDS.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise DefinitionError(f"a window is of a kind {', '.join(KINDS)}, got {kind!r}")
    _require_known(
        f"a {kind} window", said, tuple(each.name for each in fields(cls) if each.compare)
    )
    if issubclass(cls, Rows | Time) and "closed" not in said:
        said["settled"] = False
    try:
        return cls(**said)
    except TypeError as error:
        raise DefinitionError(f"a {kind} window: {error}") from None


def _length(value: Any) -> Any:
    """A timedelta as a string; anything else is plain already."""
    if not isinstance(value, timedelta):
        return value
    for unit, size in (("d", 86400 * 10**9), ("h", 3600 * 10**9), ("m", 60 * 10**9), ("s", 10**9)):
        whole, rest = divmod(nanoseconds(value), size)
        if rest == 0:
            return f"{whole}{unit}"
    return f"{nanoseconds(value) // 1000}us"


def _require_known(what: str, saved: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in saved:
        if key not in known:
            near = get_close_matches(str(key), known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise DefinitionError(f"{what} has no {key!r}{hint}")
