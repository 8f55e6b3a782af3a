"""Pack and unpack the envelope: magic, format version, lengths, header, payload, checksum.

The header is canonical JSON (sorted keys, no spaces, ASCII), so that equal states are equal bytes.
The checksum covers everything before it. The format version is outside the header, so that a newer
format is rejected before anything else is read.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from struct import Struct
from typing import Any, TypeVar

from slidefold.errors import StateError, ValueTypeError

# 2: live runs, keyed windows and logs of streams have streams of states beside their rows, which a
# reader of format 1 would skip, and return wrong results.
FORMAT = 2

_MAGIC = b"slidefold\x1a"
_START = Struct("<10sHIQ")  # magic, format, length of the header, length of the payload
_DIGEST = 16

Header = dict[str, Any]
T = TypeVar("T")


def pack(header: Header, payload: bytes) -> bytes:
    """Pack a header and a payload into an envelope.

    >>> unpack(pack({"kind": "example"}, b"payload"), "example")
    ({'kind': 'example'}, b'payload')
    """
    text = _spelled(header)
    body = _START.pack(_MAGIC, FORMAT, len(text), len(payload)) + text + payload
    return body + _digest(body)


def unpack(data: bytes, kind: str) -> tuple[Header, bytes]:
    """Return the header and payload of an envelope; raise StateError if it is of another kind."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise ValueTypeError(f"expected bytes, got {type(data).__name__}")
    data = bytes(data)
    if data[: len(_MAGIC)] != _MAGIC[: len(data)]:
        raise StateError("the bytes are not a state saved by slidefold")
    least = _START.size + _DIGEST
    if len(data) < least:
        raise StateError(f"the bytes are truncated: expected at least {least}, got {len(data)}")
    _, version, header_size, payload_size = _START.unpack_from(data)
    if version > FORMAT:
        raise StateError(
            f"the bytes have format {version}, but this slidefold reads up to {FORMAT}; install a "
            "newer slidefold"
        )
    if version < 1:
        raise StateError(f"the bytes have format {version}, which does not exist")
    whole = least + header_size + payload_size
    if len(data) < whole:
        raise StateError(f"the bytes are truncated: expected {whole}, got {len(data)}")
    if len(data) > whole:
        raise StateError(f"the bytes are too long: expected {whole}, got {len(data)}")
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    if _digest(body) != digest:
        raise StateError("the bytes are damaged: their checksum is wrong")
    text, payload = body[_START.size :][:header_size], body[_START.size + header_size :]
    header = _parsed(text)
    saved = field(header, "kind", str)
    if saved != kind:
        word = saved if saved.isidentifier() and len(saved) <= 40 else "something else"
        raise StateError(f"expected the state of {kind}, got bytes with the state of {word}")
    return header, payload


def readable(text: object, most: int = 500) -> str:
    r"""Return untrusted text for a message: on one line, without control characters.

    >>> print(readable("a\nb"), readable("x" * 9, 4))
    a\nb xxx…
    """
    plain = "".join(
        mark if mark.isprintable() else mark.encode("unicode_escape").decode()
        for mark in str(text)[: most + 1]
    )
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def field(header: Header, name: str, kind: type[T]) -> T:
    """Return the field `name` of a header; raise StateError unless it has exactly this type."""
    value = header.get(name)
    if type(value) is not kind:
        raise StateError(f"the header of the bytes has no valid {name}")
    return value


def _spelled(header: Header) -> bytes:
    text = json.dumps(header, sort_keys=True, separators=(",", ":"))
    return text.encode("ascii")


def _parsed(text: bytes) -> Header:
    try:
        header = json.loads(text)
        canonical = isinstance(header, dict) and _spelled(header) == text
    except (ValueError, RecursionError):
        canonical = False
    if not canonical:
        raise StateError("the header of the bytes was not written by slidefold")
    return header  # type: ignore[no-any-return]


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=_DIGEST).digest()
