"""What a user writes, and nothing that runs: operators, windows, `sf.rolling`, their form in files."""
