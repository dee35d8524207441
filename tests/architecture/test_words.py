"""Pages and messages use plain technical English with American spelling.

Each entry of `WORDS` is a regular expression of words to avoid, with the replacement that a failure
suggests. Code is not checked. To extend the list, add an entry and correct what the tests report.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import linkwork

ROOT = Path(linkwork.__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "linkwork").rglob("*.py"))
PAGES = [
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md")
    ),
    *sorted((ROOT / "docs").rglob("*.md")),
]

WORDS = {
    r"slopes?": "derivative, gradient, Jacobian",
    r"neighbours?": "neighbor",
    r"behaviour": "behavior",
    r"(?:optim|general|linear|parametr|organ|minim|maxim|trivial)is(?:e[ds]?|ing|ation)": "-ize",
    r"told|tells?": "report, state; reported",
    r"refuse[sd]?": "reject, raise an error",
    r"(?:derivatives?|gradients?|Jacobians?) by": "derivative with respect to",
    r"mistakes?": "error, defect",
    r"mends?|mended": "correct, repair, fix",
    r"somewhere": "name the location, or leave it out",
    r"beside": "next to, in addition to",
    r"by hand": "manually, explicitly",
    r"what it is": "name the thing",
    r"hand(?:s|ed)? out": "provide, allocate",
    r"no word": "no message",
    r"centres?": "center",
    r"colours?|coloured": "color",
    r"(?:milli|kilo|centi|micro)?metres?": "meter",
    r"(?:normal|initial|real)is(?:e[ds]?|ing|ation)": "-ize",
}
FENCE = re.compile(r"^```.*?^```$|^    .*?$|<!--.*?-->", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`[^`\n]*`|\]\([^)]*\)")


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def offences(text: str, words: dict[str, str]) -> list[str]:
    """Words to avoid in a text, each with its replacement."""
    return [
        f"{match[0]!r}: write {replacement}"
        for pattern, replacement in words.items()
        for match in re.finditer(rf"\b(?:{pattern})\b", text, re.IGNORECASE)
    ]


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_a_page_avoids_words_of_the_list(page):
    prose = INLINE.sub("", FENCE.sub("", page.read_text(encoding="utf-8")))
    assert not offences(prose, WORDS)


def messages(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Strings that a user can see: in `raise` and `warn` calls, and docstrings of public names."""
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        name = getattr(called, "id", getattr(called, "attr", ""))
        if isinstance(node, ast.Raise) or name in ("warn", "warn_once"):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, part.value
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node.lineno, ast.get_docstring(node) or ""


def test_messages_and_docstrings_avoid_words_of_the_list():
    reported = [
        f"{path.relative_to(ROOT)}:{line}: {offence}"
        for path in SOURCES
        for line, text in messages(ast.parse(path.read_text(encoding="utf-8")))
        for offence in offences(text, WORDS)
    ]
    assert not reported


def test_a_word_of_the_list_would_be_reported():
    assert offences("All mistakes are told.", WORDS) == [
        "'told': write report, state; reported",
        "'mistakes': write error, defect",
    ]
    assert not offences("Derivatives with respect to q.", WORDS)
