"""The tree of an expression: columns, literals, windows and calls. Trees can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from keyword import iskeyword
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from slidefold.definition.windows.closed import UNSAID
from slidefold.errors import DefinitionError

if TYPE_CHECKING:
    from slidefold.definition.operators import Over

# The functions of two arguments, as Python and as files write them.
SYMBOLS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "floor_divide": "//",
    "modulo": "%",
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "at_most": "<=",
    "greater": ">",
    "at_least": ">=",
    "and": "&",
    "or": "|",
}
COMPARISONS = ("equal", "not_equal", "less", "at_most", "greater", "at_least")
LITERALS = (bool, int, float, str, bytes, Decimal, datetime, date, timedelta)
# The deepest expression: deeper ones would exhaust the interpreter's stack.
DEEPEST = 100
LONGEST = 100_000  # characters of an expression in a file
# How tightly the functions bind in files; calls and names bind most.
_STRENGTH = {
    "or": 1,
    "and": 2,
    "not": 3,
    **dict.fromkeys((*COMPARISONS, "is_in"), 4),
    **dict.fromkeys(("add", "subtract"), 5),
    **dict.fromkeys(("multiply", "divide", "floor_divide", "modulo"), 6),
    "negate": 7,
}
_TIGHT = 9


@dataclass(frozen=True)
class Node:
    """A part of an expression."""

    @property
    def arguments(self) -> tuple[Node, ...]:
        """The parts that this part is made of."""
        return ()

    def walk(self) -> Iterator[Node]:
        """Yield the node and all nodes below it, from left to right."""
        yield self
        for argument in self.arguments:
            yield from argument.walk()

    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns that it reads, in order."""
        names = (node.name for node in self.walk() if isinstance(node, Column))
        return tuple(dict.fromkeys(names))

    def replaced(self, change: Callable[[Node], Node]) -> Node:
        """Return the expression with each node changed, from the leaves up."""
        return change(self)

    @property
    def depth(self) -> int:
        """How many nodes lie on the longest way down."""
        return 1

    def text(self, strength: int = 0) -> str:
        """Return the expression as files write it."""
        raise NotImplementedError

    def code(self) -> str:
        """Return the expression as Python source."""
        raise NotImplementedError


@dataclass(frozen=True)
class Column(Node):
    """A column of the row, or the name of another feature in an expression of results."""

    name: str

    def text(self, strength: int = 0) -> str:
        """Return the name, quoted if it would not be read as a name."""
        name = self.name
        # Python reads a name in its normal form, so that two names may be the same for it.
        plain = name.isidentifier() and not iskeyword(name) and normalize("NFKC", name) == name
        return name if plain else f"col({name!r})"

    def code(self) -> str:
        """Return the expression as Python source."""
        return f"sf.col({self.name!r})"


@dataclass(frozen=True)
class ResultColumn(Column):
    """A result that has become a column: errors show it as the user wrote it."""

    def text(self, strength: int = 0) -> str:
        """Return the operator over its window."""
        return self.name


@dataclass(frozen=True)
class Literal(Node):
    """A constant. Two are equal if they are written in the same way: 1 and 1.0 differ."""

    value: Any = field(compare=False)
    written: str = ""

    def __post_init__(self) -> None:
        value = self.value
        # Equal times in equal zones may differ in the class of their zone.
        shown = value.isoformat() if isinstance(value, datetime) else repr(value)
        object.__setattr__(self, "written", f"{type(value).__name__} {shown}")

    def text(self, strength: int = 0) -> str:
        """Return the constant as files write it."""
        value = self.value
        if isinstance(value, datetime):
            return f"datetime({value.isoformat()!r})"
        if isinstance(value, date):
            return f"date({value.isoformat()!r})"
        if isinstance(value, timedelta):
            return f"duration({_duration(value)!r})"
        if isinstance(value, Decimal):
            return f"decimal({str(value)!r})"
        if isinstance(value, float) and (value != value or value in (_INF, -_INF)):
            return f"float({str(value)!r})"
        negative = isinstance(value, int | float) and str(value).startswith("-")
        return f"({value!r})" if negative and strength > 6 else repr(value)

    def code(self) -> str:
        """Return the constant as Python source."""
        value = self.value
        if isinstance(value, float) and (value != value or value in (_INF, -_INF)):
            return f"float({str(value)!r})"
        return repr(value)


_INF = float("inf")


def _duration(value: timedelta) -> str:
    return f"{value // timedelta(microseconds=1)}us"


@dataclass(frozen=True)
class Result(Node):
    """The result of an operator over a window."""

    over: Over

    def text(self, strength: int = 0) -> str:
        """Return the window as Python writes it; files name windows instead.

        Saved states name results by it, so it must not depend on whether `closed` was given.
        """
        return self.over.text(UNSAID).replace("sf.", "")

    def code(self) -> str:
        """Return the window as Python source."""
        return repr(self.over)


@dataclass(frozen=True)
class Written(Node):
    """A part that is printed as it is."""

    source: str

    def text(self, strength: int = 0) -> str:
        """Return it as it is."""
        return self.source

    def code(self) -> str:
        """Return it as it is."""
        return self.source


@dataclass(frozen=True)
class Call(Node):
    """A function of other nodes."""

    function: str
    given: tuple[Node, ...]
    option: str = ""  # the type of a cast
    height: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        height = 1 + max((node.depth for node in self.given), default=0)
        if height > DEEPEST:
            raise DefinitionError(f"an expression must not be nested more than {DEEPEST} deep")
        object.__setattr__(self, "height", height)

    @property
    def arguments(self) -> tuple[Node, ...]:
        """The arguments of the function."""
        return self.given

    @property
    def depth(self) -> int:
        """How many nodes lie on the longest way down."""
        return self.height

    def replaced(self, change: Callable[[Node], Node]) -> Node:
        """Return the expression with each node changed, from the leaves up."""
        given = tuple(node.replaced(change) for node in self.given)
        return change(replace(self, given=given))

    def text(self, strength: int = 0) -> str:
        """Return the call as files write it."""
        own = _STRENGTH.get(self.function, _TIGHT)
        written = self._text(own)
        return f"({written})" if own < strength else written

    def _text(self, own: int) -> str:
        given, function = self.given, self.function
        if function == "only":
            return f"{given[0].text(_TIGHT)} where {given[1].text()}"
        if function == "not":
            return f"not {given[0].text(own)}"
        if function == "negate":
            return f"-{given[0].text(own)}"
        if function == "is_in":
            return f"{given[0].text(own + 1)} in [{', '.join(node.text() for node in given[1:])}]"
        if function in SYMBOLS:
            symbol = {"and": "and", "or": "or"}.get(function, SYMBOLS[function])
            # Comparisons do not chain, and - and / bind to the left.
            left = own + 1 if own == _STRENGTH["equal"] else own
            return f"{given[0].text(left)} {symbol} {given[1].text(own + 1)}"
        arguments = [node.text() for node in given]
        if self.option:
            arguments.append(repr(self.option))
        return f"{function}({', '.join(arguments)})"

    def code(self) -> str:
        """Return the call as Python source."""
        given, function = self.given, self.function
        if function == "not":
            return f"~{_inner(given[0])}"
        if function == "negate":
            return f"-{_inner(given[0])}"
        if function == "is_in":
            values = ", ".join(node.code() for node in given[1:])
            return f"{_inner(given[0])}.is_in([{values}])"
        if function in SYMBOLS:
            if function in ("equal", "not_equal") and all(
                isinstance(n, Result | Written) for n in given
            ):
                return self._code_of_results()
            return f"{_inner(given[0])} {SYMBOLS[function]} {_inner(given[1])}"
        arguments = [node.code() for node in given[1:]]
        if self.option:
            arguments.append(repr(self.option))
        return f"{_inner(given[0])}.{function}({', '.join(arguments)})"

    def _code_of_results(self) -> str:
        """Return source that compares two results, for which `==` compares the definitions."""
        left, right = self.given
        return f"{left.code()}.fill_null(None) {SYMBOLS[self.function]} {_inner(right)}"


def require_short(node: Node) -> None:
    """Raise if an expression is longer than what files and saved states may hold."""
    if len(node.text()) > LONGEST:
        raise DefinitionError(f"an expression must not have more than {LONGEST:,} characters")


def _inner(node: Node) -> str:
    """Return source that keeps its meaning inside a larger expression."""
    loose = isinstance(node, Call) and (
        node.function in SYMBOLS or node.function in ("not", "negate")
    )
    return f"({node.code()})" if loose else node.code()
