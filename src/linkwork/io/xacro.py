"""Xacro files, expanded by the package `xacro`, which is optional and imported on first use.

Expressions in such a file are evaluated by xacro as Python, with few names to use but with the
rights of the user; and it may include any file. So expand only files that you trust.

Lines     are those of the expanded text, as `xacro FILE` prints it
Packages  `$(find NAME)` is looked for where the meshes of `package://NAME` are, then by ROS
"""

from __future__ import annotations

import io
import re
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any

from linkwork.errors import ArgumentError, Finding, SourceLocation, shown
from linkwork.io.meshes import MeshFinder
from linkwork.io.xml.parse import parse_xml
from linkwork.io.xml.source import Source, text_error

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ELEMENT = re.compile(r"<xacro:\w")
_NAMESPACE = re.compile(r"""xmlns:xacro\s*=\s*["'][^"']*xacro""")
_EXPRESSION = re.compile(r"\$[{(]")
_DECLARATION = re.compile(r"^\s*<\?xml.*?\?>", re.DOTALL)
_BANNER_LINES = 4  # of the comment with which xacro starts what it prints
_one_at_a_time = threading.Lock()  # xacro keeps what it does in globals of its module


class XacroError(Exception):
    """What is said to xacro about a package that is not there."""


def is_xacro(source: Source) -> bool:
    """Whether a text has to be expanded; one that only declares xacro's namespace has not."""
    if "xacro" not in source.text and not source.name.endswith(".xacro"):
        return False
    text = _COMMENT.sub("", source.text)
    if _ELEMENT.search(text):
        return True
    declared = source.name.endswith(".xacro") or _NAMESPACE.search(text)
    return bool(declared and _EXPRESSION.search(text))


def expanded(
    source: Source, arguments: Mapping[str, str], packages: MeshFinder
) -> tuple[Source, Sequence[Finding]]:
    """Expand a text.

    Args:
        source: the text.
        arguments: values of its arguments, by name.
        packages: where packages are found.

    Returns:
        the expanded text, and xacro's warnings. If xacro is not installed, the text as it is, which
        the reader of URDF refuses with a word of advice.

    Raises:
        ParseError: the text is not XML, or xacro refuses it.
    """
    given = _Arguments(_checked(arguments))
    try:
        xacro = import_module("xacro")
        substitution = import_module("xacro.substitution_args")
        color = import_module("xacro.color")
    except ImportError:
        return source, ()
    parse_xml(source)  # refuses what is not XML, with its line, and entities
    said = io.StringIO()
    with (
        _one_at_a_time,
        _finding_packages(substitution, packages),
        _printing_to(said, xacro, color),
    ):
        try:
            text = _process(xacro, source, given)
        except Exception as error:  # noqa: BLE001 - an expression of the file can raise anything
            raise text_error(source.name, f"xacro: {_reason(error)}") from None
    doubts = [_one_line(line) for line in said.getvalue().splitlines() if line.strip()]
    doubts += [f"has no argument {shown(name)}" for name in given.unused()]
    location = SourceLocation(source.name, 1)
    findings = [Finding("warning", "", f"xacro: {doubt}", location) for doubt in doubts]
    return replace(source, name=f"{source.name} (expanded)", text=text), findings


def _process(xacro: Any, source: Source, arguments: dict[str, str]) -> str:
    xacro.init_stacks(str(source.path) if source.path else None)
    document = xacro.parse(_DECLARATION.sub("", source.text))
    xacro.process_doc(document, mappings=arguments, verbosity=0)
    for _ in range(_BANNER_LINES):
        comment = document.createComment(" expanded by xacro ")
        document.insertBefore(comment, document.firstChild)
    return document.toprettyxml(indent="  ")


@contextmanager
def _finding_packages(substitution: Any, packages: MeshFinder) -> Generator[None, None, None]:
    """Have `$(find NAME)` look where meshes are looked for, before ROS."""
    original = substitution._eval_find  # xacro has no other way to be told
    expressions = substitution._eval_dict  # the same, for $(eval find(NAME))
    found = _finder(packages, original)
    substitution._eval_find = expressions["find"] = found
    try:
        yield
    finally:
        substitution._eval_find = expressions["find"] = original


class _System:
    """The module `sys` with another standard error."""

    def __init__(self, stderr: io.StringIO) -> None:
        self.stderr = stderr

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)


@contextmanager
def _printing_to(said: io.StringIO, *modules: Any) -> Generator[None, None, None]:
    """Have modules of xacro print there; what others write to standard error goes where it did."""
    for module in modules:
        module.sys = _System(said)
    try:
        yield
    finally:
        for module in modules:
            module.sys = sys


def _finder(packages: MeshFinder, original: Callable[[str], str]) -> Callable[[str], str]:
    def find(name: str) -> str:
        folder = packages.package(name)
        if folder is not None:
            return folder
        try:
            return original(name)
        except Exception:  # noqa: BLE001 - ROS is not here, or does not know it
            advice = "package_dirs, or ROS_PACKAGE_PATH, names the folders in which packages lie"
            raise XacroError(f"no package named {name!r}; {advice}") from None

    return find


class _Arguments(dict[str, str]):
    """Arguments that know which of them were asked for."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self._given = tuple(given)
        self._asked: set[object] = set()

    def __contains__(self, name: object) -> bool:
        self._asked.add(name)
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self._asked.add(name)
        return super().__getitem__(name)

    def unused(self) -> list[str]:
        """Names that the file has no use for."""
        return [name for name in self._given if name not in self._asked]


def _checked(arguments: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(arguments, Mapping):
        raise ArgumentError(f"xacro_args: expected a dict of texts, got {shown(arguments)}")
    for name, value in arguments.items():
        if not isinstance(name, str) or not isinstance(value, (str, int, float)):
            raise ArgumentError(f"xacro_args: expected texts, got {shown(name)}: {shown(value)}")
    return {name: str(value) for name, value in arguments.items()}


def _reason(error: Exception) -> str:
    """What is wrong; where xacro says the same twice, after the class of the error, only once."""
    while str(error).startswith("<class") and isinstance(getattr(error, "exc", None), Exception):
        error = getattr(error, "exc")  # noqa: B009 - only errors of xacro have it
    return _one_line(error)


def _one_line(said: object) -> str:
    """What xacro says, without colours and line breaks."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(said)) or type(said).__name__
    return " ".join(plain.split())
