"""Pictures in notebooks: windows to scale, plans as tables, no script and nothing loaded."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf

FEATURES = sf.rolling(
    on="ts",
    by="card",
    short=sf.sum("amount").over("1h"),
    long=sf.max("amount").over("4h"),
    past=sf.mean("amount").over("1h", closed="left"),
    rows=sf.mean("amount").over(5),
    ever=sf.count().over(sf.lifetime()),
    pause=sf.count().over(sf.session("10m")),
    ratio=sf.col("amount") / sf.mean("amount").over("2h"),
    columns={"x<y": sf.count().over("1h")},
)


class Checker(HTMLParser):
    """Check that tags are closed in order, and collect them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag != "br":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def parsed(thing: Any) -> Checker:
    html = thing._repr_html_()
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.open == []
    assert "script" not in {tag for tag, _ in checker.seen}
    links = [a for _, attrs in checker.seen for a in attrs if a in ("src", "href")]
    assert links == []
    return checker


def widths(html: str) -> list[float]:
    return [float(width) for width in re.findall(r"<rect [^>]*width='([\d.]+)'", html)]


def test_windows_of_time_are_drawn_to_one_scale() -> None:
    bars = widths(sf.rolling(
        on="t", a=sf.count().over("1h"), b=sf.count().over("4h"), c=sf.count().over("30m")
    )._repr_html_())  # fmt: skip
    assert bars[1] == pytest.approx(4 * bars[0], abs=0.3)
    assert bars[0] == pytest.approx(2 * bars[2], abs=0.3)


def test_delays_and_windows_ahead_move_the_bar() -> None:
    html = sf.rolling(
        on="t",
        back=sf.count().over(sf.time("1h", delay="1h")),
        ahead=sf.count().over(sf.time("2h", ahead=True)),
    )._repr_html_()
    edges = [
        (float(x), float(x) + float(width))
        for x, width in re.findall(r"<rect x='([\d.]+)' [^>]*?width='([\d.]+)'", html)
    ]
    ticks = {float(x) for x in re.findall(r"<line x1='([\d.]+)' y1='1'", html)}
    assert len(ticks) == 1
    (now,) = ticks
    assert edges[0][1] < now
    assert edges[1][0] == pytest.approx(now, abs=0.2)


def test_a_definition_names_its_columns_and_closes_its_tags() -> None:
    page = parsed(FEATURES)
    for name in FEATURES.columns:
        assert name in page.words
    assert "x<y" in page.words  # escaped in the HTML
    assert "sf.sum('amount').over('1h')" in page.words


def test_included_ends_are_filled() -> None:
    html = sf.rolling(on="t", n=sf.count().over("1h", closed="both"))._repr_html_()
    assert html.count("fill='none'") == 0
    assert sf.rolling(on="t", n=sf.count().over("1h"))._repr_html_().count("fill='none'") == 1


def test_a_plan_is_a_text_that_notebooks_show_as_a_table() -> None:
    table = pa.table({"ts": pa.array([0], pa.timestamp("us")), "card": ["a"], "amount": [1.0]})
    plan = FEATURES.explain(table)
    assert isinstance(plan, str)
    assert plan.startswith("sf.rolling(")
    page = parsed(plan)
    assert "two_stacks_lite" in page.words
    assert "after the windows" in page.words


def test_a_window_shows_what_it_holds() -> None:
    window = sf.Window(sf.max(), sf.rows(3))
    assert "empty" in parsed(window).words
    for value in (1.0, 7.0, 2.0, 3.0):
        window.push(value)
    words = parsed(window).words
    assert "3 rows" in words
    assert "7.0" in words
    late = sf.Window(sf.sum(), sf.time(10), lateness=1)
    late.push(100, 1.0)
    late.push(1, 1.0)
    assert "1 events dropped" in parsed(late).words
    assert "algorithm" in parsed(window.plan).words
