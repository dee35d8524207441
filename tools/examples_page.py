"""Insert the scripts of `examples` into the page docs/examples.md, for mkdocs.

Each section has the description and output from examples/README.md, and the code.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "examples"
PAGE = "examples.md"
MARK = "<!-- examples -->"
WORDS = {
    "mppi": "MPPI",
    "jax": "JAX",
    "torch": "PyTorch",
    "casadi": "CasADi",
    "c": "C",
    "tick": "control",
}


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Insert the sections; mkdocs calls this with the Markdown of each page."""
    return markdown.replace(MARK, sections()) if page.file.src_uri == PAGE else markdown


def sections() -> str:
    """Markdown with a section for each example."""
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    _, *parts = re.split(r"^## ", readme, flags=re.MULTILINE)
    return "\n".join(_section(*part.split("\n", 1)) for part in parts)


def _section(name: str, text: str) -> str:
    files = sorted(path for path in FOLDER.glob(f"{name}.*") if path.suffix in (".py", ".c"))
    code = "\n".join(_code(path) for path in files)
    words = [WORDS.get(word, word) for word in name.split("_")[1:]]
    title = " ".join([words[0][0].upper() + words[0][1:], *words[1:]])
    return f"## {title}\n{text}\n{code}"


def _code(path: Path) -> str:
    language = {".py": "python", ".c": "c"}[path.suffix]
    block = f"```{language}\n{path.read_text(encoding='utf-8')}```"
    return f'??? example "examples/{path.name}"\n\n{textwrap.indent(block, "    ")}\n'
