"""The lowest allowed version of each dependency, as a constraints file for pip.

python tools/lowest_versions.py > lowest.txt
python -m pip install . --constraint lowest.txt
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def lowest(text: str) -> list[str]:
    """One line `name==version` for each `name>=version` under `dependencies`."""
    listed = re.search(r"^dependencies = \[(.*?)^\]", text, re.DOTALL | re.MULTILINE)
    if listed is None:
        raise SystemExit("pyproject.toml has no dependencies")
    found = re.findall(r'"([\w-]+)>=([\w.]+)"', listed.group(1))
    return [f"{name}=={version}" for name, version in found]


if __name__ == "__main__":
    sys.stdout.write("\n".join(lowest(PROJECT.read_text(encoding="utf-8"))) + "\n")
