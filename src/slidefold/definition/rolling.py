"""The one definition: what is computed, over which windows, by key, in time order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from keyword import iskeyword
from numbers import Integral
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from slidefold.definition.files import from_dict, to_dict
from slidefold.definition.operators import Operator, Over
from slidefold.definition.operators.over import require_algorithm
from slidefold.definition.windows import Every, Given, WindowKind, every_of, window_suffix
from slidefold.definition.windows.calls import written
from slidefold.definition.windows.durations import plain_length
from slidefold.errors import ColumnError, DefinitionError, nearest

if TYPE_CHECKING:
    from slidefold.live import Live

# A table of Arrow, a frame of pandas, Polars, Spark and the like: the same kind comes back.
Frame = TypeVar("Frame")
_BOUNDS = ("window_start", "window_end")
ARGUMENTS = ("on", "by", "every", "offset", "order", "columns")


@dataclass(frozen=True)
class Leaf:
    """One operator over one window: a column, or a field of a column that is a struct."""

    path: tuple[str, ...]
    operator: Operator
    window: WindowKind
    min_count: int | None = None
    algorithm: str | None = None


@dataclass(frozen=True, repr=False)
class Rolling:
    """Columns over sliding windows: a value that can be printed, compared, saved and run.

    Made by `slidefold.rolling`.
    """

    on: str
    by: tuple[str, ...]
    items: tuple[tuple[str, Over], ...]
    every: Any = None
    offset: Any = None
    order: str | tuple[str, ...] = ()
    # The columns that order rows of equal time, where a larger definition says so.
    peers: tuple[str, ...] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        slide = every_of(self.every, self.offset)
        for name in ("every", "offset"):
            object.__setattr__(self, name, _plain(getattr(self, name)))
        object.__setattr__(self, "offset", getattr(self.offset, "range", self.offset))
        if slide is not None:
            slide.check([over.window for _, over in self.items])
        names = [*self.by, *_BOUNDS] if slide is not None else []
        names += [name for name, _ in self.items]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ColumnError(f"there would be two columns named {twice!r}")
        default = "right" if slide is None else slide.default_closed
        settled = tuple((name, over.settle(default)) for name, over in self.items)
        object.__setattr__(self, "items", settled)
        for _, over in self.items:
            require_algorithm(over.algorithm)

    @property
    def columns(self) -> Mapping[str, Over]:
        """The new columns by name."""
        return MappingProxyType(dict(self.items))

    @property
    def slide(self) -> Every | None:
        """When there is a result; None for one an input row."""
        return every_of(self.every, self.offset)

    @cached_property
    def used(self) -> tuple[str, ...]:
        """The input columns that are read: times, keys, `order`, then those of the columns."""
        ordering = () if isinstance(self.order, str) else self.order
        peers = self.peers or ()
        return tuple(dict.fromkeys((self.on, *self.by, *ordering, *self._inputs(), *peers)))

    @cached_property
    def ties(self) -> tuple[str, ...]:
        """The columns that order rows of equal time; none where that changes no result."""
        if self.peers is not None:
            return self.peers
        if self.order == "input" or not any(_tells_order(over) for _, over in self.items):
            return ()
        # What a delta window walks along must not decrease, so it comes before all.
        walked = [name for _, over in self.items for name in over.window.walks]
        rest = [name for name in self._inputs() if name != self.on and name not in self.by]
        return tuple(dict.fromkeys((*walked, *self.order, *rest)))

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The operators over their windows, those in structs one by one."""
        return tuple(
            Leaf((name, *path), operator, over.window, over.min_count, over.algorithm)
            for name, over in self.items
            for path, operator in over.operator.leaves()
        )

    @cached_property
    def windows(self) -> tuple[WindowKind, ...]:
        """The windows, each once: columns that share one share its frames."""
        return tuple(dict.fromkeys(over.window for _, over in self.items))

    def _inputs(self) -> Iterator[str]:
        for _, over in self.items:
            yield from over.columns

    def run(self, data: Frame, **options: Any) -> Frame:
        """Compute the columns for a table, and return one of the same kind.

        Arrow tables, batches and readers, pandas and Polars frames, DuckDB relations and narwhals
        frames are taken; any other object with `__arrow_c_stream__` comes back as an Arrow table.
        Rows may come in any order, those of a reader in time order; they are returned as they came,
        with the new columns behind theirs. With `every`, the result has the keys, `window_start`,
        `window_end` and the new columns.

        `threads` fold long columns; float sums may then differ in their last digits. A Spark
        DataFrame gives a Spark DataFrame; `options` say how Spark is to run it.
        """
        from slidefold import api  # the one import that points up

        return api.run(self, data, **options)  # type: ignore[no-any-return]

    def live(
        self,
        *,
        lateness: Given,
        emit: str = "final",
        late: str = "drop",
        id: str | Sequence[str] = (),
    ) -> Live:
        """Start a run over rows in order of arrival: `feed` them, and results come when due.

        A row is late if its time is at or before the watermark, which is the newest time minus the
        `lateness`; then it is dropped and counted, comes out on the `side`, or is an error
        (`late="raise"`). `emit="final"` gives the results of `run`, each once, when the watermark
        has passed it.
        """
        from slidefold import api

        return api.live(self, lateness=lateness, emit=emit, late=late, id=id)

    def explain(self, data: Any = None, **options: Any) -> str:
        """Say for each column which kernel and algorithm run, why, what a row costs, what is kept.

        The types of the input columns decide too: give the data, or its Arrow schema; without it
        columns are taken for floats. For a Spark DataFrame it also says how Spark would run it
        with these options of `run`: partitions, chunks, scans of the input.
        """
        from slidefold import api

        return api.explain(self, data, **options)

    def to_dict(self) -> dict[str, Any]:
        """Return the definition as plain dicts, lists, strings and numbers, as files have them.

        >>> import slidefold as sf
        >>> d = sf.rolling(on="ts", total=sf.sum("x").over("1h"))
        >>> d.to_dict()["columns"]["total"]
        {'operator': 'sum', 'columns': ['x'], 'over': '1h'}
        >>> sf.Rolling.from_dict(d.to_dict()) == d
        True
        """
        return to_dict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Rolling:
        """Make a definition from what `to_dict` returned or a file says."""
        return rolling(**from_dict(saved))

    @property
    def default_closed(self) -> str:
        """What `closed` of a window is where nothing is said."""
        return "right" if self.slide is None else self.slide.default_closed

    def only(self, *names: str) -> Rolling:
        """Return the definition with these of its columns; rows stay in the order of all of them.

        >>> import slidefold as sf
        >>> both = sf.rolling(on="t", n=sf.count().over("1h"), s=sf.sum("x").over("1h"))
        >>> list(both.only("n").columns)
        ['n']
        """
        items = tuple(item for item in self.items if item[0] in names)
        return replace(self, items=items, peers=self.ties)

    def __repr__(self) -> str:
        head = {"on": self.on, "by": self.by, "every": self.every, "offset": self.offset}
        said = [
            f"{name}={written(value[0] if isinstance(value, tuple) and len(value) == 1 else value)}"
            for name, value in (*head.items(), ("order", self.order))
            if value is not None and value != ()
        ]
        columns = {name: over.text(self.default_closed) for name, over in self.items}
        if all(_is_keyword(name) for name in columns):
            lines = [f"    {name}={text},\n" for name, text in columns.items()]
        else:
            lines = [f"        {name!r}: {text},\n" for name, text in columns.items()]
            lines = ["    columns={\n", *lines, "    },\n"]
        return f"sf.rolling(\n    {', '.join(said)},\n{''.join(lines)})"


def _plain(length: Any) -> Any:
    """Return an `every` or `offset` as Python's own values, such as files have."""
    length = plain_length(length)
    return int(length) if isinstance(length, Integral) else length


def _is_keyword(name: str) -> bool:
    """Tell whether a column can be given to `rolling` by `name=`."""
    return name.isidentifier() and not iskeyword(name) and name not in ARGUMENTS


def _tells_order(over: Over) -> bool:
    """Tell whether the order of rows of equal time can change a result."""
    leaves = over.operator.leaves()
    return over.window.orders_peers or any(not leaf.traits.commutative for _, leaf in leaves)


def rolling(
    *,
    on: str,
    by: str | Sequence[str] = (),
    every: Any = None,
    offset: Any = None,
    order: str | Sequence[str] = (),
    columns: Mapping[str, Over | Sequence[Over]] | None = None,
    **more: Over | Sequence[Over],
) -> Rolling:
    """Define columns over sliding windows: `name=operator.over(window)`.

    `on` is the column of times, `by` the column or columns of keys; null is a key too. There is one
    result an input row, or one each `every`: a duration (at multiples of it since 1970 UTC, plus
    `offset`; windows are closed="left" unless they say otherwise), a number of rows,
    `sf.time(10)` where times are numbers, or "window" for closed sessions and punctuated windows.
    Rows of equal time see each other. Where their order matters it is `order`, then the columns
    used; `order="input"` takes them as they come. `columns` takes names that are no identifiers, or
    that are arguments of this function. Over a list of windows there is one column for each.

    >>> import pyarrow as pa, slidefold as sf
    >>> sf.rolling(on="t", by="k", total=sf.sum("x").over(["1h", "24h"]))
    sf.rolling(
        on='t', by='k',
        total_1h=sf.sum('x').over('1h'),
        total_24h=sf.sum('x').over('24h'),
    )
    """
    given = {"on": on, "by": by, "every": every, "offset": offset, "order": order}
    for name, value in (*given.items(), ("columns", columns)):
        if isinstance(value, Operator | Over) or _is_list(value):
            raise DefinitionError(
                f"{name}= is an argument of rolling: give a column of this name as "
                f"columns={{{name!r}: ...}}"
            )
    if columns is not None and not isinstance(columns, Mapping):
        raise DefinitionError(f"columns is a dict of columns by their names, got {columns!r}")
    named: dict[str, Over] = {}
    for name, value in (*(columns or {}).items(), *more.items()):
        for each, over in _expanded(name, value):
            if each in named:
                raise ColumnError(f"there would be two columns named {each!r}")
            named[each] = over
    if not named:
        raise DefinitionError("rolling needs at least one column, such as n=sf.count().over('1h')")
    for name, over in named.items():
        if not isinstance(name, str) or not name:
            raise DefinitionError(f"a column is named by a string, got {name!r}")
        if isinstance(over, Operator):
            raise DefinitionError(f"the column {name!r} has no window: add .over('1h')")
        if not isinstance(over, Over):
            raise DefinitionError(
                f"the column {name!r} must be an operator over a window, such as "
                f"sf.sum('x').over('1h'), got {over!r}{nearest(name, ARGUMENTS)}"
            )
    if not isinstance(on, str):
        raise DefinitionError(f"on is the name of the column of times, got {on!r}")
    keys = _names("by", by)
    ordering: str | tuple[str, ...] = "input" if order == "input" else _names("order", order)
    return Rolling(on, keys, tuple(named.items()), every, offset, ordering)


def _is_list(value: object) -> bool:
    """Tell whether this is what `over` makes of a list of windows."""
    return isinstance(value, tuple | list) and any(isinstance(each, Over) for each in value)


def _expanded(name: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the columns that one argument stands for: one for each window of a list."""
    if not _is_list(value) or not isinstance(name, str):
        yield name, value
        return
    for over in value:
        if not isinstance(over, Over):
            raise DefinitionError(f"the column {name!r} has a list that is no list of windows")
        yield f"{name}_{window_suffix(over.window)}", over


def _names(what: str, given: object) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, (tuple, list)) or not all(isinstance(name, str) for name in names):
        raise DefinitionError(f"{what} is the name of a column or a list of them, got {given!r}")
    if len(set(names)) < len(names):
        raise ColumnError(f"{what} names a column twice: {', '.join(names)}")
    return tuple(names)
