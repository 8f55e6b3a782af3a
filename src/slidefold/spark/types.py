"""Convert Spark types to Arrow types and back, and find the types of a definition's results.

Times with a zone are instants: they travel as UTC, independent of the session's zone. The result
types come from a run of the engine over an empty table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import DataType, StructField, StructType, _parse_datatype_string

from slidefold.columns import run
from slidefold.definition.operators import Over, UserOperator
from slidefold.definition.rolling import Rolling
from slidefold.errors import DataError, DefinitionError, ValueTypeError
from slidefold.spark.compat import from_arrow, to_arrow

# The key of a watermark's delay in the metadata of a column.
WATERMARK = "spark.watermarkDelayMs"
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
    """Convert a Spark schema to Arrow, with instants in UTC."""
    fields = []
    for field in schema.fields:
        try:
            kind = to_arrow(field.dataType)
        except PySparkTypeError:
            raise ValueTypeError(
                f"the type {field.dataType.simpleString()} of the column {field.name!r} has no "
                "Arrow type: drop or cast the column"
            ) from None
        fields.append(pa.field(field.name, kind, field.nullable))
    return pa.schema(fields)


def result_schema(
    definition: Rolling,
    schema: Any,
    types: Mapping[str, Any] | None = None,
    results: Any = None,
) -> Any:
    """Return the Arrow schema of the results over data of this Arrow schema.

    This runs the definition over an empty table, so that wrong columns and types are found before
    a job starts. `types` gives the types that such a run cannot find: those of results that are
    Python objects. `results` is the schema of such a run, if it was made already.
    """
    if types is not None and not isinstance(types, Mapping):
        raise DefinitionError(
            f'types must be a dict of Spark types such as {{"word": "string"}}, got {types!r}'
        )
    declared = {name: _declared_type(name, given) for name, given in (types or {}).items()}
    unknown = next((name for name in declared if name not in definition.columns), None)
    if unknown is not None:
        known = ", ".join(definition.columns)
        raise DefinitionError(f"types= must name new columns ({known}), got {unknown!r}")
    if results is None:
        results = run(definition, schema.empty_table()).schema
    for i, field in enumerate(results):
        if field.name not in definition.columns:
            continue
        kind = declared.get(field.name, field.type)
        if pa.types.is_null(kind) and field.name not in declared:
            kind = _probed(definition, field.name, schema)
        results = results.set(i, field.with_type(known_type(kind)))
    return results


def known_type(kind: Any) -> Any:
    """Return the Arrow type that Spark supports and that holds all values of a type.

    Spark stores times in microseconds and has no unsigned integers. A type without any Spark
    equivalent is returned unchanged.

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
    if types.is_map(kind):
        return pa.map_(known_type(kind.key_type), known_type(kind.item_type))
    return kind


def _declared_type(name: str, given: Any) -> Any:
    if isinstance(given, pa.DataType):
        return given
    try:
        kind = given if isinstance(given, DataType) else _parse_datatype_string(str(given))
        return to_arrow(kind)
    except Exception:
        raise DefinitionError(
            f"expected a Spark type such as 'double' for {name!r}, got {given!r}"
        ) from None


def _probed(definition: Rolling, name: str, schema: Any) -> Any:
    """Return the type of a column that a run over an empty table does not give."""
    item = definition.columns[name]
    if not isinstance(item, Over):
        return pa.null()
    operator = item.operator
    if all(pa.types.is_null(schema.field(column).type) for column in item.columns):
        return pa.null()
    if any(isinstance(leaf, UserOperator) for _, leaf in operator.leaves()):
        raise DefinitionError(
            f"the type of {name!r} is not known before {operator.name} runs: declare it with "
            f"state= and returns=, or pass its type, as in types={{{name!r}: 'string'}}"
        )
    row = {field.name: _one(field.type) for field in schema}
    return run(definition, pa.table(row)).schema.field(name).type


def _one(kind: Any) -> Any:
    """Return one value of a type: zero, or null if the type has no zero."""
    try:
        return pa.array([_ZEROS.get(str(kind), 0)], kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError):
        return pa.nulls(1, kind)


def spark_schema(schema: Any) -> StructType:
    """Convert an Arrow schema to Spark."""
    fields = []
    for field in schema:
        try:
            fields.append(StructField(field.name, from_arrow(field.type), field.nullable))
        except PySparkTypeError:
            raise ValueTypeError(
                f"the column {field.name!r} would be {field.type}, which Spark does not support"
            ) from None
    return StructType(fields)


def sendable(schema: Any) -> Any:
    """Return a schema that Spark can read from Arrow: numbered columns if names repeat."""
    if len(set(schema.names)) == len(schema):
        return schema
    return pa.schema([field.with_name(f"c{i}") for i, field in enumerate(schema)])


def named(data: DataFrame, names: Sequence[str]) -> DataFrame:
    """Rename the columns of data if needed; renaming copies each row."""
    return data if data.columns == list(names) else data.toDF(*names)


def with_metadata(data: DataFrame, given: StructType) -> DataFrame:
    """Give carried columns the metadata of the input, such as comments; a watermark is not."""
    places = {field.name: field for field in given.fields}
    columns: list[Column] = []
    changed = len(places) < len(given.fields)  # names that repeat cannot be told apart
    if changed or not any(field.metadata for field in given.fields):
        return data
    for field in data.schema.fields:
        column = data[f"`{field.name.replace('`', '``')}`"]
        known = places.get(field.name)
        metadata = {} if known is None or known.dataType != field.dataType else known.metadata
        kept = {name: value for name, value in metadata.items() if name != WATERMARK}
        columns.append(column.alias(field.name, metadata=kept) if kept else column)
        changed = changed or bool(kept)
    return data.select(*columns) if changed else data


def conform(table: Any, schema: Any) -> Any:
    """Cast a table to exactly the types that Spark expects, since Spark does not cast."""
    arrays = []
    for i, field in enumerate(schema):
        values = table.column(i)
        if values.type != field.type:
            try:
                values = values.cast(field.type)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                reason = str(error).splitlines()[0]
                raise DataError(
                    f"expected {field.type} in the column {field.name!r}, got {values.type}: "
                    f"{reason}"
                ) from None
        arrays.append(values)
    return pa.table(arrays, schema=schema)
