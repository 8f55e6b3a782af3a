"""Time windows of many keys: whole batches in, one result per row out."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from slidefold import _native
from slidefold.definition.operators import Operator, StructOperator, require_events
from slidefold.definition.windows import Given, Time, lateness_of, window_of
from slidefold.errors import OperatorError, ValueTypeError, WindowError
from slidefold.state import (
    Operators,
    field,
    length_from,
    length_header,
    operator_header,
    saving,
    window_from,
    window_header,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from slidefold.definition.frames import Instant


class KeyedWindows(_native.KeyedCore):
    """Time windows of many keys, compact for millions of keys with a few entries each.

    `push(keys, times, values)` inserts a whole batch in one native call. It returns one result per
    row as a pyarrow array, or as a list if Arrow has no type for the results. The batch is inserted
    first; then each row gets the result of its key's window that ends at the row's time. Then all
    entries that no window after the watermark needs are evicted, and keys without entries are
    removed.

    `push(..., watermark=)` and `advance` set the watermark. With `lateness=`, the watermark is just
    before the newest time of all keys minus the lateness. Rows at or before the watermark are late:
    they are dropped, counted in `late` and null in the result; with `late="raise"` they raise an
    error. Equal times of a key combine in row order.

    Keys are integers or strings. Times are integers, floats or numpy datetimes, to match the
    window.

    >>> import slidefold as sf
    >>> spend = KeyedWindows(sf.sum(), sf.time(10), lateness=5)
    >>> spend.push(["ann", "bob", "ann"], [1, 2, 8], [5.0, 1.0, 2.0]).to_pylist()
    [5.0, 1.0, 7.0]
    >>> spend.push(["ann", "cat", "bob"], [14, 9, 3], [1.0, 4.0, 2.0]).to_pylist()
    [3.0, 4.0, 3.0]
    >>> len(spend), spend.query("ann"), spend.watermark
    (3, 3.0, 8)
    """

    def __init__(
        self,
        operator: Operator,
        window: Time | str | timedelta | np.timedelta64,
        *,
        lateness: Given | None = None,
        late: str = "drop",
    ) -> None:
        require_events(operator)
        if isinstance(operator, StructOperator):  # a batch cannot distinguish NaN from no value
            raise OperatorError(
                "KeyedWindows does not accept struct(); create one KeyedWindows for each of its "
                "parts"
            )
        timed: Any = window_of(window)
        if not (timed.in_time and timed.live):
            raise WindowError(f"expected a time window, such as sf.time('1h'), got {timed}")
        if late not in ("drop", "raise"):
            raise WindowError(f"late must be 'drop' or 'raise', got {late!r}")
        self.operator = operator
        self.window = timed
        lateness = None if lateness is None else lateness_of(lateness)
        self._lateness, self._late = lateness, late
        self._rule = timed.rule()
        self._rule["lateness"] = 0 if lateness is None else timed.lateness_rule(lateness)
        super().__init__(operator, self._rule, lateness is not None)

    def push(
        self, keys: Any, times: Any, values: Any, *, watermark: Instant | None = None
    ) -> pa.Array:
        """Insert a batch, return one result per row, then evict by the watermark.

        Keys, times and values are lists, arrays, or columns of Arrow, pandas or Polars, without
        nulls. For an operator over several columns, pass a tuple of columns. If an error is raised,
        nothing is inserted.
        """
        results, valid = self._push(
            native_keys(keys), self._times(times), _plain(values), watermark, self._late == "raise"
        )
        return _results(results, valid)

    def query(self, key: int | str, at: Instant | None = None) -> Any:
        """Return the result of a key's window that ends at a time, by default now.

        The result is None if the window is empty.
        """
        return self._query(key, at)

    def advance(self, watermark: Instant) -> None:
        """Drop the entries of all keys that no window after the watermark needs."""
        self._advance(watermark)

    def evict(self, key: int | str, time: Instant) -> bool:
        """Retract a key's entry at a time; return False if there is none."""
        return self._evict(key, time)

    def keys(self) -> list[int | str]:
        """List the keys that have entries."""
        return self._keys()

    copy = __copy__ = saving.copy
    __deepcopy__ = saving.deepcopy
    to_bytes = saving.to_bytes
    __reduce__ = saving.reduce

    @classmethod
    def from_bytes(
        cls, data: bytes, operator: Operator | None = None, *, operators: Operators = ()
    ) -> Self:
        """Restore keyed windows from their saved state; they continue where the saved ones stopped.

        Bytes never import anything. A user operator must be in a module that is already imported,
        or be passed as `operator` or in the list `operators`. Raises `StateError` if the bytes are
        not the state of this class.
        """
        return saving.from_bytes(cls, data, operator, operators)

    def _twin(self) -> Self:
        twin = type(self).__new__(type(self))
        _native.KeyedCore.__init__(twin, self.operator, self._rule, self._lateness is not None)
        return twin

    def _header(self) -> dict[str, Any]:
        return {
            "operator": operator_header(self.operator),
            "window": window_header(self.window),
            "lateness": length_header(self._lateness),
            "late": self._late,
        }

    @classmethod
    def _kind(cls) -> str:
        return "keyed_windows"

    @classmethod
    def _made(cls, header: dict[str, Any], operator: Operator, room: int) -> Self:
        window = window_from(field(header, "window", dict))
        lateness = length_from(header.get("lateness"))
        return cls(operator, window, lateness=lateness, late=field(header, "late", str))  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"<KeyedWindows {self.operator} over {self.window}, {len(self)} keys>"

    def _times(self, times: Any) -> Any:
        array = np.asarray(times)
        if array.ndim != 1:
            raise ValueTypeError(f"times must be one-dimensional, got {array.ndim} dimensions")
        kind = array.dtype.kind
        if self.window.datetimes:
            if array.size == 0:
                return array.astype(np.int64)
            if kind == "O":
                return _instants(array)
            if kind != "M":
                raise ValueTypeError(
                    f"the window is a duration, so times must be datetime64, got {array.dtype}"
                )
            return _microseconds(array)
        if array.size == 0:
            return array.astype(np.float64 if self._real else np.int64)
        if kind == "f" and not self._turn_real():
            raise ValueTypeError("times must be integers, as in earlier batches, got floats")
        if kind == "f" and array.dtype.itemsize <= 8:
            return np.ascontiguousarray(array, np.float64)
        if kind in "iu" and not (kind == "u" and array.max() >= 2**63):
            if not self._real:
                return np.ascontiguousarray(array, np.int64)
            if np.abs(array).max() <= 2**53:
                return np.ascontiguousarray(array, np.float64)
            raise ValueTypeError("integer times beyond 2**53 cannot be mixed with float times")
        raise ValueTypeError(f"times must be int64 or float64, got {array.dtype}")


def _results(results: Any, valid: Any) -> Any:
    import pyarrow as pa

    if isinstance(results, np.ndarray):
        return pa.array(results, mask=~valid)
    try:
        return pa.array(results)
    # Integers beyond 64 bits raise OverflowError.
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return results


def _plain(values: Any) -> Any:
    """Convert columns of pandas, Polars and Arrow to arrays of numbers, or else to lists."""
    if isinstance(values, tuple):
        return tuple(_plain(column) for column in values)
    kind = type(values).__module__.partition(".")[0]
    if kind not in ("pandas", "polars", "pyarrow"):
        return values
    import pyarrow as pa

    array = values if kind == "pyarrow" else pa.array(values, from_pandas=kind == "pandas")
    if array.null_count or not (pa.types.is_float64(array.type) or pa.types.is_int64(array.type)):
        return array.to_pylist()
    return np.ascontiguousarray(array.to_numpy())


def _instants(array: Any) -> Any:
    """Convert datetimes to microseconds since 1970; naive datetimes are UTC."""
    import pyarrow as pa

    try:
        instants = pa.array(array.tolist(), pa.timestamp("us", "UTC"))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        reason = str(error).splitlines()[0]
        message = f"the window is a duration, so times must be datetimes: {reason}"
        raise ValueTypeError(message) from None
    if instants.null_count:
        row = instants.is_null().to_pylist().index(True)
        raise ValueTypeError(f"expected a time, got None at row {row}")
    return np.ascontiguousarray(instants.cast(pa.int64()).to_numpy())


def _microseconds(array: Any) -> Any:
    whole = array.astype("datetime64[us]")
    if np.isnat(whole).any():
        raise ValueTypeError(f"expected a time, got NaT at row {int(np.isnat(whole).argmax())}")
    if (whole.astype(array.dtype) != array).any():
        raise ValueTypeError("expected times in whole microseconds, got fractions of one")
    return np.ascontiguousarray(whole.view(np.int64))


def native_keys(keys: Any) -> Any:
    """Convert keys to integers, or to codes and the concatenated texts they stand for."""
    import pyarrow as pa

    if isinstance(keys, np.ndarray) and keys.dtype.kind in "iu" and keys.ndim == 1:
        if keys.dtype.kind == "u" and keys.size and keys.max() >= 2**63:
            raise ValueTypeError("integer keys must fit in int64, got a larger one")
        return np.ascontiguousarray(keys, np.int64)
    try:
        array = keys if isinstance(keys, (pa.Array, pa.ChunkedArray)) else pa.array(keys)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ValueTypeError(f"keys must be all integers or all strings: {error}") from None
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if len(array) == 0:
        return np.empty(0, np.int64)
    if array.null_count:
        row = next(i for i, ok in enumerate(array.is_valid()) if not ok.as_py())
        raise ValueTypeError(f"expected a key, got None at row {row}")
    if pa.types.is_integer(array.type):
        if pa.types.is_uint64(array.type) and array.to_numpy().max() >= 2**63:
            raise ValueTypeError("integer keys must fit in int64, got a larger one")
        return np.ascontiguousarray(array.cast(pa.int64()).to_numpy())
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        raise ValueTypeError(f"keys must be integers or strings, got {array.type}")
    encoded = array.cast(pa.large_string()).dictionary_encode()
    texts = encoded.dictionary
    _, offsets, letters = texts.buffers()
    starts = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    bytes_ = np.frombuffer(letters, np.uint8) if letters is not None else np.empty(0, np.uint8)
    codes = encoded.indices.to_numpy().astype(np.int64)
    return codes, starts, bytes_
