"""`slidefold demo`: a year of flights through one pipeline file, on every engine."""
