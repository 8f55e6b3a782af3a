"""The time that is left, and records that survive an interrupt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.papers import progress, record
from benchmarks.papers.progress import Progress
from tools.docs import papers


def test_the_time_left_follows_the_work_not_the_number_of_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(progress, "perf_counter", lambda: now)
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    bar = Progress({"short": 1.0, "long": 9.0})
    bar.show("short", (0, 2))
    now = 10.0
    bar.show("short", (2, 2))
    assert "short: 2 of 2 cells, 10%, 90 s left" in capsys.readouterr().out


def test_cells_of_an_earlier_run_do_not_shorten_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(progress, "perf_counter", lambda: now)
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    bar = Progress({"resumed": 4.0, "next": 1.0})
    bar.show("resumed", (3, 4))
    now = 30.0
    bar.show("resumed", (4, 4))
    assert "resumed: 4 of 4 cells, 80%, 30 s left" in capsys.readouterr().out


def test_the_work_of_a_figure_is_what_its_record_took(tmp_path: Path) -> None:
    assert record.minutes("daba.fig9", tmp_path) == 1.0
    lines = [
        {"figure": "daba.fig9", "cells": 2},
        {"cell": "a", "of": 2, "seconds": 90},
        {"cell": "a", "of": 2, "seconds": 90},
        {"cell": "b", "of": 1, "seconds": 30},
    ]
    path = record.path_of("daba.fig9", tmp_path)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert record.minutes("daba.fig9", tmp_path) == 2.0
    path.write_text("".join(json.dumps(line) + "\n" for line in lines[:-1]))
    assert record.minutes("daba.fig9", tmp_path) == 1.0, "an unfinished record does not count"


def test_a_chart_needs_all_of_its_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(papers, "PAPERS", tmp_path)
    assert papers.region("slides") == "Not recorded yet: `make papers` measures it."
    rows = [
        {"cell": str(x), "of": 1, "part": "range", "side": "sba", "x": x, "ns": 2.0 + x}
        for x in (8, 16)
    ]
    path = record.path_of("pba.fig4", tmp_path)
    lines = [{"figure": "pba.fig4", "cells": 2}, *rows]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert list(papers.pictures()) == ["papers-slides"], "the others are not recorded"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines[:-1]))
    assert papers.pictures() == {}, "a run was interrupted"
