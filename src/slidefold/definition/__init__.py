"""What a user writes, and nothing that runs: operators, windows, definitions, their files."""
