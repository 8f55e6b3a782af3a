"""What a trader knew: `python examples/market_features.py`.

Makes quotes and trades of some symbols and computes, for each trade, features as of its moment: the
newest quote before it, the volume-weighted price of the last minutes (an operator of our own), how
much the price varied, and which side was stronger. Nothing from the moment itself or later is used.
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
    """The price of a share, on average over all shares that changed hands."""

    @staticmethod
    def identity() -> Any:
        """Return a state of nothing."""
        return (0.0, 0.0)

    @staticmethod
    def lift(price: float, volume: float) -> Any:
        """Return what was paid, and for how many shares."""
        return (price * volume, volume)

    @staticmethod
    def combine(older: Any, newer: Any) -> Any:
        """Add them up."""
        return (older.value + newer.value, older.volume + newer.volume)

    @staticmethod
    def lower(state: Any) -> float:
        """Divide at last."""
        if state.volume == 0.0:
            return float("nan")
        return float(state.value / state.volume)


def known_before(operator: Any, window: Any) -> Any:
    """What was known before the moment: neither the row nor its peers."""
    return operator.over(window, closed="left")


FEATURES = sf.rolling(
    on="at",
    by="symbol",
    bid=known_before(sf.last("quote_bid"), "30s"),  # as of: not older than 30 seconds
    ask=known_before(sf.last("quote_ask"), "30s"),
    vwap_5m=known_before(Vwap("price", "size"), "5m"),
    move_5m=known_before(sf.range("price"), "5m"),
    bought_5m=known_before(sf.sum("signed"), "5m"),
    trades_1m=known_before(sf.count("price"), "1m"),
)


def ticks(seed: int = 11) -> tuple[pa.Table, pa.Table]:
    """Quotes and trades in order of time, microseconds apart."""
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
    """The features of each trade: both tables go through the windows, and trades come out."""
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
    """Run all of it."""
    quotes, trades = ticks()
    print(f"{quotes.num_rows:,} quotes and {trades.num_rows:,} trades\n")
    print(FEATURES, end="\n\n")
    found = as_of(quotes, trades)
    names = ("at", "symbol", "price", "bid", "ask", "vwap_5m", "move_5m", "bought_5m", "trades_1m")
    print("Some trades, and what was known before each:\n")
    some = found.take(np.linspace(0, found.num_rows - 1, 8).astype(int)).select(names).to_pylist()
    show(names, [[f"{row['at']:%H:%M:%S}", *list(row.values())[1:]] for row in some])

    quoted = found.filter(pc.is_valid(found["bid"]))
    within = pc.and_(
        pc.greater_equal(quoted["price"], quoted["bid"]),
        pc.less_equal(quoted["price"], quoted["ask"]),
    )
    share = pc.mean(within.cast(pa.float64())).as_py()
    print(f"{quoted.num_rows:,} trades had a quote that was not older than 30 seconds;")
    print(f"{share:.0%} of them were at or between its bid and ask.")


if __name__ == "__main__":
    main()
