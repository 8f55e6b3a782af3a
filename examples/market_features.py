"""Features of trades: `python examples/market_features.py`.

Generates quotes and trades of some symbols and computes features of each trade: the newest quote
before it, the volume-weighted price of the last minutes (a user operator), the range of the price,
and which side was stronger. Only rows before the time of the trade are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import slidefold as sf

SYMBOLS = ("AAA", "BBB", "CCC")
SECONDS = 2 * 3600


@sf.operator(
    state={"value": "f8", "volume": "f8"},
    returns="f8",
    inputs=("f8", "f8"),
    commutative=True,
    compile="auto",
)
class Vwap(sf.Fold):
    """The volume-weighted average price."""

    @staticmethod
    def identity() -> Any:
        """Return the empty state."""
        return (0.0, 0.0)

    @staticmethod
    def lift(price: float, volume: float) -> Any:
        """Return the value of a trade and its number of shares."""
        return (price * volume, volume)

    @staticmethod
    def combine(older: Any, newer: Any) -> Any:
        """Add values and volumes."""
        return (older.value + newer.value, older.volume + newer.volume)

    @staticmethod
    def lower(state: Any) -> float:
        """Divide the value by the volume."""
        if state.volume == 0.0:
            return float("nan")
        return float(state.value / state.volume)


def known_before(operator: Any, window: Any) -> Any:
    """Return a column that excludes the row itself and rows at the same time."""
    return operator.over(window, closed="left")


FEATURES = sf.rolling(
    on="at",
    by="symbol",
    bid=known_before(sf.last("quote_bid"), "30s"),  # the newest quote, at most 30 seconds old
    ask=known_before(sf.last("quote_ask"), "30s"),
    vwap_5m=known_before(Vwap("price", "size"), "5m"),
    move_5m=known_before(sf.range("price"), "5m"),
    bought_5m=known_before(sf.sum("signed"), "5m"),
    trades_1m=known_before(sf.count("price"), "1m"),
)


def ticks(seed: int = 11) -> tuple[pa.Table, pa.Table]:
    """Return quotes and trades in time order, with times in microseconds."""
    random = np.random.default_rng(seed)
    quotes, trades = [], []
    for symbol in SYMBOLS:
        count = SECONDS // 2
        at = np.sort(random.integers(0, SECONDS * 10**6, count))
        middle = 100 * np.exp(np.cumsum(random.normal(0, 2e-4, count)))
        half = random.uniform(0.01, 0.03, count)
        stamps = np.datetime64("2024-03-01T09:00", "us") + at.astype("m8[us]")
        rows = {"at": stamps, "symbol": [symbol] * count}
        quote_bid, quote_ask = np.round(middle - half, 2), np.round(middle + half, 2)
        quotes.append(pa.table({**rows, "quote_bid": quote_bid, "quote_ask": quote_ask}))

        picked = np.sort(random.choice(count, count // 3, replace=False))
        buys = random.random(len(picked)) < 0.5
        delay = random.integers(1_000, 900_000, len(picked))
        size = random.integers(1, 50, len(picked)) * 10
        traded = {
            "at": stamps[picked] + delay.astype("m8[us]"),
            "symbol": [symbol] * len(picked),
            "price": np.where(buys, quote_ask[picked], quote_bid[picked]),
            "size": size,
            "signed": np.where(buys, size, -size),
        }
        trades.append(pa.table(traded))
    order = [("at", "ascending"), ("symbol", "ascending")]
    return pa.concat_tables(quotes).sort_by(order), pa.concat_tables(trades).sort_by(order)


def as_of(quotes: pa.Table, trades: pa.Table) -> pa.Table:
    """Return the features of each trade: run both tables together, and keep the trades."""
    both = pa.concat_tables([trades, quotes], promote_options="default")
    return FEATURES.run(both).slice(0, trades.num_rows)


def show(header: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a table."""
    cells = ([f"{x:,.2f}" if isinstance(x, float) else str(x) for x in row] for row in rows)
    lines = [list(header), *cells]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("".join(f"  {text:>{width}}" for text, width in zip(line, widths, strict=True)))
    print()


def main() -> None:
    """Run the example."""
    quotes, trades = ticks()
    print(f"{quotes.num_rows:,} quotes and {trades.num_rows:,} trades\n")
    print(FEATURES, end="\n\n")
    features = as_of(quotes, trades)
    names = ("at", "symbol", "price", "bid", "ask", "vwap_5m", "move_5m", "bought_5m", "trades_1m")
    print("Some trades and their features:\n")
    picked = np.linspace(0, features.num_rows - 1, 8).astype(int)
    some = features.take(picked).select(names).to_pylist()
    show(names, [[f"{row['at']:%H:%M:%S}", *list(row.values())[1:]] for row in some])

    quoted = features.filter(pc.is_valid(features["bid"]))
    within = pc.and_(
        pc.greater_equal(quoted["price"], quoted["bid"]),
        pc.less_equal(quoted["price"], quoted["ask"]),
    )
    share = pc.mean(within.cast(pa.float64())).as_py()
    print(f"{quoted.num_rows:,} trades had a quote at most 30 seconds old;")
    print(f"{share:.0%} of them were at or between its bid and ask.")


if __name__ == "__main__":
    main()
