"""`slidefold run`."""

from __future__ import annotations

from slidefold.cli.guard import guarded
from slidefold.cli.options import (
    AsJson,
    Engine,
    Engines,
    Follow,
    Master,
    Overwrite,
    PipelineFile,
    Streams,
)
from slidefold.cli.output import Output
from slidefold.pipeline import run_pipeline


def run(
    pipeline: PipelineFile,
    engine: Engines = Engine.local,
    stream: Streams = False,
    follow: Follow = False,
    master: Master = "local[*]",
    overwrite: Overwrite = False,
    json: AsJson = False,
) -> None:
    """Run a pipeline file: read its source, compute its features, write its sink.

    Everything is checked before anything starts, and every mistake is listed. Results appear under
    their name when they are whole; a run that fails or is stopped leaves nothing behind. A stream
    on Spark goes on from its checkpoint; what it has written is whole at any time.

    A pipeline file with everything in it; most of it may be left out. Paths are relative to the
    folder of the file, and no two of them may overlap.

        [source]
        path = "trades.csv"     # .parquet, .jsonl, or a folder of files
        format = "csv"          # parquet, csv, json; for a folder
        bad_rows = "side"       # fail (the default), skip, side: rows that
        side = "bad.jsonl"      # cannot be read, or that have no time
        columns = { ts = "timestamp[UTC]" }  # else read off the rows
        delimiter = ","         # of csv
        names = ["ts", "symbol", "price"]    # of csv without a header
        nulls = ["", "NA"]      # of csv: what stands for null

        [features]
        on = "ts"
        by = ["symbol"]
        order = ["id"]          # among rows of one time and key
        every = "1h"            # results at round times, not at each row;
        offset = "15m"          # or 10 (rows), or "window" (sessions)

        [features.columns]
        n    = { operator = "count", over = "1h" }
        mean = { operator = "mean", columns = "price", over = ["1h", "6h"] }
        last = { operator = "last", columns = "price", over = 100 }  # rows
        p99  = { operator = "quantile", columns = "price", q = 0.99, over = "1h" }
        trip = { operator = "count", over = { session = "20m" } }
        near = { operator = "max", columns = "x", over = { delta = 5, on = "km" } }
        leg  = { operator = "count", over = { punctuated = "landed" } }
        own  = { operator = "my.module:Name", columns = "price", over = "1d" }

        [features.columns.old]  # a long one as a table of its own
        operator = "mean"
        columns = "price"
        over = "1h"
        closed = "left"         # right (the default), left, both, neither
        min_count = 5
        algorithm = "two_stacks"

        [features.columns.band]
        operator = "struct"     # several operators over one window
        over = "1h"
        parts.low = { operator = "min", columns = "price" }
        parts.high = { operator = "max", columns = "price" }

        [stream]                # for --stream
        watermark = "10m"       # how late rows may come
        late = "drop"           # and count them; or side: flagged, in the results
        emit = "final"          # or arrival, revise, change
        id = ["id"]             # for revise: what tells rows apart
        batch = 10000           # in this process: rows at a time
        checkpoint = "checkpoint"    # on Spark: where a stream goes on
        files_per_batch = 1     # on Spark; 0 takes all that are there

        [sink]
        path = "features.parquet"    # .csv, .jsonl
        format = "parquet"      # csv, json, console, memory
        exists = "fail"         # or replace
        limit = 20              # of the console: rows that are shown

    On Spark, `format = "spark:delta"` and the like read and write any format of Spark, with
    `options = { ... }`.
    """
    out = Output(json)
    with guarded(out):
        run_pipeline(
            pipeline,
            engine=engine,
            stream=stream,
            follow=follow,
            master=master,
            overwrite=overwrite,
            report=out,
        )
