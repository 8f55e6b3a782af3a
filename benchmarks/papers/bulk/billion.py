"""A window of one billion entries (section 7.3): only with `--only bulk.billion`.

With `--full` the sum has 10^9 entries (about 21 GB) and geomean 7 x 10^8 (about 22 GB). A machine
with less memory refuses the run before it begins.
"""

from __future__ import annotations

from functools import partial

from benchmarks import harness
from benchmarks.harness import Row, measured_apart
from benchmarks.papers.figure import Cell, Chart, Claim, Context, Figure, curves, where

# entries of sum, entries of geomean, entries of the small window, bulks
SIZES: dict[str, tuple[int, int, int, int]] = {
    "smoke": (4_096, 4_096, 1_024, 20),
    "quick": (2**20, 2**20, 2**18, 100),
    "default": (2**26, 2**26, 2**22, 1_000),
    "full": (1_000_000_000, 700_000_000, 2**22, 100_000),
}
BULK = 1_024
FILL = 2**20
BYTES = {"sum": 21, "geomean": 32}  # resident bytes per entry
BESIDES = 200_000_000  # Python, and the column that is inserted
PROGRAM = """
import sys, time
import numpy as np
import slidefold as sf
from benchmarks.papers.rounds import OPERATORS, make
operator, n, bulks, bulk, fill = sys.argv[1], *map(int, sys.argv[2:6])
before = largest()
tree = make("fiba", OPERATORS[operator]())
values = np.random.default_rng(1).random(fill) + 0.5
start = time.perf_counter()
for at in range(0, n, fill):
    count = min(fill, n - at)
    tree.bulk_insert(np.arange(at, at + count), values[:count])
filled = time.perf_counter() - start
evicts, whole = [], 0.0
few = values[:bulk]
for step in range(bulks):
    times = np.arange(n + step * bulk, n + (step + 1) * bulk)
    begin = time.perf_counter()
    tree.bulk_evict((step + 1) * bulk - 1)
    middle = time.perf_counter()
    tree.bulk_insert(times, few)
    tree.query()
    whole += time.perf_counter() - begin
    evicts.append(middle - begin)
assert len(tree) == n
median, tail = np.percentile(evicts, [50, 99.999])
print(filled, bulks * bulk / whole, median * 1e9, tail * 1e9, largest() - before, tree.nbytes)
"""


def measured(operator: str, n: int, bulks: int) -> list[Row]:
    """Fill a tree in a process of its own, then evict and insert bulks."""
    numbers = measured_apart(PROGRAM, operator, n, bulks, BULK, FILL)
    filled, speed, median, tail, resident, kept = numbers
    return [
        {
            "side": operator,
            "fill_seconds": filled,
            "million_per_second": speed / 1e6,
            "evict_median_ns": median,
            "evict_p99999_ns": tail,
            "resident_bytes_per_entry": resident / n,
            "bytes_per_entry": kept / n,
        }
    ]


def cells(context: Context) -> list[Cell]:
    """Return a small and a large window of both operators."""
    sums, geomeans, small, bulks = SIZES[context.size]
    return [
        Cell({"operator": operator, "n": n}, partial(measured, operator, n, bulks))
        for operator, large in (("sum", sums), ("geomean", geomeans))
        for n in (small, large)
    ]


def missing(context: Context) -> str | None:
    """Say that nobody asked for it, or that this machine has too little memory, or return None."""
    if not context.named:
        return "it runs only with --only bulk.billion"
    sums, geomeans, *_ = SIZES[context.size]
    needed = max(BYTES["sum"] * sums, BYTES["geomean"] * geomeans) + BESIDES
    available = harness.available_memory()
    if available is None or needed <= available:
        return None
    return f"it needs {needed / 1e9:.1f} GB of memory, and {available / 1e9:.1f} GB are available"


def claims(rows: list[Row]) -> list[Claim]:
    """Judge bytes per entry, throughput and evicts of the large window against the small one."""
    found = []
    for operator in dict.fromkeys(row["operator"] for row in rows):
        chosen = sorted(where(rows, operator=operator), key=lambda row: int(row["n"]))
        if len(chosen) < 2:
            continue
        small, large = chosen[0], chosen[-1]
        more = large["bytes_per_entry"] / small["bytes_per_entry"]
        slower = small["million_per_second"] / large["million_per_second"]
        evict = large["evict_median_ns"] / small["evict_median_ns"]
        tail = large["evict_p99999_ns"] / small["evict_p99999_ns"]
        found += [
            Claim(
                "the bytes per entry do not depend on n",
                0.8 <= more <= 1.25,
                f"{large['bytes_per_entry']:.1f} bytes per entry at n = "
                f"{large['n']:,}, resident {large['resident_bytes_per_entry']:.1f} (the paper: 64 "
                "to 70)",
                promised=True,
                about=operator,
            ),
            Claim(
                "the throughput is 1 to 1.12x less than with a small window",
                slower <= 1.25,
                f"the small window has {slower:.2f}x the throughput",
                about=operator,
            ),
            Claim(
                "the median of a bulk evict rises by about 7.5%",
                evict <= 1.5,
                f"{evict:.2f}x the median of the small window",
                about=operator,
            ),
            Claim(
                "the 99.999% quantile of a bulk evict rises to about 2x",
                tail <= 10,
                f"{tail:.1f}x the quantile of the small window",
                about=operator,
            ),
        ]
    return found


def charts(rows: list[Row]) -> list[Chart]:
    """Return throughput and memory against the window."""
    return [
        Chart(title, "window size n", title, curves(rows, "n", name))
        for title, name in (
            ("million items per second", "million_per_second"),
            ("bytes per entry", "bytes_per_entry"),
        )
    ]


FIGURE = Figure(
    "bulk.billion",
    "Bulk FiBA section 7.3: a window of one billion entries",
    "It runs uneventfully: 64 to 70 bytes per entry at any n, and 1 to 1.12x less throughput.",
    cells,
    claims,
    charts,
    missing=missing,
    remark="Calls come from Python, 1,024 entries each.",
)
