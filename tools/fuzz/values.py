"""Every operator of the registry with every type that it supports, and values to fold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from inspect import signature
from random import Random
from typing import Any

import slidefold as sf
from slidefold.definition.operators import NAMED, RECORDS
from slidefold.errors import SlidefoldError
from tools.fuzz.operators import Composed

Draw = Callable[[Random], Any]
EPOCH = datetime(2024, 1, 1)


def _moment(rng: Random) -> timedelta:
    return timedelta(seconds=rng.getrandbits(8), microseconds=rng.getrandbits(2))


DRAWS: dict[str, Draw] = {
    "float64": lambda rng: rng.choice([rng.getrandbits(4) / 4 - 1, 1e300, float("nan"), -0.0]),
    "int64": lambda rng: rng.choice([rng.getrandbits(4) - 4, 2**63 - 1, -(2**63), 2**53 + 1]),
    "str": lambda rng: rng.choice(["", "a", "b", "é", "word", "🐌"]),
    "object": lambda rng: rng.choice([(1, None), "x", {"k": [1.5]}, 2**70, b"\0", None]),
    "bool": lambda rng: rng.random() < 0.5,
    "int8": lambda rng: rng.getrandbits(8) - 128,
    "uint64": lambda rng: rng.choice([0, 5, 2**64 - 1, 2**63]),
    "float32": lambda rng: rng.getrandbits(4) / 8,
    "date": lambda rng: date(2024, 1, 1 + rng.getrandbits(4)),
    "timestamp": lambda rng: EPOCH + _moment(rng),
    "timestamp[UTC]": lambda rng: (EPOCH + _moment(rng)).replace(tzinfo=UTC),
    "duration": _moment,
    "binary": lambda rng: rng.randbytes(2),
    "decimal(9, 2)": lambda rng: Decimal(rng.getrandbits(12)) / 4,
    "decimal(30, 2)": lambda rng: Decimal(rng.getrandbits(70)) * 100,
}
_SMALL: dict[str, dict[str, Any]] = {  # small parameters, so that a few values fill a sketch
    "bloom": {"bits": 256},
    "count_min": {"epsilon": 0.3, "confidence": 0.9},
    "approx_distinct": {"precision": 5},
    "top_k": {"k": 3},
    "most_frequent": {"k": 3},
    "nth": {"n": 3},
    "histogram": {"edges": [0, 1, 2.5, 9]},
    "decayed_mean": {"half_life": 10},
    "decayed_sum": {"half_life": 10},
    "moments": {"k": 4},
    "theta": {"lg_k": 5},
    "frequent_items": {"lg_max_k": 3},
    "approx_quantile": {"k": 8},
}


@dataclass(frozen=True)
class Valued:
    """An operator, and a function that draws values for it."""

    operator: Any
    draw: Draw
    user: bool = False  # a user operator may fail on states that it did not create

    @property
    def two(self) -> bool:
        """Whether a batch of values is a tuple of columns."""
        return bool(self.operator.record.pair)


@sf.operator(state={"n": "i8", "sum": "f8", "any": "b1"}, returns="f8", commutative=True)
class Mean:
    """A user operator with declared fields, which numba compiles."""

    @staticmethod
    def identity() -> tuple[int, float, bool]:
        return 0, 0.0, False

    @staticmethod
    def lift(x: float) -> tuple[int, float, bool]:
        return 1, x, True

    @staticmethod
    def combine(a: Any, b: Any) -> tuple[int, float, bool]:
        return a.n + b.n, a.sum + b.sum, a.any or b.any

    @staticmethod
    def lower(s: Any) -> float:
        return s.sum / s.n if s.n else 0.0


def _pair(first: Draw, second: Draw) -> Draw:
    return lambda rng: (first(rng), second(rng))


def _named(name: str) -> dict[str, Valued]:
    """Return an operator of the registry with every type that it supports."""
    function: Any = NAMED[name]
    takes, params = signature(function).parameters, _SMALL.get(name, {})
    if "dtype" not in takes:
        draws = {"concat": "str", "bit_and": "int64", "bit_or": "int64", "bit_xor": "int64"}
        sketched = {"approx_quantile": "int8", "theta": "str", "frequent_items": "str"}
        draw = DRAWS[{**draws, **sketched}.get(name, "object")]
        try:
            return {name: Valued(function(**params), draw)}
        except SlidefoldError:
            return {}
    variants = {}
    for dtype in DRAWS:
        for key_dtype in DRAWS if "key_dtype" in takes else [""]:
            arguments = {**params, "dtype": dtype}
            if key_dtype:
                arguments["key_dtype"] = key_dtype
            try:
                operator = function(**arguments)
                operator.traits  # noqa: B018 - some pairs of types are refused here
            except SlidefoldError:
                continue
            draw = DRAWS[dtype]
            if key_dtype:
                draw = _pair(draw, DRAWS[key_dtype])
            types = ", ".join(filter(None, (dtype, key_dtype)))
            variants[f"{name}({types})"] = Valued(operator, draw)
    return variants


def _all() -> dict[str, dict[str, Valued]]:
    # Operators that need a missing package are left out.
    folded = [name for name, record in RECORDS.items() if record.events]
    families = {name: variants for name in folded if (variants := _named(name))}
    for name, function in (("first", sf.first), ("collect", sf.collect)):
        families[name][f"{name}(nulls)"] = Valued(
            function(dtype="int64", nulls="keep"),
            lambda rng: rng.choice([None, rng.getrandbits(2)]),
        )
    for dtype in ("str", "binary"):
        lower = sf.quantile(interpolation="lower", dtype=dtype)
        families["quantile"][f"quantile({dtype})"] = Valued(lower, DRAWS[dtype])
    families["sum"]["sum(compensated)"] = Valued(sf.sum(compensated=True), DRAWS["float64"])
    several = sf.struct(
        a=sf.sum("x", dtype="int64"), b=sf.max_by("s", "x", dtype="str"), n=sf.count()
    )
    draw = _pair(DRAWS["int8"], _pair(DRAWS["str"], DRAWS["float64"]))
    families["struct"] = {"struct": Valued(several, lambda rng: (*draw(rng), None))}
    families["user"] = {
        "user": Valued(
            Composed(), lambda rng: (rng.getrandbits(13) + 1, rng.getrandbits(13)), user=True
        ),
        "declared": Valued(Mean(), lambda rng: float(rng.getrandbits(4)), user=True),
    }
    return families


FAMILIES = _all()


def valued_of(rng: Random) -> tuple[str, Valued]:
    """Draw an operator, each name with equal chance, and one of its types."""
    family = FAMILIES[rng.choice(list(FAMILIES))]
    name = rng.choice(list(family))
    return name, family[name]
