"""Create the engine of a bucket, empty or from its log. This module does not depend on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from slidefold.definition.rolling import Rolling
from slidefold.live.engine import Engine
from slidefold.live.lateness import judge
from slidefold.live.snapshot import Snapshot
from slidefold.spark.bucket import SLACK, Maker
from slidefold.spark.log import Logged


def maker_of(
    definition: Rolling, schema: Any, emit: str, id: Sequence[str], slack: int = SLACK
) -> Maker:
    """Return the functions that create engines of a definition.

    They hold rows and no slices, because `export_state` returns the rows of a snapshot.
    """
    how = {"counts_overflows": True, "slices": False}

    def fresh() -> Engine:
        return Engine(definition, schema, emit, id, **how)

    def rebuilt(held: Snapshot, watermark: int | None, horizon: int | None = None) -> Engine:
        return Engine.rebuild(definition, schema, emit, id, held, watermark, horizon, **how)

    def at_once(logged: list[Logged], emitted: int | None, horizon: int | None) -> Engine:
        tables = [entry.rows.replace_schema_metadata(None) for entry in logged]
        kept = pa.concat_tables([schema.empty_table().replace_schema_metadata(None), *tables])
        return rebuilt(Snapshot(kept), emitted, horizon)

    def one_by_one(logged: list[Logged], emitted: int | None, horizon: int | None) -> Engine:
        engine = fresh()
        # A history comes in any number of packets, in any order: it is one batch.
        history = [entry.rows for entry in logged if entry.history]
        if history:
            engine.begin(pa.concat_tables(history), logged[0].judged)
        for entry in logged[len(history) :]:
            if entry.snapshot is not None:
                engine = rebuilt(entry.snapshot, entry.judged)
            else:
                engine.skip(entry.rows, entry.judged)
        engine.skip(schema.empty_table(), emitted)
        return engine

    # The last results and their revision numbers depend on the batches, not only on the rows.
    forever = definition.fill or any(window.forever for window in definition.windows)
    remembers = emit in ("revise", "change") or forever
    return Maker(
        schema,
        definition.on,
        fresh,
        one_by_one if remembers else at_once,
        lambda rows, watermark: judge(rows, definition.on, watermark),
        slack,
        remembers,
    )
