"""An operator of a live run that fails when a test tells it to."""

from __future__ import annotations

import slidefold as sf


class Trap:
    """Fails at the n-th combine after `armed` was set to n; 0 disarms it."""

    armed = 0


@sf.operator(commutative=False)
class Trapped(sf.Fold):
    """Keeps the last five values, unless the trap fails."""

    @staticmethod
    def lift(x: int) -> tuple[int, ...]:
        return (x,)

    @staticmethod
    def combine(older: tuple[int, ...], newer: tuple[int, ...]) -> tuple[int, ...]:
        if Trap.armed:
            Trap.armed -= 1
            if Trap.armed == 0:
                raise RuntimeError("the trap")
        return (older + newer)[-5:]

    @staticmethod
    def lower(state: tuple[int, ...]) -> list[int]:
        return list(state)
