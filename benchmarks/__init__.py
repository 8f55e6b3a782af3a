"""The benchmarks: `python -m benchmarks [figure ...] [--quick] [--out DIR]`.

Each file under `figures/` is one figure. A figure measures all its sides in one process, writes
`<figure>.json` and prints a plain table. `goals.py` reads the JSON and shows which goals are met.
"""
