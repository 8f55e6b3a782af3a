"""What the documentation has generated: `python -m tools.docs` writes it, a test finds it stale.

Operators come from their registry, invariants and bounds from `slidefold.reference`, drawn traces
from running it, curves from `benchmarks/results`. The API reference is made while the site is
built, by `hook.py`.
"""
