"""Single events: `push` and `ask`, without a table where the engine can do without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from operator import index
from typing import Any

import pyarrow as pa

from slidefold.definition.rolling import Rolling
from slidefold.errors import (
    ColumnError,
    DataError,
    ResultOverflowError,
    ValueTypeError,
    first_line,
    nearest,
)
from slidefold.live.engine import Engine
from slidefold.live.lateness import judge
from slidefold.live.native import Native, capsule
from slidefold.live.program import is_plain, is_time
from slidefold.live.row_modes import NativeArrival, NativeFinal
from slidefold.live.tables import dicts, objects

_PLAIN = {pa.int64(): int, pa.float64(): float, pa.bool_(): bool, pa.string(): str}
LATE_ROW = object()  # stands for the result of a late row


def schema_of_row(row: Any) -> Any:
    """Return the schema of a first event; raise if its values do not tell it."""
    if not isinstance(row, Mapping):
        raise DataError(
            "the first event must be a dict, because its columns are not known yet; pass schema= "
            "to push tuples"
        )
    for name, value in row.items():
        if value is None:
            raise DataError(f"the type of {name!r} is not known, because it is None; pass schema=")
    try:
        return pa.Table.from_pylist([dict(row)]).schema
    except (pa.ArrowException, TypeError) as error:
        raise ValueTypeError(f"the first event does not make a row: {first_line(error)}") from None


class Events:
    """Single events for an engine."""

    def __init__(self, definition: Rolling, engine: Engine, emit: str) -> None:
        """Prepare for events of the engine's schema."""
        self.definition, self.engine, self.emit = definition, engine, emit
        self.names = list(engine.schema.names)
        self.known = frozenset(self.names)
        # Objects of these types need not be converted to see that they fit.
        self.columns = [(field, _PLAIN.get(field.type)) for field in engine.schema]
        native = engine.native
        self.inputs: tuple[str, ...] = native.program.inputs
        # Values of other types take the way of tables.
        kinds = [engine.schema.field(name).type for name in self.inputs]
        self.native = native if all(map(_reads, kinds)) else None
        self.plain = native.program.plain
        formulas = native.formulas
        results = native.kinds
        if formulas is not None:
            read = (engine.schema.field(name).type for name in definition.row_columns)
            self.plain = self.plain and all(map(_reads, read))
            results = {**{name: results.get(name) for name in native.names}, **formulas.types}
            self.plain = self.plain and all(is_plain(k) or is_time(k) for k in results.values())
        self.times = {name: kind for name, kind in results.items() if is_time(kind)}
        walked = (name for window in definition.windows for name in window.walks)
        # Neither values nor operators run Python code, and each event has one result.
        core = None if self.native is None else self.native.core
        direct = core is not None and self.plain and not core.calls_python and formulas is None
        direct = direct and not self.times
        self.answers_at_once = direct and isinstance(self.native, NativeArrival)
        self.answer: Any = None  # answers a question natively, if that can be
        if core is not None and direct and definition.slide is None:
            self.answer = core.ask_event
        asked = [name for name in definition.row_columns if name != definition.on]
        derived = dict(definition.derived)
        for leaf in definition.leaves:
            own = leaf.operator.own  # the column of the asking row that rank and others read
            if own:
                asked += derived[own].columns() if own in derived else [own]
        # The columns of a question, in an order for errors.
        self.needed = dict.fromkeys((*definition.by, *walked, *asked)).keys()

    def fields(self, row: Mapping[str, Any] | tuple[Any, ...]) -> dict[str, Any]:
        """Return an event as a dict; raise an error that names a missing or additional field."""
        if isinstance(row, dict):
            if row.keys() == self.known:
                return row
        elif isinstance(row, tuple):
            if len(row) != len(self.names):
                raise ColumnError(
                    f"an event must have {len(self.names)} values ({', '.join(self.names)}), "
                    f"got {len(row)}"
                )
            return dict(zip(self.names, row, strict=True))
        elif not isinstance(row, Mapping):
            raise ValueTypeError(f"an event must be a dict or a tuple, got {row!r}")
        more = next((name for name in row if name not in self.known), None)
        if more is not None:
            hint = nearest(str(more), self.names)
            raise ColumnError(f"the event has a field {more!r}, which the schema has not{hint}")
        missing = next((name for name in self.names if name not in row), None)
        if missing is not None:
            raise ColumnError(f"the event has no field {missing!r}")
        return dict(row)

    def push(self, row: dict[str, Any], lateness: int, raising: bool) -> Any:
        """Take an event; return its result, or LATE_ROW."""
        on = self.definition.on
        if row[on] is None:
            raise DataError(f"the field {on!r} is null")
        native = self.native
        fits = isinstance(native, NativeArrival) or type(native) is NativeFinal
        if native is None or not fits or raising:
            return self._by_table(row, lateness, raising)
        core = native.core
        first = core.seen
        late, numbers = core.push(tuple([row[name] for name in self.inputs]), lateness)
        final = isinstance(native, NativeFinal)
        overflows = final and core.overflows is not None
        try:
            if overflows:
                found = []
            elif not final:
                found = self._results([row] if numbers else [])
            else:
                mine = self._waiting(row)
                known = native.carried.row
                rows = [mine if number == first else known(number) for number in numbers]
                found = self._results(rows)
                found = [{**each, **new} for each, new in zip(rows, found, strict=True)]
        except ResultOverflowError:
            core.undo()
            if not final:
                raise
            overflows = True
        except BaseException:
            core.undo()
            raise
        if overflows:  # tables report it
            core.undo()
            return self._by_table(row, lateness, raising)
        core.commit()
        if isinstance(native, NativeFinal):
            if not late:
                native.carried.push(first, mine)
            native.carried.forget_rows(numbers)
        if late:
            return LATE_ROW
        return found[0] if isinstance(native, NativeArrival) else found

    def _waiting(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return an event to keep: a copy, because the caller may change its own.

        It becomes a row of a table later, at the latest when the run is saved, so raise an error
        now for a value that does not fit its column, also if nothing else reads it.
        """
        kept = dict(row)
        for field, plain in self.columns:
            value = kept[field.name]
            if value is None or (type(value) is plain and _fits(value)):
                continue
            _array(field, [value])
            if pa.types.is_nested(field.type):
                kept[field.name] = deepcopy(value)
        return kept

    def _results(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the results of the last native call, which answered these rows."""
        native = self.engine.native
        if self.plain:
            return [self._complete(row, native.core.row(at)) for at, row in enumerate(rows)]
        features = native.features(native.core.rows_of(len(rows)))
        if native.formulas is not None:
            features = native.complete(self._table(rows), features)
        return _dicts(features)

    def _complete(self, row: Mapping[str, Any], found: dict[str, Any]) -> dict[str, Any]:
        """Return the columns of the definition for a row and the core's results."""
        native = self.engine.native
        if native.formulas is not None:
            on = self.definition.on
            if row.get(on) is None and on in self.definition.row_columns:
                row = {**row, on: native.newest}
            made = native.formulas.evaluator.row({**row, **found})
            found = {name: made.get(name, found.get(name)) for name in native.names}
        for name, kind in self.times.items():
            if found[name] is not None:
                found[name] = pa.scalar(found[name], kind).as_py()
        return found

    def _by_table(self, row: dict[str, Any], lateness: int, raising: bool) -> Any:
        table = self._table([row])
        if raising:
            _, late = judge(self.engine.read(table), self.definition.on, self.engine.watermark)
            if len(late):
                raise DataError(f"the event is late: {dicts(late)[0]}")
        due, late = self.engine.feed(table, lateness)
        if late is not None:
            return LATE_ROW
        rows = dicts(due)
        if self.emit != "arrival":
            return rows
        return {name: rows[0][name] for name in self.definition.columns}

    def _table(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        """Return events as a table of the engine's schema; an error names the field."""
        schema = self.engine.schema
        columns = [_array(field, [row.get(field.name) for row in rows]) for field in schema]
        return pa.table(columns, schema=schema)

    # ---- questions

    def ask(self, rows: Sequence[Any], include: bool) -> list[dict[str, Any]]:
        """Return the new columns for some keys and times."""
        native = self._rows_engine()
        asked = [self._question(row, include) for row in rows]
        now = native.newest
        if self.native is None or not self.plain:
            return _dicts(self._answers(self._table(asked), include))
        core, inputs = native.core, self.inputs
        values = (tuple([row.get(name) for name in inputs]) for row in asked)
        if include:
            found = [core.peek_row(each) for each in values]
        else:
            found = [core.ask_row(each, now) for each in values]
        return [self._complete(row, one) for row, one in zip(asked, found, strict=True)]

    def ask_table(self, rows: Any, include: bool) -> dict[str, Any]:
        """Return the new columns for the rows of a table."""
        self._rows_engine()
        self._question(dict.fromkeys(rows.column_names), include)
        columns = []
        for field in self.engine.schema:
            if field.name not in rows.column_names:
                columns.append(pa.nulls(len(rows), field.type))
                continue
            column = rows[field.name]
            if column.type != field.type:
                try:
                    column = column.cast(field.type)
                except pa.ArrowException:
                    raise ValueTypeError(
                        f"the column {field.name!r} must be {field.type}, got {column.type}"
                    ) from None
            columns.append(column)
        return self._answers(pa.table(columns, schema=self.engine.schema), include)

    def _answers(self, table: Any, include: bool) -> dict[str, Any]:
        native = self._rows_engine()
        table = self.engine.read(table)
        if include:
            parts = []
            for at in range(len(table)):
                native.core.peek(capsule(table.slice(at, 1)))
                parts.append(pa.table(native.features(native.core.rows_of(1))))
            if parts:
                whole = pa.concat_tables(parts).combine_chunks()
                found = dict(zip(whole.column_names, whole.columns, strict=True))
                return native.complete(table, found)
        features = native.features(native.core.ask(capsule(table), native.newest))
        on = self.definition.on
        if on in self.definition.row_columns and native.newest is not None:
            now = pa.scalar(native.newest, pa.int64()).cast(table.schema.field(on).type)
            filled = table[on].fill_null(now)
            table = table.set_column(table.column_names.index(on), on, filled)
        return native.complete(table, features)

    def _rows_engine(self) -> Native:
        if self.definition.slide is not None:
            raise DataError("ask needs one result per row, and every= gives results at ends")
        return self.engine.native

    def asks(self, row: dict[str, Any]) -> bool:
        """Tell whether native code answers a question, which has all that it needs."""
        if self.answer is None:
            return False
        return self.needed <= row.keys()

    def _question(self, row: Any, include: bool) -> Mapping[str, Any]:
        if not isinstance(row, Mapping):
            raise ValueTypeError(f"a question must be a dict, got {row!r}")
        if include:
            return self.fields(row)
        missing = next((name for name in self.needed if name not in row), None)
        if missing is not None:
            raise ColumnError(f"a question must have the column {missing!r}")
        return row


def _array(field: Any, values: list[Any]) -> Any:
    """Return values as an array; an error names the field."""
    try:
        if pa.types.is_integer(field.type):  # Arrow would cut off fractions
            values = [None if value is None else index(value) for value in values]
        return pa.array(values, field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        wrong = next(v for v in values if v is not None)
        raise ValueTypeError(
            f"the field {field.name!r} must be {field.type}, got {wrong!r}"
        ) from None


def _fits(value: Any) -> bool:
    """Tell whether a value of the Python type of a column certainly fits in it."""
    if type(value) is str:
        return value.isascii()  # others may have lone surrogates
    return type(value) is not int or -(2**63) <= value < 2**63


def _reads(kind: Any) -> bool:
    """Tell whether native code reads Python objects as values of a type."""
    return is_plain(kind) or bool(pa.types.is_timestamp(kind))


def _objects(values: Any) -> list[Any]:
    """Return a column as Python objects; maps become dicts."""
    found = objects(values)
    if not pa.types.is_map(values.type):
        return found
    return [None if each is None else dict(each) for each in found]


def _dicts(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Return columns as one dict per row."""
    names, lists = list(columns), [_objects(values) for values in columns.values()]
    return [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]
