"""Users' operators whose states have fixed fields: one folded state stands for many rows.

Kernels lift what they fold. So an operator has twins: one whose results are its states, and ones
that take states for rows. They are made of the same functions and compile as the operator does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.folds import present_rows
from slidefold.columns.reading import Task
from slidefold.columns.users import read_inputs, user_column
from slidefold.columns.values import Array
from slidefold.definition.operators import Operator, UserOperator
from slidefold.definition.operators.definition import Definition
from slidefold.definition.windows import Rows, WindowKind
from slidefold.definition.windows.sorted_rows import Ints

# The values of a state's fields.
State = tuple[Any, ...]
_ANY = Rows(1)  # frames are given, so that the window does not matter


def keeps_states(operator: Operator) -> bool:
    """Tell whether the states of an operator have a fixed size and are known field by field."""
    return isinstance(operator, UserOperator) and operator.definition.state is not None


def in_order(operator: Operator) -> bool:
    """Tell whether states must be combined in the order of their rows."""
    return isinstance(operator, UserOperator) and not operator.definition.commutative


def without_nulls(
    columns: tuple[Any, ...], lo: Ints, hi: Ints, place: int | None = None
) -> tuple[tuple[Any, ...], Ints, Ints]:
    """Drop rows with a null and move frames with them; a place moves as a frame at the end."""
    if place is not None:
        lo, hi = np.append(lo, place), np.append(hi, place)
    valid = present_rows(columns)
    if valid is None:
        return columns, lo, hi
    before = np.concatenate(([0], np.cumsum(valid)))
    kept = tuple(column.filter(pa.array(valid)) for column in columns)
    return kept, before[lo], before[hi]


def states_of(
    operator: UserOperator, columns: tuple[Any, ...], lo: Ints, hi: Ints
) -> list[State | None]:
    """Return the states of ranges of rows in order; None where there is no value."""
    columns, lo, hi = without_nulls(columns, lo, hi)
    twin = _twin(operator, reads_states=False, gives_states=True)
    data, _ = _kernel(twin, read_inputs(operator, columns), lo, hi)
    held = (hi > lo).tolist()
    return [state if some else None for state, some in zip(data.tolist(), held, strict=True)]


def combine_states(operator: UserOperator, states: Sequence[State]) -> State:
    """Return the state of all rows together; states are in the order of their rows."""
    twin = _twin(operator, reads_states=True, gives_states=True)
    ends = np.array([0]), np.array([len(states)])
    data, _ = _kernel(twin, _fields(operator, states), *ends)
    found: State = data.tolist()[0]
    return found


def fold_around(
    operator: UserOperator,
    window: WindowKind,
    algorithm: str | None,
    columns: tuple[Any, ...],
    frames: tuple[Ints, Ints],
    middle: tuple[int, State],
) -> Any:
    """Fold frames of rows with a state between them, before the row with the number given."""
    place, state = middle
    columns, lo, hi = without_nulls(columns, *frames, place)
    place, lo, hi = int(lo[-1]), lo[:-1], hi[:-1]
    rows = np.arange(len(columns[0]))
    twin = _twin(operator, reads_states=False, gives_states=True)
    data, _ = _kernel(twin, read_inputs(operator, columns), rows, rows + 1)
    between = np.array([state], _layout(operator).dtype)
    fields = [
        np.concatenate((data[name][:place], between[name], data[name][place:]))
        for name in _layout(operator).names
    ]
    lo, hi = np.where(lo > place, lo + 1, lo), hi + 1
    task = Task(operator, window, algorithm, columns, lo, hi)
    last = _twin(operator, reads_states=True, gives_states=False)
    return user_column(operator, *task.kernel(last, _values(fields)))


def _kernel(twin: UserOperator, values: Any, lo: Ints, hi: Ints) -> tuple[Any, Array]:
    return Task(twin, _ANY, None, (), lo, hi).kernel(twin, values)


def _layout(operator: UserOperator) -> Any:
    assert operator.definition.state is not None
    return operator.definition.state


def _fields(operator: UserOperator, states: Sequence[State]) -> Any:
    table = np.array(list(states), _layout(operator).dtype)
    return _values([np.ascontiguousarray(table[name]) for name in _layout(operator).names])


def _values(columns: list[Array]) -> Any:
    return columns[0] if len(columns) == 1 else tuple(columns)


def _twin(operator: UserOperator, *, reads_states: bool, gives_states: bool) -> UserOperator:
    definition = _definition(operator.definition, reads_states, gives_states)
    return UserOperator(operator.name, operator.columns, dtype="object", definition=definition)


@lru_cache(maxsize=64)  # machine code is made once a process
def _definition(definition: Definition, reads_states: bool, gives_states: bool) -> Definition:
    state = definition.state
    assert state is not None
    functions: dict[str, Callable[..., Any]] = {
        name: function
        for name, function in definition.functions.items()
        if name in ("identity", "lift", "combine", "lower")
    }
    if reads_states:
        functions["lift"] = _tuple_of(state.names)
    if gives_states:
        functions["lower"] = _itself
    returns: Any = definition.results
    if gives_states:
        returns = dict(zip(state.names, state.codes, strict=True))
    elif not isinstance(returns, str):
        returns = dict(zip(returns.names, returns.codes, strict=True))
    body = {name: staticmethod(function) for name, function in functions.items()}
    return Definition(
        type(definition.name, (), body),
        state=dict(zip(state.names, state.codes, strict=True)),
        returns=returns,
        inputs=state.codes if reads_states else definition.inputs.codes,
        compile=definition.compile,
        commutative=definition.commutative,
        version=definition.version,
    )


def _itself(state: Any) -> Any:
    return state


def _tuple_of(names: Sequence[str]) -> Callable[..., Any]:
    """Return a function of so many arguments that returns them: numba needs the number."""
    listed = ", ".join(names)  # identifiers: the operator's definition checked them
    made: Callable[..., Any] = eval(f"lambda {listed}: ({listed},)", {})
    return made
