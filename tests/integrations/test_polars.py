"""`slidefold.polars` inside Polars: the same results, lazily, with as few columns as needed."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import slidefold as sf
import slidefold.polars
from slidefold.errors import ColumnError, DefinitionError

FRAME = pl.DataFrame(
    {
        "t": [5, 1, 3, 2, 4, 6, 8, 7],
        "k": ["a", "a", "b", "b", "a", None, "a", "b"],
        "x": [1.0, 2.0, None, 4.0, 5.0, 6.0, 7.0, 8.0],
        "y": [8, 7, 6, 5, 4, 3, 2, 1],
        "note": list("abcdefgh"),
    }
)
FEATURES = sf.rolling(
    on="t",
    by="k",
    total=sf.sum("x").over(sf.time(3)),
    top=sf.max("y").over(2),
    share=sf.col("x") / sf.sum("x").over(sf.time(3)),
)


def brute_totals() -> list[float | None]:
    """The sum over (t - 3, t] of each row's key, with plain loops."""
    rows = list(FRAME.select("t", "k", "x").iter_rows())
    totals = []
    for t, k, _ in rows:
        inside = [x for s, j, x in rows if j == k and t - 3 < s <= t and x is not None]
        totals.append(sum(inside) if inside else None)
    return totals


def lazy(frame: pl.DataFrame | pl.LazyFrame = FRAME) -> Any:
    namespace: Any = frame.lazy()
    return namespace.slidefold


def test_a_frame_gets_the_columns_of_run() -> None:
    frame: Any = FRAME
    result = frame.slidefold.rolling(FEATURES)
    assert_frame_equal(result, FEATURES.run(FRAME))
    assert result["total"].to_list() == brute_totals()


def test_pipe_is_the_same() -> None:
    assert_frame_equal(FRAME.pipe(FEATURES.run), FEATURES.run(FRAME))


def test_a_lazy_frame_is_not_collected_before_the_query_is() -> None:
    seen: list[int] = []

    def watch(frame: pl.DataFrame) -> pl.DataFrame:
        seen.append(len(frame))
        return frame

    query = lazy(FRAME.lazy().map_batches(watch, schema=FRAME.schema)).rolling(FEATURES)
    assert isinstance(query, pl.LazyFrame)
    assert not [count for count in seen if count]
    assert query.collect_schema() == FEATURES.run(FRAME).schema
    assert not [count for count in seen if count]
    assert_frame_equal(query.collect(), FEATURES.run(FRAME))
    assert [count for count in seen if count] == [len(FRAME)]


@pytest.mark.parametrize(
    "query",
    [
        lambda f: f.select("total"),
        lambda f: f.select("note"),
        lambda f: f.select("note", "share"),
        lambda f: f.filter(pl.col("top") > 5),
        lambda f: f.filter(pl.col("top") > 5).select("total"),
        lambda f: f.filter(pl.col("note") > "c").head(2),
        lambda f: f.head(4).filter(pl.col("note") > "c"),
        lambda f: f.head(3).select("top"),
        lambda f: f.sort("t").tail(2),
        lambda f: f.group_by("k").agg(pl.col("total").sum()).sort("k"),
        lambda f: f.with_columns(twice=pl.col("total") * 2).select("twice", "t"),
    ],
)
def test_queries_give_what_they_give_over_the_result(query: Any) -> None:
    expected = query(FEATURES.run(FRAME).lazy()).collect()
    assert_frame_equal(query(lazy().rolling(FEATURES)).collect(), expected)


def test_columns_that_a_query_does_not_use_are_not_read() -> None:
    read: list[list[str]] = []

    def source(names: Any, *_: Any) -> Any:
        read.append(sorted(names))
        yield FRAME.select(names)

    scan = pl.io.plugins.register_io_source(source, schema=FRAME.schema)
    features = sf.rolling(
        on="t", by="k", s=sf.sum("x").over(sf.time(3)), m=sf.max("y").over(sf.time(3))
    )
    assert lazy(scan).rolling(features).select("m").collect()["m"].len() == len(FRAME)
    assert read == [["k", "t", "y"]]


def test_results_at_every_step() -> None:
    steps = sf.rolling(on="t", by="k", every=sf.time(4), n=sf.count().over(sf.time(4)))
    assert_frame_equal(lazy().rolling(steps).collect(), steps.run(FRAME))
    filtered = lazy().rolling(steps).filter(pl.col("n") > 1).select("window_end")
    expected = steps.run(FRAME).filter(pl.col("n") > 1).select("window_end")
    assert_frame_equal(filtered.collect(), expected)


def test_the_plan_names_the_windows() -> None:
    assert "windows over t: total, top, share" in lazy().rolling(FEATURES).explain()


def test_a_missing_column_is_refused_before_anything_runs() -> None:
    with pytest.raises(ColumnError, match="'x'"):
        lazy(FRAME.drop("x")).rolling(FEATURES)


@pytest.mark.parametrize("frame", [FRAME, FRAME.lazy()])
def test_something_that_is_not_a_definition(frame: Any) -> None:
    with pytest.raises(DefinitionError, match=r"expected a definition from sf\.rolling, got str"):
        frame.slidefold.rolling("1h")
