"""Users' operators: classes of static methods with an associative `combine`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa

from slidefold.definition.operators.base import Input, Operator, columns_of
from slidefold.definition.operators.definition import Definition
from slidefold.definition.operators.record import Record
from slidefold.definition.windows.calls import call
from slidefold.errors import OperatorError, nearest

# A state of declared fields can travel between chunks; any other state may hold all its rows.
_DECLARED = Record(types=("object",), column="user")
_UNDECLARED = Record(types=("object",), column="user", middle="whole")


@dataclass(frozen=True, repr=False)
class UserOperator(Operator):
    """An operator written in Python: compiled, or with Python objects as states."""

    definition: Definition = field(kw_only=True)

    @property
    def record(self) -> Record:
        """The record of a user's operator, independent of its name."""
        return _DECLARED if self.definition.state is not None else _UNDECLARED

    @property
    def native_name(self) -> str:
        """The native type: "compiled" for machine code, "object" for Python functions."""
        return self.definition.native[0]

    @property
    def native_params(self) -> dict[str, Any]:
        """The functions to call, and their types."""
        return dict(self.definition.native[1])

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """The static methods of the class."""
        return dict(self.definition.functions)

    @property
    def module(self) -> str:
        """The module of the class."""
        return self.definition.module

    @property
    def qualname(self) -> str:
        """The qualified name of the class."""
        return self.definition.qualname

    @property
    def version(self) -> int:
        """The declared version; saved states of another version are rejected."""
        return self.definition.version

    def for_columns(self, kinds: Sequence[Any]) -> UserOperator:
        """Return the operator for columns of these Arrow types, unless it declares its inputs."""
        if not self.definition.takes_any:
            return self
        return replace(self, definition=self.definition.typed(tuple(map(_own_code, kinds))))

    @property
    def commutes(self) -> bool:
        """Whether the order of values does not matter; known without compiling it."""
        return self.definition.commutative

    @property
    def compiled(self) -> bool:
        """Whether the operator runs as machine code; reading this property compiles it."""
        return self.native_name == "compiled"

    @property
    def calls_python(self) -> bool:
        """Whether it runs Python functions for each value; reading this may compile it."""
        return not self.compiled

    def __repr__(self) -> str:
        return self._with_condition(call(self.name, *self._shown_columns()))


def _own_code(kind: Any) -> str:
    """Return the type in which a column of an Arrow type reaches `lift`."""
    types = pa.types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_boolean(kind):
        return "b1"
    if types.is_uint64(kind):
        return "u8"
    whole = types.is_integer(kind) or (types.is_temporal(kind) and not types.is_interval(kind))
    return "i8" if whole else "f8"


class OperatorFactory:
    """The result of `@slidefold.operator`: call it, with or without column names."""

    def __init__(self, cls: type, **options: Any) -> None:
        self._describe(Definition(cls, **options))

    @classmethod
    def of(cls, definition: Definition) -> OperatorFactory:
        """Return the factory for the operators of a definition."""
        factory = cls.__new__(cls)
        factory._describe(definition)
        return factory

    def _describe(self, definition: Definition) -> None:
        self.definition, self.cls = definition, definition.cls
        self.__name__, self.__qualname__ = definition.name, definition.qualname
        self.__module__, self.__doc__ = definition.module, definition.doc

    def __call__(self, *columns: Input) -> UserOperator:
        """Return the operator over these columns; live windows need no columns."""
        given = columns_of(*columns)
        expected = len(self.definition.inputs.names)
        if given and self.definition.state is not None and len(given) != expected:
            raise OperatorError(
                f"{self.__name__} takes {expected} columns, got {len(given)}: {given}"
            )
        return UserOperator(self.definition.name, given, dtype="object", definition=self.definition)

    def __repr__(self) -> str:
        return f"<operator {self.__name__}>"


if TYPE_CHECKING:

    class Fold(UserOperator):
        """The base class as type checkers see it."""

        def __init__(self, *columns: Input) -> None: ...

else:

    class Fold:
        """A base class for decorated classes, for type checkers only.

        mypy ignores class decorators and does not see that the class is now an operator. With this
        base class it does; nothing else changes.

        >>> import slidefold as sf
        >>> @sf.operator
        ... class Longest(sf.Fold):
        ...     lift = staticmethod(lambda word: word)
        ...     combine = staticmethod(lambda older, newer: max(older, newer, key=len))
        ...     lower = staticmethod(lambda word: word)
        >>> Longest("word").columns
        ('word',)
        """


_OPTIONS = ("state", "returns", "inputs", "compile", "commutative", "version")


@overload
def operator(cls: type, /) -> OperatorFactory: ...


@overload
def operator(
    *,
    state: Mapping[str, str] | None = None,
    returns: str | Mapping[str, str] | None = None,
    inputs: str | Sequence[str] | None = None,
    compile: str | None = None,
    commutative: bool = False,
    version: int = 1,
) -> Callable[[type], OperatorFactory]: ...


def operator(cls: type | None = None, /, **options: Any) -> Any:
    """Turn a class of static methods into an operator.

    The class needs `lift(value)`, `combine(older, newer)` and `lower(state)`. `combine` must be
    associative and must not change its arguments. `identity()` returns the state of an empty
    window; without it slidefold uses its own marker for empty states. `remove(whole, older)`, with
    `remove(combine(a, b), a) == b`, makes the operator invertible. `newer_wins(older, newer)`, for
    a `combine` that returns one of its arguments, makes it selective. `slidefold.check` tests these
    rules.

    >>> import slidefold as sf
    >>> @sf.operator
    ... class Longest:
    ...     lift = staticmethod(lambda word: word)
    ...     combine = staticmethod(lambda older, newer: max(older, newer, key=len))
    ...     lower = staticmethod(lambda word: word)
    >>> w = sf.Window(Longest(), sf.rows(2))
    >>> [w.push(word) for word in ("a", "fold", "that", "slides")]
    ['a', 'fold', 'fold', 'slides']

    With `state=`, a dict of names and types, states have a fixed size, and the operator is compiled
    if numba is installed. The functions receive named tuples and return plain tuples, in the order
    of `state`. `returns` is the type of the result, or a dict of names and types for a `lower` that
    returns a tuple. `lift` takes one value per column, in the types of `inputs`. Without `inputs`,
    columns come in their own types: integers and bools as they are, times and durations as integers
    of their unit, all else as floats; `sf.Window` gives floats. Types are b1 (bool), i1 to i8, u1
    to u8, f4 and f8; the digit is the size in bytes.

    >>> @sf.operator(state={"n": "i8", "sum": "f8"}, returns="f8", commutative=True)
    ... class Mean:
    ...     identity = staticmethod(lambda: (0, 0.0))
    ...     lift = staticmethod(lambda x: (1, x))
    ...     combine = staticmethod(lambda a, b: (a.n + b.n, a.sum + b.sum))
    ...     lower = staticmethod(lambda s: s.sum / s.n)
    >>> w = sf.Window(Mean(), sf.rows(2))
    >>> [w.push(x) for x in (1.0, 2.0, 4.0)]
    [1.0, 1.5, 3.0]

    `compile` is "require" (raise if the operator cannot be compiled), "auto" (then run it in plain
    Python) or "never". By default the operator runs in plain Python if numba is missing, and a
    function that does not compile is an error. In compiled code, integers wrap around at their
    size, a division by zero gives inf or NaN, and a `raise` gives zeros; in plain Python all three
    are errors. `version` is part of saved states: increase it when the meaning of the fields
    changes.
    """
    for name in options:
        if name not in _OPTIONS:
            hint = nearest(name, _OPTIONS, "{}=") or f"; it takes {'=, '.join(_OPTIONS)}="
            raise OperatorError(f"operator has no argument {name}={hint}")
    if cls is None:
        return lambda decorated: operator_of(decorated, **options)
    if options:
        raise OperatorError("operator takes a class or keywords, not both")
    return operator_of(cls)


def operator_of(cls: type, **options: Any) -> OperatorFactory:
    """Return the factory for a decorated class."""
    if not isinstance(cls, type):
        raise OperatorError(f"operator must decorate a class, got {cls!r}")
    return OperatorFactory(cls, **options)
