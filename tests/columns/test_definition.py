"""Definitions as values: printed, compared, saved in files, explained."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import timedelta
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.definition.files import read
from slidefold.definition.operators import BUILT_IN, NAMED, RECORDS
from slidefold.errors import ColumnError, DefinitionError, PairError, ValueTypeError
from tests.support.user_operators import Longest, made

FEATURES = sf.rolling(
    on="ts",
    by="card",
    spend=sf.sum("amount").over("1h"),
    where=sf.max_by("city", "amount").over("7d", closed="left", min_count=2),
    recent=sf.mean("amount").over(100, algorithm="daba_lite"),
    columns={"n in session": sf.count().over(sf.session("30m"))},
)
PAIRS = (
    *("max_by", "min_by", "covariance", "correlation", "trend", "naive_bayes"),
    *("weighted_mean", "decayed_mean", "decayed_sum"),
)
OPTIONS: dict[str, dict[str, Any]] = {
    "histogram": {"edges": [0.0, 1.0]},
    "decayed_mean": {"half_life": 2.0},
    "decayed_sum": {"half_life": "2m"},
    "most_frequent": {"k": 3},
    "nth": {"n": 3, "nulls": "keep"},
    "sum": {"compensated": True},
    "var": {"ddof": 0},
}


def test_printed() -> None:
    assert str(FEATURES) == repr(FEATURES)
    assert str(FEATURES).splitlines() == [
        "sf.rolling(",
        "    on='ts', by='card',",
        "    columns={",
        "        'n in session': sf.count().over(sf.session('30m')),",
        "        'spend': sf.sum('amount').over('1h'),",
        "        'where': sf.max_by('city', 'amount').over('7d', closed='left', min_count=2),",
        "        'recent': sf.mean('amount').over(100, algorithm='daba_lite'),",
        "    },",
        ")",
    ]


def test_a_value() -> None:
    again = sf.Rolling.from_dict(FEATURES.to_dict())
    assert again == FEATURES
    assert hash(again) == hash(FEATURES)
    assert again != sf.rolling(on="ts", n=sf.count().over("1h"))
    with pytest.raises(AttributeError):
        FEATURES.on = "other"  # type: ignore[misc]


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_operator_survives_a_file(name: str) -> None:
    function: Any = BUILT_IN[name]
    columns = ("x", "y") if name in PAIRS else ("x",)
    operator = function(*columns, **OPTIONS.get(name, {}))
    definition = sf.rolling(on="t", every="1h", offset="5m", r=operator.over("1h"))
    saved = json.loads(json.dumps(definition.to_dict()))
    assert sf.Rolling.from_dict(saved) == definition


@pytest.mark.parametrize("name", [name for name in NAMED if name not in BUILT_IN])
def test_operators_for_definitions_survive_a_file(name: str) -> None:
    function: Any = NAMED[name]
    operator = function("x", **dict(RECORDS[name].example))
    column = operator if RECORDS[name].own_window else operator.over("1h", closed="left")
    definition = sf.rolling(on="t", r=column)
    saved = json.loads(json.dumps(definition.to_dict()))
    assert sf.Rolling.from_dict(saved) == definition


@pytest.mark.parametrize(
    "window",
    [
        sf.time(10),
        sf.time("1h", delay="5m"),
        sf.time(10, closed="left", delay=2.5),
        sf.time("1h", ahead=True),
        sf.time("1h", closed="right", ahead=True),
        sf.lifetime(),
        sf.lifetime(closed="left"),
        sf.time(2.5, closed="both"),
        sf.time("90s", closed="neither"),
        sf.rows(3, closed="left"),
        sf.delta(5, on="km", closed="left"),
        sf.delta("1h", on="when"),
        sf.session("30m"),
        sf.session(3),
        sf.punctuated("end"),
    ],
    ids=str,
)
def test_every_window_survives_a_file(window: Any) -> None:
    definition = sf.rolling(on="t", order=["a", "b"], r=sf.sum("x").over(window))
    saved = json.loads(json.dumps(definition.to_dict()))
    assert sf.Rolling.from_dict(saved) == definition


@pytest.mark.parametrize("every", ["1h", 5, sf.time(10)], ids=str)
@pytest.mark.parametrize("closed", [None, "left", "right", "both"])
def test_every_survives_a_file(every: Any, closed: str | None) -> None:
    window = sf.time(7) if closed is None else sf.time(7, closed=closed)
    definition = sf.rolling(on="t", every=every, r=sf.sum("x").over(window))
    assert sf.Rolling.from_dict(json.loads(json.dumps(definition.to_dict()))) == definition


def test_a_timedelta_is_saved_as_a_string() -> None:
    definition = sf.rolling(on="t", n=sf.count().over(timedelta(minutes=90)))
    assert definition.to_dict()["columns"]["n"]["over"] == "90m"
    odd = sf.rolling(on="t", n=sf.count().over(timedelta(microseconds=7)))
    assert odd.to_dict()["columns"]["n"]["over"] == "7us"


def test_an_operator_of_a_user_is_saved_by_its_name() -> None:
    definition = sf.rolling(on="t", r=made(Longest, "x").over(3))
    name = definition.to_dict()["columns"]["r"]["operator"]
    assert name == "tests.support.user_operators:Longest"
    assert sf.Rolling.from_dict(definition.to_dict()) == definition


def test_explained() -> None:
    text = FEATURES.explain()
    assert "spend: sf.sum('amount') over sf.time('1h')\n  algorithm: two_stacks_lite" in text
    assert "where: sf.max_by" in text
    assert (
        "recent: sf.mean('amount') over sf.rows(100)\n  algorithm: daba_lite, because algorithm="
        in text
    )
    assert "n in session: sf.count() over sf.session('30m')\n  algorithm: bounds" in text
    assert "keeps:     the rows of the last 1h, 8 bytes per state" in text


def test_types_change_the_plan() -> None:
    schema = pa.schema({"amount": pa.int64(), "city": pa.string()})
    text = FEATURES.explain(schema)
    assert (
        "spend: sf.sum('amount') of int64 over sf.time('1h')\n  algorithm: subtract_on_evict"
        in text
    )


def test_columns_that_decide_among_peers() -> None:
    assert sf.rolling(on="t", s=sf.sum("x").over("1h")).ties == ()
    assert sf.rolling(on="t", s=sf.sum("x").over(3)).ties == ("x",)
    assert sf.rolling(on="t", by="k", s=sf.first("x").over("1h")).ties == ("x",)
    both = sf.rolling(on="t", order="o", s=sf.first("x").over("1h"), m=sf.max("y").over("1h"))
    assert both.ties == ("o", "x", "y")
    assert sf.rolling(on="t", order="input", s=sf.first("x").over("1h")).ties == ()


def test_a_list_of_lengths_is_a_column_for_each() -> None:
    saved = {"on": "ts", "columns": {"n": {"operator": "count", "over": ["1h", "1 d", 10]}}}
    columns = sf.Rolling.from_dict(saved).columns
    assert {name: str(over) for name, over in columns.items()} == {
        "n_1h": "sf.count().over('1h')",
        "n_1d": "sf.count().over('1 d')",
        "n_10": "sf.count().over(10)",
    }


def test_explained_for_data_of_every_kind() -> None:
    table = pa.table({"t": [1, 2], "k": ["a", "b"], "x": [1, 2], "unused": [None, None]})
    made = sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(5)))
    said = made.explain(table.schema)
    assert "subtract_on_evict" in said  # integers: floats would not be subtracted
    reader = table.to_reader()
    frames = (table, table.to_pandas(), pl.from_arrow(table), table.to_batches()[0], reader)
    for data in frames:
        assert made.explain(data) == said
    assert reader.read_all().num_rows == 2  # it was not read
    with pytest.raises(ColumnError, match="no column 'x'; did you mean 'xx'"):
        made.explain(table.rename_columns(["t", "k", "xx", "y"]))
    with pytest.raises(ValueTypeError, match="got int"):
        made.explain(3)


@pytest.mark.parametrize(
    ("name", "hint"), [("dabalite", "daba_lite"), ("fiba", "choose one of recalc")]
)
def test_an_algorithm_that_cannot_run_it(name: str, hint: str) -> None:
    with pytest.raises(PairError, match=f"no algorithm named '{name}'; .*{hint}"):
        sf.rolling(on="t", s=sf.sum("x").over(5, algorithm=name))


def test_every_mistake_of_a_file_is_found_at_once() -> None:
    saved = {
        "of": "ts",
        "columns": {
            "a": {"operator": "summ", "columns": "x", "over": "1 hour", "by": "k"},
            "b": {"operator": "count", "over": [{"kind": "session", "gap": "1h"}]},
            "c": {"operator": "max", "columns": 3, "over": {"kind": "time", "rang": 3}},
            "d": "max",
            "e": {"operator": "sum", "columns": "x", "over": "1h", "min_count": 0},
            "f": {"operator": "sum", "columns": "x", "over": 5},
            "f_5": {"operator": "sum", "columns": "x", "over": 5},
            "g": {"operator": "top_k", "columns": "x", "params": 3, "over": 5},
        },
    }
    said, mistakes = read(saved)
    assert [key for key, _ in mistakes] == [
        *("of", "on", "columns.a.by", "columns.a.operator", "columns.a.over", "columns.b.over"),
        *("columns.c.operator", "columns.c.over", "columns.d", "columns.e", "columns.g.operator"),
    ]
    assert list(said["columns"]) == ["f", "f_5"]
    with pytest.raises(DefinitionError, match="the definition has an unknown key 'of'"):
        sf.Rolling.from_dict(saved)


def test_a_list_of_lengths_collides_with_a_column() -> None:
    column = {"operator": "sum", "columns": "x", "over": 5}
    _, mistakes = read({"on": "t", "columns": {"f_5": column, "f": {**column, "over": [5]}}})
    assert [(key, str(error)) for key, error in mistakes] == [
        ("columns.f", "two result columns are named 'f_5': rename one of them")
    ]


def test_an_option_that_run_does_not_have() -> None:
    made = sf.rolling(on="t", s=sf.sum("x").over(5))
    table = pa.table({"t": [1], "x": [1]})
    with pytest.raises(DefinitionError, match=r"^run has no thread=; did you mean threads=\?$"):
        made.run(table, thread=2)  # type: ignore[call-overload]
    with pytest.raises(DefinitionError, match=r"^partitions= of run is for Spark DataFrames only"):
        made.run(table, partitions=2)
    with pytest.raises(DefinitionError, match=r"^run has no zzz=; .* it takes threads=, at=, "):
        made.run(table, zzz=True)  # type: ignore[call-overload]
    with pytest.raises(DefinitionError, match=r"^explain has no thread=; did you mean threads=\?$"):
        made.explain(table, thread=2)  # type: ignore[call-overload]


def test_a_definition_that_was_used_can_be_pickled_and_copied() -> None:
    definition = sf.rolling(on="t", s=sf.sum("x").over(2), r=sf.col("x") / sf.sum("x").over(2))
    table = pa.table({"t": [1, 2], "x": [1.0, 3.0]})
    expected = definition.run(table)
    assert len(definition.overs) == 1
    for again in (pickle.loads(pickle.dumps(definition)), copy.deepcopy(definition)):
        assert again == definition
        assert again.run(table).equals(expected)
        assert dict(again.overs) == dict(definition.overs)
