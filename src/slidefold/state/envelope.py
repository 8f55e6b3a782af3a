"""The envelope: magic, format version, lengths, header, payload, checksum.

The header is JSON in one spelling (sorted keys, no spaces, ASCII), so that equal states are equal
bytes. The checksum covers everything before it. The format version stands outside of the header:
bytes of a newer format are refused before anything else in them is looked at.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from struct import Struct
from typing import Any, TypeVar

from slidefold.errors import StateError, ValueTypeError

FORMAT = 1

_MAGIC = b"slidefold\x1a"
_START = Struct("<10sHIQ")  # magic, format, length of the header, length of the payload
_DIGEST = 16

Header = dict[str, Any]
T = TypeVar("T")


def pack(header: Header, payload: bytes) -> bytes:
    """Put a header and a payload into an envelope.

    >>> unpack(pack({"kind": "example"}, b"payload"), "example")
    ({'kind': 'example'}, b'payload')
    """
    text = _spelled(header)
    body = _START.pack(_MAGIC, FORMAT, len(text), len(payload)) + text + payload
    return body + _digest(body)


def unpack(data: bytes, kind: str) -> tuple[Header, bytes]:
    """Take header and payload out of an envelope that holds an object of this kind."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise ValueTypeError(f"bytes are due, got {type(data).__name__}")
    data = bytes(data)
    if data[: len(_MAGIC)] != _MAGIC[: len(data)]:
        raise StateError("the bytes are not a state that slidefold has saved")
    if len(data) < _START.size + _DIGEST:
        raise StateError(f"the bytes are truncated: only {len(data)} are there")
    _, version, header_size, payload_size = _START.unpack_from(data)
    if version > FORMAT:
        raise StateError(
            f"the bytes are of format {version}, of a newer slidefold: this one knows {FORMAT}"
        )
    if version < 1:
        raise StateError(f"the bytes are of format {version}, which does not exist")
    whole = _START.size + header_size + payload_size + _DIGEST
    if len(data) < whole:
        raise StateError(f"the bytes are truncated: {len(data)} of {whole} are there")
    if len(data) > whole:
        raise StateError(f"the bytes are {len(data) - whole} too many for the state that they hold")
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    if _digest(body) != digest:
        raise StateError("the bytes are damaged: their checksum is wrong")
    text, payload = body[_START.size :][:header_size], body[_START.size + header_size :]
    header = _parsed(text)
    found = field(header, "kind", str)
    if found != kind:
        word = found if found.isidentifier() and len(found) <= 40 else "something else"
        raise StateError(f"the bytes hold the state of {word}, not of {kind}")
    return header, payload


def readable(text: object, most: int = 500) -> str:
    r"""Return text of unknown origin for a message: on one line, without control characters.

    >>> print(readable("a\nb"), readable("x" * 9, 4))
    a\nb xxx…
    """
    plain = "".join(
        mark if mark.isprintable() else mark.encode("unicode_escape").decode()
        for mark in str(text)[: most + 1]
    )
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def field(header: Header, name: str, kind: type[T]) -> T:
    """Return what a header says about `name`, which must be of this very type."""
    value = header.get(name)
    if type(value) is not kind:
        raise StateError(f"the header of the bytes has no {name} that makes sense")
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
        raise StateError("the header of the bytes is not one that slidefold has written")
    return header  # type: ignore[no-any-return]


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=_DIGEST).digest()
