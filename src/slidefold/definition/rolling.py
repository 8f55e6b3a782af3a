"""The definition: which columns to compute, over which windows, by key, in time order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from keyword import iskeyword
from numbers import Integral
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Unpack, overload

from slidefold.definition.drawn import drawn
from slidefold.definition.expressions import Node
from slidefold.definition.files import from_dict
from slidefold.definition.formula import Formula
from slidefold.definition.lowering import Lowered, inlined, lower, windows_in
from slidefold.definition.operators import Operator, Over
from slidefold.definition.operators.over_window import require_algorithm
from slidefold.definition.plain_values import to_dict
from slidefold.definition.windows import (
    Every,
    Given,
    Rows,
    Time,
    WindowKind,
    every_of,
)
from slidefold.definition.windows.calls import written
from slidefold.definition.windows.closed import UNSAID
from slidefold.definition.windows.durations import plain_length
from slidefold.errors import ColumnError

if TYPE_CHECKING:
    import pyarrow as pa

    from slidefold.definition.frames import (
        ArrowStream,
        Frame,
        HasColumns,
        HasSchema,
        Moment,
        Spark,
        SparkFrame,
        SparkOptions,
    )
    from slidefold.live import Live

_BOUNDS = ("window_start", "window_end")
ARGUMENTS = ("on", "by", "every", "offset", "zone", "fill", "order", "closed", "columns")


@dataclass(frozen=True)
class Leaf:
    """One operator over one window: a column, or a field of a struct column."""

    path: tuple[str, ...]
    operator: Operator
    window: WindowKind
    min_count: int | None = None
    algorithm: str | None = None


@dataclass(frozen=True, repr=False)
class Rolling:
    """A definition of columns over sliding windows; it can be printed, compared, saved and run.

    Create one with `slidefold.rolling`.
    """

    on: str
    by: tuple[str, ...]
    items: tuple[tuple[str, Over | Formula], ...]
    every: Given | Rows | Time | None = None
    offset: Given | Time | None = None
    order: str | tuple[str, ...] = ()
    closed: str | None = None
    zone: str | None = None
    fill: bool = False
    # The columns that order rows of equal time, if a larger definition has already chosen them.
    peers: tuple[str, ...] | None = field(default=None, compare=False)
    plain: bool = field(default=False, compare=False)  # whether this is a core already

    def __post_init__(self) -> None:
        slide = every_of(self.every, self.offset, self.zone, self.fill)
        for name in ("every", "offset"):
            object.__setattr__(self, name, _plain(getattr(self, name)))
        object.__setattr__(self, "offset", getattr(self.offset, "range", self.offset))
        if slide is not None:
            slide.check([over.window for over in self._overs()])
        names = [*self.by, *_BOUNDS] if slide is not None else []
        names += [name for name, _ in self.items]
        duplicate = next((name for name in names if names.count(name) > 1), None)
        if duplicate is not None:
            raise ColumnError(f"two result columns are named {duplicate!r}: rename one of them")
        settled = tuple((name, item.settle(self.default_closed)) for name, item in self.items)
        object.__setattr__(self, "items", settled)
        for over in self._overs():
            require_algorithm(over.algorithm)
            over.require_bounded()
        _ = self.core  # raises if columns refer to themselves

    @property
    def columns(self) -> Mapping[str, Over | Formula]:
        """The new columns by name."""
        return MappingProxyType(dict(self.items))

    @cached_property
    def _lowered(self) -> Lowered:
        return Lowered(self.items) if self.plain else lower(self)  # type: ignore[arg-type]

    @cached_property
    def core(self) -> Rolling:
        """The definition that engines fold: operators over columns that have names."""
        items = self._lowered.items
        if items == self.items:
            return self
        return replace(self, items=items, peers=self.ties, plain=True)

    @cached_property
    def bare(self) -> Rolling:
        """The definition without its formulas: the results of the core over the same rows."""
        if not self.formulas:
            return self
        bare = replace(self.core)
        bare.__dict__["_lowered"] = replace(self._lowered, formulas=())
        return bare

    def bare_beside(self, names: Collection[str]) -> Rolling:
        """Return the same with results of other names than these columns have."""
        if not any(name in names for name in self.overs):
            return self.bare
        apart = "'" * (1 + max(len(name) for name in names))
        items = tuple((name + apart, over) for name, over in self._lowered.items)
        bare = replace(self.core, items=items)
        bare.__dict__["_lowered"] = replace(self._lowered, items=items, formulas=())
        return bare

    @cached_property
    def overs(self) -> Mapping[str, Over]:
        """The operators over windows that engines fold, by the names of their results."""
        return MappingProxyType(dict(self._lowered.items))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "overs"}  # a proxy

    @property
    def derived(self) -> tuple[tuple[str, Node], ...]:
        """The columns that are computed from a row before the core folds it."""
        return self._lowered.derived

    @property
    def formulas(self) -> tuple[tuple[str, Node], ...]:
        """The columns, made of a row and of the core's results; empty if those are the columns."""
        return self._lowered.formulas

    @cached_property
    def row_columns(self) -> tuple[str, ...]:
        """The columns of a row that formulas read."""
        return self._lowered.row_columns

    @property
    def required(self) -> tuple[str, ...]:
        """The columns that the data must have."""
        rows = self.row_columns if self.slide is None else ()
        return tuple(dict.fromkeys((*self.used, *rows)))

    def _overs(self) -> Iterator[Over]:
        """Yield all operators over windows."""
        for _, item in self.items:
            yield from windows_in(item)

    @property
    def slide(self) -> Every | None:
        """When results are computed; None for one result per input row."""
        return every_of(self.every, self.offset, self.zone, self.fill)

    @cached_property
    def used(self) -> tuple[str, ...]:
        """The input columns that are read: times, keys, `order`, then the operators' inputs."""
        ordering = () if isinstance(self.order, str) else self.order
        peers = self.peers or ()
        return tuple(dict.fromkeys((self.on, *self.by, *ordering, *self.inputs, *peers)))

    @cached_property
    def ties(self) -> tuple[str, ...]:
        """The columns that order rows of equal time; empty if their order changes no result."""
        if self.peers is not None:
            return self.peers
        overs = [over for _, over in self._lowered.items]
        if self.order == "input" or not any(_tells_order(over) for over in overs):
            return ()
        # The column of a delta window must not decrease, so it is the first sort key.
        walked = [name for over in overs for name in over.window.walks]
        rest = [name for name in self.inputs if name != self.on and name not in self.by]
        return tuple(dict.fromkeys((*walked, *self.order, *rest)))

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The core's operators over their windows; a struct yields each operator in it."""
        return tuple(
            Leaf((name, *path), operator, over.window, over.min_count, over.algorithm)
            for name, over in self._lowered.items
            for path, operator in over.operator.leaves()
        )

    @cached_property
    def windows(self) -> tuple[WindowKind, ...]:
        """The distinct windows; columns with the same window share its frames."""
        return tuple(dict.fromkeys(over.window for _, over in self._lowered.items))

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The columns of a row that operators and windows read."""
        derived = dict(self.derived)
        return tuple(
            dict.fromkeys(
                read
                for _, over in self._lowered.items
                for name in over.columns
                for read in (derived[name].columns() if name in derived else (name,))
            )
        )

    @overload
    def run(self, data: SparkFrame, *, at: Spark, **options: Unpack[SparkOptions]) -> Spark: ...
    @overload
    def run(self, data: Spark, **options: Unpack[SparkOptions]) -> Spark: ...
    @overload
    def run(
        self,
        data: HasColumns | HasSchema | ArrowStream,
        *,
        at: Frame,
        known: str | None = None,
        asked: str | None = None,
        lateness: Given | None = None,
        threads: int = 1,
    ) -> Frame: ...
    @overload
    def run(
        self, data: Frame, *, threads: int = 1, since: Moment = None, until: Moment = None
    ) -> Frame: ...
    @overload
    def run(
        self, data: ArrowStream, *, threads: int = 1, since: Moment = None, until: Moment = None
    ) -> pa.Table: ...
    def run(self, data: Any, **options: Any) -> Any:
        """Compute the columns for a table and return a table of the same type.

        `data` may be an Arrow table, batch or reader, a pandas or Polars frame, a DuckDB relation
        or a narwhals frame. For any other object with `__arrow_c_stream__` the result is an Arrow
        table. Rows may be in any order, except that a reader must yield them in time order. The
        result keeps the input's rows, order and columns, and appends the new columns. With `every`,
        the result has the keys, `window_start`, `window_end` and the new columns.

        With `at`, a table of questions, the result is that table with the columns as of the time
        and key of each of its rows, over the events in `data`. `known` names a column of `data`
        with the time at which each event arrived: then an event counts for a question only if it
        had arrived by the question's time, or by the time in the column that `asked` names.
        `lateness` also leaves out the events that a live run with that lateness would drop.

        With `since` and `until`, only results of that period are returned, and only the rows that
        their windows need are read: the rows from `since` on and before `until`, or with `every`
        the windows that end after `since` and not after `until`. Times without a zone are UTC, or
        in `zone`.

        `threads` sets the number of threads for long columns; with more than one, float sums may
        differ in their last digits. A Spark DataFrame gives a Spark DataFrame; `options` control
        how Spark runs the definition.
        """
        from slidefold import api  # the only import from a higher layer

        return api.run(self, data, **options)

    def live(
        self,
        *,
        lateness: Given,
        emit: str = "final",
        late: str = "drop",
        id: str | Sequence[str] = (),
        schema: Any = None,
        idle: Given | None = None,
        clock: Callable[[], float] | None = None,
    ) -> Live:
        """Start a run over rows in order of arrival: `feed` takes rows and returns results.

        The watermark is the newest time minus `lateness`. A row is late if its time is at or before
        the watermark. `late` decides what happens to late rows: `"drop"` drops and counts them,
        `"side"` returns them separately, `"raise"` raises an error. `emit="final"` gives the same
        results as `run`, each one once, after the watermark has passed it. `push` takes single
        events; `schema` is the Arrow schema of the rows, if `push` comes before any table. With
        `idle="5m"`, `live.tick()` moves the watermark to the newest time after five minutes without
        rows; `clock` replaces `time.monotonic`.
        """
        from slidefold import api

        return api.live(
            self,
            lateness=lateness,
            emit=emit,
            late=late,
            id=id,
            schema=schema,
            idle=idle,
            clock=clock,
        )

    @overload
    def explain(
        self, data: SparkFrame, *, at: SparkFrame | None = None, **options: Unpack[SparkOptions]
    ) -> str: ...
    @overload
    def explain(
        self,
        data: pa.Schema | HasColumns | HasSchema | ArrowStream | None = None,
        *,
        at: HasColumns | HasSchema | ArrowStream | None = None,
        known: str | None = None,
        threads: int = 1,
        since: Moment = None,
        until: Moment = None,
    ) -> str: ...
    def explain(self, data: Any = None, **options: Any) -> str:
        """Describe for each column its kernel, its algorithm and why, its cost and its state.

        The plan depends on the types of the input columns: pass the data or its Arrow schema.
        Without it, all columns are assumed to be floats. For a Spark DataFrame, `options` are those
        of `run`, and the text also describes the Spark job: partitions, chunks, scans of the input.
        """
        from slidefold import api

        return api.explain(self, data, **options)

    def lateness(
        self, data: Any, *, arrived: str | None = None, delays: Sequence[Given] | None = None
    ) -> pa.Table:
        """Show what each of several latenesses would cost, to choose one from data.

        Events are replayed in the order of the column `arrived`, or as they are. The result has one
        row per lateness: `late` rows that a live run would not accept; results of other rows that
        would be `changed` without them; the median and the largest relative change of a number.
        `delays` are the choices; without it there are up to 20, the last of which loses no row.

        >>> import pyarrow as pa, slidefold as sf
        >>> features = sf.rolling(on="t", s=sf.sum("x").over(sf.time(10)))
        >>> events = pa.table({"t": [5, 9, 6, 20], "x": [1, 1, 1, 1]})
        >>> found = features.lateness(events, delays=[1, 5])
        >>> found.select(["lateness", "late", "changed"]).to_pylist()
        [{'lateness': 1, 'late': 1, 'changed': 1}, {'lateness': 5, 'late': 0, 'changed': 0}]
        """
        from slidefold import api

        return api.lateness(self, data, arrived=arrived, delays=delays)

    def why(
        self,
        row: Any,
        column: str,
        data: Frame,
        *,
        known: str | None = None,
        asked: str | None = None,
    ) -> Frame:
        """Return the events behind one value: those in its windows that its operators folded.

        `data` are the events, and the result is a table of the same kind.
        `row` is a dict or a table of one row with the time, the keys and what the column reads of a
        row. A column `part` tells which operator and window held each event. `known` and `asked`
        are those of `run`.

        >>> import pyarrow as pa, slidefold as sf
        >>> features = sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(10)))
        >>> events = pa.table({"t": [1, 5, 20], "k": ["a", "a", "a"], "x": [1, 2, 4]})
        >>> features.why({"t": 12, "k": "a"}, "s", events).select(["t", "x"]).to_pylist()
        [{'t': 5, 'x': 2}]
        """
        from slidefold import api

        return api.why(self, row, column, data, known=known, asked=asked)  # type: ignore[no-any-return]

    def to_dict(self) -> dict[str, Any]:
        """Return the definition as plain dicts, lists, strings and numbers, ready for a file.

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
        """Create a definition from the result of `to_dict` or the contents of a file."""
        from slidefold.definition.arguments import rolling

        return rolling(**from_dict(saved))

    @property
    def default_closed(self) -> str:
        """The value of `closed` for windows that do not set it."""
        if self.closed is not None:
            return self.closed
        return UNSAID if self.slide is None else self.slide.default_closed

    def only(self, *names: str) -> Rolling:
        """Return the definition with only these columns; rows of equal time keep their order.

        >>> import slidefold as sf
        >>> both = sf.rolling(on="t", n=sf.count().over("1h"), s=sf.sum("x").over("1h"))
        >>> list(both.only("n").columns)
        ['n']
        """
        items = tuple((name, inlined(name, self)) for name, _ in self.items if name in names)
        return replace(self, items=items, peers=self.ties)

    def _repr_html_(self) -> str:
        return drawn(self)

    def plot(
        self,
        table: Any,
        column: str | None = None,
        *,
        key: Any = None,
        row: int | None = None,
        lateness: Given | None = None,
    ) -> Any:
        """Return a chart of one column over the rows of a key; needs `slidefold[plot]`.

        The chart shows the values, the results, and the window of one row: `row` is its number in
        the table, by default the last row of the key. `key` is the key, or a tuple of several keys,
        by default that of the first row. With `lateness`, rows are taken to arrive in the order of
        the table, and those that a live run would drop are marked.
        """
        from slidefold import plot

        return plot.figure(self, table, column, key=key, row=row, lateness=lateness)

    def __repr__(self) -> str:
        head = {"on": self.on, "by": self.by, "every": self.every, "offset": self.offset}
        head |= {"zone": self.zone, "fill": self.fill or None}
        arguments = [
            f"{name}={written(value[0] if isinstance(value, tuple) and len(value) == 1 else value)}"
            for name, value in (*head.items(), ("order", self.order), ("closed", self.closed))
            if value is not None and value != ()
        ]
        columns = {name: over.text(self.default_closed) for name, over in self.items}
        if all(_is_keyword(name) for name in columns):
            lines = [f"    {name}={text},\n" for name, text in columns.items()]
        else:
            lines = [f"        {name!r}: {text},\n" for name, text in columns.items()]
            lines = ["    columns={\n", *lines, "    },\n"]
        return f"sf.rolling(\n    {', '.join(arguments)},\n{''.join(lines)})"


def _plain(length: Any) -> Any:
    """Return an `every` or `offset` as a plain Python value that can be saved."""
    length = plain_length(length)
    return int(length) if isinstance(length, Integral) else length


def _is_keyword(name: str) -> bool:
    """Tell whether a column can be passed to `rolling` as `name=`."""
    return name.isidentifier() and not iskeyword(name) and name not in ARGUMENTS


def _tells_order(over: Over) -> bool:
    """Tell whether the order of rows of equal time can change a result."""
    leaves = over.operator.leaves()
    return over.window.orders_peers or any(
        not leaf.commutes and leaf.record.peers_matter for _, leaf in leaves
    )
