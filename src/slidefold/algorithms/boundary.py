"""Sba and Pba: boundary aggregation for windows with a fixed range and a fixed slide."""

from __future__ import annotations

from operator import index
from typing import Any, ClassVar, Self

from slidefold import _native
from slidefold.algorithms.base import MOST_SLOTS
from slidefold.definition.operators import Operator, require_events
from slidefold.errors import WindowError
from slidefold.state import (
    Operators,
    field,
    operator_header,
    require_options,
    require_room,
    restore,
    saving,
)

_WINDOW = {"range": int, "slide": int, "chunk": int, "counted": bool}
_ROWS = {**_WINDOW, "checked": bool}
_TIMED = {**_WINDOW, "timed": bool, "combine_time": float}


def optimal_chunk_rows(range: int, slide: int = 1) -> int:
    """Return the best chunk size in slices for a rows window (Theorem 1 of the PBA paper).

    >>> optimal_chunk_rows(10, 2), optimal_chunk_rows(2**5), optimal_chunk_rows(2**20)
    (4, 17, 524289)
    """
    _require_window(range, slide)
    return _native.optimal_chunk_rows(range, slide)


def optimal_chunk_time(range: float, slide: float, combine_time: float) -> int:
    """Return the best chunk size in slices for a time window (Theorem 2 of the PBA paper).

    `combine_time` is the duration of one combine. All three arguments use the same unit.

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
            raise WindowError(f"{name} must be less than 2**62, got {whole}")
    if range < slide:
        raise WindowError(f"range must be at least slide, got range {range}, slide {slide}")
    if range // slide > MOST_SLOTS:
        raise WindowError(
            f"range must be at most {MOST_SLOTS:,} slides, got {range // slide:,}; use a longer "
            "slide"
        )


class Boundary(_native.BoundaryCore):
    """Base class of Sba and Pba. Use a subclass."""

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
        """Create time windows `[end - range, end)`, one for each multiple `end` of `slide`.

        Times are integers. `push(time, value)` and `advance(time)` return a list of `(end, result)`
        for the windows that this time closes. Windows without values are not reported.
        `combine_time`, the duration of one combine in the same unit, sets the chunk size
        (Theorem 2).

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
        require_events(operator)
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
        """Restore an aggregator from its saved state; it continues where the saved one stopped.

        Bytes never import anything. A user operator must be in a module that is already imported,
        or be passed as `operator` or in the list `operators`. Raises `StateError` if the bytes are
        not the state of this class.
        """
        return restore(cls, data, operator, operators)

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
        restored = cls.__new__(cls)
        restored._setup(operator, options)
        return restored

    def __repr__(self) -> str:
        window = f"W[{self._options['range']}, {self._options['slide']}]"
        return f"<{type(self).__name__} {self.operator} over {window}, chunk {self.chunk}>"


class Sba(Boundary):
    """Sequential boundary aggregation: at most 3 combines per slide, plus b-2 when a chunk ends.

    After the first `range` values, `push(value)` returns the result at each slide boundary, and
    None otherwise. `query()` returns the last of these results. `slide(values)` runs a whole column
    and returns one result per slide; the first results cover windows that are not yet full.

    >>> import slidefold as sf
    >>> a = Sba(sf.max(), range=4, slide=2)
    >>> [a.push(x) for x in (5, 4, 6, 3, 0, 0)]
    [None, None, None, 6.0, None, 6.0]
    >>> a.slide([5.0, 4.0, 6.0, 3.0, 0.0, 0.0])
    array([5., 6., 6.])
    """

    name = "sba"


class Pba(Boundary):
    """Parallel boundary aggregation: Sba with the second pass over a chunk on a second thread.

    Operators that may call Python or raise run as Sba, and so do chunks too short to hand over.

    >>> import slidefold as sf
    >>> a = Pba(sf.max(), range=3)
    >>> [a.push(x) for x in (1.0, 5.0, 2.0, 3.0, 4.0)]
    [None, None, 5.0, 5.0, 4.0]
    """

    name = "pba"
