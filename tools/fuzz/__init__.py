"""Random histories for the trees, and damage for saved states: `make fuzz`.

A run is made of rounds. All that a round does follows from the seed and the number of the round, so
`python -m tools.fuzz --seed S --round N` does it again.
"""
