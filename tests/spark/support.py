"""Between Arrow tables and Spark DataFrames, exactly; and results compared as multisets of rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructField, StructType

from slidefold.spark.compat import from_arrow


def as_spark(kind: Any) -> Any:
    """Return the Arrow type that Spark has for one: microseconds, dates in days."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    if pa.types.is_date64(kind):
        return pa.date32()
    if pa.types.is_duration(kind):
        return pa.duration("us")
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(as_spark(field.type)) for field in kind])
    return kind


def spark_table(table: Any) -> Any:
    """Return a table in types that Spark has."""
    return table.cast(pa.schema([field.with_type(as_spark(field.type)) for field in table.schema]))


def frame(spark: Any, table: Any, partitions: int | None = None) -> Any:
    """Return a DataFrame of a table: naive timestamps as such, whatever the session says."""
    table = spark_table(table)
    schema = StructType(
        [StructField(field.name, from_arrow(field.type), True) for field in table.schema]
    )
    data = spark.createDataFrame(table, schema)
    return data if partitions is None else data.repartition(partitions)


def rows_of(table: Any, names: list[str]) -> list[tuple[Any, ...]]:
    """Return the rows of some columns, sorted."""
    rows = zip(*(table[name].to_pylist() for name in names), strict=True)
    return sorted(rows, key=lambda row: [_rounded(value) for value in row])


def _rounded(value: Any) -> str:
    return f"{round(value, 6) + 0.0:.6f}" if isinstance(value, float) else repr(value)


def near(a: Any, b: Any) -> bool:
    """Tell whether two values are equal, floats within rounding."""
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(near(a[key], b[key]) for key in a)
    return bool(a == b)


def assert_same(found: Any, expected: Any, definition: Any, what: str = "") -> None:
    """Compare rows as multisets: those that are equal in all columns used may swap results."""
    assert found.column_names == expected.column_names, what
    for name in expected.column_names:
        # Lists name their items in other words.
        got, due = found.schema.field(name).type, as_spark(expected.schema.field(name).type)
        assert str(got).replace("element", "item") == str(due), f"{what} {name}: {got}, not {due}"
    names = list(expected.column_names)
    if definition.slide is None:
        names = [*definition.used, *definition.columns]
    left, right = (rows_of(part, names) for part in (found, expected))
    assert len(left) == len(right), what
    for a, b in zip(left, right, strict=True):
        assert all(near(x, y) for x, y in zip(a, b, strict=True)), f"{what}: {a} and not {b}"


def collected(results: list[Any]) -> list[Any]:
    """Return the tables of many DataFrames from one job: each travels as bytes of Arrow."""
    packed = []
    for i, data in enumerate(results):
        names = data.columns
        numbered = data.toDF(*[f"c{j}" for j in range(len(names))])
        packed.append(numbered.mapInArrow(_packing(i, names), "place int, data binary"))
    found: list[list[Any]] = [[] for _ in results]
    for place, data in reduce(lambda a, b: a.unionAll(b), packed).collect():
        # Workers label instants with the zone of the session.
        found[place].append(spark_table(pa.ipc.open_stream(bytes(data)).read_all()))
    return [
        pa.concat_tables(tables) if tables else empty(data)
        for tables, data in zip(found, results, strict=True)
    ]


def empty(data: Any) -> Any:
    """Return a table without rows for a DataFrame that has none."""
    return data.limit(0).toArrow()


def _packing(place: int, names: list[str]) -> Any:
    def pack(batches: Iterator[Any]) -> Iterator[Any]:
        for numbered in batches:
            batch = numbered.rename_columns(names)
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            data = pa.array([sink.getvalue().to_pybytes()], pa.binary())
            yield pa.record_batch({"place": pa.array([place], pa.int32()), "data": data})

    return pack
