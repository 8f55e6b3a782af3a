"""Ways to damage a saved state: its bytes, the values in its header, the words of its payload."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import blake2b
from random import Random
from struct import Struct, error
from typing import Any

DIGEST = 16  # bytes of the blake2b digest at the end, over all bytes before it
_START = Struct("<10sHIQ")  # magic, format, length of the header, length of the payload
_NUMBERS = [0, 1, -1, 2, 3, 64, 2**31 - 1, 2**31, 2**32, 2**40, 2**53 + 1, 2**61, 2**62, 10**12]
_NUMBERS += [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 10**30, -(10**12)]
_REALS = [0.5, -0.0, 1e-300, 1e300, 1.7e308, 5e-324, float("nan"), float("inf"), float("-inf")]
_TEXTS = ["", "\n", "a\r\nb", "\x00", "\x1b[31m", "\u202e", "\ud800", "x" * 3000, "1h", "1us", "0"]
_TEXTS += ["sum", "max", "bloom", "count_min", "struct", "int64", "str", "object", "timestamp"]
_TEXTS += ["rows", "time", "daba_lite", "fiba", "window", "final", "revise", "left", "slidefold"]
_TEXTS += ["decimal(38, 38)", "this", "antigravity", "this:s", "os:system", "__main__", "9" * 5000]
_WORDS = [0, 1, 2, 255, 2**31, 2**32 - 1, 2**61, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 0x7FF0 << 48]

Damage = Callable[[bytes, Random], bytes]


def digest(body: bytes | bytearray) -> bytes:
    """Return the checksum that saved states end with."""
    return blake2b(body, digest_size=DIGEST).digest()


def damaged(data: bytes, rng: Random) -> tuple[str, bytes]:
    """Return how the bytes were damaged, and the bytes; "signed" ones have a valid checksum."""
    how = rng.choice(list(WAYS))
    raw = WAYS[how](data, rng)
    return how, raw if "signed" not in how else _signed(raw)


def _signed(raw: bytes) -> bytes:
    body = raw[:-DIGEST]
    return body + digest(body)


def _bits(data: bytes, rng: Random, most: int = 1, end: int = 0) -> bytes:
    raw = bytearray(data)
    for _ in range(rng.randint(1, most)):
        raw[rng.randrange(len(raw) - end)] ^= 1 << rng.randrange(8)
    return bytes(raw)


def _cut(data: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _put_in(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.choice([1, 1, 2, 8])) + data[at:]


def _opened(data: bytes) -> tuple[Any, bytes] | None:
    try:
        _, _, size, _ = _START.unpack_from(data)
        header = json.loads(data[_START.size :][:size])
    except (error, ValueError):
        return None
    return header, data[_START.size + size : -DIGEST]


def _sealed(data: bytes, header: Any, payload: bytes) -> bytes:
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode("ascii")
    magic, version, _, _ = _START.unpack_from(data)
    body = _START.pack(magic, version, len(text), len(payload)) + text + payload
    return body + digest(body)


def _header(data: bytes, rng: Random) -> bytes:
    """Change values of the header, and make lengths and checksum fit."""
    opened = _opened(data)
    if opened is None:
        return _bits(data, rng, end=DIGEST)
    header, payload = opened
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        header = _changed(header, rng)
    if rng.random() < 0.2:
        payload = _words(payload, rng)
    return _sealed(data, header, payload)


def _payload(data: bytes, rng: Random) -> bytes:
    """Change words of the payload, or its length."""
    opened = _opened(data)
    if opened is None:
        return _bits(data, rng, end=DIGEST)
    return _sealed(data, opened[0], _words(opened[1], rng))


def _words(payload: bytes, rng: Random) -> bytes:
    raw = bytearray(payload)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(raw)) if raw else 0
        how = rng.random()
        if how < 0.5:
            size = rng.choice([1, 4, 8, 8, 8])
            word = rng.choice([*_WORDS, rng.getrandbits(64), rng.getrandbits(4)])
            raw[at : at + size] = (word % 2 ** (8 * size)).to_bytes(size, "little")
        elif how < 0.7 and raw:
            raw[at] ^= 1 << rng.randrange(8)
        elif how < 0.8:
            del raw[at : at + rng.choice([1, 8, 16])]
        elif how < 0.9:
            raw[at:at] = rng.randbytes(rng.choice([1, 8]))
        else:  # repeat a part of the payload
            raw[at:at] = raw[: rng.randrange(len(raw) + 1)]
    return bytes(raw)


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return every place in a header: its container, and its key or index."""
    inside: Any = ()
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    for key, item in inside:
        found.append((value, key))
        _places(item, found)
    return found


def _changed(header: Any, rng: Random) -> Any:
    """Return the header with one value changed, moved, nested or removed."""
    places = _places(header, [])
    if not places:
        return header
    holder, key = rng.choice(places)
    value = holder[key]
    if isinstance(value, str) and value.startswith("{"):  # a definition as JSON text
        try:
            holder[key] = json.dumps(_changed(json.loads(value), rng))
            return header
        except ValueError:
            pass
    how = rng.random()
    if how < 0.08:
        del holder[key]
    elif how < 0.14:
        other, place = rng.choice(places)
        if place in other if isinstance(other, dict) else place < len(other):
            holder[key], other[place] = other[place], value
            if _loops(header):
                other[place] = holder[key] = None
    elif how < 0.2 and isinstance(holder, dict):
        holder[rng.choice(_TEXTS)] = value
    elif how < 0.24 and isinstance(holder, list):
        holder.append(value)
    elif how < 0.27:
        for _ in range(rng.choice([3, 50, 300])):
            value = [value] if rng.random() < 0.9 else {"parts": value}
        holder[key] = value
    else:
        holder[key] = _other(value, rng)
    return header


def _loops(header: Any) -> bool:
    """Tell whether a swap has made a value contain itself."""
    try:
        json.dumps(header)
    except (ValueError, RecursionError):
        return True
    return False


def _other(value: Any, rng: Random) -> Any:
    """Return another value, usually of the same type."""
    if isinstance(value, bool) and rng.random() < 0.7:
        return not value
    if isinstance(value, int) and rng.random() < 0.8:
        return rng.choice([value + 1, value - 1, -value, 2 * value, *_NUMBERS])
    if isinstance(value, float) and rng.random() < 0.8:
        return rng.choice([value / 2, -value, *_REALS])
    if isinstance(value, str) and rng.random() < 0.8:
        return rng.choice([value[:-1], value + "x", value + "\n", value * 2, *_TEXTS])
    return rng.choice([None, True, [], {}, [value], {"x": value}, *_NUMBERS, *_REALS, *_TEXTS])


WAYS: dict[str, Damage] = {
    "bit": _bits,
    "bits": lambda data, rng: _bits(data, rng, 6),
    "cut": _cut,
    "put in": _put_in,
    "byte, signed": lambda data, rng: _bits(data, rng, end=DIGEST),
    "bits, signed": lambda data, rng: _bits(data, rng, 6, end=DIGEST),
    "header, signed": _header,
    "more of the header, signed": _header,
    "most of the header, signed": _header,
    "payload, signed": _payload,
    "more of the payload, signed": _payload,
}
