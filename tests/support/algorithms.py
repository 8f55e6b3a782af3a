"""Which algorithms there are, and which operations each of them has.

Tests walk the registry of `slidefold.algorithms`; this table says what a registered algorithm can
do. `tests/test_package.py` holds the two against each other, so that an algorithm which arrives
without a line here fails a test instead of being passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import slidefold as sf
from slidefold.definition.operators import Operator
from slidefold.planner import EVENT_ALGORITHMS


@dataclass(frozen=True)
class Offers:
    """What an algorithm has, and what it asks of its operator."""

    steps: bool = True  # insert, evict and query in any interleaving
    pushes: bool = False  # push over a fixed range that moves by a fixed slide
    needs: str = ""  # a property without which the operator is refused
    extras: tuple[str, ...] = ()  # methods and properties that only this one has


OFFERS = {
    "recalc": Offers(),
    "subtract_on_evict": Offers(needs="invertible"),
    "two_stacks": Offers(),
    "two_stacks_lite": Offers(),
    "daba": Offers(),
    "daba_lite": Offers(),
    "flat_fat": Offers(extras=("update", "aggregate", "prefix", "suffix", "capacity", "trigger")),
    "b_int": Offers(),
    "flat_fit": Offers(),
    "slick_deque": Offers(needs="selective"),
    "amta": Offers(extras=("bulk_evict",)),
    "sba": Offers(steps=False, pushes=True),
    "pba": Offers(steps=False, pushes=True),
    "fiba": Offers(steps=False),
    "btree": Offers(steps=False),
}


def snake(name: str) -> str:
    """Return the name of a class as the registry spells it: DabaLite is daba_lite."""
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def _registered() -> dict[str, type[Any]]:
    public: dict[str, Any] = {name: getattr(sf.algorithms, name) for name in sf.algorithms.__all__}
    return {
        getattr(item, "name", snake(name)): item
        for name, item in public.items()
        # A keyed set is many windows, and no algorithm of its own.
        if isinstance(item, type) and not item.__subclasses__() and name != "KeyedWindows"
    }


REGISTERED = _registered()
STEPPING = [name for name in REGISTERED if name in OFFERS and OFFERS[name].steps]
PUSHING = [name for name in REGISTERED if name in OFFERS and OFFERS[name].pushes]
ANY_OPERATOR = [name for name in STEPPING if not OFFERS[name].needs]
WINDOWS = [name for name in STEPPING if name in EVENT_ALGORITHMS]


def takes(name: str, operator: Operator) -> bool:
    """Tell whether the algorithm named so takes the operator."""
    needs = OFFERS[name].needs
    return not needs or bool(getattr(operator.traits, needs))


def fitting(operator: Operator, names: list[str] = STEPPING) -> list[str]:
    """Return the names of the algorithms that take the operator."""
    return [name for name in names if takes(name, operator)]


def make(name: str, operator: Operator, **options: Any) -> Any:
    """Make an algorithm by name."""
    return REGISTERED[name](operator, **options)
