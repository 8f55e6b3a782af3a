"""Run the quickstart of the README with the installed package: `python quickstart.py ROOT`.

It needs nothing but the standard library beside what the package needs.
"""

import re
import sys
from pathlib import Path


def main(root: Path) -> None:
    """Run the first Python block of the README, and check its claim."""
    text = (root / "README.md").read_text(encoding="utf-8")
    block = re.search(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert block, "the README has no Python block"
    *lines, last = block[1].strip().splitlines()
    names: dict[str, object] = {}
    exec("\n".join(lines), names)
    expression, claim = last.split("  # -> ")
    assert repr(eval(expression, names)) == claim, last
    import slidefold

    enabled = getattr(sys, "_is_gil_enabled", lambda: True)
    assert enabled(), "slidefold does not declare that it runs without the GIL"
    print(f"slidefold {slidefold.__version__} from {slidefold.__file__}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
