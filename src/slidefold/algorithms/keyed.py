"""Time windows of many keys: whole batches in, one answer a row out."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Self

import numpy as np

from slidefold import _native
from slidefold.definition.operators import Operator, StructOperator
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


class KeyedWindows(_native.KeyedCore):
    """A time window for each of many keys, compact for millions of keys with a few entries each.

    `push(keys, times, values)` takes a whole batch in one native call and returns one result a
    row, a pyarrow array (a list, where Arrow has no type for the results): as if the whole batch
    were inserted first, row i gets the window of its key that ends at its own time. Then everything
    leaves that no window after the watermark needs, and keys without entries are forgotten. The
    watermark is what `push(..., watermark=)` and `advance` say, or with `lateness=` just before the
    newest time of all keys less the lateness. Rows at or before the watermark are late: dropped,
    counted in `late` and null in the result, or with `late="raise"` an error. Equal times of a key
    combine in the order of their rows.

    Keys are integers or strings, times integers, floats or numpy datetimes, as the window says.

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
        if not isinstance(operator, Operator):
            raise OperatorError(f"expected an operator, such as slidefold.max(), got {operator!r}")
        if isinstance(operator, StructOperator):  # a batch would not tell NaN from no value
            raise OperatorError("a keyed set takes no struct: make a set for each of its parts")
        timed: Any = window_of(window)
        if not timed.in_time:
            raise WindowError(f"expected a time window, such as sf.time('1h'), got {timed}")
        if late not in ("drop", "raise"):
            raise WindowError(f"late is 'drop' or 'raise', got {late!r}")
        self.operator = operator
        self.window = timed
        lateness = None if lateness is None else lateness_of(lateness)
        self._lateness, self._late = lateness, late
        self._rule = timed.rule()
        self._rule["lateness"] = 0 if lateness is None else timed.lateness_rule(lateness)
        super().__init__(operator, self._rule, lateness is not None)

    def push(self, keys: Any, times: Any, values: Any, *, watermark: Any = None) -> Any:
        """Insert a batch, answer each row, then evict by the watermark. All or nothing.

        Keys, times and values are lists, arrays, or columns of Arrow, pandas or Polars; a None is
        refused. An operator over several columns takes a tuple of them.
        """
        results, valid = self._push(
            native_keys(keys), self._times(times), _plain(values), watermark, self._late == "raise"
        )
        return _results(results, valid)

    def query(self, key: int | str, at: Any = None) -> Any:
        """Return a key's window that ends at a time: now, unless told; None if it is empty."""
        return self._query(key, at)

    def advance(self, watermark: Any) -> None:
        """Drop, from all keys, what no window after the watermark needs."""
        self._advance(watermark)

    def evict(self, key: int | str, time: Any) -> bool:
        """Retract what a key has at a time; False if there is nothing."""
        return self._evict(key, time)

    def keys(self) -> list[Any]:
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
        """Make a set from its state; it goes on exactly as the saved one would have.

        An operator of your own is found in its module if that is imported already, or in the list
        `operators`, or it is `operator`: bytes never import anything. Anything but the state of
        this class is a `StateError`.
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
            raise ValueTypeError(f"times are one-dimensional, got {array.ndim} dimensions")
        kind = array.dtype.kind
        if self.window.datetimes:
            if array.size == 0:
                return array.astype(np.int64)
            if kind == "O":
                return _instants(array)
            if kind != "M":
                raise ValueTypeError(
                    f"this set counts in durations, so times are datetime64, got {array.dtype}"
                )
            return _microseconds(array)
        if array.size == 0:
            return array.astype(np.float64 if self._real else np.int64)
        if kind == "f" and not self._turn_real():
            raise ValueTypeError("this set counts in integers, got float times")
        if kind == "f" and array.dtype.itemsize <= 8:
            return np.ascontiguousarray(array, np.float64)
        if kind in "iu" and not (kind == "u" and array.max() >= 2**63):
            if not self._real:
                return np.ascontiguousarray(array, np.int64)
            if np.abs(array).max() <= 2**53:
                return np.ascontiguousarray(array, np.float64)
            raise ValueTypeError("integer times beyond 2**53 do not mix with floats")
        raise ValueTypeError(f"times are int64 or float64, got {array.dtype}")


def _results(results: Any, valid: Any) -> Any:
    import pyarrow as pa

    if isinstance(results, np.ndarray):
        return pa.array(results, mask=~valid)
    try:
        return pa.array(results)
    # Integers beyond 64 bits are an OverflowError.
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return results


def _plain(values: Any) -> Any:
    """Return columns of pandas, Polars and Arrow as arrays of numbers, others as lists."""
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
    """Turn datetimes, naive ones taken for UTC, into microseconds since 1970."""
    import pyarrow as pa

    try:
        found = pa.array(array.tolist(), pa.timestamp("us", "UTC"))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        reason = str(error).splitlines()[0]
        said = f"this set counts in durations, so times are datetimes: {reason}"
        raise ValueTypeError(said) from None
    if found.null_count:
        row = found.is_null().to_pylist().index(True)
        raise ValueTypeError(f"a time is due, got None at row {row}")
    return np.ascontiguousarray(found.cast(pa.int64()).to_numpy())


def _microseconds(array: Any) -> Any:
    whole = array.astype("datetime64[us]")
    if np.isnat(whole).any():
        raise ValueTypeError(f"a time is due, got NaT at row {int(np.isnat(whole).argmax())}")
    if (whole.astype(array.dtype) != array).any():
        raise ValueTypeError("times in whole microseconds are due, got finer ones")
    return np.ascontiguousarray(whole.view(np.int64))


def native_keys(keys: Any) -> Any:
    """Turn keys into integers, or into codes and their texts end to end."""
    import pyarrow as pa

    if isinstance(keys, np.ndarray) and keys.dtype.kind in "iu" and keys.ndim == 1:
        if keys.dtype.kind == "u" and keys.size and keys.max() >= 2**63:
            raise ValueTypeError("integer keys are int64, got larger ones")
        return np.ascontiguousarray(keys, np.int64)
    try:
        array = keys if isinstance(keys, (pa.Array, pa.ChunkedArray)) else pa.array(keys)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ValueTypeError(f"keys are all integers or all strings: {error}") from None
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if len(array) == 0:
        return np.empty(0, np.int64)
    if array.null_count:
        row = next(i for i, ok in enumerate(array.is_valid()) if not ok.as_py())
        raise ValueTypeError(f"a key is due, got None at row {row}")
    if pa.types.is_integer(array.type):
        if pa.types.is_uint64(array.type) and array.to_numpy().max() >= 2**63:
            raise ValueTypeError("integer keys are int64, got larger ones")
        return np.ascontiguousarray(array.cast(pa.int64()).to_numpy())
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        raise ValueTypeError(f"keys are integers or strings, got {array.type}")
    encoded = array.cast(pa.large_string()).dictionary_encode()
    texts = encoded.dictionary
    _, offsets, letters = texts.buffers()
    starts = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    bytes_ = np.frombuffer(letters, np.uint8) if letters is not None else np.empty(0, np.uint8)
    codes = encoded.indices.to_numpy().astype(np.int64)
    return codes, starts, bytes_
