"""Fold frames in several threads; each thread folds a share and starts with an empty window."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from slidefold import _native
from slidefold.columns.values import Array
from slidefold.definition.operators import Operator
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import DefinitionError, ResultOverflowError

# Fewer frames than this are not worth a thread.
SHARE = 1 << 15


def fold_frames(
    algorithm: str, operator: Operator, values: Any, lo: Ints, hi: Ints, threads: int
) -> tuple[Any, Array]:
    """Fold natively; return the results and a mask of those that are not null."""
    shares = min(threads, len(lo) // SHARE)
    if shares > 1 and _without_gil(values):
        cuts = [len(lo) * i // shares for i in range(shares + 1)]

        def folded(i: int) -> tuple[Any, Array]:
            part = slice(cuts[i], cuts[i + 1])
            return _native.fold_frames(algorithm, operator, values, lo[part], hi[part])

        try:
            with ThreadPoolExecutor(shares) as pool:
                found = list(pool.map(folded, range(shares)))
        except ResultOverflowError:
            pass  # once more in one piece, so that the error names the right row
        else:
            valid = np.concatenate([flags for _, flags in found])
            if isinstance(found[0][0], list):
                return [item for data, _ in found for item in data], valid
            return np.concatenate([data for data, _ in found]), valid
    return _native.fold_frames(algorithm, operator, values, lo, hi)


def _without_gil(values: Any) -> bool:
    """Tell whether values are arrays, which kernels read without Python."""
    given = values if isinstance(values, tuple) else (values,)
    return all(isinstance(part, np.ndarray) for part in given)


def require_threads(threads: Any) -> int:
    """Check a number of threads."""
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise DefinitionError(f"expected threads to be an integer >= 1, got {threads!r}")
    return threads
