"""Users' own operators: a class with static methods, associativity is all it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, overload

from slidefold.errors import OperatorError
from slidefold.operators.base import Operator, columns_of

_REQUIRED = ("lift", "combine", "lower")
_OPTIONAL = ("identity", "remove", "newer_wins", "dump", "load")


@dataclass(frozen=True)
class UserOperator(Operator):
    """An operator written in Python; its states are Python objects."""

    functions: dict[str, Callable[..., Any]] = field(default_factory=dict, hash=False)
    module: str = ""
    qualname: str = ""
    version: int = 1

    @property
    def native_name(self) -> str:
        """Users' operators share one native type, which calls their functions."""
        return "object"

    @property
    def native_params(self) -> dict[str, Any]:
        """The functions to call."""
        return dict(self.functions)

    def __str__(self) -> str:
        return self.name


class OperatorFactory:
    """What `@slidefold.operator` makes of a class: call it, with column names or without."""

    def __init__(self, cls: type, version: int = 1) -> None:
        if isinstance(version, bool) or not isinstance(version, int):
            raise OperatorError(
                f"operator {cls.__name__} needs an integer version, got {version!r}"
            )
        functions: dict[str, Callable[..., Any]] = {}
        for name in _REQUIRED + _OPTIONAL:
            function = getattr(cls, name, None)
            if function is None:
                if name in _REQUIRED:
                    raise OperatorError(f"operator {cls.__name__} has no {name}")
                continue
            if not isinstance(cls.__dict__.get(name, staticmethod(function)), staticmethod):
                raise OperatorError(f"{name} of operator {cls.__name__} must be a @staticmethod")
            functions[name] = function
        if ("dump" in functions) != ("load" in functions):
            raise OperatorError(f"operator {cls.__name__} needs both dump and load, or neither")
        self.cls = cls
        self.version = version
        self.functions = functions
        self.__name__ = cls.__name__
        self.__doc__ = cls.__doc__

    def __call__(self, *columns: str) -> UserOperator:
        """Make the operator, over columns where it is used with columns."""
        return UserOperator(
            self.cls.__name__,
            columns_of(*columns),
            dtype="object",
            functions=self.functions,
            module=self.cls.__module__,
            qualname=self.cls.__qualname__,
            version=self.version,
        )

    def __repr__(self) -> str:
        return f"<operator {self.cls.__name__}>"


@overload
def operator(cls: type, /, *, version: int = 1) -> OperatorFactory: ...
@overload
def operator(*, version: int = 1) -> Callable[[type], OperatorFactory]: ...
def operator(
    cls: type | None = None, /, *, version: int = 1
) -> OperatorFactory | Callable[[type], OperatorFactory]:
    """Turn a class of static methods into an operator.

    It needs `lift(value)`, `combine(older, newer)` and `lower(state)`; `combine` must be
    associative and must not change its arguments. `identity()` is what an empty fold gives; without
    it slidefold adds a neutral marker of its own. `remove(whole, older)`, with
    `remove(combine(a, b), a) == b`, makes the operator invertible; `newer_wins(older, newer)`, for
    a `combine` that returns one of its arguments, makes it selective.

    States that are not plain values (None, bool, int, float, str, bytes, list, tuple, dict) can be
    saved if the class has `dump(state)`, which returns bytes, and `load(bytes)`. Give another
    `version` when states change their meaning: saved ones are then refused.

    >>> import slidefold as sf
    >>> @sf.operator
    ... class Longest:
    ...     lift = staticmethod(lambda word: word)
    ...     combine = staticmethod(lambda older, newer: max(older, newer, key=len))
    ...     lower = staticmethod(lambda word: word)
    >>> w = sf.Window(Longest(), sf.rows(2))
    >>> [w.push(word) for word in ("a", "fold", "that", "slides")]
    ['a', 'fold', 'fold', 'slides']
    """
    if cls is None:
        return lambda cls: operator(cls, version=version)
    if not isinstance(cls, type):
        raise OperatorError(f"operator decorates a class, got {cls!r}")
    return OperatorFactory(cls, version)
