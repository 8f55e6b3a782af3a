"""The operators of the matrix: every one of the registry, with parameters and its oracle.

A new entry of the registry has no case, and a test says so.
"""

from __future__ import annotations

import operator as plain
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from inspect import signature
from itertools import pairwise
from typing import Any

import pyarrow as pa

import slidefold as sf
from slidefold.definition.operators import NAMED, RECORDS, Operator
from tests.matrix import asked, comparing, oracle, sketched, tallied
from tests.matrix.asked import Asked
from tests.matrix.comparing import Check, same
from tests.matrix.values import FLOAT, INT, TEXT, Kind
from tests.matrix.windows import Length, Window
from tests.support.declared_operators import OPTIONS, LongestRise

Fold = Callable[[Any, Any], Any]
EDGES = (-10.0, 0.0, 2.0, 7.0, 50.0)
_FIXED = {"n": INT, "f": FLOAT, "s": TEXT}


@dataclass(frozen=True)
class Case:
    """An operator with its parameters: the columns it reads, its fold, and how results compare."""

    name: str
    registered: str  # its name in the registry, or "struct" or "user"
    make: Callable[..., Any]
    fold: Fold
    columns: tuple[str, ...] = ("x",)  # "x" is of the type under test, others are fixed
    check: Check = same
    keeps_nulls: bool = False
    empty: Any = None  # the result where there is nothing to fold
    type_of: Callable[[Kind], Any] | None = None  # of the result, where the documentation says so
    parts: tuple[tuple[str, Case], ...] = ()
    asks: Callable[[Asked, Kind], Any] | None = None  # instead of `fold`, if that does not do
    own: Window | None = None  # its window, if it has one already
    reads_row: bool = False  # so that `every=` does not take it
    spans: bool = False  # whether results are spans of time
    events: bool = True  # whether `sf.Window` folds it

    @property
    def grows(self) -> bool:
        """Whether its state grows with the number of rows, so that no lifetime window takes it."""
        return self.registered in RECORDS and RECORDS[self.registered].grows

    def kinds(self, kind: Kind) -> tuple[Kind, ...]:
        """Return the types of the columns, where that under test is `kind`."""
        return tuple(_FIXED.get(name, kind) for name in self.columns)

    def over(self, window: Window, length: Length) -> Any:
        """Return the operator over the columns of a table and a window."""
        made = self.make(*self.columns)
        return made if self.own else window.over(made, length)

    def live(self, kind: Kind) -> Operator:
        """Return the operator of events; column names say what is not counted."""
        kinds = self.kinds(kind)
        known = signature(self.make).parameters
        words = ("dtype", "key_dtype")[: len(kinds)]
        said = {
            word: given.dtype for word, given in zip(words, kinds, strict=True) if word in known
        }
        made: Operator = self.make(*self.columns, **said)
        return made

    def result(self, rows: list[tuple[Any, ...]], kind: Kind, least: int = 1) -> Any:
        """Return the result over rows of these columns; null below `least` values."""
        if self.parts:
            return {name: part.result(rows, kind, least) for name, part in self.parts}
        there = [row for row in rows if None not in row]
        if len(rows if not self.columns else there) < least and (least > 1 or not self.keeps_nulls):
            return self.empty if least == 1 else None
        given = rows if self.keeps_nulls else there
        if not given:
            return self.empty
        if len(self.columns) == 1:
            return self.fold([row[0] for row in given], kind)
        return self.fold(given, self.kinds(kind))

    def agrees(self, got: Any, expected: Any, rows: list[tuple[Any, ...]], kind: Kind) -> bool:
        """Tell whether a result is what the oracle says."""
        if self.parts:
            if not isinstance(got, dict):
                return False
            return all(p.agrees(got[n], expected[n], rows, kind) for n, p in self.parts)
        if type(got) is type(expected) and got is not None and got == expected:
            return True
        there = [row for row in rows if None not in row]
        if self.check is tallied.near_weighted:
            return tallied.near_weighted(got, expected, there)
        if got is None or expected is None:
            return same(got, expected)
        if self.asks is not None:
            return self.check(got, expected, [row[0] for row in there if row])
        if not there or not self.columns:
            return same(got, expected)
        values: Any = [row[0] for row in there]
        if len(self.columns) == 2:
            values = [*zip(*oracle.pair(there, self.kinds(kind)), strict=True)]
        return self.check(got, expected, values)

    def __str__(self) -> str:
        return self.name


def _keeps(make: Any, **said: Any) -> Callable[..., Any]:
    """Return a maker with parameters, whose signature still tells its dtypes."""
    made = partial(make, **said)
    known = signature(make)
    kept = [p for name, p in known.parameters.items() if name not in said]
    made.__signature__ = known.replace(parameters=kept)  # type: ignore[attr-defined]
    return made


def _simple(name: str, fold: Any, check: Check = same, **more: Any) -> Case:
    return Case(name, name, getattr(sf, name), fold, check=check, **more)


def _top(kind: Kind) -> Any:
    return pa.list_(oracle.compared_type(kind))


def _listed(kind: Kind) -> Any:
    return pa.list_(kind.arrow)


def _fixed(arrow: Any) -> Callable[[Kind], Any]:
    return lambda kind: None if kind.family == "null" else arrow


def _always(arrow: Any) -> Callable[[Kind], Any]:
    return lambda kind: arrow


def _pairs(name: str, fold: Any, check: Check, **said: Any) -> list[Case]:
    """Return a case for each column of an operator of two: the other one is of integers."""
    spelled = " ".join(f"{word}={value}" for word, value in said.items())
    made = _keeps(getattr(sf, name), **said)
    return [
        Case(f"{name} {spelled} {columns}".replace("  ", " "), name, made, fold, columns, check)
        for columns in (("x", "n"), ("n", "x"))
    ]


@sf.operator
class Ends:
    """How many values there are, and whether the first equals the last; does not commute."""

    lift = staticmethod(lambda x: (1, x, x))
    combine = staticmethod(lambda older, newer: (older[0] + newer[0], older[1], newer[2]))
    lower = staticmethod(lambda state: 10 * state[0] + bool(state[1] == state[2]))


def _longest_rise(values: Any, kind: Kind) -> int:
    best = run = 1
    for older, newer in pairwise(values):
        run = 1 if float(older) >= float(newer) else run + 1
        best = max(best, run)
    return best


_DECLARED = sf.operator(**OPTIONS[LongestRise], compile="never")(LongestRise)


def _declared(*columns: str) -> Any:
    return _DECLARED(*columns)


def _ends(values: Any, kind: Kind) -> int:
    return 10 * len(values) + bool(values[0] == values[-1])


def _adding() -> list[Case]:
    cases = [
        Case(
            "count()", "count", sf.count, lambda rows, _: len(rows), (), keeps_nulls=True, empty=0
        ),
        _simple("count", lambda values, _: len(values), empty=0),
        _simple("sum", oracle.total, comparing.near_sum, type_of=oracle.sum_type),
        Case(
            "sum compensated",
            "sum",
            _keeps(sf.sum, compensated=True),
            oracle.total,
            check=comparing.near_sum,
        ),
        _simple("mean", oracle.mean, comparing.near_average, type_of=oracle.mean_type),
        _simple("geomean", oracle.geomean, comparing.relative, type_of=_fixed(pa.float64())),
        _simple("relative_variation", oracle.relative_variation, comparing.near_ratio),
        _simple("range", oracle.apart, comparing.near_sum),
    ]
    for ddof in (0, 1):
        for name, fold in (("var", oracle.variance), ("std", oracle.deviation)):
            made = _keeps(getattr(sf, name), ddof=ddof)
            folded = partial(fold, ddof=ddof)
            label = f"{name} ddof={ddof}"
            double = _fixed(pa.float64())
            cases.append(Case(label, name, made, folded, check=comparing.relative, type_of=double))
        covariance = partial(oracle.covariance, ddof=ddof)
        cases += _pairs("covariance", covariance, comparing.near_product, ddof=ddof)
    cases += _pairs("correlation", oracle.correlation, comparing.near_one)
    cases += _pairs("trend", oracle.trend, comparing.near_slope)
    cases += _pairs("weighted_mean", tallied.weighted, tallied.near_weighted)
    for name, decays, check in (
        ("decayed_mean", oracle.decayed_mean, comparing.near_mean),
        ("decayed_sum", tallied.decayed_sum, comparing.near_sum),
    ):
        cases += _pairs(name, partial(decays, half_life=10.0), check, half_life=10.0)
    double = _fixed(pa.float64())
    for name, power in (("skewness", 3), ("kurtosis", 4)):
        shape = partial(tallied.shape, power=power)
        cases.append(_simple(name, shape, tallied.near_shape, type_of=double))
    return cases


def _comparing() -> list[Case]:
    picked = oracle.compared_type
    quantiles = [(0.25, how) for how in oracle.INTERPOLATIONS] + [(0.9, "linear")]
    return [
        _simple("min", oracle.smallest, type_of=picked),
        _simple("max", oracle.largest, type_of=picked),
        _simple("min_count", partial(oracle.times, pick=min)),
        _simple("max_count", partial(oracle.times, pick=max)),
        Case("top_k", "top_k", _keeps(sf.top_k, k=2), partial(oracle.top, k=2), type_of=_top),
        _simple("m4", oracle.m4),
        *_pairs("max_by", partial(oracle.by, sign=1), same),
        *_pairs("min_by", partial(oracle.by, sign=-1), same),
        *(
            Case(
                f"median {how}",
                "median",
                _keeps(sf.median, interpolation=how),
                partial(oracle.quantile, q=0.5, how=how),
                check=comparing.near_quantile,
            )
            for how in ("linear", "lower")
        ),
        *(
            Case(
                f"quantile {q} {how}",
                "quantile",
                _keeps(sf.quantile, q=q, interpolation=how),
                partial(oracle.quantile, q=q, how=how),
                check=comparing.near_quantile,
            )
            for q, how in quantiles
        ),
    ]


def _counting() -> list[Case]:
    frequent = [
        Case(
            f"most_frequent {k}",
            "most_frequent",
            _keeps(sf.most_frequent, k=k),
            partial(tallied.most_frequent, k=k),
            type_of=tallied.frequent_type,
        )
        for k in (1, 3)
    ]
    return [
        _simple("distinct", tallied.distinct, type_of=_fixed(pa.int64())),
        _simple("mode", tallied.mode, type_of=oracle.compared_type),
        _simple("entropy", tallied.entropy, comparing.relative, type_of=_fixed(pa.float64())),
        *frequent,
    ]


def _asked(name: str, make: Any, columns: tuple[str, ...], fold: Any, **more: Any) -> Case:
    """Return an operator that looks at the row that asks, or at the end of the window."""
    return Case(name, name.split()[0], make, _nothing, columns, asks=fold, events=False, **more)


def _nothing(values: Any, kind: Any) -> None:
    raise AssertionError("the values of the window are not enough")


def _asking() -> list[Case]:
    faded: Any = {"half_life": 10.0}
    near_sum, near_count = comparing.near_sum, comparing.relative
    cases = [
        _asked("since_last", sf.since_last, (), asked.since_last, spans=True),
        _asked("since_first", sf.since_first, (), asked.since_first, spans=True),
        _asked("longest_gap", sf.longest_gap, (), asked.longest_gap, spans=True),
        _asked(
            "decayed_sum of ages",
            lambda x: sf.decayed_sum(x, "t", **faded),
            ("x",),
            partial(asked.decayed_sum, **faded),
            check=near_sum,
        ),
        _asked(
            "decayed_count",
            lambda: sf.decayed_count("t", **faded),
            (),
            partial(asked.decayed_count, **faded),
            check=near_count,
        ),
    ]
    for name, fold in (("since_last", asked.since_last), ("since_first", asked.since_first)):

        def with_values(at: Asked, kind: Kind, fold: Any = fold) -> Any:
            return fold(at, kind, "x")

        cases.append(_asked(f"{name} x", getattr(sf, name), ("x",), with_values, spans=True))
    for method, pct in (("average", False), ("min", False), ("max", False), ("average", True)):
        made = partial(sf.rank, method=method, pct=pct)
        placed = partial(asked.rank, method=method, pct=pct)
        label = f"rank {method}{' pct' if pct else ''}"
        double = _always(pa.float64())
        cases.append(_asked(label, made, ("x",), placed, reads_row=True, type_of=double))
    for n in (1, 3):
        own: Any = {"own": Window("rows", n, "left"), "reads_row": True}
        for name, looks, check, kind in (
            ("lag", asked.lag, same, oracle.pick_type),
            ("change", asked.change, same, None),
            ("ratio_change", asked.ratio_change, asked.near_ratio, _always(pa.float64())),
        ):
            made, folded = partial(getattr(sf, name), n=n), partial(looks, n=n)
            case = _asked(f"{name} {n}", made, ("x",), folded, check=check, type_of=kind, **own)
            cases.append(case)
    return cases


def _telling_order() -> list[Case]:
    cases = [
        _simple("first", lambda values, _: values[0], type_of=oracle.pick_type),
        _simple("last", lambda values, _: values[-1], type_of=oracle.pick_type),
        _simple("nth", partial(oracle.nth, n=1), type_of=oracle.pick_type),
        Case("nth 2", "nth", _keeps(sf.nth, n=2), partial(oracle.nth, n=2)),
        _simple("collect", lambda values, _: [*values], type_of=_listed),
        _simple("collect_distinct", oracle.distinct, type_of=_listed),
        _simple("concat", lambda values, _: "".join(values), type_of=oracle.text_type),
        Case("longest_gap x", "longest_gap", sf.longest_gap, tallied.longest_gap),
    ]
    for name in ("first", "last", "collect"):
        case = next(case for case in cases if case.name == name)
        made = _keeps(getattr(sf, name), nulls="keep")
        cases.append(Case(f"{name} keep", name, made, case.fold, keeps_nulls=True))
    kept = _keeps(sf.nth, n=2, nulls="keep")
    return [*cases, Case("nth 2 keep", "nth", kept, partial(oracle.nth, n=2), keeps_nulls=True)]


def _looking() -> list[Case]:
    return [
        _simple("any", partial(oracle.truth, how=any), type_of=_fixed(pa.bool_())),
        _simple("all", partial(oracle.truth, how=all), type_of=_fixed(pa.bool_())),
        _simple("bit_and", partial(oracle.bits, how=plain.and_)),
        _simple("bit_or", partial(oracle.bits, how=plain.or_)),
        _simple("bit_xor", partial(oracle.bits, how=plain.xor)),
        Case(
            "histogram",
            "histogram",
            _keeps(sf.histogram, edges=EDGES),
            partial(oracle.bins, edges=EDGES),
        ),
    ]


def _sketching() -> list[Case]:
    bayes = [
        Case(f"naive_bayes {columns}", "naive_bayes", sf.naive_bayes, oracle.counts, columns, check)
        for columns in (("x", "s"), ("s", "x"))
        for check in (sketched.same_counts,)
    ]
    blooms = _keeps(sf.bloom, bits=512)
    few = _keeps(sf.count_min, epsilon=0.05)
    return [
        Case("bloom", "bloom", blooms, sketched.values_once, check=sketched.same_filter),
        Case("count_min", "count_min", few, sketched.values_all, check=sketched.same_sketch),
        _simple("approx_distinct", sketched.values_once, sketched.same_distinct),
        _simple("moments", sketched.summary, sketched.same_summary),
        *bayes,
        _simple("approx_quantile", partial(oracle.kll, q=0.5), comparing.relative),
        _simple("theta", sketched.values_once, sketched.same_theta),
        _simple("frequent_items", sketched.frequent, sketched.same_items),
    ]


def _combined() -> list[Case]:
    by_name = {case.name: case for case in (*_adding(), *_comparing(), *_telling_order())}
    parts = {"n": by_name["count"], "low": by_name["min"], "old": by_name["first"]}

    def struct(column: str, dtype: str = "float64") -> Any:
        low, old = sf.min(column, dtype=dtype), sf.first(column, dtype=dtype)
        return sf.struct(n=sf.count(column), low=low, old=old)

    return [
        Case("struct", "struct", struct, _ends, parts=tuple(parts.items())),
        Case("user plain", "user", Ends, _ends),
        Case("user declared", "user", _declared, _longest_rise),
    ]


CASES: tuple[Case, ...] = (
    *_adding(),
    *_comparing(),
    *_counting(),
    *_telling_order(),
    *_asking(),
    *_looking(),
    *_sketching(),
    *_combined(),
)
MISSING = [name for name in NAMED if name not in {case.registered for case in CASES}]
