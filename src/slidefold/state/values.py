"""Write Python values as bytes: None, bool, int, float, str, bytes, list, tuple and dict, nested.

A tag of one byte comes first, then the value. Lengths and counts have 32 bits. Subclasses (a named
tuple, numpy's float64) are rejected, because they would be restored as another type.
"""

from __future__ import annotations

from itertools import chain
from struct import Struct, error
from typing import Any

from slidefold.errors import StateError

_COUNT = Struct("<I")
_FLOAT = Struct("<d")
_DEEPEST = 500  # hashing a tuple recurses in C: deeper dict keys could crash the process

_CONTAINERS: dict[type, bytes] = {list: b"l", tuple: b"t", dict: b"d"}


def dump_value(value: Any) -> bytes:
    """Write a value as bytes.

    >>> load_value(dump_value([None, True, -(2**70), {"x": (1.5, b"y")}]))
    [None, True, -1180591620717411303424, {'x': (1.5, b'y')}]
    """
    out = bytearray()
    levels = [iter((value,))]
    while levels:
        for item in levels[-1]:
            kind = type(item)
            tag = _CONTAINERS.get(kind)
            if tag is None:
                out += _scalar(item)
                continue
            if len(levels) > _DEEPEST:
                raise StateError(
                    f"a state nested deeper than {_DEEPEST} levels cannot be saved; define dump "
                    "and load in the operator"
                )
            # A copy, because another thread may change the original.
            inner = tuple(chain.from_iterable(tuple(item.items())) if tag == b"d" else item)
            out += tag + _counted(len(inner))
            levels.append(iter(inner))
            break
        else:
            levels.pop()
    return bytes(out)


def load_value(data: bytes) -> Any:
    """Read a value that `dump_value` wrote; raise `StateError` for other bytes."""
    source = _Source(data)
    levels: list[tuple[bytes, int, list[Any]]] = []
    while True:
        tag = source.take(1)
        if tag in b"ltd":
            count = source.count()
            if len(levels) >= _DEEPEST or count > source.left:
                raise StateError("a saved value is nested too deeply or longer than its bytes")
            levels.append((tag, count, []))
        else:
            value = source.scalar(tag)
            if not levels:
                break
            levels[-1][2].append(value)
        while len(levels[-1][2]) == levels[-1][1]:
            closed = _container(levels[-1][0], levels.pop()[2])
            if not levels:
                value = closed
                break
            levels[-1][2].append(closed)
        if not levels:
            break
    if source.left:
        raise StateError("a saved value is shorter than its bytes")
    return value


def _counted(count: int) -> bytes:
    try:
        return _COUNT.pack(count)
    except error:
        raise StateError("a state of 4 GiB or more cannot be saved") from None


def _scalar(value: Any) -> bytes:
    if value is None:
        return b"N"
    kind = type(value)
    if kind is bool:
        return b"T" if value else b"F"
    if kind is float:
        return b"f" + _FLOAT.pack(value)
    text: bytes
    if kind is int:
        tag, text = b"i", value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    elif kind is str:
        tag, text = b"s", value.encode("utf-8", "surrogatepass")
    elif kind is bytes:
        tag, text = b"b", value
    else:
        name = kind.__qualname__[:80]
        raise StateError(
            f"a state of type {name} cannot be saved; define dump and load in the operator"
        )
    return tag + _counted(len(text)) + text


def _container(tag: bytes, items: list[Any]) -> Any:
    if tag == b"l":
        return items
    if tag == b"t":
        return tuple(items)
    try:
        pairs = dict(zip(items[::2], items[1::2], strict=True))
    except (TypeError, ValueError):
        raise StateError("a saved dict has an invalid key") from None
    if 2 * len(pairs) != len(items):
        raise StateError("a saved dict has the same key twice")
    return pairs


class _Source:
    """Bytes that are read from front to back."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, count: int) -> bytes:
        if count > self.left:
            raise StateError("a saved value is longer than its bytes")
        self.at += count
        return self.data[self.at - count : self.at]

    def count(self) -> int:
        (count,) = _COUNT.unpack(self.take(_COUNT.size))
        return int(count)

    def scalar(self, tag: bytes) -> Any:
        if tag == b"N":
            return None
        if tag in b"TF":
            return tag == b"T"
        if tag == b"f":
            return _FLOAT.unpack(self.take(_FLOAT.size))[0]
        if tag not in b"isb":
            raise StateError("a saved value has a type that slidefold does not write")
        text = self.take(self.count())
        if tag == b"i":
            return int.from_bytes(text, "little", signed=True)
        if tag == b"b":
            return text
        try:
            return text.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise StateError("a saved string is not UTF-8") from None
