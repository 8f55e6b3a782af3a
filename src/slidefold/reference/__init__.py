"""Every algorithm in plain Python: the readable version, and a second oracle for the tests.

Nothing here is fast. Each module starts with its layout, its numbered invariants, its cost and its
paper. `check()` verifies each invariant. The operators are in `slidefold.reference.operators`.
"""

from slidefold.reference.amta import Amta
from slidefold.reference.b_int import BInt
from slidefold.reference.boundary import optimal_chunk_rows, optimal_chunk_time
from slidefold.reference.btree import BTree
from slidefold.reference.daba import Daba
from slidefold.reference.daba_lite import DabaLite
from slidefold.reference.fat import NOTHING, Fat
from slidefold.reference.fiba import Fiba
from slidefold.reference.flat_fat import FlatFat
from slidefold.reference.flat_fit import FlatFit
from slidefold.reference.over_time import OverTime
from slidefold.reference.recalc import Recalc
from slidefold.reference.sba import Pba, Sba
from slidefold.reference.slick_deque import SlickDeque
from slidefold.reference.subtract_on_evict import SubtractOnEvict
from slidefold.reference.two_stacks import TwoStacks
from slidefold.reference.two_stacks_lite import TwoStacksLite

__all__ = [
    "NOTHING",
    "Amta",
    "BInt",
    "BTree",
    "Daba",
    "DabaLite",
    "Fat",
    "Fiba",
    "FlatFat",
    "FlatFit",
    "OverTime",
    "Pba",
    "Recalc",
    "Sba",
    "SlickDeque",
    "SubtractOnEvict",
    "TwoStacks",
    "TwoStacksLite",
    "optimal_chunk_rows",
    "optimal_chunk_time",
]
