"""Check who includes whom in the C++ sources; one line per mistake, status 1 if there is any.

The rules, for headers under include/:
  - operators and algorithms never see one another, not even through a third header;
    only the engine, the bindings and the tests put them together;
  - operator.hpp and storage stand below both and see neither;
  - nothing includes Python or a binding library.
Everywhere: an include of one of our headers names a file that exists.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)
PYTHON = re.compile(r"^(Python\.h|python[\d.]*/|nanobind/|pybind11/|numpy/)")
SUFFIXES = {".hpp", ".h", ".cpp"}


class Sources:
    """The C++ files under a folder, and what each of them includes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.include = root / "include"
        self.files = sorted(p for p in root.rglob("*") if p.suffix in SUFFIXES)
        self.names = {path: INCLUDE.findall(path.read_text()) for path in self.files}

    def resolve(self, path: Path, name: str) -> Path | None:
        """The file of ours that `name` means in `path`, or None."""
        for folder in (path.parent, self.include):
            found = (folder / name).resolve()
            if found in self.names:
                return found
        return None

    def reach(self, start: Path) -> dict[Path, Path]:
        """Every header that `start` sees, and who included it first."""
        seen: dict[Path, Path] = {}
        todo = [start]
        while todo:
            path = todo.pop()
            for name in self.names[path]:
                found = self.resolve(path, name)
                if found is not None and found != start and found not in seen:
                    seen[found] = path
                    todo.append(found)
        return seen

    def part(self, path: Path) -> str:
        """The part of the library a header belongs to: operators, algorithms, storage, ..."""
        if not path.is_relative_to(self.include):
            return ""
        inner = path.relative_to(self.include).parts[1:]
        return inner[0] if inner else ""


# Which parts a part must not see.
FORBIDDEN = {
    "operators": {"algorithms", "columns", "engine"},
    "algorithms": {"operators", "columns", "engine"},
    "columns": {"engine"},
    "storage": {"operators", "algorithms", "columns", "engine"},
    "operator.hpp": {"operators", "algorithms", "storage", "columns", "engine"},
}


def mistakes(root: Path) -> Iterator[str]:
    """One sentence for every rule that a file under `root` breaks."""
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
                yield f"{where} includes {name}; only the bindings may know Python"
        seen = sources.reach(path)
        parts = {sources.part(header) for header in seen}
        for header, by in sorted(seen.items()):
            if sources.part(header) in FORBIDDEN.get(sources.part(path), set()):
                through = "" if by == path else f" (through {by.relative_to(sources.root)})"
                yield f"{where} must not see {header.relative_to(sources.root)}{through}"
        said = sources.part(path) in ("operators", "algorithms", "storage", "operator.hpp")
        allowed = said or sources.part(path) == "engine"
        if not allowed and {"operators", "algorithms"} <= parts:
            yield f"{where} sees both operators and algorithms; only the bindings may"


def main(arguments: list[str]) -> int:
    """Check the folder that is named, cpp by default."""
    found = list(mistakes(Path(arguments[0] if arguments else "cpp")))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
