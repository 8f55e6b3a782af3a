"""Write the golden files of saved state for the current format, one for each kind of object.

    python tools/make_golden_state.py [folder]

Beside each NAME.bin lies NAME.json with the class, the current answer of the object, and its
answers to some more steps. `tests/state/test_golden.py` reads the files of every format so far, so
they are never changed; a new format gets its own folder.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT)]

import pyarrow as pa  # noqa: E402

import slidefold as sf  # noqa: E402
from slidefold.state import FORMAT  # noqa: E402
from tests.support import user_operators as user  # noqa: E402

Steps = list[list[Any]]  # method and arguments; a datetime is {"datetime": its ISO form}
WORDS = ["a", "bc", "", "d\u00e9", "e", "fg", "h", "ij", "k", "lmn"]


def plain(answer: Any) -> Any:
    """Return an answer as JSON would return it."""
    if isinstance(answer, sf.BloomFilter):
        return answer.to_bytes().hex()
    if isinstance(answer, pa.Array):
        answer = answer.to_pylist()
    if isinstance(answer, (list, tuple)):
        return [plain(item) for item in answer]
    return answer


def run(window: Any, steps: Steps) -> list[Any]:
    """Take steps and return the answers."""

    def read(argument: Any) -> Any:
        if isinstance(argument, dict):
            return datetime.fromisoformat(argument["datetime"])
        return tuple(argument) if isinstance(argument, list) else argument

    return [plain(getattr(window, name)(*map(read, arguments))) for name, *arguments in steps]


def asked(made: Any) -> Any:
    """Return the current answer; for keyed windows, that of each key."""
    if isinstance(made, sf.algorithms.KeyedWindows):
        keys: list[Any] = sorted(made.keys(), key=str)
        return [[key, plain(made.query(key))] for key in keys]
    return plain(made.query())


def slid(values: list[Any], size: int) -> Steps:
    """Slide a window of this size over values."""
    steps: Steps = []
    for at, value in enumerate(values):
        steps += [["insert", value], ["query"]]
        if at >= size:
            steps += [["evict"], ["query"]]
    return steps


def pushed(values: list[Any]) -> Steps:
    """Push values."""
    return [["push", value] for value in values]


def timed(values: list[Any], step: int = 3) -> Steps:
    """Push values at times, some of them equal."""
    return [["push", at // 2 * step, value] for at, value in enumerate(values)]


def dated(values: list[Any]) -> Steps:
    """Push values at datetimes."""
    times = [{"datetime": f"1969-12-31T23:59:{50 + at}"} for at in range(len(values))]
    return [["push", time, value] for time, value in zip(times, values, strict=True)]


NUMBERS = [4.0, -1.5, 7.25, 0.0, 7.25, 2.0, -8.0, 3.5, 0.25, 6.0, -8.0]
PAIRS = [["Rome", 3.0], ["Oslo", 9.0], ["Bern", 9.0], ["", 1.0], ["Bonn", 2.5], ["Kiev", 0.5]] * 2
INTEGERS = [5, -7, 2**62, 2**62, -1, 0, 3, 8, -2]

# Name, factory and steps; the object is saved after two thirds of the steps.
CASES: dict[str, tuple[Callable[[], Any], Steps]] = {
    "recalc": (lambda: sf.algorithms.Recalc(sf.concat()), slid(WORDS, 3)),
    "subtract_on_evict": (
        lambda: sf.algorithms.SubtractOnEvict(sf.sum("x", dtype="int64")),
        slid([1, -5, 2**61, 4, 9], 3),
    ),
    "two_stacks": (lambda: sf.algorithms.TwoStacks(sf.mean(), checked=True), slid(NUMBERS, 4)),
    "two_stacks_lite": (lambda: sf.algorithms.TwoStacksLite(sf.var(ddof=0)), slid(NUMBERS, 4)),
    "daba": (lambda: sf.algorithms.Daba(sf.collect(dtype="int64")), slid(INTEGERS, 4)),
    "daba_lite": (lambda: sf.algorithms.DabaLite(sf.max(), counted=True), slid(NUMBERS, 4)),
    "flat_fat": (lambda: sf.algorithms.FlatFat(sf.concat(), capacity=6), slid(WORDS, 4)),
    "flat_fat_batch": (
        lambda: sf.algorithms.FlatFat(sf.min_count(), batch=True),
        [["insert", x] for x in NUMBERS],
    ),
    "b_int": (lambda: sf.algorithms.BInt(sf.concat()), slid(WORDS, 4)),
    "flat_fit": (lambda: sf.algorithms.FlatFit(sf.bloom(bits=300)), slid(NUMBERS, 4)),
    "amta": (lambda: sf.algorithms.Amta(sf.concat()), slid(WORDS, 4)),
    "slick_deque": (lambda: sf.algorithms.SlickDeque(sf.max_by(dtype="str")), slid(PAIRS, 3)),
    "sba": (lambda: sf.algorithms.Sba(sf.concat(), range=5, slide=2), pushed(WORDS)),
    "sba_over_time": (
        lambda: sf.algorithms.Sba.over_time(sf.concat(), range=10, slide=4),
        timed(WORDS),
    ),
    "pba": (lambda: sf.algorithms.Pba(sf.first(), range=4, chunk=3), pushed(NUMBERS)),
    "fiba": (
        lambda: sf.algorithms.Fiba(sf.concat(), min_arity=2, max_arity=4),
        [["insert", t, WORDS[t % 10]] for t in (0, 9, 3, 4, 5, 20, 1, 6, 7, 8, 2, 30, 10, 11, 12)],
    ),
    "btree": (
        lambda: sf.algorithms.BTree(sf.max(dtype="int64"), min_arity=2),
        [["insert", t / 2, t * 7 % 10] for t in range(20)],
    ),
    "window_late": (
        lambda: sf.Window(sf.concat(), sf.time(9), lateness=6),
        [["push", t, WORDS[t % 10]] for t in (0, 9, 3, 4, 5, 20, 1, 16, 17, 18, 15, 30, 25, 26)],
    ),
    "keyed_windows": (
        lambda: sf.algorithms.KeyedWindows(sf.concat(), sf.time(9), lateness=6),
        [
            ["push", [f"key {t % 3}", "other"], [t, t - 4], [WORDS[t % 10], "."]]
            for t in (4, 9, 3, 5, 20, 1, 16, 17, 15, 30, 25)
        ],
    ),
    "user_operator": (
        lambda: sf.algorithms.DabaLite(user.made(user.Compose)),
        slid([[n, n + 1] for n in range(7)], 3),
    ),
    "window_rows": (lambda: sf.Window(sf.count(), sf.rows(3)), pushed(NUMBERS)),
    "window_rows_left": (
        lambda: sf.Window(sf.last(dtype="object"), sf.rows(3, closed="left")),
        pushed([None, 1, "x", -2.5, True]),
    ),
    "window_time": (lambda: sf.Window(sf.min(), sf.time(5)), timed(NUMBERS)),
    "window_time_real": (
        lambda: sf.Window(sf.sum(), sf.time(4.5, closed="both")),
        timed(NUMBERS),
    ),
    "window_time_left": (
        lambda: sf.Window(sf.concat(), sf.time(5, closed="left")),
        timed(WORDS),
    ),
    "window_median": (lambda: sf.Window(sf.median(), sf.rows(4)), pushed([*NUMBERS, None, 1.0])),
    "window_quantile_late": (
        lambda: sf.Window(
            sf.quantile(q=0.3, interpolation="lower", dtype="int64"), sf.time(9), lateness=6
        ),
        [["push", t, t * 7 % 10] for t in (0, 9, 3, 4, 5, 20, 1, 16, 17, 18, 15, 30, 25, 26)],
    ),
    "window_texts": (lambda: sf.Window(sf.top_k(k=2, dtype="str"), sf.rows(3)), pushed(WORDS)),
    "window_unsigned": (
        lambda: sf.Window(sf.max(dtype="uint64"), sf.rows(3)),
        pushed([2**64 - 1, 0, 5, 2**63, 7, 1, 2]),
    ),
    "window_datetimes": (
        lambda: sf.Window(sf.max("x", dtype="int64"), sf.time("3s", closed="neither")),
        dated(INTEGERS),
    ),
}


def golden() -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    """Yield the name, bytes and answers of every case, saved between its steps."""
    for name, (make, steps) in CASES.items():
        made, middle = make(), len(steps) * 2 // 3
        run(made, steps[:middle])
        data = made.to_bytes()
        answers: dict[str, Any] = {"class": type(made).__name__, "len": len(made)}
        answers["query"] = asked(made)
        answers["steps"] = steps[middle:]
        answers["answers"] = run(made, answers["steps"])
        yield name, data, answers


def main(arguments: list[str]) -> None:
    """Write the files to the given folder, or to the default one."""
    here = ROOT / "tests" / "golden" / "state" / f"v{FORMAT}"
    folder = Path(arguments[0]) if arguments else here
    folder.mkdir(parents=True, exist_ok=True)
    for name, data, answers in golden():
        (folder / f"{name}.bin").write_bytes(data)
        text = json.dumps(answers, indent=1, ensure_ascii=True)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
