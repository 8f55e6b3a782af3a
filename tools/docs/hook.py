"""The hook that mkdocs calls while it builds the site (mkdocs.yml, `hooks`)."""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File, Files

from tools.docs import api


def on_files(files: Files, config: Any) -> Files:
    """Add the API reference, which is not a file in docs/."""
    files.append(File.generated(config, "reference/api.md", content=api.page()))
    return files
