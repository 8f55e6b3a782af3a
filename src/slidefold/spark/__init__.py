"""Spark: one definition over DataFrames, at rest or streaming; only this imports pyspark."""

from __future__ import annotations

from typing import Any

from slidefold.definition.rolling import Rolling
from slidefold.errors import ValueTypeError
from slidefold.options import BATCH, STREAM, require_options

__all__ = ["Metrics", "explain", "run", "tail"]


def __getattr__(name: str) -> Any:
    """Import what needs pyspark only when it is asked for."""
    if name == "tail":
        from slidefold.spark.checkpoint import tail

        return tail
    if name == "Metrics":
        from slidefold.spark.metrics import Metrics

        return Metrics
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def run(definition: Rolling, data: Any, **options: Any) -> Any:
    """Run a definition over a Spark DataFrame, and return a DataFrame.

    `Rolling.run` comes here with whatever pyspark calls a DataFrame.
    """
    _require_classic(data)
    require_options("run", STREAM if data.isStreaming else BATCH, options)
    if data.isStreaming:
        from slidefold.spark.stream import run_stream

        return run_stream(definition, data, **options)
    from slidefold.spark.batch import run_batch

    return run_batch(definition, data, **options)


def explain(definition: Rolling, data: Any, **options: Any) -> str:
    """Say how a definition would run over a Spark DataFrame, after how each column is computed."""
    _require_classic(data)
    require_options("explain", STREAM if data.isStreaming else BATCH, options)
    from slidefold.spark.types import arrow_schema

    lines = [definition.explain(arrow_schema(data.schema))]
    from slidefold.spark.explaining import explain_batch, explain_stream, transport

    explained = explain_stream if data.isStreaming else explain_batch
    said = explained(definition, data, **options)
    if options.get("engine") != "spark":
        said += transport(data)
    return "\n".join([*lines, *(f"Spark: {line}" for line in said)])


def _require_classic(data: Any) -> None:
    if type(data).__module__.startswith("pyspark.sql.connect"):
        raise ValueTypeError(
            "slidefold needs a classic Spark session, not Spark Connect: make the session without "
            "remote()"
        )
