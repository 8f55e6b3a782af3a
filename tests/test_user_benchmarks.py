"""The peers of users' operators give the same answers, and their goals are judged right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import goals, user_peers, workloads
from slidefold.algorithms import Recalc

pytest.importorskip("numba")


@pytest.mark.slow
@pytest.mark.parametrize("operator", user_peers.OPERATORS)
def test_every_peer_agrees(operator: str) -> None:
    values = workloads.column(60)
    peers = {"by hand": user_peers.by_hand(operator), **user_peers.libraries(operator)}
    for window in (1, 2, 7, 8, 70):
        due = Recalc(user_peers.OPERATORS[operator]()).slide(values, window)
        for name, peer in peers.items():
            got = np.asarray(peer(values, window))
            np.testing.assert_allclose(got, due, rtol=1e-9, atol=1e-12, err_msg=name)


def test_goals(tmp_path: Path) -> None:
    speeds = {
        "two_stacks_lite": 100.0,
        "numba by hand": 125.0,
        "pandas numba": 2.0,
        "polars rolling_map": 10.0,
    }
    rows: list[dict[str, Any]] = [
        {"operator": "moments", "side": side, "million_rows_per_second": speed}
        for side, speed in speeds.items()
    ]
    rows.append({"operator": "moments", "side": "ready", "seconds": 0.3})
    rows.append({"operator": "moments", "side": "ready, numba's first", "seconds": 3.0})
    (tmp_path / "user_operators.json").write_text(json.dumps({"rows": rows}))
    found = [g for g in goals.goals(tmp_path) if g.goal.startswith("user operator")]
    assert [(g.measured, g.met) for g in found] == [
        ("0.8x (moments)", True),
        ("10x (moments)", False),
        ("0.3 s (moments)", True),
    ]
