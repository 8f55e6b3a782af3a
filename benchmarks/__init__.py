"""The benchmarks: `python -m benchmarks [figure ...] [--quick] [--out DIR]`.

One figure a file under `figures/`; every figure measures all its sides in one process, writes
`<figure>.json` and prints a plain table. `goals.py` reads the JSON and says which goals are met.
"""
