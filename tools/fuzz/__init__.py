"""Test trees with random histories, and saved states with random damage: `make fuzz`.

A run consists of rounds. The seed and the number of a round determine everything it does, so
`python -m tools.fuzz --seed S --round N` repeats it.
"""
