"""Definitions, without any engine: operators, windows, rolling definitions, their files."""
