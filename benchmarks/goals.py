"""The goals, read from the JSON of the figures: `python -m benchmarks.goals [DIR]`.

A goal is judged by its worst case over all cases that it covers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import RESULTS, Row, load, power, shown, table


@dataclass(frozen=True)
class Goal:
    """A goal: its target, the measured worst case, and whether the target is met."""

    goal: str
    target: str
    measured: str
    met: bool | None  # None: not measured

    def cells(self) -> list[str]:
        """Return the goal as a row of the table."""
        verdict = {True: "yes", False: "NO", None: "not measured"}[self.met]
        return [self.goal, self.target, self.measured, verdict]


def at_least(
    goal: str, target: float, values: Iterable[tuple[float, str]], unit: str = "x"
) -> Goal:
    """Return a goal for the smallest of several (value, where) pairs."""
    text, worst = f">= {shown(target)}{unit}", min(values, default=None)
    return _judged(goal, text, worst, unit, lambda v: v >= target)


def at_most(goal: str, target: float, values: Iterable[tuple[float, str]], unit: str = "x") -> Goal:
    """Return a goal for the largest of several (value, where) pairs."""
    text, worst = f"<= {shown(target)}{unit}", max(values, default=None)
    return _judged(goal, text, worst, unit, lambda v: v <= target)


def _judged(
    goal: str,
    target: str,
    worst: tuple[float, str] | None,
    unit: str,
    good: Callable[[float], bool],
) -> Goal:
    if worst is None:
        return Goal(goal, target, "-", None)
    value, where = worst
    measured = f"{shown(value)}{unit}" + (f" ({where})" if where else "")
    return Goal(goal, target, measured, good(value))


def ratios(
    rows: list[Row], side: str, peer: str, value: str, *keys: str
) -> Iterator[tuple[float, str]]:
    """Yield the ratio of `value` between two sides for each case measured on both, and the case."""
    peers = {tuple(row[key] for key in keys): row[value] for row in rows if row["side"] == peer}
    for row in rows:
        place = tuple(row[key] for key in keys)
        if row["side"] == side and place in peers:
            where = " ".join(
                power(part) if key == "window" else str(part)
                for key, part in zip(keys, place, strict=True)
            )
            yield row[value] / peers[place], where


def columns(rows: list[Row]) -> Iterator[Goal]:
    """Compare `slide` with numba and with the known speed of a public C++ library."""
    speed = "million_rows_per_second"
    for mode in ("static", "drain"):
        chosen = [row for row in rows if row["mode"] == mode]
        for side, target in (("two_stacks_lite", 1.0), ("daba_lite", 0.6)):
            values = ratios(chosen, side, "numba", speed, "operator", "window")
            yield at_least(f"{side} slide / numba two-stacks, {mode}", target, values)
    for side, target in (("two_stacks_lite", 300.0), ("daba_lite", 105.0)):
        sums = [
            (row[speed], power(row["window"]))
            for row in rows
            if (row["operator"], row["mode"], row["side"]) == ("sum", "static", side)
        ]
        best = [max(sums)] if sums else []
        yield at_least(f"{side} slide of sum, best window", target, best, " M rows/s")
        yield at_least(f"{side} slide of sum, worst window", target, sums, " M rows/s")


def events(rows: list[Row]) -> Iterator[Goal]:
    """Compare `push` with river and plain Python."""
    sums = [row for row in rows if row["operator"] == "sum"]
    cost = ("ns_per_event", "operator", "window")
    yield at_least("river Rolling(Sum) / push", 10.0, ratios(sums, "river", "push", *cost))
    for peer in ("python class", "python inlined"):
        yield at_most(f"push / running sum, {peer}", 1.0, ratios(sums, "push", peer, *cost))


def steps(rows: list[Row]) -> Iterator[Goal]:
    """Compare the worst steps of a large window."""
    largest = max((row["window"] for row in rows), default=0)
    chosen = [row for row in rows if row["window"] == largest]
    for value, how in (("max_ns", "best round"), ("steady_max_ns", "best round of each step")):
        values = ratios(chosen, "two_stacks_lite", "daba_lite", value, "operator", "window")
        yield at_least(f"worst step: two_stacks_lite / daba_lite, {how}", 50.0, values)


def kept(rows: list[Row]) -> Iterator[Goal]:
    """Compare the bytes per state with the size of a state."""
    values = [
        (row["ratio"], f"{row['operator']} {power(row['window'])}")
        for row in rows
        if row["side"] == "daba_lite"
    ]
    yield at_most("daba_lite bytes / bytes of its n states", 1.2, values)


def threads(rows: list[Row]) -> Iterator[Goal]:
    """Compare two threads with one."""
    chosen = [row for row in rows if row["window"] >= 2**15]
    values = ratios(chosen, "pba", "sba", "million_rows_per_second", "window")
    yield at_least("pba / sba, max, windows >= 2^15", 1.0, values)


def late(rows: list[Row]) -> Iterator[Goal]:
    """Compare FiBA with the known speed of a public C++ library, DABA Lite and a loop."""
    speed = "million_slides_per_second"
    for distance, target in ((0, 34.0), (2**4, 26.0), (2**10, 11.2), (2**16, 8.4)):
        values = [
            (row[speed], row["part"].rsplit(", ")[1])
            for row in rows
            if row["part"] == "distance, constant" and (row["x"], row["side"]) == (distance, "fiba")
        ]
        yield at_least(f"fiba, events late by {power(distance)}", target, values, " M slides/s")
    bulks = [row for row in rows if row["part"].startswith("bulk")]
    known = [(row[speed], row["part"]) for row in bulks if row["x"] == 2**10]
    yield at_least("fiba, bulks of 2^10 in and out", 44.0, known, " M items/s")
    single = {row["part"]: row[speed] for row in bulks if row["side"] == "loop"}
    against = [
        (row[speed] / single[row["part"]], f"{row['part']} {row['x']}")
        for row in bulks
        if row["part"] in single and row["side"] == "fiba"
    ]
    yield at_least("fiba bulk_insert / a loop of inserts", 1.0, against)
    ordered = [row for row in rows if row["part"] == "window, in order"]
    yield at_most(
        "daba_lite / fiba, in order", 4.0, ratios(ordered, "daba_lite", "fiba", speed, "window")
    )
    entries = [(row["bytes"], row["x"]) for row in rows if row["x"] == "in order"]
    yield at_most("fiba, bytes per entry, filled in order", 28.0, entries, " B")


def sets(rows: list[Row]) -> Iterator[Goal]:
    """Check the cost of a keyed batch."""
    values = [(row["us_per_row"], row["kind"]) for row in rows if row["keys"] == 100_000]
    yield at_most("a keyed batch over 100k keys", 0.5, values, " us per row")


def arrivals(rows: list[Row]) -> Iterator[Goal]:
    """Compare what a row costs in large windows with small ones."""
    most, least = (pick((row["held"] for row in rows), default=0) for pick in (max, min))
    for kind, target in (("fold", 2.0), ("order", 5.0)):
        grown: list[tuple[float, str]] = []
        small = {_live_cell(r): r["us_per_row"] for r in rows if r["held"] == least}
        for row in rows:
            if row["kind"] == kind and row["held"] == most > least:
                cell = _live_cell(row)
                where = f"{row['operator']} over {row['window']}, {row['emit']}"
                grown.append((row["us_per_row"] / small[cell], where))
        words = "folds" if kind == "fold" else "order statistics"
        yield at_most(f"live, {words}: a row in the largest / smallest windows", target, grown)


def _live_cell(row: Row) -> tuple[str, str, str, float]:
    return row["operator"], row["window"], row["emit"], row["late"]


# What a call or a row may cost at most, in us, by the words of the figure.
_EVENTS = {
    "push, arrival": 5.0,
    "ask one key": 4.0,
    "ask 1,000 keys, per key": 2.0,
    "feed one row, 2 features, arrival": 60.0,
    "feed one row, 2 features, final": 60.0,
    "feed 1,000 rows, 100 keys: first feature, per row": 0.35,
    "feed 1,000 rows, 100 keys: each further, per row": 0.05,
    "feed 1,000 rows, 10,000 keys: first feature, per row": 1.0,
    "feed 1,000 rows, 10,000 keys: each further, per row": 0.15,
    "a row 200 places late in its key": 5.0,
    "sf.Window(median), 10,000 places late": 15.0,
}


def single_events(rows: list[Row]) -> Iterator[Goal]:
    """Check the cost of events, questions and small batches."""
    for what, target in _EVENTS.items():
        values = [(row["us"], "") for row in rows if row["what"] == what]
        yield at_most(f"live, {what}", target, values, " us")


def held_rows(rows: list[Row]) -> Iterator[Goal]:
    """Compare the bytes per row with 0.25x of one store per feature, which took 259."""
    values = [
        (row["bytes_per_row"], f"{row['each']} rows per key")
        for row in rows
        if row["what"] == "three windows, two operators" and row["each"] >= 100
    ]
    yield at_most("live, three windows over two operators, bytes per row", 65, values, "")


def tables(rows: list[Row]) -> Iterator[Goal]:
    """Compare `sf.rolling` with Polars, bottleneck and itself."""
    cost, place = "ms_per_million", ("operator", "keys", "window")
    timed = [row for row in rows if row["part"] == "time window"]
    for words, chosen in (
        ("no key", [row for row in timed if row["keys"] == 1]),
        ("1,000 keys", [row for row in timed if row["keys"] == 1_000]),
        ("100,000 keys", [row for row in timed if row["keys"] == 100_000]),
    ):
        values = ratios(chosen, "polars", "slidefold", cost, *place)
        yield at_least(f"polars / rolling, time windows, {words}", 2.0, values)
    counted = [row for row in rows if row["part"] == "rows window"]
    values = ratios(counted, "bottleneck", "slidefold", cost, *place)
    yield at_least("bottleneck / rolling, max of rows windows", 1.0, values)
    own = [row for row in timed if row["side"] == "slidefold"]
    flat = []
    for operator, keys in dict.fromkeys((row["operator"], row["keys"]) for row in own):
        costs = [row[cost] for row in own if (row["operator"], row["keys"]) == (operator, keys)]
        flat.append((max(costs) / min(costs), f"{operator}, {keys} keys"))
    yield at_most("rolling, slowest / fastest window length", 2.0, flat)
    several = {(row["keys"], row["window"]): row[cost] for row in rows if row["part"] == "windows"}
    six = [
        (several[keys, 6] / several[keys, 1], f"{keys} keys")
        for keys, count in several
        if count == 6
    ]
    yield at_most("rolling, six windows / one", 3.0, six)
    grown = [
        (row["grown"] / row["due"], f"{row['keys']} keys")
        for row in rows
        if row["part"] == "memory"
    ]
    yield at_most("rolling, memory / (2x the input plus the output)", 1.0, grown)


def complications(rows: list[Row]) -> Iterator[Goal]:
    """Compare each complication of the data with the plain case, and both with Polars."""
    cost = "ms_per_million"
    own = {
        (row["kind"], row["operator"], row["window"], row["case"], row["side"]): row[cost]
        for row in rows
    }

    def against(case: str, *, sorting: bool) -> Iterator[tuple[float, str]]:
        for (kind, operator, window, name, side), spent in own.items():
            if (name, side) == (case, "slidefold"):
                plain = own[kind, operator, window, "plain", side]
                sort = own[kind, operator, window, case, "sort"] if sorting else 0.0
                value = (spent - plain) / sort if sorting else spent / plain
                yield value, f"{operator} over {kind}"

    for case, target in (("nulls", 1.5), ("ties", 1.5), ("out of place", 3.0)):
        yield at_most(f"rolling, {case} / plain", target, against(case, sorting=False))
    for case in ("shuffled", "keys"):
        goal = f"rolling, {case}: (case - plain) / our own sort"
        yield at_most(goal, 1.2, against(case, sorting=True))
    place = ("kind", "operator", "window", "case")
    plain = [row for row in rows if row["case"] == "plain"]
    others = [row for row in rows if row["case"] != "plain"]
    values = ratios(plain, "polars", "slidefold", cost, *place)
    yield at_least("polars / rolling, plain cases", 2.0, values)
    values = ratios(others, "polars", "slidefold", cost, *place)
    yield at_least("polars / rolling, all other cases", 1.0, values)


def built_ins(rows: list[Row]) -> Iterator[Goal]:
    """Check the exact median and the distinct counts at 100k rows per window."""
    speed, large = "million_rows_per_second", 100_000
    median = [row for row in rows if (row["part"], row["window"]) == ("time median", large)]
    against = [
        (value, f"{peer} {where}")
        for peer in ("pandas", "polars")
        for value, where in ratios(median, "slidefold", peer, speed, "window")
    ]
    yield at_least("exact time-window median / faster of pandas and polars", 10.0, against)
    counted = [
        row for row in rows if (row["operator"], row["window"]) == ("approx_distinct", large)
    ]
    fast = [(row[speed], "") for row in counted if row["side"] == "slidefold" and speed in row]
    yield at_least("approx_distinct at 100k rows per window", 1.0, fast, " M rows/s")
    kept = [(row["megabytes"], "") for row in counted if row["part"] == "memory"]
    yield at_most("approx_distinct at 100k rows per window, memory", 200.0, kept, " MB")


def users(rows: list[Row]) -> Iterator[Goal]:
    """Compare user operators with hand-written numba and with the fastest library."""
    speed = "million_rows_per_second"
    timed = [row for row in rows if speed in row]
    side = "two_stacks_lite"
    values = ratios(timed, side, "numba by hand", speed, "operator")
    yield at_least("user operator / numba by hand", 0.6, values)
    libraries = ("pandas numba", "polars rolling_map")
    against = [pair for peer in libraries for pair in ratios(timed, side, peer, speed, "operator")]
    yield at_least("user operator / fastest library call", 20.0, against)
    started = [(row["seconds"], row["operator"]) for row in rows if row["side"] == "ready"]
    yield at_most("user operator, time until ready", 0.5, started, " s")


def package(rows: list[Row]) -> Iterator[Goal]:
    """Check the build, the wheel and the import."""
    for what, target in (
        ("clean build", 120.0),
        ("wheel", 5.0),
        ("import beyond numpy and pyarrow", 0.1),
    ):
        values = [(row["value"], "") for row in rows if row["what"] == what]
        unit = " MB" if what == "wheel" else " s"
        yield at_most(what, target, values, unit)


def clusters(rows: list[Row]) -> Iterator[Goal]:
    """Compare Spark batch runs with Spark's own windows and the floor."""
    cost, place = "us_per_row", ("operator", "keys", "frame")
    keyed = [row for row in rows if row["part"] == "by key"]
    framed = [row for row in keyed if row["frame"] == 1_000 and row["keys"] < 100_000]
    for words, names, target in (
        ("sum and max", ("sum", "max"), 8.0),
        ("max_by and approx_distinct", ("max_by", "approx_distinct"), 20.0),
    ):
        chosen = [row for row in framed if row["operator"] in names]
        values = ratios(chosen, "spark", "slidefold", cost, *place)
        yield at_least(f"Spark / slidefold, frames of 1,000 rows, {words}", target, values)
    trees = [row for row in framed if row["operator"] in ("sum", "max", "std")]
    values = ratios(trees, "spark tree", "slidefold", cost, *place)
    yield at_least("Spark's segment tree / slidefold, frames of 1,000 rows", 2.5, values)
    many = [row for row in keyed if row["keys"] == 100_000]
    values = ratios(many, "spark", "slidefold", cost, *place)
    yield at_least("Spark / slidefold, 100,000 keys", 1.0, values)
    native = [row for row in keyed if row["operator"] in ("sum", "max")]
    values = ratios(native, "slidefold", "floor", cost, *place)
    yield at_most("slidefold / the floor, sum and max", 1.3, values)
    keyless = [row for row in rows if row["part"] == "no key"]
    values = ratios(keyless, "spark tree", "slidefold", cost, *place)
    yield at_least("Spark's segment tree / slidefold, no key", 2.0, values)
    costs = [row[cost] for row in keyless if row["side"] == "slidefold"]
    flat = [(max(costs) / min(costs), "")] if costs else []
    yield at_most("slidefold without a key, slowest / fastest length", 2.0, flat)


def small_jobs(rows: list[Row]) -> Iterator[Goal]:
    """Compare small Spark jobs: the first one with an identity, later ones with Spark's windows."""
    place = ("seconds", "settings", "rows")
    later = [row for row in rows if row["job"] == "later"]
    values = ratios(later, "slidefold", "spark", *place)
    yield at_most("small Spark jobs, not the first: slidefold / Spark's own windows", 1.0, values)
    first = [row for row in rows if row["job"] == "first"]
    values = ratios(first, "slidefold", "identity", *place)
    yield at_most("first Spark job: slidefold / an identity in Python workers", 1.2, values)


def cut_in_time(rows: list[Row]) -> Iterator[Goal]:
    """Judge what chunks of time cost over few rows; a tenth of what they once took."""
    for columns, what, target in (
        (3, "by key, 7 hot", 1.1),
        (35, "by key, 7 hot", 8.6),
        (35, "no key, 5 chunks", 2.9),
        (35, "no key, 16 chunks", 5.3),
    ):
        values = [(r["seconds"], "") for r in rows if (r["columns"], r["what"]) == (columns, what)]
        yield at_most(f"53,000 rows on Spark, {columns} columns, {what}", target, values, " s")


def workers(rows: list[Row]) -> Iterator[Goal]:
    """Judge the memory of a worker that gets many more rows than the bytes of a file suggest."""
    values = [(row["peak_bytes"] / (1 << 30), "") for row in rows]
    yield at_most("compressed Parquet file on Spark, largest worker", 1.0, values, " GiB")


def streams(rows: list[Row]) -> Iterator[Goal]:
    """Compare streams with their floor, Spark's sliding windows and its state per key."""
    cost = "us_per_row"
    keys = [row for row in rows if row["part"] == "keys"]
    many = [row for row in keys if row["x"] == 10_000]
    speed = [(row["rows_per_second"], "") for row in many if row["side"] == "slidefold"]
    yield at_least("stream, 10,000 keys, three windows", 120_000.0, speed, " rows/s")
    peers = [row for row in many if row["side"] in ("transformWithState", "applyInPandasWithState")]
    own = [row[cost] for row in many if row["side"] == "slidefold"]
    values = [(row[cost] / own[0], row["side"]) for row in peers if own]
    yield at_least("state per key / stream, 10,000 keys", 4.0, values)
    yield at_most("stream / its floor", 1.5, ratios(keys, "slidefold", "floor", cost, "x"))
    long = [row for row in rows if row["part"] == "slide" and row["x"] == "10m"]
    values = list(ratios(long, "spark", "slidefold", cost, "x"))
    yield at_least("Spark's sliding window / stream, 10 min every 1 s", 20.0, values)
    lengths = {row["x"]: row for row in rows if row["part"] == "length"}
    for value, target, words in (
        ("seconds_per_batch", 1.5, "seconds per batch"),
        ("state_bytes_per_row", 1.2, "bytes written to state per row"),
    ):
        both = [lengths[x][value] for x in ("24h", "1m") if x in lengths]
        values = [(both[0] / both[1], "")] if len(both) == 2 else []
        yield at_most(f"stream, {words}, windows of 24 h / 1 min", target, values)


def made_of_rows(rows: list[Row]) -> Iterator[Goal]:
    """Compare windows with expressions to windows without, and time the counting operators."""

    def ratio(what: str) -> list[tuple[float, str]]:
        return [(row["ratio"], "") for row in rows if row["what"] == what]

    title = "ten windows and five ratios / ten windows"
    yield at_most(title, 1.15, ratio("ten windows and five ratios"))
    yield at_most("sum where 1% pass / sum", 1.5, ratio("sum where 1% of the rows pass"))
    counts = [row for row in rows if row["what"] in ("distinct", "mode", "rank")]
    speeds = [(1e3 / row["ns_per_row"], row["what"]) for row in counts]
    yield at_least("distinct, mode, rank over 100,000 rows", 1.0, speeds, " M rows/s")


def asked(rows: list[Row]) -> Iterator[Goal]:
    """Compare questions with a run, with joins and with single questions."""

    def ratio(what: str) -> list[tuple[float, str]]:
        return [(row["ratio"], "") for row in rows if row["what"] == what]

    yield at_most("questions / run over as many rows", 1.3, ratio("at=, per run"))
    yield at_most("known= / at=", 10.0, ratio("known=, per at="))
    yield at_least("push and ask / known=", 3.0, ratio("push and ask one by one, per known="))
    yield at_least("range join of DuckDB / at=", 10.0, ratio("range join of DuckDB, per at="))
    title = "rolling and join_asof of Polars / at="
    yield at_least(title, 1.0, ratio("rolling and join_asof of Polars, per at="))


def asked_on_spark(rows: list[Row]) -> Iterator[Goal]:
    """Compare questions on Spark with a run over as many rows."""
    ratios = [(row["ratio"], row["keys"]) for row in rows if row["what"] == "at="]
    yield at_most("Spark, questions / run over as many rows", 1.5, ratios)


def served(rows: list[Row]) -> Iterator[Goal]:
    """Judge a service under its load."""
    loads = [row for row in rows if "batch_p99_ms" in row]
    first = loads[:1]
    asked = [(row["ask_p99_ms"], f"{row['asks_per_second']:,} questions/s") for row in first]
    yield at_most("service: 99% of single questions", 5.0, asked, " ms")
    sent = [(row["events_per_second"], "") for row in first]
    yield at_least("service: events meanwhile", 20_000, sent, " per second")


READERS: dict[str, Callable[[list[Row]], Iterator[Goal]]] = {
    "throughput": columns,
    "per_event": events,
    "latency": steps,
    "memory": kept,
    "parallel": threads,
    "late_data": late,
    "keyed": sets,
    "live": arrivals,
    "live_events": single_events,
    "live_memory": held_rows,
    "rolling": tables,
    "cliffs": complications,
    "expressions": made_of_rows,
    "questions": asked,
    "operators": built_ins,
    "user_operators": users,
    "package": package,
    "serve": served,
    "spark_batch": clusters,
    "spark_chunks": cut_in_time,
    "spark_memory": workers,
    "spark_questions": asked_on_spark,
    "spark_small": small_jobs,
    "stream": streams,
}


def goals(out: Path) -> list[Goal]:
    """Return every goal, measured or not."""
    return [goal for figure, read in READERS.items() for goal in read(load(figure, out))]


def report(out: Path) -> str:
    """Return the goals as a table."""
    every = goals(out)
    judged = [goal for goal in every if goal.met is not None]
    met = sum(1 for goal in judged if goal.met)
    title = f"Goals: {met} of {len(judged)} met, {len(every) - len(judged)} not measured"
    header = ["goal", "target", "measured (worst case)", "met"]
    return table(title, header, (goal.cells() for goal in every), words=True)


if __name__ == "__main__":
    print(report(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS))
