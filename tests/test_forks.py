"""What a child process can do with the objects of its parent."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

PREFACE = """
import os, sys, threading, time, warnings
import numpy as np
import slidefold as sf

warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads

def in_child(work):
    child = os.fork()
    if child == 0:
        sys.exit(work())  # ends as any interpreter does
    status = os.waitpid(child, 0)[1]
    assert status == 0, status
"""


def run(script: str) -> None:
    code = PREFACE + textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


def test_pba_goes_on_and_ends_in_a_child() -> None:
    run(
        """
        for before in (0, 5_000, 20_000, 23_456):
            pba, sba = (a(sf.max(), 10_000) for a in (sf.algorithms.Pba, sf.algorithms.Sba))
            def go_on(first, last):
                for i in range(first, last):
                    x = float(i * 7919 % 1013)
                    assert pba.push(x) == sba.push(x)
            go_on(0, before)
            in_child(lambda: go_on(before, before + 15_000))  # uses it, and exits
            def drop():
                global pba
                pba = None
            in_child(drop)
            in_child(lambda: print(repr(pba.copy())))
            go_on(before, before + 15_000)
        """
    )


def test_a_fork_beside_a_slide_of_another_thread() -> None:
    run(
        """
        values = np.random.default_rng(1).random(400_000)
        due = sf.algorithms.Sba(sf.max(), 9_000, 3).slide(values)
        pba = sf.algorithms.Pba(sf.max(), 9_000, 3)
        stop = threading.Event()
        def slide():
            while not stop.is_set():
                assert np.array_equal(pba.slide(values), due)
        thread = threading.Thread(target=slide)
        thread.start()
        try:
            for _ in range(10):
                in_child(lambda: np.testing.assert_array_equal(pba.slide(values), due))
        finally:
            stop.set()
            thread.join()
        """
    )


def test_an_object_that_another_thread_was_using_says_so() -> None:
    run(
        """
        keyed = sf.algorithms.KeyedWindows(sf.max(), sf.time(10))
        n = 1_000_000
        keys, times, values = np.arange(n) % 1000, np.arange(n), np.ones(n)
        told = []
        def ask():
            try:
                len(keyed)
            except sf.errors.BusyError as error:
                assert "fork" in str(error)
                return 7
        def push():
            for i in range(3):
                keyed.push(keys, times + n * i, values)
        thread = threading.Thread(target=push)
        thread.start()
        while thread.is_alive():
            child = os.fork()
            if child == 0:
                os._exit(ask() or 0)  # other objects are of no interest
            told.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            time.sleep(0.01)
        thread.join()
        assert set(told) <= {0, 7} and 7 in told, told
        """
    )
