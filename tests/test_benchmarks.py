"""The benchmarks: every figure runs, every side gives the same answers, the goals are judged right.

Nothing here looks at how fast anything is.
"""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slidefold as sf
from benchmarks import goals, harness, numba_peer, workloads
from benchmarks.__main__ import main, run
from benchmarks.figures import FIGURES, latency, per_event, throughput
from slidefold.algorithms import Recalc

WINDOWS = (1, 2, 3, 7, 8, 40)


def head() -> str | None:
    command = ["git", "-C", str(harness.ROOT), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


# Those that need Spark run where there is a session: tests/spark.
IN_PROCESS = [name for name, figure in FIGURES.items() if not hasattr(figure, "NEEDS_SPARK")]


@pytest.mark.slow
@pytest.mark.parametrize("figure", IN_PROCESS)
def test_a_figure_writes_its_record_and_a_table(
    figure: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run([figure], "smoke", tmp_path)
    document = json.loads((tmp_path / f"{figure}.json").read_text())
    assert (document["figure"], document["size"]) == (figure, "smoke")
    assert document["commit"] == head()
    assert re.match(r"20\d\d-\d\d-\d\dT", document["date"])
    assert document["machine"]["cores"] >= 1
    assert document["versions"]["slidefold"] == sf.__version__
    assert document["versions"]["numpy"] == np.__version__
    if figure != "parallel" or workloads.boundary_algorithms():
        assert document["rows"]
    for row in document["rows"]:
        assert all(np.isfinite(value) for value in row.values() if isinstance(value, float))
    said = capsys.readouterr().out
    assert FIGURES[figure].show(document["rows"]) in said


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_has_all_sizes(figure: str) -> None:
    assert set(FIGURES[figure].SIZES) == {"full", "quick", "smoke"}


def test_throughput_covers_what_it_should() -> None:
    sizes = throughput.SIZES["full"]
    assert sizes.windows == tuple(2**k for k in range(4, 23))
    assert latency.SIZES["full"].windows == (2**14, 2**22)
    assert {"sum", "max", "mean", "geomean", "bloom"} <= set(workloads.OPERATORS)


# ---- the same answers on all sides ------------------------------------------------------------


@pytest.mark.parametrize("drain", [False, True])
@pytest.mark.parametrize("operator", sorted(set(workloads.OPERATORS) - {"bloom"}))
def test_every_slider_agrees_with_recalc(operator: str, drain: bool) -> None:
    make = workloads.OPERATORS[operator]
    values = workloads.column(100, operator)
    for window in WINDOWS:
        due = Recalc(make()).slide(values, window, drain=drain)
        for name, slide in workloads.sliders(make(), drain=drain).items():
            got = np.asarray(slide(values, window))
            # Boundary algorithms answer once the window is full.
            np.testing.assert_allclose(got, due[len(due) - len(got) :], rtol=1e-12, err_msg=name)
            assert len(got) in (len(due), len(due) - window + 1)


@pytest.mark.parametrize("drain", [False, True])
def test_every_slider_gives_the_same_bloom_filters(drain: bool) -> None:
    make = workloads.OPERATORS["bloom"]
    values = workloads.column(30, "bloom")
    asked = [*values.tolist(), *range(50)]
    answers: dict[str, list[list[bool]]] = {}
    for name, slide in workloads.sliders(make(), drain=drain).items():
        filters: Any = slide(values, 4)
        full = list(filters)[-27:]  # where the window of 4 is full
        answers[name] = [[value in one for value in asked] for one in full]
    assert all(answer == answers["recalc"] for answer in answers.values())


@pytest.mark.slow
@pytest.mark.skipif(not numba_peer.available(), reason="numba is not installed")
@pytest.mark.parametrize("drain", [False, True])
@pytest.mark.parametrize("operator", numba_peer.PARTS)
def test_numba_agrees(operator: str, drain: bool) -> None:
    values = workloads.column(100, operator)
    for window in WINDOWS:
        due = Recalc(workloads.OPERATORS[operator]()).slide(values, window, drain=drain)
        got = numba_peer.two_stacks(operator, drain=drain)(values, window)
        np.testing.assert_allclose(got, due, rtol=1e-12)


SIDES = [
    "push",
    "push throughput",
    "daba_lite 3 calls",
    "two_stacks_lite 3 calls",
    "python inlined",
    "python class",
    "river",
    "rolling iterator",
    "rolling live",
]


def test_all_loops_are_listed() -> None:
    assert set(per_event.sides()) <= set(SIDES)


@pytest.mark.parametrize("operator", per_event.OPERATORS)
@pytest.mark.parametrize("side", SIDES)
def test_every_loop_agrees(side: str, operator: str) -> None:
    make = per_event.sides().get(side)
    if make is None:
        pytest.skip(f"{side.split()[0]} is not installed")
    values = workloads.column(60, operator).tolist()
    for window in WINDOWS:
        due = Recalc(per_event.OPERATORS[operator]()).slide(np.array(values), window)
        # A loop gives its last result, so that it is run on every prefix.
        got = [make(operator, window)(values[: row + 1]) for row in range(len(values))]
        assert got == pytest.approx(due.tolist(), rel=1e-12)


# ---- the harness ------------------------------------------------------------------------------


def test_sides_take_turns_and_slow_ones_sit_out() -> None:
    order: list[str] = []

    def side(name: str) -> Callable[[], object]:
        return lambda: order.append(name)

    timings = harness.best_of({"a": side("a"), "b": side("b")}, rounds=3, seconds=10.0)
    assert "".join(order) == "abbaab"
    assert timings["a"].rounds == timings["b"].rounds == 3
    assert timings["a"].seconds >= 0.0

    order.clear()
    timings = harness.best_of({"a": side("a"), "b": side("b")}, rounds=9, seconds=0.0)
    assert sorted(order) == ["a", "b"]
    assert timings["a"].rounds == 1


def test_latency_keeps_the_least_of_each_quantile() -> None:
    summary = latency.Summary()
    summary.add(np.array([10, 10, 10, 500, 90]))  # an interrupt at the fourth step
    summary.add(np.array([10, 10, 10, 20, 100]))
    row = summary.row()
    assert (row["p50_ns"], row["max_ns"]) == (10, 100)
    assert (row["steady_max_ns"], row["raw_max_ns"]) == (90, 500)


def test_a_table_is_aligned() -> None:
    text = harness.table("T", ["name", "n"], [["a", 1000], ["bb", None], ["c", 0.12345]])
    assert text.splitlines() == [
        "T",
        "",
        "name      n",
        "----  -----",
        "a     1,000",
        "bb        -",
        "c     0.123",
    ]


# ---- the goals --------------------------------------------------------------------------------


def written(out: Path, figure: str, rows: list[dict[str, Any]]) -> None:
    (out / f"{figure}.json").write_text(json.dumps({"rows": rows}))


def judged(out: Path, start: str) -> list[tuple[str, bool | None]]:
    return [(g.measured, g.met) for g in goals.goals(out) if g.goal.startswith(start)]


def test_nothing_measured_is_no_goal_met(tmp_path: Path) -> None:
    found = goals.goals(tmp_path)
    assert len(found) >= 12
    assert all(goal.met is None for goal in found)
    assert "0 of 0 met" in goals.report(tmp_path)


def test_a_goal_counts_at_its_worst_window(tmp_path: Path) -> None:
    speeds = {"two_stacks_lite": (400.0, 310.0), "daba_lite": (120.0, 200.0)}
    speeds["numba"] = (200.0, 310.0)
    rows = [
        {
            "operator": "sum",
            "mode": "static",
            "window": window,
            "side": side,
            "million_rows_per_second": speed,
        }
        for side, pair in speeds.items()
        for window, speed in zip((16, 1024), pair, strict=True)
    ]
    written(tmp_path, "throughput", rows)
    ratio = "slide / numba two-stacks"
    assert judged(tmp_path, f"two_stacks_lite {ratio}, static") == [("1x (sum 2^10)", True)]
    assert judged(tmp_path, f"daba_lite {ratio}, static") == [("0.6x (sum 2^4)", True)]
    assert judged(tmp_path, f"two_stacks_lite {ratio}, drain") == [("-", None)]
    slowest = judged(tmp_path, "two_stacks_lite slide of sum, worst")
    assert slowest == [("310 M rows/s (2^10)", True)]


def test_push_goals(tmp_path: Path) -> None:
    costs = {"push": 50.0, "river": 400.0, "python class": 90.0, "python inlined": 40.0}
    rows = [
        {"operator": "sum", "window": 1000, "side": side, "ns_per_event": cost}
        for side, cost in costs.items()
    ]
    written(tmp_path, "per_event", rows)
    assert judged(tmp_path, "river") == [("8x (sum 1000)", False)]
    assert [met for _, met in judged(tmp_path, "push / running sum")] == [True, False]


def test_the_worst_step_is_that_of_the_largest_window(tmp_path: Path) -> None:
    rows = [
        {"operator": "sum", "window": window, "side": side, "max_ns": step, "steady_max_ns": step}
        for window, side, step in (
            (2**14, "two_stacks_lite", 1.0),
            (2**14, "daba_lite", 1.0),
            (2**22, "two_stacks_lite", 6000.0),
            (2**22, "daba_lite", 100.0),
        )
    ]
    written(tmp_path, "latency", rows)
    assert judged(tmp_path, "worst step") == [("60x (sum 2^22)", True)] * 2


def test_a_complication_is_compared_with_the_plain_case_of_its_window(tmp_path: Path) -> None:
    costs = {
        ("slidefold", "plain", 1000): 10.0,
        ("slidefold", "plain", 20): 4.0,
        ("slidefold", "nulls", 1000): 16.0,
        ("slidefold", "ties", 1000): 12.0,
        ("slidefold", "keys", 20): 15.0,
        ("sort", "keys", 20): 10.0,
        ("polars", "plain", 1000): 15.0,
        ("polars", "nulls", 1000): 32.0,
    }
    place = {"kind": "rows", "operator": "sum"}
    rows = [
        {**place, "side": side, "case": case, "window": window, "ms_per_million": cost}
        for (side, case, window), cost in costs.items()
    ]
    written(tmp_path, "cliffs", rows)
    assert judged(tmp_path, "rolling, nulls /") == [("1.6x (sum over rows)", False)]
    assert judged(tmp_path, "rolling, ties /") == [("1.2x (sum over rows)", True)]
    assert judged(tmp_path, "rolling, out of place") == [("-", None)]
    assert judged(tmp_path, "rolling, keys:") == [("1.1x (sum over rows)", True)]
    assert [met for _, met in judged(tmp_path, "polars / rolling, plain")] == [False]
    assert judged(tmp_path, "polars / rolling, all other") == [("2x (rows sum 1000 nulls)", True)]


# ---- the command line -------------------------------------------------------------------------


def test_an_unknown_figure_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["troughput"])
    message = capsys.readouterr().err
    assert "expected a figure among throughput," in message
    assert "got 'troughput'" in message


def test_the_command_line_ends_with_the_goals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FIGURES["memory"].SIZES, "quick", FIGURES["memory"].SIZES["smoke"])
    main(["memory", "--quick", "--out", str(tmp_path)])
    said = capsys.readouterr().out
    assert "== memory (quick)" in said
    assert "Goals: " in said
    assert [path.name for path in tmp_path.iterdir()] == ["memory.json"]
