"""The examples in the docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from slidefold import reference

MODULES = [module.name for module in pkgutil.iter_modules(reference.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(f"slidefold.reference.{name}")
    assert doctest.testmod(module).failed == 0
