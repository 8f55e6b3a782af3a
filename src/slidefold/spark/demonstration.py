"""The columns of `slidefold demo` with Spark's own windows, for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812


def replayed(data: DataFrame, years: int) -> DataFrame:
    """Return the rows of the demo so many times, each time with dates one year later."""
    later = [
        data.select(
            *(
                (F.col(name) + F.expr(f"INTERVAL {365 * year} DAYS")).alias(name)
                if name in ("departed", "recorded")
                else F.col(name)
                for name in data.columns
            )
        )
        for year in range(1, years)
    ]
    return reduce(lambda whole, part: whole.unionAll(part), later, data)


def over_windows(data: DataFrame, on: str, by: Sequence[str], hours: Sequence[int]) -> DataFrame:
    """Return the columns of the demo's pipeline file with `OVER (... RANGE BETWEEN ...)`."""
    # A range of integers is faster than an interval, for which Spark compares timestamps. The
    # window (t - r, t] begins one microsecond after t - r.
    micros = F.unix_micros(F.col(on))
    columns = [F.col(f"`{name}`") for name in data.columns]
    for length in hours:
        window = (
            Window.partitionBy(*by)
            .orderBy(micros)
            .rangeBetween(1 - length * 3600 * 10**6, Window.currentRow)
        )
        columns += [
            F.count(F.lit(1)).over(window).alias(f"flights_{length}h"),
            F.avg("delay_min").over(window).alias(f"delay_{length}h"),
            F.max("delay_min").over(window).alias(f"worst_{length}h"),
        ]
    columns.append(F.max_by("dest", "delay_min").over(window).alias("worst_to"))
    return data.select(*columns)
