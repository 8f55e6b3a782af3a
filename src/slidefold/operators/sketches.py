"""Sketches: small summaries that may err, by a known amount."""

from __future__ import annotations

from slidefold.errors import OperatorError
from slidefold.operators.base import Operator, columns_of, dtype_of


def bloom(
    column: str | None = None, *, bits: int = 1 << 14, hashes: int = 3, dtype: str = "float64"
) -> Operator:
    """A Bloom filter of the values: `x in filter` is never wrong when it says no.

    With n distinct values it wrongly says yes with a probability of about
    `(1 - exp(-hashes * n / bits)) ** hashes`. Commutative. State: 8 bytes a value while there are
    few, then `bits / 8` bytes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.bloom(dtype="str"), sf.rows(2))
    >>> filters = [w.push(x) for x in ("ann", "bob", "cat")]
    >>> "ann" in filters[1], "ann" in filters[2]
    (True, False)
    """
    for name, value in (("bits", bits), ("hashes", hashes)):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**40:
            raise OperatorError(f"bloom needs an integer {name} >= 1, got {value!r}")
    return Operator(
        "bloom",
        columns_of(column),
        dtype_of(dtype, ("float64", "int64", "str"), "bloom"),
        params=(("bits", bits), ("hashes", hashes)),
    )
