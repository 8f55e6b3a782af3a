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
    Since,
    Streams,
    Until,
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
    since: Since = None,
    until: Until = None,
    json: AsJson = False,
) -> None:
    """Run a pipeline file: read its source, compute its features, write its sink.

    The file is checked before the run starts, and every mistake is listed. The sink appears when
    it is complete; a run that fails or is stopped leaves nothing behind. A stream on Spark resumes
    from its checkpoint, and its output is valid at any time.

    The example below shows every key; most are optional. Paths are relative to the folder of the
    file, and no two of them may overlap.

        [source]
        path = "trades.csv"     # .parquet, .jsonl, or a folder of files
        format = "csv"          # parquet, csv, json; for a folder
        bad_rows = "side"       # fail (the default), skip, side: rows that
        side = "bad.jsonl"      # cannot be read, or that have no time
        columns = { ts = "timestamp[UTC]" }  # default: inferred
        delimiter = ","         # csv only
        names = ["ts", "symbol", "price"]    # csv without a header
        nulls = ["", "NA"]      # csv only: values read as null

        [features]
        on = "ts"
        by = ["symbol"]
        order = ["id"]          # among rows with equal key and time
        every = "1h"            # one result per hour, not one per row;
        offset = "15m"          # or 10 (rows), or "window" (sessions)
        zone = "Europe/Berlin"  # local days, if every is in whole days
        fill = true             # also results of empty windows
        closed = "left"         # default of the windows, see below

        [features.columns]
        n    = { operator = "count", over = "1h" }
        mean = { operator = "mean", columns = "price", over = ["1h", "6h"] }
        last = { operator = "last", columns = "price", over = 100 }  # rows
        p99  = { operator = "quantile", columns = "price", q = 0.99, over = "1h" }
        trip = { operator = "count", over = { session = "20m" } }
        near = { operator = "max", columns = "x", over = { delta = 5, on = "km" } }
        leg  = { operator = "count", over = { punctuated = "landed" } }
        past = { operator = "count", over = { time = "1h", delay = "1d" } }
        ever = { operator = "count", over = "lifetime" }
        big  = { operator = "count", where = "price > 100", over = "1h" }
        paid = { operator = "sum", columns = { expr = "price * n" }, over = "1h" }
        sums = { operator = "sum", columns = "x", per = "venue", over = "1h" }
        own  = { operator = "my.module:Name", columns = "price", over = "1d" }

        [features.columns.old]  # a long column as its own table
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

        [features.columns.jump] # an expression of windows and other columns
        expr = "mean_1h / typical - 1"
        windows.typical = { operator = "median", columns = "price", over = "1d" }

        [questions]             # results at the times and keys of these rows
        path = "orders.csv"     # with the keys of [source]
        known = "arrived"       # count only events that had arrived by then,
        asked = "asked_at"      # if questions were asked after their time
        lateness = "10m"        # without those that a stream would drop

        [stream]                # for --stream
        watermark = "10m"       # how late rows may arrive
        late = "drop"           # count and drop late rows; side: keep and flag them
        emit = "final"          # or arrival, revise, change
        id = ["id"]             # for revise: the columns that identify a row
        batch = 10000           # local engine: rows per batch
        checkpoint = "checkpoint"    # on Spark: the folder to resume from
        files_per_batch = 1     # on Spark; 0 reads all available files

        [sink]
        path = "features.parquet"    # .csv, .jsonl
        format = "parquet"      # csv, json, console, memory
        exists = "fail"         # or replace
        limit = 20              # console only: the number of rows to print

    On Spark, `format = "spark:delta"` reads and writes any Spark format by its name, with
    `options = { ... }`; `value = "json"` in [source] parses the values of Kafka. The tables that
    only a service reads are in `slidefold serve --help`.
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
            since=since,
            until=until,
            report=out,
        )
