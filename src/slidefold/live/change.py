"""`emit="change"`: the final results that differ from the one before of their key."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.compute import Definition
from slidefold.live.final import Final
from slidefold.live.frames import OLDEST, groups_of
from slidefold.live.same import same_rows
from slidefold.live.side import require_side


class Change(Final):
    """Final results, and the last one of each key."""

    def __init__(self, definition: Definition, rows: Any) -> None:
        """Start from an empty table."""
        super().__init__(definition, rows)
        self.names = list(definition.columns)
        self.last = self.next = self._of_keys(super().fold(rows, OLDEST))

    def take(self, rows: Any, watermark: int | None) -> Any:
        """Add rows, move the watermark, and return the complete results that are new."""
        found = super().take(rows, watermark)
        self.last = self.next
        return found

    def fold(self, due: Any, watermark: int) -> Any:
        """Return the new ones of the results that become complete."""
        found = super().fold(due, watermark)
        table = pa.concat_tables([self.last, self._of_keys(found)], promote_options="default")
        by, past = self.definition.by, len(self.last)
        groups = groups_of(table, by)
        order = np.argsort(groups, kind="stable")
        table, groups = table.take(pa.array(order)), groups[order]
        if len(table) == 0:
            self.next = self.last
            return found
        fresh = np.append(True, groups[1:] != groups[:-1])
        again = ~fresh
        again[1:] &= same_rows(table.slice(0, len(table) - 1), table.slice(1), self.names)
        self.next = table.filter(pa.array(np.append(fresh[1:], True))).combine_chunks()
        changed = np.sort(order[~again & (order >= past)]) - past
        return found.take(pa.array(changed))

    def horizon(self) -> int | None:
        """Say nothing: the last results of keys that are silent come from rows of any age."""
        return None

    def side(self) -> Any:
        """Return what rows alone do not tell: the last results."""
        return self.last

    def fill_side(self, side: Any) -> None:
        """Take the last results."""
        self.last = require_side(side, self.last)

    @property
    def nbytes(self) -> int:
        """The size of the rows that are held."""
        return super().nbytes + int(self.last.nbytes)

    def _of_keys(self, found: Any) -> Any:
        return found.select([*self.definition.by, *self.names])
