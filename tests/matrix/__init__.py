"""The matrix: operators, types, windows, nulls, keys, order and engines against an oracle."""
