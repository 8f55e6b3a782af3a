"""A definition as plain values, as JSON and TOML have them, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields
from datetime import timedelta
from importlib import import_module
from inspect import Parameter, signature
from numbers import Integral
from typing import TYPE_CHECKING, Any

from slidefold.definition.operators import (
    NAMED,
    Operator,
    OperatorFactory,
    Over,
    StructOperator,
    UserOperator,
    struct,
)
from slidefold.definition.windows import KINDS, WindowKind, window_of
from slidefold.definition.windows.durations import duration_text
from slidefold.definition.wording import DEEP, is_deep, short
from slidefold.errors import ColumnError, DefinitionError, SlidefoldError, WindowError, nearest

if TYPE_CHECKING:
    from slidefold.definition.rolling import Rolling

# Each with the key it is at, such as columns.total.over.
Mistakes = list[tuple[str, SlidefoldError]]
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
_PART_KEYS = ("operator", "columns", "params", "parts")
_WINDOWS = (
    'a duration such as "1h", a number of rows, or a table: { session = "30m" }, '
    '{ delta = 100, on = "km" }, { punctuated = "landed" }, { time = "1h" } or { rows = 100 }'
)


def to_dict(definition: Rolling) -> dict[str, Any]:
    """Return a definition as plain values; what is not said is left out."""
    saved: dict[str, Any] = {"on": definition.on}
    if definition.by:
        saved["by"] = list(definition.by)
    for name in ("every", "offset"):
        value = getattr(definition, name)
        if value is not None:
            saved[name] = _window_out(value) if isinstance(value, WindowKind) else _length(value)
    if definition.order:
        order = definition.order
        saved["order"] = order if isinstance(order, str) else list(order)
    slide = definition.slide
    default = "right" if slide is None else slide.default_closed
    saved["columns"] = {name: _column_out(over, default) for name, over in definition.items}
    return saved


def from_dict(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `rolling` that saved values say; the first mistake is raised."""
    said, mistakes = read(saved)
    if mistakes:
        raise mistakes[0][1]
    return said


def read(saved: Mapping[str, Any]) -> tuple[dict[str, Any], Mistakes]:
    """Return the arguments of `rolling` that are right, and every mistake with its key.

    >>> column = {"operator": "summ", "colums": "x", "over": "1 hour"}
    >>> for key, error in read({"on": "ts", "columns": {"total": column}})[1]:
    ...     print(f"{key}: {error}")
    columns.total.colums: the column 'total' has no 'colums'; did you mean 'columns'?
    columns.total.operator: the column 'total' has the operator 'summ', which does not exist; did \
you mean 'sum'?
    columns.total.over: '1 hour' is not a duration such as '90s', '15m' or '1h30m' (units: ns, us, \
ms, s, m, h, d, w)
    """
    mistakes: Mistakes = []
    if is_deep(saved):
        deep = DefinitionError(f"a definition is nested more than {DEEP} levels deep")
        return {"columns": {}}, [("columns", deep)]
    _require_known("a definition", saved, _KEYS, mistakes, "")
    said = {key: value for key, value in saved.items() if key in _KEYS}
    if "on" not in saved or not isinstance(saved.get("columns"), Mapping):
        missing = "on" if "on" not in saved else "columns"
        mistakes.append(
            (missing, DefinitionError("a definition needs 'on' and a table of 'columns'"))
        )
    for key in ("every", "offset"):
        if isinstance(said.get(key), Mapping):
            with _noting(mistakes, key):
                said[key] = _window_in(said[key])
    found: dict[str, Over] = {}
    told = saved.get("columns")
    for name, column in told.items() if isinstance(told, Mapping) else ():
        wrong: Mistakes = []
        for each, single in _lengths(name, column, wrong):
            if each in found:
                twice = ColumnError(f"there would be two columns named {each!r}")
                wrong.append((f"columns.{name}", twice))
            elif (over := _column_in(each, f"columns.{name}", single, wrong)) is not None:
                found[each] = over
        # What is wrong with one of several lengths is mostly wrong with all: it is said once.
        told_once: dict[str, SlidefoldError] = {}
        for key, error in wrong:
            told_once.setdefault(key, error)
        mistakes += told_once.items()
    said["columns"] = found
    return said, mistakes


def _lengths(name: str, saved: Any, mistakes: Mistakes) -> Iterator[tuple[str, Any]]:
    """A column over a list of lengths is one for each: delay over 1h and 6h, delay_1h, delay_6h."""
    lengths = saved.get("over") if isinstance(saved, Mapping) else None
    if not isinstance(lengths, list | tuple):
        yield name, saved
        return
    if not lengths or not all(isinstance(each, int | str) for each in lengths):
        error = DefinitionError(
            f"the column {name!r} has a list of windows that are not all durations or numbers of "
            "rows: give each a column of its own"
        )
        mistakes.append((f"columns.{name}.over", error))
        return
    for each in lengths:
        yield f"{name}_{str(each).replace(' ', '')}", {**saved, "over": each}


@contextmanager
def _noting(mistakes: Mistakes, key: str) -> Iterator[None]:
    try:
        yield
    except SlidefoldError as error:
        mistakes.append((key, error))


def _column_out(over: Over, default: str) -> dict[str, Any]:
    saved = _operator_out(over.operator)
    short_form, closed = over.window.in_file(default)
    if short_form is None:
        short_form = _window_out(over.window, default if over.window.in_time else "right")
    saved["over"] = short_form
    if closed is not None:
        saved["closed"] = closed
    for name in ("min_count", "algorithm"):
        if getattr(over, name) is not None:
            saved[name] = getattr(over, name)
    return saved


def _column_in(name: str, key: str, saved: Any, mistakes: Mistakes) -> Over | None:
    where, before = f"the column {name!r}", len(mistakes)
    if not isinstance(saved, Mapping) or "operator" not in saved or "over" not in saved:
        error = DefinitionError(
            f'{where} needs a table such as {{ operator = "mean", columns = "price", over = "1h" }}'
            f", got {short(saved)}"
        )
        mistakes.append((key, error))
        return None
    operator = window = None
    with _noting(mistakes, f"{key}.operator"):
        operator = _operator_in(where, saved, _COLUMN_KEYS, mistakes, key)
    with _noting(mistakes, f"{key}.over"):
        window = _over_in(saved["over"])
    if len(mistakes) > before or operator is None:
        return None
    said = {each: saved[each] for each in ("closed", "min_count", "algorithm") if each in saved}
    with _noting(mistakes, key):
        return operator.over(window, **said)
    return None


def _over_in(told: Any) -> WindowKind:
    if isinstance(told, Mapping):
        return _window_in(told)
    if isinstance(told, bool) or not isinstance(told, (str, Integral, timedelta, *KINDS.values())):
        raise DefinitionError(f"a window is {_WINDOWS}; got {short(told)}")
    try:
        return window_of(told)
    except WindowError as error:
        named = [kind for kind in KINDS if isinstance(told, str) and kind in told.lower()]
        raise WindowError(f"{error}; a window is {_WINDOWS}") if named else error from None


def _operator_out(operator: Operator) -> dict[str, Any]:
    if isinstance(operator, UserOperator):
        name = f"{operator.module}:{operator.qualname}"
        return {"operator": name, "columns": list(operator.columns)}
    if isinstance(operator, StructOperator):
        return {
            "operator": operator.name,
            "parts": {name: _operator_out(part) for name, part in operator.parts},
        }
    saved: dict[str, Any] = {"operator": operator.name}
    if operator.columns:
        saved["columns"] = list(operator.columns)
    defaults = signature(NAMED[operator.name]).parameters
    params = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in operator.params
        if name not in defaults or defaults[name].default != value
    }
    if params:
        saved["params"] = params
    return saved


def _operator_in(
    where: str, saved: Any, keys: tuple[str, ...], mistakes: Mistakes, key: str
) -> Operator:
    """Return the operator that a table names; keys that it does not know are noted."""
    if not isinstance(saved, Mapping) or "operator" not in saved:
        raise DefinitionError(
            f'{where} needs a table such as {{ operator = "mean", columns = "price" }}, got '
            f"{short(saved)}"
        )
    name = saved["operator"]
    if not isinstance(name, str | OperatorFactory):
        raise DefinitionError(f"{where} has an operator that is no name: {short(name)}")
    columns = saved.get("columns", [])
    columns = [columns] if isinstance(columns, str) else columns
    if not isinstance(columns, list | tuple) or not all(isinstance(each, str) for each in columns):
        raise DefinitionError(f"{where} has columns that are no names: {short(columns)}")
    if isinstance(name, OperatorFactory):
        return name(*columns)
    params = saved.get("params", {})
    if not isinstance(params, Mapping):
        raise DefinitionError(f"{where} has params that are no table: {short(params)}")
    function: Any = NAMED.get(name)
    known = () if function is None else _parameters(function)
    beside = {each: saved[each] for each in saved if each not in keys and each in known}
    for each in (each for each in saved if each not in keys and each not in known):
        likely = nearest(each, (*keys, *known)) or _taken(name, known)
        mistakes.append((f"{key}.{each}", DefinitionError(f"{where} has no {each!r}{likely}")))
    if twice := [each for each in beside if each in params]:
        raise DefinitionError(f"{where} has {twice[0]!r} twice: in params and beside them")
    params = {**params, **beside}
    if ":" in name or "parts" in saved or name == "struct":
        if params:
            raise DefinitionError(f"{where} has parameters, which {name!r} does not take")
        if ":" in name:
            return _imported(where, name)(*columns)
        return _struct_in(where, name, saved, mistakes, key)
    if function is None:
        hint = _called(name) or nearest(name, NAMED)
        raise DefinitionError(f"{where} has the operator {name!r}, which does not exist{hint}")
    for each in signature(function).parameters.values():
        if each.default is Parameter.empty and each.name in known and each.name not in params:
            raise DefinitionError(f"{where} has no {each.name!r}, which {name} needs beside it")
    try:
        return function(*columns, **params)  # type: ignore[no-any-return]
    except SlidefoldError:
        raise
    except TypeError as error:
        raise DefinitionError(f"{where}: {error}{_taken(name, known)}") from None


def _struct_in(
    where: str, name: str, saved: Mapping[str, Any], mistakes: Mistakes, key: str
) -> Operator:
    parts = saved.get("parts")
    if name != "struct" or not isinstance(parts, Mapping):
        what = "has parts, which only a struct has" if name != "struct" else "needs a table parts"
        raise DefinitionError(f"{where} {what}")
    if "columns" in saved:
        raise DefinitionError(f"{where} is a struct, whose parts have the columns")
    told = {
        part: _operator_in(f"{where}.{part}", each, _PART_KEYS, mistakes, f"{key}.parts.{part}")
        for part, each in parts.items()
    }
    return struct(**told)


def _parameters(function: Any) -> list[str]:
    """Return the parameters of an operator that are not its columns."""
    found = signature(function).parameters.values()
    told = [each for each in found if each.kind is not Parameter.VAR_POSITIONAL]
    return [each.name for each in told if each.default is not None]


def _taken(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about a parameter that is not known: those that are."""
    told = [each for each in known if not each.endswith("dtype")]
    return f"; {name} takes {', '.join(told)}" if told else ""


def _called(name: str) -> str:
    """The end of a sentence about `quantile(0.9)` as a name: parameters go beside the operator."""
    plain = name.partition("(")[0].strip()
    if plain == name or plain not in NAMED:
        return ""
    params = [each for each in _parameters(NAMED[plain]) if not each.endswith("dtype")]
    told = "".join(f", {each} = ..." for each in params[:1])
    return f'; what it takes goes beside it: {{ operator = "{plain}"{told} }}'


def _imported(where: str, name: str) -> OperatorFactory:
    module, _, path = name.partition(":")
    found: Any = None
    reason = ""
    if all(part.isidentifier() for part in (*module.split("."), *path.split("."))):
        try:
            found = import_module(module)
            for part in path.split("."):
                found = getattr(found, part)
        except Exception as error:  # whatever a module does while it is imported
            found, reason = None, f": {error}"
    if not isinstance(found, OperatorFactory):
        raise DefinitionError(
            f"{where} has the operator {name!r}, which cannot be imported{reason}"
        )
    return found


def _window_out(window: WindowKind, default: str = "right") -> dict[str, Any]:
    saved: dict[str, Any] = {"kind": type(window).__name__.lower()}
    for each in fields(window):  # type: ignore[arg-type]
        if not each.compare:
            continue
        value = getattr(window, each.name)
        if each.name != "closed" or value != default:
            saved[each.name] = _length(value)
    return saved


def _window_in(saved: Mapping[str, Any]) -> WindowKind:
    """Return a window from its table, with its `kind` or in short: `{ session = "30m" }`."""
    said = dict(saved)
    kind = said.pop("kind", None)
    named = [key for key in said if key in KINDS]
    if kind is None and len(named) == 1:
        kind = named[0]
        said[fields(KINDS[kind])[0].name] = said.pop(kind)
    cls = KINDS.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise DefinitionError(f"a window is {_WINDOWS}; got {short(saved)}")
    own = [each for each in fields(cls) if each.compare]
    known = tuple(each.name for each in own)
    for key in said:
        if key not in known:
            raise DefinitionError(f"a {kind} window has no {key!r}{nearest(key, known)}")
    for each in own:
        if each.default is MISSING and each.name not in said:
            raise DefinitionError(f"a {kind} window needs {each.name!r}; a window is {_WINDOWS}")
    if "settled" in (each.name for each in fields(cls)) and "closed" not in said:
        said["settled"] = False
    try:
        return cls(**said)  # type: ignore[no-any-return]
    except TypeError as error:
        raise DefinitionError(f"a {kind} window: {error}") from None


def _length(value: Any) -> Any:
    """A timedelta as a string; anything else is plain already."""
    return duration_text(value) if isinstance(value, timedelta) else value


def _require_known(
    what: str, saved: Mapping[str, Any], known: tuple[str, ...], mistakes: Mistakes, key: str
) -> None:
    for each in saved:
        if each not in known:
            error = DefinitionError(f"{what} has no {each!r}{nearest(each, known)}")
            mistakes.append((f"{key}{each}", error))
