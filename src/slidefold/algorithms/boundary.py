"""Sba and Pba: boundary aggregation, for windows of a fixed range that move by a fixed slide."""

from __future__ import annotations

from operator import index
from typing import Any, ClassVar, Self

from slidefold import _native
from slidefold.algorithms.base import MOST_SLOTS
from slidefold.definition.operators import Operator
from slidefold.errors import OperatorError, WindowError
from slidefold.state import Operators, field, operator_header, require_options, require_room, saving

_WINDOW = {"range": int, "slide": int, "chunk": int, "counted": bool}
_ROWS = {**_WINDOW, "checked": bool}
_TIMED = {**_WINDOW, "timed": bool, "combine_time": float}


def optimal_chunk_rows(range: int, slide: int = 1) -> int:
    """The best chunk, in slices, for a window of rows (Theorem 1 of the PBA paper).

    >>> optimal_chunk_rows(10, 2), optimal_chunk_rows(2**5), optimal_chunk_rows(2**20)
    (4, 17, 524289)
    """
    _require_window(range, slide)
    return _native.optimal_chunk_rows(range, slide)


def optimal_chunk_time(range: float, slide: float, combine_time: float) -> int:
    """The best chunk, in slices, for a window of time (Theorem 2), all times in one unit.

    `combine_time` is how long one combine takes.

    >>> optimal_chunk_time(3600.0, 10.0, 1e-7), optimal_chunk_time(3600.0, 1.0, 0.1)
    (360, 3301)
    """
    for name, value in (("range", range), ("slide", slide)):
        if not 0 < value < float("inf"):
            raise WindowError(f"{name} must be finite and positive, got {value!r}")
    if not 0 <= combine_time < float("inf"):
        raise WindowError(f"combine_time must be finite and not negative, got {combine_time!r}")
    if range < slide:
        raise WindowError(f"range must be at least slide, got range {range!r}, slide {slide!r}")
    return _native.optimal_chunk_time(range, slide, combine_time)


def _require_window(range: int, slide: int, chunk: int | None = None) -> None:
    for name, value in (("range", range), ("slide", slide), ("chunk", chunk)):
        if name == "chunk" and value is None:
            continue
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise WindowError(f"{name} must be an integer, got {value!r}")
        whole = index(value)  # type: ignore[arg-type]
        if whole < 1:
            raise WindowError(f"{name} must be at least 1, got {value!r}")
        if whole >= 2**62:
            raise WindowError(f"{name} must be below 2**62, got a larger one")
    if range < slide:
        raise WindowError(f"range must be at least slide, got range {range}, slide {slide}")
    if range // slide > MOST_SLOTS:
        raise WindowError(
            f"a window of {range // slide:,} slides has more than {MOST_SLOTS:,}: take longer ones"
        )


class Boundary(_native.BoundaryCore):
    """What Sba and Pba share. Use one of them."""

    name: ClassVar[str]

    def __init__(
        self,
        operator: Operator,
        range: int,
        slide: int = 1,
        *,
        chunk: int | None = None,
        checked: bool = False,
        counted: bool = False,
    ) -> None:
        _require_window(range, slide, chunk)
        options = {"range": index(range), "slide": index(slide), "chunk": index(chunk or 0)}
        self._setup(operator, {**options, "checked": checked, "counted": counted})

    @classmethod
    def over_time(
        cls,
        operator: Operator,
        range: int,
        slide: int,
        *,
        combine_time: float = 0.0,
        chunk: int | None = None,
        counted: bool = False,
    ) -> Self:
        """Windows of time, `[end - range, end)` at each multiple of `slide`; times are integers.

        `push(time, value)` and `advance(time)` return the list of `(end, result)` of the windows
        that this time closes; windows without values are not reported. `combine_time`, how long a
        combine takes in the same unit, decides the chunk (Theorem 2).

        >>> import slidefold as sf
        >>> a = Sba.over_time(sf.concat(), range=10, slide=5)
        >>> a.push(1, "a"), a.push(4, "b"), a.push(7, "c")
        ([], [], [(5, 'ab')])
        >>> a.push(1_000_000_003, "d")
        [(10, 'abc'), (15, 'c')]
        """
        _require_window(range, slide, chunk)
        optimal_chunk_time(range, slide, combine_time)
        self = cls.__new__(cls)
        options = {"range": index(range), "slide": index(slide), "chunk": index(chunk or 0)}
        timed = {"timed": True, "combine_time": float(combine_time), "counted": counted}
        self._setup(operator, {**options, **timed})
        return self

    def _setup(self, operator: Operator, options: dict[str, Any]) -> None:
        if not isinstance(operator, Operator):
            raise OperatorError(f"expected an operator, such as slidefold.max(), got {operator!r}")
        self.operator = operator
        self._options = options
        _native.BoundaryCore.__init__(self, self.name == "pba", operator, options)

    copy = __copy__ = saving.copy
    __deepcopy__ = saving.deepcopy
    to_bytes = saving.to_bytes
    __reduce__ = saving.reduce

    @classmethod
    def from_bytes(
        cls, data: bytes, operator: Operator | None = None, *, operators: Operators = ()
    ) -> Self:
        """Make an aggregator from its state; it goes on exactly as the saved one would have.

        An operator of your own is found in its module if that is imported already, or in the list
        `operators`, or it is `operator`: bytes never import anything. Anything but the state of
        this class is a `StateError`.
        """
        return saving.from_bytes(cls, data, operator, operators)

    def _twin(self) -> Self:
        twin = type(self).__new__(type(self))
        twin._setup(self.operator, self._options)
        return twin

    def _header(self) -> dict[str, Any]:
        return {"operator": operator_header(self.operator), "options": self._options}

    @classmethod
    def _kind(cls) -> str:
        return getattr(cls, "name", cls.__name__)

    @classmethod
    def _made(cls, header: dict[str, Any], operator: Operator, room: int) -> Self:
        timed = "timed" in field(header, "options", dict)
        options = require_options(header, _TIMED if timed else _ROWS)
        range, slide, chunk = (options[name] for name in ("range", "slide", "chunk"))
        _require_window(range, slide, None if chunk == 0 else chunk)
        if timed:
            optimal_chunk_time(range, slide, options["combine_time"])
        require_room(range // slide, room)
        made = cls.__new__(cls)
        made._setup(operator, options)
        return made

    def __repr__(self) -> str:
        window = f"W[{self._options['range']}, {self._options['slide']}]"
        return f"<{type(self).__name__} {self.operator} over {window}, chunk {self.chunk}>"


class Sba(Boundary):
    """Sequential boundary aggregation: at most 3 combines a slide, and b-2 when a chunk ends.

    `push(value)` returns the result at each slide boundary once `range` values were seen, else
    None; `query()` is the last of these results. `slide(values)` runs a whole column: one result a
    slide, the first ones of what is there.

    >>> import slidefold as sf
    >>> a = Sba(sf.max(), range=4, slide=2)
    >>> [a.push(x) for x in (5, 4, 6, 3, 0, 0)]
    [None, None, None, 6.0, None, 6.0]
    >>> a.slide([5.0, 4.0, 6.0, 3.0, 0.0, 0.0])
    array([5., 6., 6.])
    """

    name = "sba"


class Pba(Boundary):
    """Parallel boundary aggregation: Sba whose second pass over a chunk runs on a second thread.

    Operators that may call Python or fail run as Sba, and so do chunks too short for a hand-over.

    >>> import slidefold as sf
    >>> a = Pba(sf.max(), range=3)
    >>> [a.push(x) for x in (1.0, 5.0, 2.0, 3.0, 4.0)]
    [None, None, 5.0, 5.0, 4.0]
    """

    name = "pba"
