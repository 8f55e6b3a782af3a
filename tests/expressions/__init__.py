"""Expressions of one row."""
