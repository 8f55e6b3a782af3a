"""The verdicts on the papers' figures: numbers with a known shape get the right verdict."""

from collections.abc import Mapping
from typing import Any

import pytest

from benchmarks.papers import FIGURES, bulk
from benchmarks.papers.bulk import fig08
from benchmarks.papers.daba import SIDES, fig12, throughput
from benchmarks.papers.data import manufacturing
from benchmarks.papers.fiba import fig15
from benchmarks.papers.figure import Claim, Context
from benchmarks.papers.pba import throughput as pba
from benchmarks.papers.reactive import lines, table3, table4

Speeds = Mapping[str, float]


def verdict(claims: list[Claim], words: str) -> bool:
    """Return whether the one claim with these words holds."""
    (claim,) = [claim for claim in claims if words in claim.paper]
    return claim.holds


# ---- PBA ----------------------------------------------------------------------------------------


def by_window(
    points: Mapping[int, Speeds], *, slides: Mapping[int, int] | None = None
) -> list[dict[str, Any]]:
    return [
        {
            "cell": f"x={x}",
            "x": x,
            "range": 2**17 if slides else x,
            "slide": (slides or {}).get(x, 1),
            "side": side,
            "million_per_second": speed,
        }
        for x, speeds in points.items()
        for side, speed in speeds.items()
    ]


def test_the_best_of_all_is_better_than_all_others() -> None:
    winning = {"pba": 90.0, "sba": 50.0, "two_stacks": 30.0, "slick_deque": 20.0}
    claims = pba.claims(by_window({2**15: winning, 2**17: winning}))
    assert all(claim.holds for claim in claims)
    # PBA beats SBA, but not SlickDeque.
    beaten = {**winning, "slick_deque": 120.0}
    claims = pba.claims(by_window({2**15: beaten, 2**17: beaten}))
    assert not verdict(claims, "PBA has the best throughput")
    assert not verdict(claims, "than SlickDeque")
    assert verdict(claims, "than Two-Stacks")


def test_sba_must_win_at_small_windows_too() -> None:
    small = {"pba": 10.0, "sba": 20.0, "two_stacks": 30.0, "slick_deque": 10.0}
    large = {"pba": 90.0, "sba": 50.0, "two_stacks": 30.0, "slick_deque": 20.0}
    claims = pba.claims(by_window({2**3: small, 2**5: small, 2**15: large}))
    assert not verdict(claims, "than Two-Stacks")
    assert verdict(claims, "PBA has the best throughput")


def test_larger_slides_bring_the_algorithms_closer_together() -> None:
    fine = {"pba": 90.0, "sba": 50.0, "two_stacks": 30.0, "slick_deque": 20.0}
    coarse = {"pba": 200.0, "sba": 180.0, "two_stacks": 170.0, "slick_deque": 150.0}
    slides = {1: 1, 10: 10}
    claims = pba.closer(by_window({1: fine, 10: coarse}, slides=slides))
    assert verdict(claims, "come closer")
    assert verdict(claims, "larger slides raise")
    claims = pba.closer(by_window({1: coarse, 10: fine}, slides=slides))
    assert not verdict(claims, "come closer")
    assert not verdict(claims, "larger slides raise")
    assert verdict(claims, "with a small slide")
    claims = pba.closer(by_window({1: {**fine, "sba": 99.0}, 10: coarse}, slides=slides))
    assert not verdict(claims, "with a small slide")


# ---- Spark --------------------------------------------------------------------------------------


def on_spark(x: str, points: Mapping[int, Speeds]) -> list[dict[str, Any]]:
    return [
        {x: at, "side": side, "million_per_second": speed}
        for at, speeds in points.items()
        for side, speed in speeds.items()
    ]


def test_on_spark_all_that_the_paper_found_is_judged() -> None:
    good = {1: {"slidefold": 1.0, "spark": 0.9}, 2**13: {"slidefold": 0.9, "spark": 0.01}}
    claims = FIGURES["fiba.fig17"].claims(on_spark("n", good))
    assert [claim.holds for claim in claims] == [True, True, True]
    # 4x is not orders of magnitude, and the built-in window does not get slower.
    flat = {1: {"slidefold": 1.0, "spark": 0.25}, 2**13: {"slidefold": 1.0, "spark": 0.25}}
    claims = FIGURES["fiba.fig17"].claims(on_spark("n", flat))
    assert [claim.holds for claim in claims] == [False, True, False]
    falling = {0: {"slidefold": 1.0, "spark": 0.05}, 2**12: {"slidefold": 1.0, "spark": 0.01}}
    claims = FIGURES["fiba.fig16"].claims(on_spark("d", falling))
    assert [claim.holds for claim in claims] == [True, False]


@pytest.mark.parametrize("name", ["bulk.fig17", "pba.fig8"])
def test_on_spark_a_throughput_that_falls_does_not_rise(name: str) -> None:
    x = {"bulk.fig17": "m", "pba.fig8": "parts"}[name]
    up = {1: {"slidefold": 1.0, "spark": 0.1}, 2: {"slidefold": 1.8, "spark": 0.2}}
    down = {1: {"slidefold": 1.8, "spark": 0.2}, 2: {"slidefold": 1.0, "spark": 0.1}}
    assert all(claim.holds for claim in FIGURES[name].claims(on_spark(x, up)))
    assert not all(claim.holds for claim in FIGURES[name].claims(on_spark(x, down)))


# ---- the Reactive Aggregator --------------------------------------------------------------------


def test_a_break_even_point_holds_from_there_on() -> None:
    noisy = [(10, 1.2), (20, 0.7), (40, 0.9), (80, 1.5), (160, 4.0)]  # 10 is noise
    rows = [{"operator": "sum", "n": n, "ratio": ratio} for n, ratio in noisy]
    assert table3.point(rows, "sum", 1) == 80
    assert table3.point(rows, "sum", 4) == 160
    assert table3.point(rows, "sum", 10) is None


def test_a_ratio_far_above_the_papers_is_different() -> None:
    def rows(small: float, large: float) -> list[dict[str, Any]]:
        return [
            {"operator": operator, "n": n, "ratio": ratio}
            for operator in table4.OPERATORS
            for n, ratio in ((8, small), (2**21, large))
        ]

    assert all(claim.holds for claim in table4.claims(rows(1.02, 1.39)))
    assert not verdict(table4.claims(rows(1.02, 5.0)), "AW takes")
    assert not verdict(table4.claims(rows(1.39, 1.02)), "the gap widens")


def test_the_sides_of_a_cell_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def firing(side: str, operator: str, n: int, m: int, count: int) -> int:
        calls.append(side)
        return 1_000 * count

    monkeypatch.setattr(lines, "firing", firing)
    monkeypatch.setitem(lines.SIZES, "smoke", (1, 1, 64, 2))
    (cell, *_) = lines.cells(Context("smoke"), sides=("a", "b"), bulks={"m=4": lambda n: 4})
    rows = cell.measure()
    assert calls == ["a", "b", "b", "a"]
    assert rows[0]["us_per_firing"] == 1.0
    assert rows[0]["us"] == 0.25


# ---- the others ---------------------------------------------------------------------------------


def test_a_lite_version_must_win_nearly_everywhere() -> None:
    def rows(wins: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for place in range(10):
            for side in SIDES:
                fast = side.endswith("_lite") and place < wins
                speed = 2.0 if fast else 1.0 if not side.endswith("_lite") else 0.9
                numbers = {"ns": 1 / speed, "million_per_second": speed}
                found.append({"operator": "sum", "n": 2 ** (place + 4), "side": side, **numbers})
        counts = [
            {"operator": "counted", "n": n, "side": side, "combines": 3.0}
            for n in (16, 64)
            for side in SIDES
        ]
        return counts + found

    assert verdict(throughput.claims(rows(9), drain=False), "DABA Lite always outperforms")
    assert not verdict(throughput.claims(rows(6), drain=False), "DABA Lite always outperforms")


def test_long_windows_are_judged_apart() -> None:
    def rows(long: float) -> list[dict[str, Any]]:
        speeds = {0.01: 10.0, 600: 9.0, 21_600: long}
        latency = [{"part": "latency", "side": side, "max": 100} for side in SIDES]
        return latency + [
            {"part": "throughput", "window": window, "side": side, "ns": 1e3 / speed,
             "million_per_second": speed}
            for window, speed in speeds.items()
            for side in SIDES
        ]  # fmt: skip

    claims = fig12.claims(rows(1.0))  # far slower, but only where the paper says so
    assert verdict(claims, "up to 1,000 seconds")
    assert verdict(claims, "longer windows")
    assert not verdict(fig12.claims(rows(12.0)), "longer windows")


def test_larger_bulks_must_raise_the_throughput_of_all() -> None:
    def rows(other: float, last: float) -> list[dict[str, Any]]:
        speeds = {"fiba4": (1.0, 3.0, last), "amta": (1.0, other, last)}
        return [
            {"operator": "sum", "side": side, "m": m, "million_per_second": speed}
            for side, values in speeds.items()
            for m, speed in zip((1, 2**12, 2**18), values, strict=True)
        ]

    claims = FIGURES["bulk.fig12"].claims(rows(2.0, 1.5))
    assert verdict(claims, "rises with m")
    assert verdict(claims, "drops")
    claims = FIGURES["bulk.fig12"].claims(rows(1.0, 3.5))
    assert not verdict(claims, "rises with m")
    assert not verdict(claims, "drops")


def test_both_lite_versions_must_insert_faster_than_trees() -> None:
    def rows(daba: int) -> list[dict[str, Any]]:
        medians = dict.fromkeys(bulk.SIDES, 100) | {"two_stacks_lite": 10, "daba_lite": daba}
        counts = [
            {"operator": "counted", "m": m, "side": side, "combines": float(m)}
            for m in (16, 64)
            for side in medians
        ]
        return counts + [
            {"operator": "sum", "m": 64, "side": side, "median": median}
            for side, median in medians.items()
        ]

    assert verdict(fig08.claims(rows(20)), "insert faster")
    assert not verdict(fig08.claims(rows(120)), "insert faster")


def test_windows_that_the_data_cannot_fill_are_left_out() -> None:
    names = [cell.name for cell in fig15.cells(Context("quick"))]
    # 120,000 trips take more than two days, the 5,000 of bloom a tenth of a day.
    assert names == [
        *(f"operator={name} days={days}" for name in ("sum", "geomean") for days in (0.25, 1)),
        "operator=bloom days=0.25",
    ]
    for size in ("default", "full"):
        count, windows, _, _ = fig15.SIZES[size]
        assert 2 * max(windows) <= 153 * count / 8_000_000, "8 M trips take 153 days"


@pytest.mark.slow
def test_the_default_run_of_daba_fig12_reaches_six_hours() -> None:
    rows, windows, _ = fig12.SIZES["default"]
    assert manufacturing(Context("default"), rows).seconds > 2 * max(windows)
