"""Save and restore state: a header, a payload and a checksum; nothing is ever unpickled.

`to_bytes` and `from_bytes` of algorithms and windows use this package, and so does pickling. The
header holds everything needed to create an empty object. Native code writes and reads the payload.

>>> import slidefold as sf
>>> w = sf.Window(sf.max(), sf.rows(3))
>>> w.push(5.0), w.push(2.0)
(5.0, 5.0)
>>> data = w.to_bytes()
>>> sf.Window.from_bytes(data).push(1.0)
5.0
>>> sf.Window.from_bytes(data[:-1])  # doctest: +ELLIPSIS
Traceback (most recent call last):
slidefold.errors.StateError: the bytes are truncated: expected ..., got ...
"""

from slidefold.state.envelope import FORMAT, field, pack, readable, unpack
from slidefold.state.identity import (
    length_from,
    length_header,
    operator_from,
    operator_header,
    window_from,
    window_header,
)
from slidefold.state.known import Known, Operators
from slidefold.state.restore import (
    refusing,
    require_options,
    require_room,
    restore,
    restore_pickled,
)
from slidefold.state.values import dump_value, load_value

__all__ = [
    "FORMAT",
    "Known",
    "Operators",
    "dump_value",
    "field",
    "length_from",
    "length_header",
    "load_value",
    "operator_from",
    "operator_header",
    "pack",
    "readable",
    "refusing",
    "require_options",
    "require_room",
    "restore",
    "restore_pickled",
    "unpack",
    "window_from",
    "window_header",
]
