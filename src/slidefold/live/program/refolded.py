"""Fold the values of windows again, where the engine keeps no states of an operator and its types.

The engine returns the values of each window, and the kernels of batches fold them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.folds import fold
from slidefold.definition.rolling import Leaf
from slidefold.errors import ValueTypeError
from slidefold.live.program.builder import Builder, Join
from slidefold.live.program.stored import export_type, restored
from slidefold.planner import plan_leaf


def refold(build: Builder, leaf: Leaf) -> None:
    """Compile an operator as lists of the values of its windows, which Python folds."""
    operator = leaf.operator
    kinds = [build.schema.field(name).type for name in operator.columns]
    if operator.own or not operator.columns:
        types = " and ".join(str(kind) for kind in kinds)
        raise ValueTypeError(
            f"{operator.name} of {types} does not work in order of arrival: cast the column, or "
            "run a batch"
        )
    plan = plan_leaf(leaf, kinds)
    presence = -1 if operator.flag is None else build.presence((operator.flag,))
    for index, (name, kind) in enumerate(zip(operator.columns, kinds, strict=True)):
        columns = [build.stored(name), build.stored(name, "flag")]
        part = build.part(kind="walk", columns=columns, presence=presence)
        walked = replace(leaf, path=(*leaf.path, str(index)), min_count=None)
        build.use(walked, part, -1, "collect", pa.list_(export_type(kind)), all_rows=True)

    def join(lists: list[Any]) -> Any:
        ends = np.asarray(lists[0].offsets).astype(np.int64)
        columns = tuple(
            restored(kind, each.values) for each, kind in zip(lists, kinds, strict=True)
        )
        return fold(plan, columns, (ends[:-1], ends[1:]))

    build.joins[leaf.path] = Join(len(kinds), join)
    build.refolded.add(leaf.path[0])
