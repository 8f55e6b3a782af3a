"""Read definitions from plain values, as in JSON and TOML files; `plain_values` writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields
from datetime import timedelta
from importlib import import_module
from inspect import Parameter, signature
from numbers import Integral
from typing import Any

from slidefold.definition.expressions import Column, Expression, Node, Result, parse
from slidefold.definition.formula import Formula
from slidefold.definition.operators import (
    NAMED,
    RECORDS,
    Operator,
    OperatorFactory,
    Over,
    struct,
)
from slidefold.definition.windows import KINDS, WindowKind, window_of
from slidefold.definition.wording import DEEP, is_deep, short
from slidefold.errors import ColumnError, DefinitionError, SlidefoldError, WindowError, nearest

# Errors, each with the key where it occurred, such as columns.total.over.
Mistakes = list[tuple[str, SlidefoldError]]
_KEYS = ("on", "by", "every", "offset", "zone", "fill", "order", "closed", "columns")
_COLUMN_KEYS = (
    "operator",
    "columns",
    "params",
    "parts",
    "over",
    "closed",
    "min_count",
    "algorithm",
    "where",
    "per",
)
_PART_KEYS = ("operator", "columns", "params", "parts", "where")
_FORMULA_KEYS = ("expr", "windows")
_WINDOWS = (
    'a duration such as "1h", a number of rows, or a table: { session = "30m" }, '
    '{ delta = 100, on = "km" }, { punctuated = "landed" }, { time = "1h" } or { rows = 100 }'
)


def from_dict(saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `rolling` for saved values; raise the first mistake."""
    arguments, mistakes = read(saved)
    if mistakes:
        raise mistakes[0][1]
    return arguments


def read(saved: Mapping[str, Any]) -> tuple[dict[str, Any], Mistakes]:
    """Return the valid arguments of `rolling`, and every mistake with its key.

    >>> column = {"operator": "summ", "colums": "x", "over": "1 hour"}
    >>> for key, error in read({"on": "ts", "columns": {"total": column}})[1]:
    ...     print(f"{key}: {error}")
    columns.total.colums: the column 'total' has an unknown key 'colums'; did you mean 'columns'?
    columns.total.operator: the column 'total' has an unknown operator 'summ'; did you mean 'sum'?
    columns.total.over: expected a duration such as '90s', '15m' or '1h30m', got '1 hour' (units: \
ns, us, ms, s, m, h, d, w)
    """
    mistakes: Mistakes = []
    if is_deep(saved):
        deep = DefinitionError(f"a definition must not be nested more than {DEEP} levels deep")
        return {"columns": {}}, [("columns", deep)]
    _require_known("the definition", saved, _KEYS, mistakes, "")
    arguments = {key: value for key, value in saved.items() if key in _KEYS}
    if "on" not in saved or not isinstance(saved.get("columns"), Mapping):
        missing = "on" if "on" not in saved else "columns"
        mistakes.append(
            (missing, DefinitionError("a definition needs 'on' and a table of 'columns'"))
        )
    for key in ("every", "offset"):
        if isinstance(arguments.get(key), Mapping):
            with _noting(mistakes, key):
                arguments[key] = _window_in(arguments[key])
    columns: dict[str, Over | Formula] = {}
    tables = saved.get("columns")
    for key, table in tables.items() if isinstance(tables, Mapping) else ():
        wrong: Mistakes = []
        for name, single in _lengths(key, table, wrong):
            if name in columns:
                duplicate = ColumnError(
                    f"two result columns are named {name!r}: rename one of them"
                )
                wrong.append((f"columns.{key}", duplicate))
            elif (over := _column_in(name, f"columns.{key}", single, wrong)) is not None:
                columns[name] = over
        # The columns of a list of windows mostly share their mistakes: report each key once.
        first_by_key: dict[str, SlidefoldError] = {}
        for place, error in wrong:
            first_by_key.setdefault(place, error)
        mistakes += first_by_key.items()
    arguments["columns"] = columns
    return arguments, mistakes


def _lengths(name: str, saved: Any, mistakes: Mistakes) -> Iterator[tuple[str, Any]]:
    """Yield one column per window of a list: delay over 1h and 6h gives delay_1h and delay_6h."""
    lengths = saved.get("over") if isinstance(saved, Mapping) else None
    if not isinstance(lengths, list | tuple):
        yield name, saved
        return
    if not lengths or not all(isinstance(length, int | str) for length in lengths):
        error = DefinitionError(
            f"a list of windows must hold durations and numbers of rows, got {short(lengths)} in "
            f"the column {name!r}: define a separate column for every other window"
        )
        mistakes.append((f"columns.{name}.over", error))
        return
    for length in lengths:
        yield f"{name}_{str(length).replace(' ', '')}", {**saved, "over": length}


@contextmanager
def _noting(mistakes: Mistakes, key: str) -> Iterator[None]:
    try:
        yield
    except SlidefoldError as error:
        mistakes.append((key, error))


def _formula_in(where: str, key: str, saved: Mapping[str, Any], mistakes: Mistakes) -> Any:
    """Return an expression of results, None if there are mistakes."""
    before = len(mistakes)
    _require_known(where, saved, _FORMULA_KEYS, mistakes, f"{key}.")
    node = None
    with _noting(mistakes, f"{key}.expr"):
        node = parse(saved["expr"])
    windows = saved.get("windows", {})
    if not isinstance(windows, Mapping):
        wrong = DefinitionError(f"windows of {where} must be a table, got {short(windows)}")
        mistakes.append((f"{key}.windows", wrong))
        return None
    overs = {
        name: _column_in(name, f"{key}.windows.{name}", table, mistakes)
        for name, table in windows.items()
    }
    if len(mistakes) > before or node is None:
        return None

    def named(one: Node) -> Node:
        over = overs.get(one.name) if isinstance(one, Column) else None
        if over is None:
            return one
        return over.node if isinstance(over, Formula) else Result(over)

    return Formula(node.replaced(named))


def _column_in(name: str, key: str, saved: Any, mistakes: Mistakes) -> Over | Formula | None:
    where, before = f"the column {name!r}", len(mistakes)
    if isinstance(saved, Mapping) and "expr" in saved:
        return _formula_in(where, key, saved, mistakes)  # type: ignore[no-any-return]
    record = RECORDS.get(str(saved.get("operator"))) if isinstance(saved, Mapping) else None
    if record is not None and record.own_window:
        operator = None
        keys = ("operator", "columns", "params")
        with _noting(mistakes, f"{key}.operator"):
            operator = _operator_in(where, saved, keys, mistakes, key)
        return operator if len(mistakes) == before else None  # type: ignore[return-value]
    if isinstance(saved, Mapping) and "operator" in saved and "over" not in saved:
        reason = 'has no window: give over, such as over = "1h" or over = 100'
        mistakes.append((key, DefinitionError(f"{where} {reason}; got {short(saved)}")))
        return None
    if not isinstance(saved, Mapping) or "operator" not in saved:
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
    options = {name: saved[name] for name in ("closed", "min_count", "algorithm") if name in saved}
    with _noting(mistakes, key):
        return operator.over(window, **options)
    return None


def _over_in(given: Any) -> WindowKind:
    if isinstance(given, Mapping):
        return _window_in(given)
    kinds = (str, Integral, timedelta, *KINDS.values())
    if isinstance(given, bool) or not isinstance(given, kinds):
        raise DefinitionError(f"a window must be {_WINDOWS}; got {short(given)}")
    try:
        return window_of(given)
    except WindowError as error:
        named = [kind for kind in KINDS if isinstance(given, str) and kind in given.lower()]
        raise WindowError(f"{error}; a window must be {_WINDOWS}") if named else error from None


def _input_in(where: str, given: Any) -> Any:
    """Return a column of an operator: a name, or an expression."""
    if isinstance(given, str):
        return given
    if isinstance(given, Mapping) and list(given) == ["expr"]:
        return Expression(parse(given["expr"]))
    raise DefinitionError(
        f"the columns of {where} must be names, or expressions such as "
        f'{{ expr = "price * quantity" }}, got {short(given)}'
    )


def _operator_in(
    where: str, saved: Any, keys: tuple[str, ...], mistakes: Mistakes, key: str
) -> Operator:
    """Return the operator of a table; add unknown keys to the mistakes."""
    if not isinstance(saved, Mapping) or "operator" not in saved:
        raise DefinitionError(
            f'{where} needs a table such as {{ operator = "mean", columns = "price" }}, got '
            f"{short(saved)}"
        )
    plain = {name: value for name, value in saved.items() if name not in ("per", "limit")}
    operator = _unfiltered_in(where, plain if "per" in saved else saved, keys, mistakes, key)
    if "per" in saved:
        operator = operator.per(_input_in(where, saved["per"]), limit=saved.get("limit", 1000))
    if "where" in saved:
        with _noting(mistakes, f"{key}.where"):
            return operator.where(Expression(parse(saved["where"])))
    return operator


def _unfiltered_in(
    where: str, saved: Mapping[str, Any], keys: tuple[str, ...], mistakes: Mistakes, key: str
) -> Operator:
    name = saved["operator"]
    if not isinstance(name, str | OperatorFactory):
        raise DefinitionError(f"the operator of {where} must be a name, got {short(name)}")
    given = saved.get("columns", [])
    given = [given] if isinstance(given, str | Mapping) else given
    if not isinstance(given, list | tuple):
        raise DefinitionError(f"the columns of {where} must be names, got {short(given)}")
    columns = [_input_in(where, item) for item in given]
    if isinstance(name, OperatorFactory):
        return name(*columns)
    params = saved.get("params", {})
    if not isinstance(params, Mapping):
        raise DefinitionError(f"params of {where} must be a table, got {short(params)}")
    function: Any = NAMED.get(name)
    known = () if function is None else _parameters(function)
    others = [other for other in saved if other not in keys]
    direct = {other: saved[other] for other in others if other in known}
    for other in (other for other in others if other not in known):
        hint = nearest(other, (*keys, *known)) or _taken(name, known)
        error = DefinitionError(f"{where} has an unknown key {other!r}{hint}")
        mistakes.append((f"{key}.{other}", error))
    if duplicates := [param for param in direct if param in params]:
        raise DefinitionError(f"{where} sets {duplicates[0]!r} twice: in params and as a key")
    params = {**params, **direct}
    if ":" in name or "parts" in saved or name == "struct":
        if params:
            raise DefinitionError(f"{where} has parameters, but {name!r} takes none")
        if ":" in name:
            return _imported(where, name)(*columns)
        return _struct_in(where, name, saved, mistakes, key)
    if function is None:
        hint = _called(name) or nearest(name, NAMED)
        raise DefinitionError(f"{where} has an unknown operator {name!r}{hint}")
    for param in signature(function).parameters.values():
        if param.default is Parameter.empty and param.name in known and param.name not in params:
            raise DefinitionError(f"{where} has no {param.name!r}, but {name} needs it")
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
        problem = (
            f"has parts, but its operator is {name!r}: only a struct has parts"
            if name != "struct"
            else "is a struct and needs a table 'parts'"
        )
        raise DefinitionError(f"{where} {problem}")
    if "columns" in saved:
        raise DefinitionError(f"{where} is a struct: give columns to its parts, not to the struct")
    operators = {
        part: _operator_in(f"{where}.{part}", table, _PART_KEYS, mistakes, f"{key}.parts.{part}")
        for part, table in parts.items()
    }
    return struct(**operators)


def _parameters(function: Any) -> list[str]:
    """Return the parameters of an operator that are not its columns."""
    params = signature(function).parameters.values()
    named = [param for param in params if param.kind is not Parameter.VAR_POSITIONAL]
    return [param.name for param in named if param.default is not None]


def _taken(name: str, known: Iterable[str]) -> str:
    """Return a hint that lists the parameters an operator takes."""
    names = [param for param in known if not param.endswith("dtype")]
    return f"; {name} takes {', '.join(names)}" if names else ""


def _called(name: str) -> str:
    """Return a hint for a call as operator name, such as `quantile(0.9)`."""
    plain = name.partition("(")[0].strip()
    if plain == name or plain not in NAMED:
        return ""
    params = [param for param in _parameters(NAMED[plain]) if not param.endswith("dtype")]
    example = "".join(f", {param} = ..." for param in params[:1])
    return f'; give parameters as keys: {{ operator = "{plain}"{example} }}'


def _imported(where: str, name: str) -> OperatorFactory:
    module, _, path = name.partition(":")
    factory: Any = None
    reason = ""
    if all(part.isidentifier() for part in (*module.split("."), *path.split("."))):
        try:
            factory = import_module(module)
            for part in path.split("."):
                factory = getattr(factory, part)
        except Exception as error:  # a module may raise anything while it is imported
            factory, reason = None, f": {error}"
    if not isinstance(factory, OperatorFactory):
        raise DefinitionError(
            f"{where} has the operator {name!r}, which cannot be imported{reason}"
        )
    return factory


def _window_in(saved: Mapping[str, Any]) -> WindowKind:
    """Return a window from its table, with a `kind` or in short form: `{ session = "30m" }`."""
    arguments = dict(saved)
    kind = arguments.pop("kind", None)
    named = [key for key in arguments if key in KINDS]
    if kind is None and len(named) == 1:
        kind = named[0]
        arguments[fields(KINDS[kind])[0].name] = arguments.pop(kind)
    cls = KINDS.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise DefinitionError(f"a window must be {_WINDOWS}; got {short(saved)}")
    compared = [field for field in fields(cls) if field.compare]
    known = tuple(field.name for field in compared)
    for key in arguments:
        if key not in known:
            raise DefinitionError(f"a {kind} window has no key {key!r}{nearest(key, known)}")
    for field in compared:
        if field.default is MISSING and field.name not in arguments:
            raise DefinitionError(
                f"a {kind} window needs {field.name!r}; a window must be {_WINDOWS}"
            )
    if "settled" in (field.name for field in fields(cls)) and "closed" not in arguments:
        arguments["settled"] = False
    if arguments.get("ahead") is True:
        arguments.setdefault("closed", "left")
    try:
        return cls(**arguments)  # type: ignore[no-any-return]
    except TypeError as error:
        raise DefinitionError(f"a {kind} window is not valid: {error}") from None


def _require_known(
    what: str, saved: Mapping[str, Any], known: tuple[str, ...], mistakes: Mistakes, key: str
) -> None:
    for name in saved:
        if name not in known:
            error = DefinitionError(f"{what} has an unknown key {name!r}{nearest(name, known)}")
            mistakes.append((f"{key}{name}", error))
