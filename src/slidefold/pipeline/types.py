"""The names of column types in pipeline files."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from slidefold.errors import DefinitionError, nearest

# Operators (`dtype=`) and messages use the same names.
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
# Other accepted names: an older one, and Arrow's own, which appear in its messages.
_ALSO = {"timestamp with zone": WORDS["timestamp[UTC]"]} | {
    str(kind): kind for kind in WORDS.values()
}
_DECIMAL = re.compile(r"decimal(?:128)?\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_ARROW_TIME = re.compile(r"timestamp\[n?[mu]?s(?:, tz=[^\]]+)?\]")


def type_of(word: object) -> Any:
    """Return the Arrow type of a type name.

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
        f"expected a type among {', '.join(WORDS)} and decimal(10, 2), got {word!r}{hint}"
    )


def word_of(kind: object) -> str:
    """Return our name of an Arrow type (or of Arrow's name); Arrow's name if we have none.

    >>> word_of(pa.timestamp("ns", "UTC")), word_of("double"), word_of(pa.list_(pa.int8()))
    ('timestamp[UTC]', 'float64', 'list<item: int8>')
    """
    name = str(kind)
    if _ARROW_TIME.fullmatch(name):
        return "timestamp[UTC]" if "tz=" in name else "timestamp"
    words = {str(known): word for word, known in WORDS.items()}
    return words.get(name, name.replace("decimal128", "decimal"))
