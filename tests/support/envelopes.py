"""Saved states opened and sealed again, by the description of the format alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import blake2b
from struct import Struct
from typing import Any

START = Struct("<10sHIQ")  # magic, format, length of the header, length of the payload
MAGIC = b"slidefold\x1a"
DIGEST = 16
FORMAT = 2


def opened(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Take header and payload out of bytes that are all right."""
    magic, version, header_size, payload_size = START.unpack_from(data)
    assert magic == MAGIC
    assert 1 <= version <= FORMAT
    header, payload = data[START.size :][:header_size], data[START.size + header_size : -DIGEST]
    assert len(payload) == payload_size
    return json.loads(header), payload


def spelled(header: Any) -> bytes:
    """Return a header as its JSON is spelled."""
    return json.dumps(header, sort_keys=True, separators=(",", ":")).encode()


def sealed(header: Any, payload: bytes, version: int = FORMAT) -> bytes:
    """Put header and payload into an envelope whose checksum is right, whatever is in them."""
    text: bytes = header if isinstance(header, bytes) else spelled(header)
    body = START.pack(MAGIC, version, len(text), len(payload)) + text + payload
    return body + blake2b(body, digest_size=DIGEST).digest()


def with_payload(data: bytes, payload: bytes) -> bytes:
    """Return the envelope with another payload."""
    return sealed(opened(data)[0], payload)


def with_header(data: bytes, **changes: Any) -> bytes:
    """Return the envelope with some fields of its header changed."""
    header, payload = opened(data)
    return sealed({**header, **changes}, payload)


def flips(data: bytes) -> Iterator[bytes]:
    """Every way to flip one bit."""
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        yield bytes(damaged)
