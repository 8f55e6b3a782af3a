"""A user's operator that raises at the k-th call of one of its functions."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import slidefold as sf


class SprungError(Exception):
    """What a trap raises; tests look for the very object."""


class SprungHard(BaseException):
    """The same, outside of Exception, as KeyboardInterrupt is."""


class Trap:
    """An operator over words, with a function that raises when its turn comes.

    The operator concatenates; with `remove` it is invertible, with `newer_wins` (and then it keeps
    the longest word) selective.
    """

    def __init__(self, kind: str = "plain") -> None:
        self.where = ""
        self.countdown = 0
        self._armed: BaseException = SprungError()
        self._raised: Callable[[], BaseException | None] = lambda: None
        tick = self._tick

        class Words:
            @staticmethod
            def lift(word: str) -> str:
                tick("lift")
                return word

            @staticmethod
            def combine(older: str, newer: str) -> str:
                tick("combine")
                if kind == "selective":
                    return newer if len(newer) > len(older) else older
                return older + newer

            @staticmethod
            def lower(state: str) -> str:
                tick("lower")
                return "<" + state + ">"

        if kind == "invertible":

            def remove(whole: str, older: str) -> str:
                tick("remove")
                assert whole.startswith(older)
                return whole[len(older) :]

            Words.remove = staticmethod(remove)  # type: ignore[attr-defined]
        if kind == "selective":

            def newer_wins(older: str, newer: str) -> bool:
                tick("newer_wins")
                return len(newer) > len(older)

            Words.newer_wins = staticmethod(newer_wins)  # type: ignore[attr-defined]
        if kind == "identity":

            def identity() -> str:
                tick("identity")
                return ""

            Words.identity = staticmethod(identity)  # type: ignore[attr-defined]
        self.kind = kind
        self.operator = sf.operator(Words)()
        # The same for the reference, which never does without an identity.
        self.plain = type("Plain", (Words,), {"identity": staticmethod(str)})()

    def _tick(self, function: str) -> None:
        if function == self.where:
            self.countdown -= 1
            if self.countdown == 0:
                error, self._armed = self._armed, SprungError()
                # Kept, its traceback would tie the window to its own operator.
                self._raised = weakref.ref(error)
                try:
                    raise error
                finally:
                    del error  # its traceback holds this frame

    @property
    def error(self) -> BaseException | None:
        """The exception that was raised, for as long as somebody holds it."""
        return self._raised()

    def set(self, where: str, countdown: int, error: BaseException | None = None) -> None:
        """Raise at the `countdown`-th call of a function from now on."""
        self.where, self.countdown = where, countdown
        self._armed = error or SprungError(where, countdown)

    def unset(self) -> None:
        """Never raise."""
        self.where = ""

    def truth(self, words: list[str]) -> str | None:
        """Return what the operator must give for these words."""
        if not words:
            return None
        return f"<{max(words, key=len) if self.kind == 'selective' else ''.join(words)}>"


KINDS = {
    "plain": ("lift", "combine", "lower"),
    "identity": ("lift", "combine", "lower"),
    "invertible": ("lift", "combine", "lower", "remove"),
    "selective": ("lift", "combine", "lower", "newer_wins"),
}


class Checker:
    """Runs steps beside a list of words; a step that raises must have done nothing."""

    def __init__(self, trap: Trap, window: Any) -> None:
        self.trap = trap
        self.window = window
        self.held: list[str] = []
        self.sprung = 0

    def run(self, step: Any, held_after: list[str]) -> None:
        """Run a step; afterwards the window holds `held_after`, or what it held if it raised."""
        raised: BaseException | None = None
        try:
            step()
        except (SprungError, SprungHard) as error:
            raised = error
        if raised is None:
            self.held = held_after
        else:
            assert raised is self.trap.error, "the exception comes out as it is"
            self.sprung += 1
        self.verify()

    def verify(self) -> None:
        """Compare with the list, with the trap unset for as long."""
        where, self.trap.where = self.trap.where, ""
        self.window.check()
        assert len(self.window) == len(self.held)
        twin = self.window.copy()  # a query may rearrange what the next step finds
        assert twin.query() == self.trap.truth(self.held)
        twin.check()
        self.trap.where = where
