"""Sba and Pba over rows and over time, against recomputation, in both implementations."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from slidefold import reference
from slidefold.algorithms import optimal_chunk_rows, optimal_chunk_time
from slidefold.reference import operators as plain
from tests.support.algorithms import PUSHING, make
from tests.support.cases import BY_ID, CASES, SHORT, Case
from tests.support.implementations import IMPLEMENTATIONS, build, codes_of, column_of, every
from tests.support.traps import SprungError, Trap

both = pytest.mark.parametrize("code", IMPLEMENTATIONS)

# (range, slide): one row, slide 1, even and odd divisors, no divisor, range == slide, slide > half.
SHAPES = [(1, 1), (2, 1), (3, 1), (8, 1), (10, 2), (10, 3), (9, 3), (7, 7), (7, 5), (16, 4), (5, 2)]


def expected(case: Case, values: list[Any], rows: int, slide: int) -> list[tuple[Any, list[Any]]]:
    """Return truth and window for every row that ends a slide."""
    ends = range(slide, len(values) + 1, slide)
    windows = [values[max(0, end - rows) : end] for end in ends]
    return [(case.truth(window), window) for window in windows]


def test_both_are_there() -> None:
    assert PUSHING == ["pba", "sba"] or PUSHING == ["sba", "pba"]


SKETCHES = (sf.BloomFilter, sf.CountMinSketch, sf.Moments, sf.NaiveBayesModel)


@pytest.mark.parametrize(
    ("case", "code"),
    [
        pytest.param(case, code, id=f"{case}-{code}")
        for case in CASES
        for code in ("counted", *codes_of(case))
    ],
)
def test_push(case: Case, code: str) -> None:
    options = {"counted": True} if code == "counted" else {}
    code = "native" if code == "counted" else code
    values = case.stream(33)
    for rows, slide in SHAPES:
        truths = expected(case, values, rows, slide)
        for name in PUSHING:
            for chunk in (None, 1, 3) if case in SHORT else (None,):
                if code == "reference" and chunk is not None and chunk > rows // slide:
                    continue  # native code takes the largest there is
                window = build(
                    code,
                    name,
                    case,
                    range=rows,
                    slide=slide,
                    chunk=chunk,
                    checked=True,
                    **options,
                )
                last: Any = 0 if case.operator.name == "count" and code == "native" else None
                for at, value in enumerate(values):
                    got = window.push(value)
                    window.check()
                    if (at + 1) % slide == 0 and at + 1 >= rows:
                        truth, seen = truths[(at + 1) // slide - 1]
                        assert case.agrees(got, truth, seen), (name, rows, slide, chunk, at)
                        last = got
                    else:
                        assert got is None, (name, rows, slide, chunk, at)
                    assert code == "native" or len(window) == min(at + 1, rows)
                    now = window.query()
                    if not isinstance(now, SKETCHES):  # shown by their address
                        assert repr(now) == repr(last), (name, rows, slide, chunk, at)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_slide(case: Case) -> None:
    for length in (0, 1, 2, 33):
        values = case.stream(length)
        for rows, slide in SHAPES:
            truths = expected(case, values, rows, slide)
            for code in codes_of(case):
                column = column_of(code, case, values)
                for name in PUSHING:
                    window = build(code, name, case, range=rows, slide=slide)
                    result = window.slide(column)
                    result = result.tolist() if isinstance(result, np.ndarray) else result
                    where = (code, name, length, rows, slide)
                    assert len(result) == len(truths), where
                    for got, (truth, seen) in zip(result, truths, strict=True):
                        if truth is None:  # a spread of too few values
                            assert got is None or got != got, where
                        else:
                            assert case.agrees(got, truth, seen), where
                    assert window.query() in (None, 0), where


@both
@pytest.mark.parametrize("rows", [1, 2, 3, 5, 7, 8, 10, 11, 16, 23])
def test_every_chunk(code: str, rows: int) -> None:
    case = BY_ID["concat"]
    for slide in (slide for slide in (1, 2, 3, 5, 8) if slide <= rows):
        column = "".join(chr(97 + at % 26) for at in range(5 * rows + 4 * slide))
        for name in PUSHING:
            for chunk in [None, *range(1, rows // slide + 1)]:
                window = build(code, name, case, range=rows, slide=slide, chunk=chunk)
                for end, value in enumerate(column, 1):
                    whole = end % slide == 0 and end >= rows
                    right = column[end - rows : end] if whole else None
                    assert window.push(value) == right, (name, rows, slide, chunk, end)
                window.check()


@given(st.integers(1, 40), st.integers(1, 40), st.none() | st.integers(1, 50), st.integers(0, 120))
def test_any_shape(rows: int, slide: int, chunk: int | None, length: int) -> None:
    if rows < slide:
        return
    case = BY_ID["concat"]
    values = case.stream(length)
    truths = [truth for truth, _ in expected(case, values, rows, slide)]
    for name in PUSHING:
        for code in IMPLEMENTATIONS:
            fits = code == "native" or chunk is None or chunk <= rows // slide
            options: Any = {"range": rows, "slide": slide, "chunk": chunk if fits else None}
            window = build(code, name, case, checked=True, **options)
            results = [window.push(value) for value in values]
            window.check()
            whole = [truths[i] if (i + 1) * slide >= rows else None for i in range(len(truths))]
            assert results[slide - 1 :: slide] == whole
            assert window.slide(values) == truths


@pytest.mark.parametrize(("code", "name", "case"), every(SHORT, PUSHING))
def test_copies_go_their_own_way(code: str, name: str, case: Case) -> None:
    values, others = case.stream(60, seed=1), case.stream(60, seed=2)
    for rows, slide in SHAPES:
        for cut in (0, 1, 7, 20):
            window = build(code, name, case, range=rows, slide=slide, checked=True)
            for value in values[:cut]:
                window.push(value)
            twin = window.copy()
            for stream, each in ((values, window), (values[:cut] + others[cut:], twin)):
                for at in range(cut, 40):
                    got = each.push(stream[at])
                    if (at + 1) % slide == 0 and at + 1 >= rows:
                        assert case.right(got, stream[at + 1 - rows : at + 1])
                each.check()


@pytest.mark.parametrize("name", PUSHING)
def test_long_columns(name: str) -> None:
    """Chunks long enough to be handed to a second thread."""
    values = np.random.default_rng(1).standard_normal(150_000)
    truth = make("slick_deque", sf.max())
    for rows in (1000, 2**12, 2**15, 100_000):
        result = make(name, sf.max(), range=rows).slide(values)
        assert np.array_equal(result, truth.slide(values, rows)), rows
    window = make(name, sf.max(), range=3000, slide=7)
    results = [r for value in values[:40_000] if (r := window.push(value)) is not None]
    truths = truth.slide(values[:40_000], 3000)[6::7]
    assert results == truths[-len(results) :].tolist()
    assert len(results) == len(range(3003, 40_001, 7))


@pytest.mark.parametrize("name", PUSHING)
def test_many_come_and_go(name: str) -> None:
    """Windows dropped at any moment, chunks under way or not."""
    for rows in range(1, 300):
        window = make(name, sf.max(), range=rows * 10)
        twin = window.copy()
        for value in range(rows * 7 % 500):
            window.push(value)
            if value % 50 == 0:
                twin = window.copy()
        del window
        twin.push(1)


class TestCosts:
    @pytest.mark.parametrize("name", PUSHING)
    def test_a_slide(self, name: str) -> None:
        """At most 3 a slide, 4 with a tail; b - 2 more where a chunk of Sba ends.

        The slide's own rows are folded besides: s, at most.
        """
        for rows, slide in ((64, 1), (1000, 1), (10, 2), (1000, 10), (1000, 7), (101, 50), (9, 9)):
            for case in (BY_ID["sum-int64"], BY_ID["concat"]):
                window = build("native", name, case, range=rows, slide=slide, counted=True)
                tail = rows % slide != 0
                most = 3 + tail + (slide if slide > 1 else 0)
                chunk_ends = 0
                for at in range(min(4 * rows, 3000) // slide):
                    before = window.combines
                    for _ in range(slide):
                        window.push("x" if case.id == "concat" else at)
                    combines = window.combines - before
                    if combines > most:
                        chunk_ends += 1
                        assert combines <= most + max(window.chunk - 2, 0)
                assert chunk_ends <= 4 * rows // slide // window.chunk + 1

    def test_best_chunks(self) -> None:
        assert optimal_chunk_rows(10, 2) == 4  # the paper's figure 2 takes 5
        assert optimal_chunk_rows(2**20) == 524_289
        rng = random.Random(1)
        for _ in range(300):
            rows = rng.randint(1, 10_000)
            slide = rng.randint(1, rows)
            assert optimal_chunk_rows(rows, slide) == reference.optimal_chunk_rows(rows, slide)
            cost = rng.choice([0.0, 1e-6, 0.01, 1.0])
            assert optimal_chunk_time(rows, slide, cost) == reference.optimal_chunk_time(
                rows, slide, cost
            )


class TestTime:
    @staticmethod
    def closed(
        rows: list[tuple[int, str]], before: int | None, now: int, length: int, slide: int
    ) -> list[tuple[int, str]]:
        """Return end and fold of every window that `now` closes and that holds a row."""
        if before is None:
            return []
        found = []
        for end in range((before // slide + 1) * slide, now // slide * slide + 1, slide):
            inside = "".join(word for time, word in rows if end - length <= time < end)
            if any(end - length <= time < end for time, _ in rows):
                found.append((end, inside))
        return found

    @pytest.mark.parametrize("name", PUSHING)
    @given(data=st.data())
    def test_against_the_rows(self, name: str, data: st.DataObject) -> None:
        length = data.draw(st.integers(1, 20))
        slide = data.draw(st.integers(1, length))
        chunk = data.draw(st.none() | st.integers(1, length // slide))
        factory: Any = getattr(sf.algorithms, name.capitalize())
        window = factory.over_time(sf.concat(), length, slide, chunk=chunk)
        beside = getattr(reference, name.capitalize()).over_time(
            plain.Concat(), length, slide, 0.0, chunk
        )
        now = data.draw(st.integers(-30, 30))
        steps = data.draw(
            st.lists(
                st.tuples(st.sampled_from([0, 0, 1, 2, 5, 13, 60]), st.booleans()), max_size=25
            )
        )
        rows: list[tuple[int, str]] = []
        before: int | None = None
        last: str | None = None
        for at, (step, advance) in enumerate(steps):
            now += step
            truth = self.closed(rows, before, now, length, slide)
            if advance:
                assert window.advance(now) == truth == beside.advance(now)
            else:
                word = chr(ord("a") + at)
                assert window.push(now, word) == truth == beside.push(now, word)
                rows.append((now, word))
            last = truth[-1][1] if truth else last
            for each in (window, beside):
                each.check()
                assert each.query() == last
                with pytest.raises(sf.errors.TimeOrderError, match=f" {now - 1}"):
                    each.push(now - 1, "x")
            before = now
            if data.draw(st.integers(0, 9)) == 0:
                window, beside = window.copy(), beside.copy()

    @pytest.mark.parametrize("name", PUSHING)
    def test_the_ends_of_time(self, name: str) -> None:
        factory: Any = getattr(sf.algorithms, name.capitalize())
        window = factory.over_time(sf.count(), 10, 5)
        assert window.push(-(2**63) + 20, None) == []
        [first, second] = window.push(2**63 - 20, None)
        assert first[1] == second[1] == 1
        assert window.query() == 1
        window.check()


class TestErrors:
    @pytest.mark.parametrize("name", PUSHING)
    def test_wrong_shapes(self, name: str) -> None:
        for shape in (
            {"range": 0},
            {"range": -1},
            {"range": 2, "slide": 3},
            {"range": 2, "slide": 0},
            {"range": 2.0},
            {"range": "2"},
            {"range": True},
            {"range": 5, "chunk": 0},
            {"range": 5, "chunk": 1.5},
            {"range": 2**70},
        ):
            with pytest.raises(sf.errors.WindowError):
                make(name, sf.sum(), **shape)
        with pytest.raises(sf.errors.OperatorError):
            make(name, "sum", range=3)  # type: ignore[arg-type]

    @pytest.mark.parametrize("name", PUSHING)
    def test_wrong_values(self, name: str) -> None:
        window = make(name, sf.sum(dtype="int64"), range=2, checked=True)
        assert [window.push(x) for x in (1, 2)] == [None, 3]
        for wrong in ("x", 1.5, 2**63):
            with pytest.raises(sf.errors.ValueTypeError):
                window.push(wrong)
            window.check()
        with pytest.raises(sf.errors.ResultOverflowError):
            window.push(2**63 - 1)
        window.check()
        assert window.query() == 3
        assert window.push(4) == 6
        for column in (None, np.arange(3.0), np.arange(6)[::2]):
            with pytest.raises(sf.errors.ValueTypeError):
                window.slide(column)
        with pytest.raises(sf.errors.ResultOverflowError, match="row 1"):
            window.slide(np.array([2**62, 2**62, 1]))

    @pytest.mark.parametrize("where", ["lift", "combine", "lower"])
    @pytest.mark.parametrize(
        ("code", "name"), [*(("native", name) for name in PUSHING), ("reference", "sba")]
    )
    def test_an_operator_that_raises(self, code: str, name: str, where: str) -> None:
        """At any call: the value is not taken, and what comes after is as if it had not been."""
        for rows, slide in ((4, 1), (6, 2), (7, 3)):
            for k in range(1, 200):
                trap = Trap()
                window: Any = reference.Sba(trap.plain, rows, slide)
                if code == "native":
                    window = make(name, trap.operator, range=rows, slide=slide, checked=True)
                taken: list[str] = []
                sprung = 0
                trap.set(where, k)
                for at in range(24):
                    word = chr(ord("a") + at)
                    try:
                        got = window.push(word)
                    except SprungError:
                        sprung += 1
                    else:
                        taken.append(word)
                        whole = len(taken) % slide == 0 and len(taken) >= rows
                        assert got == (trap.truth(taken[-rows:]) if whole else None)
                    armed, trap.where = trap.where, ""
                    window.check()
                    trap.where = armed
                if sprung == 0:
                    break
            else:
                pytest.fail("more calls than expected")
