"""The command line of the fuzzer."""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Sequence

from tools.fuzz import state, trees
from tools.fuzz.rounds import Failure
from tools.fuzz.workers import Total, run_rounds

OPERATIONS = 10_000_000
DAMAGES = 1_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run rounds; return 1 if one fails."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--state", action="store_true", help="damage saved states instead")
    parser.add_argument(
        "--operations",
        type=int,
        metavar="N",
        help="how many to run (default 10 million; 1 million with --state)",
    )
    parser.add_argument("--seconds", type=float, metavar="S", help="stop after S seconds")
    parser.add_argument("--seed", type=int, metavar="N", help="repeat the run with this seed")
    parser.add_argument("--round", type=int, metavar="N", help="run one round, in this process")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="processes (default 2)")
    chosen = parser.parse_args(arguments)
    seed = secrets.randbits(32) if chosen.seed is None else chosen.seed
    mode = state if chosen.state else trees
    unit = "damaged states" if chosen.state else "operations"
    again = f"python -m tools.fuzz {'--state ' if chosen.state else ''}--seed {seed}"
    print(f"fuzz: {again}", flush=True)

    def tell(total: Total) -> None:
        rate = total.count / max(total.seconds, 1e-9)
        print(f"fuzz: {total.count:,} {unit}, {rate:,.0f} per second", flush=True)

    if chosen.round is not None:
        done = mode.run_round(seed, chosen.round)
        return _failed(done.failure, f"{again} --round {chosen.round}")
    count = chosen.operations
    if count is None and chosen.seconds is None:
        count = DAMAGES if chosen.state else OPERATIONS
    total = run_rounds(
        mode.run_round,
        seed,
        workers=chosen.workers,
        count=count,
        seconds=chosen.seconds,
        tell=tell,
    )
    tell(total)
    for name, counts in total.about.items():
        parts = ", ".join(f"{value} {counts[value]:,}" for value in sorted(counts, key=_natural))
        print(f"  by {name}: {parts}")
    return _failed(total.failure, f"{again} --round {total.failed}")


def _natural(text: str) -> tuple[int, str]:
    return int(text) if text.isdigit() else 0, text


def _failed(failure: Failure | None, again: str) -> int:
    if failure is None:
        print("fuzz: no failure")
        return 0
    print(f"fuzz: FAILED: {failure.message}\n  repeat: {again}")
    if failure.shown:
        print(failure.shown)
    return 1


if __name__ == "__main__":
    sys.exit(main())
