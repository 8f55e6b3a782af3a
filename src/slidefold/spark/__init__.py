"""Run definitions over Spark DataFrames, batch or streaming; only this package imports pyspark."""

from __future__ import annotations

from typing import Any

from slidefold.definition.rolling import Rolling
from slidefold.errors import DefinitionError
from slidefold.options import (
    BATCH,
    STREAM,
    require_alone,
    require_flags,
    require_options,
    take_period,
)
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

        return run_questions(definition, data, **_for_questions(options))
    _require_at(options)
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
    schema = arrow_schema(data.schema)
    if options.get("at") is not None:
        from slidefold.spark.questions import explain_questions

        require_alone("at", ["scale"], {"scale": scale})
        on_spark = explain_questions(definition, data, **_for_questions(options))
        known: dict[str, Any] = {name: options.get(name) for name in ("at", "known")}
        return _told(definition.explain(schema, **known), on_spark)
    _require_at(options)
    plan = definition.explain(schema, **period)
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
    return _told(plan, on_spark)


def _told(plan: str, on_spark: list[str]) -> str:
    return "\n".join([plan, *(f"Spark: {line}" for line in on_spark)])


def _for_questions(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a run over questions, without those that are not set."""
    rest = dict(options)
    unset = {"presorted": False, "spill": None, "engine": "native"}
    given = {name: rest.pop(name) for name in unset if name in rest}
    require_flags(given)
    require_alone("at", given, {k: v for k, v in given.items() if v != unset[k]})
    return rest


def _require_at(options: dict[str, Any]) -> None:
    """Refuse options of questions without questions, and remove those that are not set."""
    for name in ("known", "asked", "lateness"):
        if options.pop(name, None) is not None:
            raise DefinitionError(f"{name}= needs at=, the table of questions")
    options.pop("at", None)


def _require_version(data: Any) -> None:
    from slidefold.spark.compat import require_version

    require_version(data.sparkSession.version, streaming=data.isStreaming)
