"""DESIGN's rules as small cases whose answers were worked out by hand: the columns engine."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import slidefold as sf
from tests.support.golden import Case, cases, equal

CASES = cases()


def check(case: Case, data: pa.Table, shuffle: list[int] | None = None) -> None:
    found = sf.Rolling.from_dict(case.definition).run(data)
    names = list(case.expect.column_names)
    if "every" not in case.definition:
        assert found.column_names == [*data.column_names, *names]
        assert all(equal(found[name], data[name]) for name in data.column_names)
    else:
        assert found.column_names == names
    for name in names:
        expected = case.expect[name]
        if shuffle is not None:
            expected = expected.take(pa.array(shuffle, pa.int64()))
        got = found[name]
        assert equal(got, expected), f"{name}: {got.type} {got.to_pylist()}"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_run(case: Case) -> None:
    check(case, case.data)


@pytest.mark.parametrize("case", [c for c in CASES if "every" not in c.definition], ids=str)
def test_results_do_not_depend_on_arrival(case: Case) -> None:
    """Shuffled rows get the same results, each in its place."""
    if case.definition.get("order") == "input":
        return
    rows = list(range(case.data.num_rows))
    random.Random(7).shuffle(rows)
    check(case, case.data.take(pa.array(rows, pa.int64())), rows)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_definitions_survive_their_dict(case: Case) -> None:
    definition = sf.Rolling.from_dict(case.definition)
    assert sf.Rolling.from_dict(definition.to_dict()) == definition
    assert hash(definition) == hash(sf.Rolling.from_dict(definition.to_dict()))


def test_there_are_enough_of_them_and_all_have_names() -> None:
    assert len(CASES) >= 80
    assert len({case.name for case in CASES}) == len(CASES)
