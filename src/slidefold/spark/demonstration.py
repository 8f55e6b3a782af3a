"""The same columns with Spark's own windows, for comparison: `slidefold demo`."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812


def over_windows(data: DataFrame, on: str, by: Sequence[str], hours: Sequence[int]) -> DataFrame:
    """Return the columns of the demo's pipeline file with `OVER (... RANGE BETWEEN ...)`."""
    # A range of numbers: over an interval Spark compares timestamps, which is slower. The window
    # (t - r, t] is from one microsecond after t - r on.
    micros = F.unix_micros(F.col(on))
    columns = [F.col(f"`{name}`") for name in data.columns]
    for each in hours:
        held = (
            Window.partitionBy(*by)
            .orderBy(micros)
            .rangeBetween(1 - each * 3600 * 10**6, Window.currentRow)
        )
        columns += [
            F.count(F.lit(1)).over(held).alias(f"flights_{each}h"),
            F.avg("delay_min").over(held).alias(f"delay_{each}h"),
            F.max("delay_min").over(held).alias(f"worst_{each}h"),
        ]
    columns.append(F.max_by("dest", "delay_min").over(held).alias("worst_to"))
    return data.select(*columns)
