"""The package as a whole: names, imports, docs, registries, and who enters Python."""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import re
import subprocess
import sys
import threading
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import slidefold as sf
from slidefold import _native, reference
from slidefold.definition.operators import BUILT_IN
from slidefold.reference import operators as plain
from tests.support.algorithms import OFFERS, REGISTERED, fitting, make
from tests.support.cases import BUILT_IN as CASES
from tests.support.cases import BY_ID, Case
from tests.support.for_each import for_each

LISTING = (
    "collect",
    "collect_distinct",
    "bloom",
    "histogram",
    "m4",
    "top_k",
    "count_min",
    "moments",
    "naive_bayes",
)
MODULES = [
    module.name
    for module in pkgutil.walk_packages(sf.__path__, "slidefold.")
    if not module.name.startswith(("slidefold._native", "slidefold.cli", "slidefold.spark"))
]


def run_python(code: str) -> str:
    """Run code in a fresh interpreter with this one's path."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class TestImports:
    def test_without_optional_packages(self) -> None:
        """slidefold needs neither pyspark nor numba nor pandas, and imports none of them."""
        code = """
import sys
OPTIONAL = {"pyspark", "py4j", "numba", "llvmlite", "pandas", "polars", "datasketches"}

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in OPTIONAL:
            raise ModuleNotFoundError(f"{name} is blocked")

sys.meta_path.insert(0, Blocker())
import slidefold as sf
w = sf.Window(sf.max(), sf.rows(2))
assert [w.push(x) for x in (1.0, 3.0, 2.0)] == [1.0, 3.0, 3.0]
import slidefold.reference
print(sorted(OPTIONAL & set(sys.modules)))
"""
        assert run_python(code).strip() == "[]"

    def test_only_one_door_to_the_native_module(self) -> None:
        source = Path(sf.__file__).parent
        for path in source.rglob("*.py"):
            if path.name != "_native.py":
                text = path.read_text(encoding="utf-8")
                assert not re.search(r"^\s*(from|import) .*_native_ext", text, re.M), path.name

    def test_the_import_is_quick_because_engines_come_later(self) -> None:
        loaded = "import slidefold, sys; print([m for m in sys.modules if 'compute' in m])"
        done = subprocess.run(
            [sys.executable, "-c", loaded], check=False, capture_output=True, text=True
        )
        assert done.stdout.strip() == "[]", done.stdout + done.stderr

    def test_typed(self) -> None:
        assert files(sf).joinpath("py.typed").is_file()
        assert files(sf).joinpath("_native_ext.pyi").is_file()


class TestNames:
    def test_public_names_are_listed(self) -> None:
        ours = {
            name
            for name in dir(sf)
            if not name.startswith("_")
            and str(getattr(getattr(sf, name), "__module__", "")).startswith("slidefold")
        }
        assert ours | {"algorithms", "errors"} == set(sf.__all__)
        assert len(sf.__all__) == len(set(sf.__all__))
        assert list(sf.__all__) == sorted(sf.__all__)

    @for_each("name", MODULES)
    def test_all_of_every_module_exists(self, name: str) -> None:
        module = importlib.import_module(name)
        assert module.__doc__
        for public in getattr(module, "__all__", []):
            assert hasattr(module, public)

    def test_errors_are_what_they_resemble(self) -> None:
        kinds = [e for e in vars(sf.errors).values() if isinstance(e, type)]
        for kind in kinds:
            assert issubclass(kind, sf.errors.SlidefoldError)
            if kind is not sf.errors.SlidefoldError:
                assert len(kind.__bases__) == 2
                assert kind.__bases__[1].__module__ == "builtins"
            assert kind.__doc__

    def test_version(self) -> None:
        assert re.fullmatch(r"\d+\.\d+\.\d+", sf.__version__)


class TestDocs:
    @pytest.mark.parametrize("name", [n for n in sf.__all__ if n not in ("algorithms", "errors")])
    def test_public_things_have_docs(self, name: str) -> None:
        thing = getattr(sf, name)
        doc = thing.__doc__
        assert doc, name
        if not isinstance(thing, type):
            assert ">>>" in doc, f"{name} shows no example"

    @pytest.mark.parametrize("name", REGISTERED)
    def test_algorithms_have_docs(self, name: str) -> None:
        cls = REGISTERED[name]
        assert cls.__doc__
        assert cls.__doc__ != sf.algorithms.Algorithm.__doc__


# The operators of the papers have a plain version each; the truth of the others, in
# tests/support/more_cases.py, is one line of Python.
PLAIN = [
    *("count", "sum", "min", "max", "mean", "geomean", "var", "std"),
    *("max_by", "min_by", "max_count", "min_count", "first", "last", "concat", "collect"),
]


NO_MONOIDS = ("median", "quantile", "distinct", "mode", "entropy", "most_frequent")


class TestRegistries:
    def test_every_native_algorithm_has_a_class(self) -> None:
        native = {name for name, _, _ in _native.algorithms()}
        assert native <= {*sf.algorithms.REGISTRY}
        assert {*sf.algorithms.REGISTRY} <= {*REGISTERED}
        for name, cls in REGISTERED.items():
            assert getattr(cls, "name", name) == name
            assert cls.__name__ in sf.algorithms.__all__

    def test_the_table_of_the_tests_is_complete(self) -> None:
        """An algorithm without a line in tests/support/algorithms.py would be passed over."""
        assert {*REGISTERED} <= {*OFFERS}
        native = {name: (inv, sel) for name, inv, sel in _native.algorithms()}
        for name, cls in REGISTERED.items():
            offers = OFFERS[name]
            if name in native:
                assert native[name] == (offers.needs == "invertible", offers.needs == "selective")
            steps = ("insert", "evict", "query", "copy", "slide", "check")
            for method in ("push",) if offers.pushes else steps:
                assert callable(getattr(cls, method)), (name, method)
            for extra in offers.extras:
                assert hasattr(cls, extra), (name, extra)

    def test_every_algorithm_has_its_plain_version(self) -> None:
        for cls in REGISTERED.values():
            assert cls.__name__ in reference.__all__

    def test_every_operator_has_its_cases(self) -> None:
        tried = {(case.operator.name, case.operator.dtype) for case in CASES}
        # Those that no algorithm folds have tests of their own (operators/test_order.py).
        assert {name for name, _ in tried} == {n for n in BUILT_IN if n not in NO_MONOIDS}
        functions: dict[str, Any] = {
            **BUILT_IN,
            "histogram": partial(sf.histogram, edges=(0, 1)),
            "decayed_mean": partial(sf.decayed_mean, half_life=1),
            "decayed_sum": partial(sf.decayed_sum, half_life=1),
        }
        for name, function in functions.items():
            if name in NO_MONOIDS:
                continue
            for dtype in ("bool", "float64", "int64", "str", "object"):
                try:
                    made = function(dtype=dtype)
                except (TypeError, ValueError):
                    continue
                if made.codings or made.native_name.startswith("text_"):
                    continue  # types have tests of their own (operators/test_types.py)
                assert (name, dtype) in tried, f"no case for {name} of {dtype}"

    def test_every_operator_has_its_plain_version(self) -> None:
        for name in PLAIN:
            camel = "".join(part.capitalize() for part in name.split("_"))
            assert hasattr(plain, camel), f"slidefold.reference.operators lacks {camel}"

    def test_every_operator_is_public(self) -> None:
        for name, function in BUILT_IN.items():
            assert getattr(sf, name) is function


def python_calls(run: Any) -> int:
    """Count the calls of Python functions while something runs."""
    calls = 0

    def profile(_frame: Any, event: str, _arg: Any) -> None:
        nonlocal calls
        calls += event == "call"

    previous = sys.getprofile()
    gc.disable()  # its callbacks are Python functions too
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(previous)
        gc.enable()
    return calls - 1  # for `run` itself, a lambda


class TestEnteringPython:
    @pytest.mark.parametrize("name", NO_MONOIDS)
    def test_order_statistics_do_not_either(self, name: str) -> None:
        values = [float(i * 7919 % 101) for i in range(200)]
        function: Any = BUILT_IN[name]
        window = sf.Window(function(), sf.rows(7))
        assert python_calls(lambda: [window.push(value) for value in values]) <= 1

    @for_each("case", CASES)
    def test_no_built_in_calls_python_for_a_row(self, case: Case) -> None:
        values = case.stream(200)
        column = case.kind.column(values)
        for name in fitting(case.operator):
            algorithm = make(name, case.operator)
            assert python_calls(lambda a=algorithm: a.slide(column, 7)) == 0, name
            assert python_calls(lambda a=algorithm: a.slide(column, 7, drain=True)) == 0, name
            assert python_calls(lambda a=algorithm: a.latencies(column, 7)) == 0, name
        window = sf.Window(case.operator, sf.rows(7))
        assert python_calls(lambda: [window.push(value) for value in values]) <= 1

    def test_a_users_operator_is_seen_calling(self) -> None:
        """The counter counts: a user's operator enters Python for every row."""
        case = BY_ID["user-product"]
        algorithm = make("daba_lite", case.operator)
        assert python_calls(lambda: algorithm.slide(case.stream(200), 7)) > 200

    @pytest.mark.sampled(6)
    @pytest.mark.parametrize(
        "case_id",
        [
            case.id
            for case in CASES
            if case.operator.dtype in ("float64", "int64", "any", "bool")
            and case.operator.name not in LISTING  # results are made in Python
            and "keep" not in case.id
        ],
    )
    def test_slide_lets_other_threads_run(self, case_id: str) -> None:
        """While a column slides, a thread that waits for the interpreter gets it.

        The switch interval is so long that no thread gets the interpreter unless another one
        lets go of it; nothing but slide does, between starting the signal and reading it.
        """
        case = BY_ID[case_id]
        names = fitting(case.operator)
        column = case.kind.column(10 * list(case.stream(20_000)))  # long enough for a busy machine
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1000.0)
        try:
            for name in names:
                slide = make(name, case.operator).slide
                assert any(_ran_during(lambda s=slide: s(column, 50)) for _ in range(200)), name
        finally:
            sys.setswitchinterval(interval)

    def test_the_signal_is_quiet_where_the_interpreter_is_held(self) -> None:
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1000.0)
        try:
            assert not any(_ran_during(lambda: sum(range(100_000))) for _ in range(5))
        finally:
            sys.setswitchinterval(interval)


def _ran_during(run: Any) -> bool:
    """Tell whether a waiting thread got the interpreter while `run` ran."""
    gate = threading.Lock()
    gate.acquire()
    seen: list[bool] = []

    def wait() -> None:
        with gate:
            seen.append(True)

    thread = threading.Thread(target=wait)
    thread.start()
    gate.release()
    run()
    ran = bool(seen)
    thread.join()
    return ran
