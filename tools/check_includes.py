"""Check the includes of the C++ sources; print one line per mistake, exit with 1 if there is any.

The rules for headers under include/:
  - operators and algorithms never include each other, not even through a third header;
    only the engine, the bindings and the tests combine them;
  - operator.hpp and storage are below both and include neither;
  - no header includes Python or a binding library.
Everywhere: an include of one of our headers must name a file that exists.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)
PYTHON = re.compile(r"^(Python\.h|python[\d.]*/|nanobind/|pybind11/|numpy/)")
SUFFIXES = {".hpp", ".h", ".cpp"}


class Sources:
    """The C++ files under a folder, and the includes of each."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.include = root / "include"
        self.files = sorted(p for p in root.rglob("*") if p.suffix in SUFFIXES)
        self.names = {path: INCLUDE.findall(path.read_text()) for path in self.files}

    def resolve(self, path: Path, name: str) -> Path | None:
        """Return our file that `path` includes as `name`, or None."""
        for folder in (path.parent, self.include):
            file = (folder / name).resolve()
            if file in self.names:
                return file
        return None

    def reach(self, start: Path) -> dict[Path, Path]:
        """Return every header that `start` includes, also indirectly, and its first includer."""
        seen: dict[Path, Path] = {}
        todo = [start]
        while todo:
            path = todo.pop()
            for name in self.names[path]:
                header = self.resolve(path, name)
                if header is not None and header != start and header not in seen:
                    seen[header] = path
                    todo.append(header)
        return seen

    def part(self, path: Path) -> str:
        """Return the part of the library of a header: operators, algorithms, storage, ..."""
        if not path.is_relative_to(self.include):
            return ""
        inner = path.relative_to(self.include).parts[1:]
        return inner[0] if inner else ""


# The parts that each part must not include.
FORBIDDEN = {
    "operators": {"algorithms", "columns", "engine"},
    "algorithms": {"operators", "columns", "engine"},
    "columns": {"engine"},
    "storage": {"operators", "algorithms", "columns", "engine"},
    "operator.hpp": {"operators", "algorithms", "storage", "columns", "engine"},
}


def mistakes(root: Path) -> Iterator[str]:
    """Yield one sentence for every rule that a file under `root` breaks."""
    sources = Sources(root.resolve())
    for path in sources.files:
        where = path.relative_to(sources.root)
        for name in sources.names[path]:
            if name.startswith("slidefold/") and sources.resolve(path, name) is None:
                yield f"{where} includes {name}, which does not exist"
        if not path.is_relative_to(sources.include):
            continue
        for name in sources.names[path]:
            if PYTHON.match(name):
                yield f"{where} includes {name}; only the bindings may include Python"
        seen = sources.reach(path)
        parts = {sources.part(header) for header in seen}
        for header, by in sorted(seen.items()):
            if sources.part(header) in FORBIDDEN.get(sources.part(path), set()):
                through = "" if by == path else f" (through {by.relative_to(sources.root)})"
                yield f"{where} must not include {header.relative_to(sources.root)}{through}"
        reported = sources.part(path) in ("operators", "algorithms", "storage", "operator.hpp")
        allowed = reported or sources.part(path) == "engine"
        if not allowed and {"operators", "algorithms"} <= parts:
            yield f"{where} includes both operators and algorithms; only the bindings may"


def main(arguments: list[str]) -> int:
    """Check the given folder, cpp by default."""
    lines = list(mistakes(Path(arguments[0] if arguments else "cpp")))
    for line in lines:
        print(line)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
