"""The types of columns by the words that pipeline files use for them."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from slidefold.errors import DefinitionError
from slidefold.rolling import nearest

WORDS: dict[str, Any] = {
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamp with zone": pa.timestamp("us", "UTC"),
}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")


def type_of(word: object) -> Any:
    """Return the Arrow type of a word.

    >>> type_of("decimal(10, 2)")
    Decimal128Type(decimal128(10, 2))
    """
    if isinstance(word, str):
        if word in WORDS:
            return WORDS[word]
        decimal = _DECIMAL.fullmatch(word)
        if decimal is not None and 0 < int(decimal[1]) <= 38 and int(decimal[2]) <= int(decimal[1]):
            return pa.decimal128(int(decimal[1]), int(decimal[2]))
    hint = nearest(word, WORDS)
    raise DefinitionError(f"{word!r} is no type: {', '.join(WORDS)} or decimal(10, 2){hint}")
