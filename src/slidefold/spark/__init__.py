"""Run definitions over Spark DataFrames, batch or streaming; only this package imports pyspark."""

from __future__ import annotations

from typing import Any

from slidefold.definition.rolling import Rolling
from slidefold.errors import DefinitionError
from slidefold.options import BATCH, STREAM, require_options, take_period
from slidefold.spark.settings import STREAM_SETTINGS

__all__ = [
    "STREAM_SETTINGS",
    "Metrics",
    "emitted_until",
    "explain",
    "export_state",
    "run",
    "tail",
]


def __getattr__(name: str) -> Any:
    """Import names that need pyspark on first use."""
    if name in ("emitted_until", "export_state", "tail"):
        from slidefold.spark import checkpoint

        return getattr(checkpoint, name)
    if name == "Metrics":
        from slidefold.spark.metrics import Metrics

        return Metrics
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def run(definition: Rolling, data: Any, **options: Any) -> Any:
    """Run a definition over a Spark DataFrame, and return a DataFrame.

    `Rolling.run` calls this for any pyspark DataFrame class.
    """
    _require_version(data)
    require_options("run", STREAM if data.isStreaming else BATCH, options)
    if data.isStreaming:
        from slidefold.spark.stream import run_stream

        return run_stream(definition, data, **options)
    period = take_period(options)
    if options.get("at") is not None:
        from slidefold.spark.questions import run_questions

        return run_questions(definition, data, **options)
    for name in ("known", "asked", "lateness"):
        if options.pop(name, None) is not None:
            raise DefinitionError(f"{name}= needs at=, the table of questions")
    options.pop("at", None)
    from slidefold.spark.batch import run_batch
    from slidefold.spark.types import with_metadata

    return with_metadata(run_batch(definition, data, **period, **options), data.schema)


def explain(definition: Rolling, data: Any, **options: Any) -> str:
    """Explain how each column is computed, and how the definition would run on Spark.

    `scale` adds estimates for other data: `scale={"rows": 1e12, "keys": 1e9, "days": 30}`.
    """
    _require_version(data)
    scale = options.pop("scale", None)
    require_options("explain", STREAM if data.isStreaming else BATCH, options)
    from slidefold.spark.types import arrow_schema

    period = {} if data.isStreaming else take_period(options)
    lines = [definition.explain(arrow_schema(data.schema), **period)]
    from slidefold.spark.explaining import explain_batch, explain_stream, transport

    explained = explain_stream if data.isStreaming else explain_batch
    if period:
        from slidefold.spark.backfill import history

        data = history(definition, data, **period)
    on_spark = explained(definition, data, **options)
    if options.get("engine") != "spark":
        on_spark += transport(data)
    if scale is not None:
        from slidefold.spark.explaining import explain_scale

        on_spark += explain_scale(definition, data, scale, options.get("emit", "final"))
    return "\n".join([*lines, *(f"Spark: {line}" for line in on_spark)])


def _require_version(data: Any) -> None:
    from slidefold.spark.compat import require_version

    require_version(data.sparkSession.version, streaming=data.isStreaming)
