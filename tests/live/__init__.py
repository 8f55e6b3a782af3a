"""Rows in order of arrival."""
