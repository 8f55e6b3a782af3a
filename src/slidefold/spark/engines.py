"""How the engine of a bucket is made, anew or from its log. Nothing in here knows Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from slidefold.definition.rolling import Rolling
from slidefold.live.engine import Engine
from slidefold.live.lateness import judge
from slidefold.spark.bucket import SLACK, Maker
from slidefold.spark.log import Logged


def maker_of(
    definition: Rolling, schema: Any, emit: str, id: Sequence[str], slack: int = SLACK
) -> Maker:
    """Return how engines of a definition are made."""

    def fresh() -> Engine:
        return Engine(definition, schema, emit, id)

    def at_once(logged: list[Logged], emitted: int | None, horizon: int | None) -> Engine:
        tables = [each.rows.replace_schema_metadata(None) for each in logged]
        kept = pa.concat_tables([schema.empty_table().replace_schema_metadata(None), *tables])
        return Engine.rebuild(definition, schema, emit, id, kept, emitted, horizon)

    def one_by_one(logged: list[Logged], emitted: int | None, horizon: int | None) -> Engine:
        engine = fresh()
        for each in logged:
            if each.snapshot:
                rows, judged = each.rows, each.judged
                engine = Engine.rebuild(definition, schema, emit, id, rows, judged)
            else:
                engine.take(each.rows, each.judged)
        engine.take(schema.empty_table(), emitted)
        return engine

    # Last results, and how often they were revised, follow from the batches and not from the rows.
    remembers = emit in ("revise", "change")
    return Maker(
        schema,
        definition.on,
        fresh,
        one_by_one if remembers else at_once,
        lambda rows, watermark: judge(rows, definition.on, watermark),
        slack,
        remembers,
    )
