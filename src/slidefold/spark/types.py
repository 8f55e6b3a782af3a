"""Spark's types as Arrow's and back, and the types of a definition's results.

Times with a zone are instants: they travel as UTC, whatever the zone of the session is. Results are
typed by the engine itself, which runs over a table without rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type
from pyspark.sql.types import DataType, StructField, StructType, _parse_datatype_string

from slidefold.columns import run
from slidefold.definition.operators import UserOperator
from slidefold.definition.rolling import Rolling
from slidefold.errors import DataError, DefinitionError, ValueTypeError

_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
}
_ZEROS: dict[str, Any] = {"string": "", "binary": b"", "bool": False}


def arrow_schema(schema: StructType) -> Any:
    """Return a Spark schema as Arrow has it, instants in UTC."""
    fields = []
    for field in schema.fields:
        try:
            kind = to_arrow_type(field.dataType, timezone="UTC")
        except PySparkTypeError:
            raise ValueTypeError(
                f"the column {field.name!r} of type {field.dataType.simpleString()} has no Arrow "
                "type: drop or cast it"
            ) from None
        fields.append(pa.field(field.name, kind, field.nullable))
    return pa.schema(fields)


def result_schema(definition: Rolling, schema: Any, types: Mapping[str, Any] | None = None) -> Any:
    """Return the Arrow schema of the results over data of this Arrow schema.

    This runs the definition over no rows, so that bad columns and types are found before a job
    starts. `types` says what no run over no rows can tell: the types of results that are Python
    objects.
    """
    said = {name: _said_type(name, given) for name, given in (types or {}).items()}
    unknown = next((name for name in said if name not in definition.columns), None)
    if unknown is not None:
        raise DefinitionError(f"types names {unknown!r}, which is no new column")
    found = run(definition, schema.empty_table()).schema
    for i, field in enumerate(found):
        if field.name not in definition.columns:
            continue
        kind = said.get(field.name, field.type)
        if pa.types.is_null(kind) and field.name not in said:
            kind = _probed(definition, field.name, schema)
        found = found.set(i, field.with_type(known_type(kind)))
    return found


def known_type(kind: Any) -> Any:
    """Return the type of Spark that holds all values of a type, as Arrow has it.

    Spark counts microseconds and has no unsigned numbers. What it does not have at all stays.

    >>> known_type(pa.duration("s")), known_type(pa.list_(pa.uint64()))
    (DurationType(duration[us]), ListType(list<item: decimal128(20, 0)>))
    """
    types = pa.types
    if kind in _WIDER:
        return _WIDER[kind]
    if types.is_duration(kind):
        return pa.duration("us")
    if types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if types.is_dictionary(kind):
        return known_type(kind.value_type)
    if types.is_list(kind) or types.is_large_list(kind):
        return pa.list_(kind.value_field.with_type(known_type(kind.value_type)))
    if types.is_struct(kind):
        return pa.struct([field.with_type(known_type(field.type)) for field in kind])
    return kind


def _said_type(name: str, given: Any) -> Any:
    if isinstance(given, pa.DataType):
        return given
    try:
        kind = given if isinstance(given, DataType) else _parse_datatype_string(str(given))
        return to_arrow_type(kind, timezone="UTC")
    except Exception:
        raise DefinitionError(
            f"the type of {name!r} is one such as 'double', got {given!r}"
        ) from None


def _probed(definition: Rolling, name: str, schema: Any) -> Any:
    """Return the type of a column that is only known once there is a row."""
    operator = definition.columns[name].operator
    if all(pa.types.is_null(schema.field(column).type) for column in operator.columns):
        return pa.null()
    if any(isinstance(leaf, UserOperator) for _, leaf in operator.leaves()):
        raise DefinitionError(
            f"the type of {name!r} is not known before {operator.name} runs: declare it with "
            f"state= and returns=, or run with types={{{name!r}: 'string'}} or what it is"
        )
    row = {field.name: _one(field.type) for field in schema}
    return run(definition, pa.table(row)).schema.field(name).type


def _one(kind: Any) -> Any:
    """Return one value of a type: zero, or null where there is none."""
    try:
        return pa.array([_ZEROS.get(str(kind), 0)], kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError):
        return pa.nulls(1, kind)


def spark_schema(schema: Any) -> StructType:
    """Return an Arrow schema as Spark has it."""
    fields = []
    for field in schema:
        try:
            fields.append(StructField(field.name, from_arrow_type(field.type), field.nullable))
        except PySparkTypeError:
            raise ValueTypeError(
                f"the column {field.name!r} would be {field.type}, which Spark does not have"
            ) from None
    return StructType(fields)


def sendable(schema: Any) -> Any:
    """Return a schema that Spark can read from Arrow: numbers for names, if two are the same."""
    if len(set(schema.names)) == len(schema):
        return schema
    return pa.schema([field.with_name(f"c{i}") for i, field in enumerate(schema)])


def named(data: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return data with these names; as it is if it has them, since Spark copies each row."""
    return data if data.columns == list(names) else data.toDF(*names)


def conform(table: Any, schema: Any) -> Any:
    """Return a table in exactly these types, as Spark was told; it does not cast."""
    arrays = []
    for i, field in enumerate(schema):
        values = table.column(i)
        if values.type != field.type:
            try:
                values = values.cast(field.type)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                reason = str(error).splitlines()[0]
                raise DataError(
                    f"the column {field.name!r} is {values.type} and not {field.type}: {reason}"
                ) from None
        arrays.append(values)
    return pa.table(arrays, schema=schema)
