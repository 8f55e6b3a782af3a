"""Whose state it is: operators are found again by name, and others are refused."""

from __future__ import annotations

import importlib
import os
import pickle
import pickletools
import subprocess
import sys
import textwrap
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import slidefold as sf
from slidefold.algorithms import DabaLite, Recalc
from slidefold.errors import OperatorError, StateError
from slidefold.state import operator_from, operator_header, window_from, window_header
from tests.support import user_operators as user
from tests.support.cases import BUILT_IN, Case
from tests.support.envelopes import opened, sealed
from tests.support.for_each import for_each
from tests.support.unchanged import refused


@for_each("case", BUILT_IN)
def test_built_ins_are_rebuilt(case: Case) -> None:
    header = operator_header(case.operator)
    assert operator_from(header) == case.operator
    assert operator_from(header, case.operator) is case.operator


def test_columns_come_back() -> None:
    for operator in (sf.sum("amount"), sf.max_by("city", "amount", dtype="str"), sf.count("x")):
        assert operator_from(operator_header(operator)) == operator


def test_another_operator_is_refused() -> None:
    a = DabaLite(sf.sum(dtype="int64"))
    a.insert(1)
    data = a.to_bytes()
    for wrong in (sf.sum(), sf.max(dtype="int64"), sf.var(dtype="int64"), user.made(user.Product)):
        with refused(StateError, "got bytes saved with sum of int64"):
            DabaLite.from_bytes(data, wrong)
    assert DabaLite.from_bytes(data, sf.sum("x", dtype="int64")).query() == 1  # columns may differ
    b = DabaLite(sf.var(ddof=0))
    with refused(StateError, "ddof=0", "ddof=1"):
        DabaLite.from_bytes(b.to_bytes(), sf.var())


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "median"},
        {"name": 5},
        {"name": ""},
        {"dtype": "float16"},
        {"dtype": None},
        {"key_dtype": "int64"},
        {"columns": [1]},
        {"columns": ["a", "b"]},
        {"columns": "x"},
        {"params": {"ddof": 1}},
        {"params": []},
        {"version": 2},
        {"module": 5},
        {"module": "os", "name": "system"},
        {"module": "slidefold.definition.operators", "name": "BUILT_IN"},
        {"module": "no.such.module"},
        {"module": ".relative", "name": "x"},
        {"module": "tests.support.user_operators", "name": "times"},
        {"module": "tests.support.user_operators", "name": "Product.lift"},
        {"more": 1},
    ],
)
def test_operators_that_make_no_sense(changes: dict[str, Any]) -> None:
    header, payload = opened(DabaLite(sf.sum()).to_bytes())
    header["operator"].update(changes)
    with refused(StateError):
        DabaLite.from_bytes(sealed(header, payload))


def test_users_operators_are_imported() -> None:
    operator = user.made(user.Product)
    a = DabaLite(operator)
    for n in range(5):
        a.insert(n)
    header, _ = opened(a.to_bytes())
    assert header["operator"]["module"] == "tests.support.user_operators"
    assert header["operator"]["name"] == "Product"
    again = DabaLite.from_bytes(a.to_bytes())
    assert again.operator == operator
    assert again.query() == a.query()


def test_a_local_operator_must_be_given() -> None:
    @sf.operator
    class Local:
        lift = staticmethod(lambda x: x)
        combine = staticmethod(lambda older, newer: older + newer)
        lower = staticmethod(lambda x: x)

    a = Recalc(user.made(Local))
    a.insert("x")
    data = a.to_bytes()
    with refused(StateError, "Local", "pass operators=[Local]"):
        Recalc.from_bytes(data)
    assert Recalc.from_bytes(data, user.made(Local)).query() == "x"
    assert Recalc.from_bytes(data, operators=[Local]).query() == "x"  # type: ignore[list-item]
    assert Recalc.from_bytes(data, operators=[user.made(Local)]).query() == "x"
    with refused(StateError, "Local"):
        Recalc.from_bytes(data, operators=[user.made(user.Product)])
    with refused(StateError, "Local", "Product"):
        Recalc.from_bytes(data, user.made(user.Product))


MODULE = """
import slidefold as sf

@sf.operator(version={version})
class Words:
    lift = staticmethod(lambda word: word)
    combine = staticmethod(lambda older, newer: older + newer)
    lower = staticmethod(lambda words: words)

class Outer:
    @sf.operator
    class Inner:
        lift = staticmethod(lambda x: x)
        combine = staticmethod(lambda older, newer: older)
        lower = staticmethod(lambda x: x)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write a module of operators; the function returns it in a version."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def written(version: int) -> Any:
        (tmp_path / "operators_of_mine.py").write_text(MODULE.format(version=version))
        sys.modules.pop("operators_of_mine", None)
        importlib.invalidate_caches()
        return importlib.import_module("operators_of_mine")

    yield written
    sys.modules.pop("operators_of_mine", None)


def test_versions(module: Any) -> None:
    a = Recalc(module(1).Words())
    a.insert("x")
    data = a.to_bytes()
    assert Recalc.from_bytes(data).query() == "x"
    words = module(2).Words()
    with refused(StateError, "version 1", "version 2", "operators_of_mine.Words"):
        Recalc.from_bytes(data)
    with refused(StateError, "version 1", "version 2"):
        Recalc.from_bytes(data, words)


def test_nested_classes_and_missing_modules(module: Any, tmp_path: Path) -> None:
    a = Recalc(module(1).Outer.Inner())
    a.insert(5)
    data = a.to_bytes()
    assert Recalc.from_bytes(data).query() == 5
    pickled = pickle.dumps(a)
    inner = sys.modules.pop("operators_of_mine").Outer.Inner
    # Bytes import nothing, whatever they name.
    with refused(
        StateError, "operators_of_mine.Outer.Inner", "import operators_of_mine", "operators=[Inner]"
    ):
        Recalc.from_bytes(data)
    assert "operators_of_mine" not in sys.modules
    assert Recalc.from_bytes(data, operators=[inner]).query() == 5
    assert Recalc.from_bytes(data, inner()).query() == 5
    assert pickle.loads(pickled).query() == 5  # imports, as pickle does
    (tmp_path / "operators_of_mine.py").write_text("x = 1")
    sys.modules.pop("operators_of_mine")
    importlib.import_module("operators_of_mine")
    with refused(StateError, "operators_of_mine.Outer.Inner", "does not define"):
        Recalc.from_bytes(data)


@pytest.mark.parametrize("changes", [{"module": "antigravity"}, {"module": "this", "name": "s"}])
def test_bytes_import_nothing(changes: dict[str, str]) -> None:
    header, payload = opened(DabaLite(sf.sum()).to_bytes())
    header["operator"].update(changes)
    with refused(StateError, f"import {changes['module']} first"):
        DabaLite.from_bytes(sealed(header, payload))
    assert changes["module"] not in sys.modules


def test_looking_an_operator_up_runs_no_code(module: Any) -> None:
    mine = module(1)
    mine.__getattr__ = lambda name: pytest.fail(f"asked for {name}")
    header, payload = opened(Recalc(mine.Words()).to_bytes())
    header["operator"]["name"] = "Other"
    with refused(StateError, "operators_of_mine.Other", "does not define"):
        Recalc.from_bytes(sealed(header, payload))


def test_operators_of_a_struct_may_be_given(module: Any) -> None:
    mine = module(1)
    w = sf.Window(sf.struct(words=mine.Words("w"), n=sf.count("w")), sf.rows(2))
    w.push({"w": "a"})
    sys.modules.pop("operators_of_mine")
    with refused(StateError, "operators_of_mine.Words"):
        sf.Window.from_bytes(w.to_bytes())
    for given in ([mine.Words], [sf.max(), mine.Words("w")], [w.plan.operator]):
        again = sf.Window.from_bytes(w.to_bytes(), operators=given)
        assert again.push({"w": "b"}) == {"words": "ab", "n": 2}


@pytest.mark.parametrize("wrong", ["Words", 5, None, ["Words"], [sf.sum], sf.sum()])
def test_what_operators_takes(wrong: Any) -> None:
    with refused(OperatorError, "operators must be a list of operators"):
        DabaLite.from_bytes(DabaLite(sf.sum()).to_bytes(), operators=wrong)


def test_the_main_module(tmp_path: Path) -> None:
    """Pickle finds operators of the main module as it finds classes; from_bytes asks for them."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import pickle
        import slidefold as sf

        @sf.operator
        class Words:
            lift = staticmethod(lambda word: word)
            combine = staticmethod(lambda older, newer: older + newer)
            lower = staticmethod(lambda words: words)

        w = sf.Window(Words(), sf.rows(2))
        w.push("a"), w.push("b")
        print(pickle.loads(pickle.dumps(w)).push("c"))
        print(sf.Window.from_bytes(w.to_bytes(), Words()).push("c"))
        try:
            sf.Window.from_bytes(w.to_bytes())
        except sf.errors.StateError as error:
            print(error)
        """)
    )
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, second, third = done.stdout.splitlines()
    assert (first, second) == ("bc", "bc")
    assert "__main__.Words" in third


@pytest.mark.parametrize("version", ["1", 1.0, None, True])
def test_versions_are_integers(version: Any) -> None:
    class Plain:
        lift = combine = lower = staticmethod(lambda *values: values)

    with refused(OperatorError, "version"):
        sf.operator(version=version)(Plain)


def test_the_bytes_of_two_processes_are_equal() -> None:
    """No hash seed, no address and no padding gets into them."""
    code = textwrap.dedent("""
        import slidefold as sf
        w = sf.Window(sf.max_by(dtype="object"), sf.time(9))
        for t in range(30):
            w.push(t, ({"a": t, "b": (t, None)}, float(t % 7)))
        v = sf.Window(sf.last(), sf.rows(9), algorithm="flat_fat")
        for t in range(30):
            v.push(t)
        print((w.to_bytes() + v.to_bytes()).hex())
    """)
    seen = set()
    for seed in ("1", "2"):
        path = os.pathsep.join(filter(None, sys.path))
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
            check=True,
        )
        seen.add(done.stdout)
    assert len(seen) == 1


def test_windows_are_described() -> None:
    for window in (
        sf.rows(1),
        sf.rows(2**40, closed="left"),
        sf.time(5),
        sf.time(5.0),
        sf.time("1h30m", closed="both"),
        sf.time(timedelta(days=1, microseconds=7), closed="neither"),
    ):
        again = window_from(window_header(window))
        assert again == window
        assert type(getattr(again, "range", 0)) is type(getattr(window, "range", 0))


def test_pickles_hold_no_code() -> None:
    """A pickle names one function, one class and bytes."""
    data = pickle.dumps(sf.Window(sf.max(), sf.rows(3)), 2)
    named = {arg for op, arg, _ in pickletools.genops(data) if op.name == "GLOBAL"}
    assert named == {"slidefold.state.restore restore_pickled", "slidefold.window Window",
                     "_codecs encode"}  # fmt: skip
