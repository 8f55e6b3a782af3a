"""Definitions on their way to workers: by name, by value, once a process. No session is needed."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import OperatorError
from tests.support.lopsided import lopsidedness
from tests.support.user_operators import Longest

pytestmark = pytest.mark.spark


def local_operator(scale: float) -> Any:
    @sf.operator(state={"sum": "f8"}, returns="f8", compile="never", commutative=True, version=3)
    class Scaled(sf.Fold):
        identity = staticmethod(lambda: (0.0,))
        lift = staticmethod(lambda x: (scale * x,))
        combine = staticmethod(lambda a, b: (a.sum + b.sum,))
        lower = staticmethod(lambda s: s.sum)

    return Scaled


def test_what_a_module_has_travels_by_name() -> None:
    operator: Any = Longest("word")  # type: ignore[call-arg]
    data = pickle.dumps(operator)
    assert pickle.loads(data) == operator
    assert pickle.loads(data).definition is operator.definition
    assert len(data) < 1000  # no code in it


def test_what_has_no_name_travels_by_value() -> None:
    """Another process, which has never seen the class, gets its functions and its options."""
    from slidefold.spark.worker import Shipped

    definition = sf.rolling(on="t", r=local_operator(10.0)("x").over(sf.time(2)))
    code = (
        "import sys, pickle, pyarrow as pa\n"
        "d = pickle.loads(sys.stdin.buffer.read())\n"
        "print(d.run(pa.table({'t': [1, 2, 3], 'x': [1.0, 2.0, 4.0]}))['r'].to_pylist())\n"
        "o = d.columns['r'].operator\n"
        "print(o.version, o.definition.commutative, o.definition.compile)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=Shipped(definition).data,
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode().splitlines() == ["[10.0, 30.0, 60.0]", "3 True never"]


def test_a_process_unpickles_once() -> None:
    from slidefold.spark.worker import Shipped

    shipped = Shipped(sf.rolling(on="t", r=local_operator(2.0)("x").over(3)))
    first = shipped.load()
    again = pickle.loads(pickle.dumps(shipped)).load()
    assert first is again
    assert first.columns["r"].operator.definition is again.columns["r"].operator.definition


def test_what_cannot_travel_says_so() -> None:
    from slidefold.spark.worker import Shipped

    lock = Lock()

    @sf.operator
    class Holding(sf.Fold):
        lift = staticmethod(lambda x: (lock, x)[1])
        combine = staticmethod(lambda a, b: a + b)
        lower = staticmethod(lambda s: s)

    with pytest.raises(OperatorError, match="the definition cannot be pickled for Spark's workers"):
        Shipped(sf.rolling(on="t", r=Holding("x").over(3)))


def test_a_new_operator_runs_in_batches_and_streams(spark: Any, tmp_path: Path) -> None:
    """One record and one class are enough: tests/columns/test_new_operator.py has the rest."""
    from tests.columns.test_new_operator import DUE, TABLE
    from tests.spark.support import frame
    from tests.support.streams import Files, drain, written

    times = TABLE["t"].cast(pa.timestamp("s")).cast(pa.timestamp("us", "UTC"))
    table = TABLE.set_column(0, "t", times)
    features = sf.rolling(on="t", skew=lopsidedness("x").over("20s"))
    batch = features.run(frame(spark, table), partitions=3).toArrow().sort_by("t")
    assert batch["skew"].to_pylist() == pytest.approx(DUE)
    files = Files(tmp_path / "in")
    files.add(table.slice(0, 30), table.slice(30))
    drain(features.run(files.stream(spark, "5 seconds", "t")), tmp_path)
    final = written(spark, tmp_path).sort_by("t")["skew"].to_pylist()
    assert len(final) >= 50
    assert final == pytest.approx(DUE[: len(final)])
