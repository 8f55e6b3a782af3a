"""The types of columns by the words that pipeline files use for them."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from slidefold.errors import DefinitionError, nearest

# The words of operators (`dtype=`) and of messages: one for each type, everywhere.
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
    "timestamp[UTC]": pa.timestamp("us", "UTC"),
}
# What else is understood: an older word, and Arrow's own, which its messages have.
_ALSO = {"timestamp with zone": WORDS["timestamp[UTC]"]} | {
    str(kind): kind for kind in WORDS.values()
}
_DECIMAL = re.compile(r"decimal(?:128)?\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_ARROW_TIME = re.compile(r"timestamp\[n?[mu]?s(?:, tz=[^\]]+)?\]")


def type_of(word: object) -> Any:
    """Return the Arrow type of a word.

    >>> type_of("decimal(10, 2)")
    Decimal128Type(decimal128(10, 2))
    """
    if isinstance(word, str):
        known = WORDS.get(word) or _ALSO.get(word)
        if known is not None:
            return known
        decimal = _DECIMAL.fullmatch(word)
        if decimal is not None and 0 < int(decimal[1]) <= 38 and int(decimal[2]) <= int(decimal[1]):
            return pa.decimal128(int(decimal[1]), int(decimal[2]))
    hint = nearest(word, WORDS)
    raise DefinitionError(
        f"{word!r} is not a type; the types are {', '.join(WORDS)} and decimal(10, 2){hint}"
    )


def word_of(kind: object) -> str:
    """Return the word of an Arrow type, or of its name; Arrow's name where there is no word.

    >>> word_of(pa.timestamp("ns", "UTC")), word_of("double"), word_of(pa.list_(pa.int8()))
    ('timestamp[UTC]', 'float64', 'list<item: int8>')
    """
    name = str(kind)
    if _ARROW_TIME.fullmatch(name):
        return "timestamp[UTC]" if "tz=" in name else "timestamp"
    words = {str(known): word for word, known in WORDS.items()}
    return words.get(name, name.replace("decimal128", "decimal"))
