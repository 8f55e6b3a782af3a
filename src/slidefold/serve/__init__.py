"""Serve the features of a pipeline over HTTP: events in, answers out, nothing lost."""

from __future__ import annotations

from typing import Any

__all__ = ["Client", "Service"]


def __getattr__(name: str) -> Any:
    """Import names on first use; the client needs nothing but the standard library."""
    if name == "Client":
        from slidefold.serve.client import Client

        return Client
    if name == "Service":
        from slidefold.serve.service import Service

        return Service
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
