"""One figure per file: its `SIZES`, `measure(sizes)` for the rows, `show(rows)` for the table."""

from __future__ import annotations

from types import ModuleType

from benchmarks.figures import (
    cliffs,
    expressions,
    keyed,
    late_data,
    latency,
    live,
    live_events,
    live_memory,
    memory,
    operators,
    package,
    parallel,
    per_event,
    questions,
    rolling,
    serve,
    spark_batch,
    spark_chunks,
    spark_memory,
    spark_questions,
    spark_small,
    stream,
    throughput,
    user_operators,
)

FIGURES: dict[str, ModuleType] = {
    module.__name__.rsplit(".", 1)[1]: module
    for module in (
        throughput,
        per_event,
        latency,
        memory,
        parallel,
        late_data,
        keyed,
        live,
        live_events,
        live_memory,
        rolling,
        cliffs,
        expressions,
        questions,
        operators,
        user_operators,
        package,
        serve,
        spark_batch,
        spark_chunks,
        spark_memory,
        spark_questions,
        spark_small,
        stream,
    )
}

__all__ = ["FIGURES"]
