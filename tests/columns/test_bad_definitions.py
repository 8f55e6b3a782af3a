"""Bad definitions and bad data: one sentence each, of a type that says what kind of mistake."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold import errors

TS = pa.array([0, 1, 2], pa.timestamp("s"))
TABLE = pa.table(
    {
        "ts": TS,
        "t": [0, 1, 2],
        "card": ["a", "b", "a"],
        "amount": [1.0, 2.0, 4.0],
        "down": [3, 2, 1],
        "real": [0.5, 1.5, 2.5],
        "list": [[1], [2], [3]],
        "day": TS.cast(pa.date32()),
    }
)
TOTAL = sf.sum("amount").over("1h")
Make = Callable[[], object]

DEFINITIONS: dict[str, tuple[Make, type[Exception], str]] = {
    "a key as a window": (
        lambda: sf.sum("amount").over("card"),
        errors.WindowError,
        "expected a duration .* got 'card' .* use by='card'",
    ),
    "months": (lambda: sf.sum("amount").over("1mo"), errors.WindowError, "vary in length"),
    "a float of rows": (
        lambda: sf.sum("amount").over(2.5),  # type: ignore[call-overload]
        errors.WindowError,
        "a window must be",
    ),
    "no rows": (lambda: sf.sum("amount").over(0), errors.WindowError, "rows needs n >= 1"),
    "rows closed both": (
        lambda: sf.sum("amount").over(3, closed="both"),
        errors.WindowError,
        "must be 'right' or 'left'",
    ),
    "a closed session": (
        lambda: sf.sum("amount").over(sf.session("1m"), closed="left"),
        errors.WindowError,
        "does not take closed=",
    ),
    "no column": (lambda: sf.sum().over("1h"), errors.DefinitionError, "sum needs a column"),
    "min_count": (
        lambda: sf.sum("amount").over("1h", min_count=0),
        errors.DefinitionError,
        "min_count must be an integer >= 1",
    ),
    "a name that is not Unicode": (
        lambda: sf.rolling(on="ts", columns={"\ud800": TOTAL}),
        errors.DefinitionError,
        "must be valid Unicode",
    ),
    "nothing to compute": (lambda: sf.rolling(on="ts"), errors.DefinitionError, "at least one"),
    "no window": (
        lambda: sf.rolling(on="ts", s=sf.sum("amount")),  # type: ignore[arg-type]
        errors.DefinitionError,
        "'s' has no window",
    ),
    "a name twice": (
        lambda: sf.rolling(on="ts", columns={"s": TOTAL}, s=TOTAL),
        errors.ColumnError,
        "two result columns are named 's'",
    ),
    "a name of the output": (
        lambda: sf.rolling(on="ts", every="1h", window_end=TOTAL),
        errors.ColumnError,
        "two result columns are named 'window_end'",
    ),
    "a key as output": (
        lambda: sf.rolling(on="ts", by="card", every="1h", card=TOTAL),
        errors.ColumnError,
        "two result columns are named 'card'",
    ),
    "a key twice": (
        lambda: sf.rolling(on="ts", by=["card", "card"], s=TOTAL),
        errors.ColumnError,
        "by names a column twice",
    ),
    "every in time with rows windows alone": (
        lambda: sf.rolling(on="ts", every="1m", s=sf.sum("amount").over(3)),
        errors.WindowError,
        "needs at least one time window",
    ),
    "every window with a time window": (
        lambda: sf.rolling(on="ts", every="window", s=TOTAL),
        errors.WindowError,
        "needs a session or punctuated window",
    ),
    "every window with two of them": (
        lambda: sf.rolling(
            on="ts",
            every="window",
            a=sf.count().over(sf.session("1m")),
            b=sf.count().over(sf.session("2m")),
        ),
        errors.WindowError,
        r"got sf.session\('1m'\) and sf.session\('2m'\)",
    ),
    "every in time with a session": (
        lambda: sf.rolling(on="ts", every="1m", s=TOTAL, n=sf.count().over(sf.session("1m"))),
        errors.WindowError,
        "use every='window'",
    ),
    "offset alone": (
        lambda: sf.rolling(on="ts", offset="1m", s=TOTAL),
        errors.WindowError,
        "offset needs a duration as every",
    ),
    "every nothing": (
        lambda: sf.rolling(on="ts", every=0, s=TOTAL),
        errors.WindowError,
        "every must be an integer >= 1",
    ),
    "an algorithm that is none": (
        lambda: sf.rolling(on="ts", s=sf.sum("amount").over("1h", algorithm="dabalite")),
        errors.PairError,
        "did you mean 'daba_lite'",
    ),
    "a file with a slip": (
        lambda: sf.Rolling.from_dict({"on": "ts", "columsn": {}, "columns": {}}),
        errors.DefinitionError,
        "did you mean 'columns'",
    ),
    "a file with an operator that is none": (
        lambda: sf.Rolling.from_dict(
            {"on": "ts", "columns": {"s": {"operator": "summ", "columns": ["x"], "over": 3}}}
        ),
        errors.DefinitionError,
        "did you mean 'sum'",
    ),
    "a file with a parameter that is none": (
        lambda: sf.Rolling.from_dict(
            {
                "on": "ts",
                "columns": {
                    "s": {"operator": "sum", "columns": ["x"], "params": {"dd": 1}, "over": 3}
                },
            }
        ),
        errors.DefinitionError,
        "the column 's'",
    ),
    "a file with a window that is none": (
        lambda: sf.Rolling.from_dict(
            {"on": "t", "columns": {"n": {"operator": "count", "over": {"kind": "tiem"}}}}
        ),
        errors.DefinitionError,
        "a window must be a duration such as",
    ),
    "a file with an operator of a module that is none": (
        lambda: sf.Rolling.from_dict(
            {"on": "t", "columns": {"n": {"operator": "no.such:Thing", "over": 3}}}
        ),
        errors.DefinitionError,
        "cannot be imported",
    ),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_definitions(name: str) -> None:
    make, error, match = DEFINITIONS[name]
    with pytest.raises(error, match=match) as caught:
        make()
    assert "\n" not in str(caught.value)


def over(window: Any, column: str = "amount", **options: Any) -> sf.Rolling:
    return sf.rolling(**{"on": "t", **options}, s=sf.sum(column).over(window))


NULLS = TABLE.set_column(1, "t", pa.array([0, None, 2]))
RUNS: dict[str, tuple[sf.Rolling, pa.Table, type[Exception], str]] = {
    "a missing column": (
        over(3, "amuont"),
        TABLE,
        errors.ColumnError,
        "no column 'amuont'; did you mean 'amount'",
    ),
    "a range beyond 64 bits": (over(sf.time(1e30)), TABLE, errors.WindowError, "must be < 2..63"),
    "a delay beyond 64 bits": (
        over(sf.time(2, delay=2**63 - 1)),
        TABLE,
        errors.WindowError,
        "must add up to < 2..63 steps of 't'",
    ),
    "a missing column like none": (over(3, by="zzz"), TABLE, errors.ColumnError, "it has ts, t"),
    "a column that is there already": (
        sf.rolling(on="t", amount=sf.sum("amount").over(3)),
        TABLE,
        errors.ColumnError,
        "has a column 'amount' already",
    ),
    "two columns of one name": (
        over(3),
        TABLE.append_column("amount", TABLE["amount"]),
        errors.ColumnError,
        "2 columns named 'amount'",
    ),
    "null times": (over(sf.time(3)), NULLS, errors.DataError, "'t' is null at row 1"),
    "times that are strings": (over(3, on="card"), TABLE, errors.ValueTypeError, "got string"),
    "times that are floats": (over(3, on="real"), TABLE, errors.ValueTypeError, "got double"),
    "a duration over numbers": (over("1h"), TABLE, errors.ValueTypeError, "give a number"),
    "a number over datetimes": (
        over(sf.time(3), on="ts"),
        TABLE,
        errors.ValueTypeError,
        "give a duration",
    ),
    "a window finer than the times": (
        over("10ms", on="ts"),
        TABLE,
        errors.WindowError,
        "finer than 'ts', which counts in seconds",
    ),
    "a window finer than a day": (
        over(timedelta(hours=12), on="day"),
        TABLE,
        errors.WindowError,
        "counts in days",
    ),
    "an every finer than the times": (
        over("3s", on="ts", every="1500ms"),
        TABLE,
        errors.WindowError,
        "every='1500ms' is finer",
    ),
    "keys that are lists": (over(3, by="list"), TABLE, errors.ValueTypeError, "cannot be a key"),
    "a delta that decreases": (
        over(sf.delta(2, on="down")),
        TABLE,
        errors.TimeOrderError,
        "must not decrease in time order, but it does at row 1",
    ),
    "marks that are no bools": (
        over(sf.punctuated("down")),
        TABLE,
        errors.ValueTypeError,
        "must hold bools",
    ),
    "a sum of strings": (over(3, "card"), TABLE, errors.ValueTypeError, "sum takes numbers"),
    "a mean of datetimes": (
        sf.rolling(on="t", s=sf.mean("ts").over(3)),
        TABLE,
        errors.ValueTypeError,
        "mean takes numbers, the column 'ts' is timestamp",
    ),
    "a pair that does not fit": (
        sf.rolling(on="t", s=sf.sum("amount").over(3, algorithm="slick_deque")),
        TABLE,
        errors.PairError,
        "selective",
    ),
    "a sum beyond 64 bits": (
        over(3, "big"),
        TABLE.append_column("big", pa.array([2**63 - 1, 1, 0])),
        errors.ResultOverflowError,
        "64 bits",
    ),
    "a sum of uint64 beyond 64 bits": (
        over(3, "big"),
        TABLE.append_column("big", pa.array([2**64 - 1, 1, 0], pa.uint64())),
        errors.ResultOverflowError,
        "64 bits",
    ),
    "peers that cannot be put in order": (
        sf.rolling(on="u", s=sf.first("list").over(3)),
        TABLE.append_column("u", pa.array([1, 1, 1])),
        errors.DataError,
        "use order='input'",
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_runs(name: str) -> None:
    definition, data, error, match = RUNS[name]
    with pytest.raises(error, match=match) as caught:
        definition.run(data)
    assert "\n" not in str(caught.value)
