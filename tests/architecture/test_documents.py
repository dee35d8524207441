"""Code, commands, links and measured values in the documents are valid."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import shlex
import subprocess
import textwrap
from pathlib import Path
from types import ModuleType

import pytest
import typer
import typer.main
from tests.support.packages import UNAVAILABLE, is_missing

import linkwork
from linkwork.cli.main import app

ROOT = Path(linkwork.__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OTHERS = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md"]
BLOCK = re.compile(r"```python\n(.*?)```(?:\n+```text\n(.*?)```)?", re.DOTALL)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# `py` is Python that needs something the reader has to build first; it is compiled, not run.
LANGUAGES = {"python", "text", "sh", "py", "c", "diff"}
PROGRAMS = {
    "pip",
    "pipx",
    "uvx",
    "cmake",
    "ctest",
    "make",
    "linkwork",
    "python",
    "cd",
    "git",
    "xacro",
}


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def fences(page: Path, language: str) -> list[str]:
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [code for name, code in found if name == language]


@pytest.mark.peers
@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_code_on_a_page_runs_and_prints_the_output_shown(page, tmp_path, monkeypatch):
    """Code blocks of a page share their variables; a text block after one is its output."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        lines_before = "\n" * text.count("\n", 0, block.start(1))  # for tracebacks
        name = f"<{page.name}>"  # no path: PyTorch would read the page as a Python file
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(lines_before + block[1], name, "exec"), names)
        except ModuleNotFoundError as error:
            if not is_missing(error, UNAVAILABLE):
                raise
            pytest.skip(f"{error}, which has no version for this Python")
        assert printed.getvalue().strip() == (block[2] or "").strip()


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_block_is_in_a_checked_language(page):
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    assert {name for name, _ in found} <= LANGUAGES
    assert len(fences(page, "python")) == len(BLOCK.findall(page.read_text(encoding="utf-8")))
    for code in fences(page, "py"):
        compile(code, str(page), "exec")


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=page_name)
def test_commands_on_a_page_exist(page):
    for block in fences(page, "sh"):
        subprocess.run(["bash", "-n"], input=block.encode(), check=True, timeout=10)
        for line in re.sub(r"\\\n", " ", block).splitlines():
            plain = re.sub(r"\$\(.*\)", "FILE", line.split("#")[0])
            for command in re.split(r"&&|\||;", plain):
                check_command(shlex.split(command))


def check_command(words: list[str]) -> None:
    """Check that a command of a shell block exists, with its targets, extras and files."""
    if not words:
        return
    program, rest = words[0], words[1:]
    assert program in PROGRAMS or program.startswith("./"), program
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        made = {word for word in rest if "=" not in word}
        assert made <= set(targets), made
    if program == "pip":
        extras = set(re.findall(r"\[(\w+)\]", " ".join(rest)))
        text = (ROOT / "pyproject.toml").read_text().split("optional-dependencies]")[1]
        assert extras <= set(re.findall(r"^(\w+) = ", text.split("\n\n")[0], re.MULTILINE)), extras
    if program == "python" and rest and rest[0].endswith(".py"):
        assert (ROOT / rest[0]).exists(), rest[0]
    if program == "linkwork":
        check_linkwork(rest)


def check_linkwork(words: list[str]) -> None:
    """Check that a command of linkwork and its options exist."""
    command = typer.main.get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words[0]]  # pyright: ignore[reportAttributeAccessIssue]
        words = words[1:]
    parameters = command.params
    options = {name for one in parameters for name in (*one.opts, *one.secondary_opts)}
    given = {word.split("=")[0] for word in words if word.startswith("-") and word != "-"}
    assert given <= options | {"-h", "--help"}, (command.name, given - options)
    if hasattr(command, "commands"):  # none of them was named
        assert set(words) == given, words


def test_an_unknown_command_is_detected():
    for text in ("linkwork shwo arm", "linkwork view arm --no-such", "make nothing", "rm x"):
        with pytest.raises(AssertionError):
            check_command(shlex.split(text))


def test_the_readme_is_short_and_shows_code():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(BLOCK.findall(text)) >= 1
    assert text.count("\n") <= 150


def test_the_readme_and_the_landing_page_start_with_the_same_content():
    """The same sentence, the same commands and the same code."""
    readme, site = ROOT / "README.md", ROOT / "docs" / "index.md"
    sentence = readme.read_text(encoding="utf-8").split("\n\n")[1]

    assert f"**{sentence}**" in site.read_text(encoding="utf-8")
    for language in ("sh", "python", "text"):
        assert fences(readme, language)[0] == fences(site, language)[0]


def test_the_page_of_examples_contains_the_code_of_all_examples():
    shown = module_of("tools/examples_page.py").sections()
    scripts = sorted((ROOT / "examples").glob("[0-9][0-9]_*.*"))

    assert len(scripts) > 10
    for path in scripts:
        code = path.read_text(encoding="utf-8")
        assert textwrap.indent(code, "    ") in shown, path.name


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=page_name)
def test_links_between_pages_are_valid(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target, anchor in re.findall(r"\]\(([^)#:]*?)(?:#([^)]*))?\)", text):
        there = page.parent / target if target else page
        assert there.exists(), target
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), (target, anchor)


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page."""
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {
        re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles
    } | {
        "only-light",
        "only-dark",
    }


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_light_picture_has_a_dark_version(page):
    text = page.read_text(encoding="utf-8")
    light = re.findall(r"\((\S+?)\.(\w+)#only-light\)", text)
    dark = re.findall(r"\((\S+?)_dark\.(\w+)#only-dark\)", text)
    assert light == dark


def test_every_page_is_in_the_navigation():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"([\w/]+\.md)$", text, re.MULTILINE))
    assert listed == {str(page.relative_to(ROOT / "docs")) for page in PAGES[1:]}


def module_of(path: str) -> ModuleType:
    """A script of the repository, imported."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_figures_on_pages_are_those_that_were_measured():
    pages = module_of("benchmarks/pages.py")
    figures = pages.latest(pages.read())
    quoted: set[str] = set()
    for page in pages.PAGES:
        text = page.read_text(encoding="utf-8")
        assert pages.written(text, figures) == text, f"{page}: python benchmarks/pages.py"
        quoted |= {found[1] for found in pages.MARK.findall(text)}
    assert quoted == set(pages.FIGURES)


def test_figures_are_written_anew_where_they_were_measured_and_stay_elsewhere():
    pages = module_of("benchmarks/pages.py")
    text = "".join(
        f"<!-- results: {name} -->\n\nby hand\n\n<!-- end of results -->\n"
        for name in ("tick", "rollout")
    )
    figures = {"tick": {("biped", ""): {"pin": 2e-5, "one": 4e-6, "batch": 1e-6}}}
    first, second = pages.written(text, figures).split("<!-- results: rollout -->")
    assert "| biped | 4.00 | 1.00 | 20.00 | 5.0 |" in first
    assert "by hand" not in first
    assert "by hand" in second


def test_a_run_adds_its_figures_to_the_history(tmp_path):
    history = module_of("benchmarks/history.py")
    about = {"processor": "p", "processors": 2, "Python": "3", "linkwork": "0", "packages": {}}
    file = tmp_path / "history.csv"

    def run(date, commit, method):
        row = {"robot": "ur5", "function": "rnea", "method": method, "pin": 2e-6, "kernel": 1.0}
        about.update(date=date, commit=commit)
        history.add({"about": about, "sections": {"single": {"data": [row]}}}, file)
        return history.latest(history.read(file))["single"]

    assert run("2026-01-01", "a", 1e-6) == {("ur5", "rnea"): {"method": 1e-6, "pin": 2e-6}}
    assert run("2026-01-02", "b", 5e-7)["ur5", "rnea"]["method"] == 5e-7
    assert run("2026-01-02", "b", 4e-7)["ur5", "rnea"]["method"] == 4e-7  # measured again
    assert sum(line.section == "single" for line in history.read(file)) == 4
