"""Expansion of xacro files by the optional package `xacro`, which is imported on first use.

xacro evaluates expressions of the file as Python, with the rights of the user, and the file may
include any other file. Expand only files that you trust.

Lines     messages refer to lines of the expanded document, as `xacro FILE` prints it
Packages  `$(find NAME)` is searched like the meshes of `package://NAME`, then by ROS
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
from pathlib import Path
from typing import Any

from linkwork.errors import ArgumentError, Finding, SourceLocation, shown
from linkwork.io.folders import Folders
from linkwork.io.meshes import MeshFinder
from linkwork.io.xml.documents import Source, parse_xml, source_parse_error, without_declaration

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_ELEMENT = re.compile(r"<xacro:\w")
_NAMESPACE = re.compile(r"""xmlns:xacro\s*=\s*["'][^"']*xacro""")
_EXPRESSION = re.compile(r"\$[{(]")
_BANNER_LINES = 4  # length of the comment at the start of xacro's output
TOPIC = "xacro argument"  # of warnings about arguments that the file does not declare
_WITHOUT_PREFIX = re.compile(r"<(include|macro|property)\s[^<>]*name\s*=")
# Lines of a message of xacro that continue the line above.
_CONTINUATION = re.compile(
    r"\s|(when instantiating macro|instantiated from|in file|when processing file|included from):"
)
_lock = threading.Lock()  # xacro stores its state in module globals


class XacroError(Exception):
    """A package that `$(find NAME)` cannot find."""


def is_xacro(source: Source) -> bool:
    """Return whether a document uses xacro; declaring its namespace alone does not count."""
    if "xacro" not in source.text and not source.name.endswith(".xacro"):
        return False
    text = _COMMENT.sub("", source.text)
    if _ELEMENT.search(text):
        return True
    declared = source.name.endswith(".xacro") or _NAMESPACE.search(text)
    return bool(declared and _EXPRESSION.search(text))


def expand_xacro(
    source: Source,
    arguments: Mapping[str, str] | None = None,
    package_dirs: Folders = (),
    *,
    expand: bool = True,
    content: Sequence[str] = ("link",),
) -> tuple[Source, Sequence[Finding]]:
    """Expand a document if it uses xacro.

    Args:
        source: the document.
        arguments: values of its arguments, by name.
        package_dirs: folders that contain the packages of `$(find NAME)`.
        expand: whether to expand xacro; if not, xacro files are errors.
        content: elements of which the expanded document has at least one; the first describes
            them in the message about a file that only defines macros.

    Returns:
        The expanded document, and xacro's warnings. A document without xacro is returned
        unchanged, and so is every document if xacro is not installed; the reader then reports how
        to install xacro.

    Raises:
        ArgumentError: there are arguments, but the document does not use xacro.
        ParseError: the document is not XML, or xacro rejects it.
    """
    if not is_xacro(source):
        if arguments:
            message = f"xacro_args: {source.name} is not a xacro file, so it has no arguments"
            raise ArgumentError(message)
        return source, ()
    if not expand:
        reason = "xacro is disabled, because it evaluates Python and may read any file"
        message = f"{reason}; expand it first: xacro FILE > robot.urdf"
        raise source_parse_error(source.name, message)
    mappings = _Arguments(_check_arguments(arguments or {}))
    packages = MeshFinder(source.path, package_dirs)
    try:
        xacro = import_module("xacro")
        substitution = import_module("xacro.substitution_args")
        color = import_module("xacro.color")
    except ImportError:
        return source, ()
    parse_xml(source)  # reports XML errors with their lines, and rejects entities
    output = io.StringIO()
    with (
        _lock,
        _package_search(substitution, packages),
        _redirected_stderr(output, xacro, color),
    ):
        try:
            text = _process(xacro, source, mappings)
        except Exception as error:  # noqa: BLE001 - an expression of the file can raise anything
            reason = f"xacro: {_reason(error)}{_position(xacro)}"
            hint = _hint(reason, source, (xacro.filestack or [None])[-1])
            raise source_parse_error(source.name, f"{reason}{hint}") from None
    is_empty = "<robot" in text and not any(f"<{tag}" in text for tag in content)
    if is_empty and "xacro:macro" in source.text:
        reason = f"xacro: the file defines macros, but no {content[0]}s"
        raise source_parse_error(source.name, f"{reason}; load the file that uses the macros")
    location = SourceLocation(source.name, 1)
    findings = [
        Finding("warning", "", f"xacro: {warning}", location)
        for warning in _messages(output.getvalue())
    ]
    findings += [
        Finding("warning", "", f"xacro: the file has no argument {shown(name)}", location, TOPIC)
        for name in mappings.unused()
    ]
    name = f"{source.name} (expanded)"
    return replace(source, name=name, text=text), findings


def _process(xacro: Any, source: Source, arguments: dict[str, str]) -> str:
    xacro.init_stacks(str(source.path) if source.path else None)
    document = xacro.parse(without_declaration(source.text))
    xacro.process_doc(document, mappings=arguments, verbosity=0)
    for _ in range(_BANNER_LINES):
        comment = document.createComment(" expanded by xacro ")
        document.insertBefore(comment, document.firstChild)
    return document.toprettyxml(indent="  ")


@contextmanager
def _package_search(substitution: Any, packages: MeshFinder) -> Generator[None, None, None]:
    """Make `$(find NAME)` search for packages as for meshes, before ROS."""
    original = substitution._eval_find  # xacro has no public way to change it
    expressions = substitution._eval_dict  # the same function for $(eval find(NAME))
    substitution._eval_find = expressions["find"] = _package_finder(packages, original)
    try:
        yield
    finally:
        substitution._eval_find = expressions["find"] = original


class _SysWithStderr:
    """The module `sys` with a different `stderr`."""

    def __init__(self, stderr: io.StringIO) -> None:
        self.stderr = stderr

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)


@contextmanager
def _redirected_stderr(output: io.StringIO, *modules: Any) -> Generator[None, None, None]:
    """Redirect the standard error of these modules only."""
    for module in modules:
        module.sys = _SysWithStderr(output)
    try:
        yield
    finally:
        for module in modules:
            module.sys = sys


def _package_finder(packages: MeshFinder, original: Callable[[str], str]) -> Callable[[str], str]:
    def find(name: str) -> str:
        folder = packages.package(name)
        if folder is not None:
            return folder
        try:
            return original(name)
        except Exception:  # noqa: BLE001 - ROS is not installed, or has no such package
            hint = "pass the folder that contains it as package_dirs, or in ROS_PACKAGE_PATH"
            raise XacroError(f"no package named {name!r}; {hint}") from None

    return find


class _Arguments(dict[str, str]):
    """A dict of arguments that records which of them the file reads."""

    def __init__(self, arguments: Mapping[str, str]) -> None:
        super().__init__(arguments)
        self._passed = tuple(arguments)
        self._read: set[object] = set()

    def __contains__(self, name: object) -> bool:
        self._read.add(name)
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self._read.add(name)
        return super().__getitem__(name)

    def unused(self) -> list[str]:
        """Return the names of the arguments that the file does not read."""
        return [name for name in self._passed if name not in self._read]


def _check_arguments(arguments: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(arguments, Mapping):
        raise ArgumentError(f"xacro_args: expected a dict of strings, got {shown(arguments)}")
    for name, value in arguments.items():
        if not isinstance(name, str) or not isinstance(value, (str, int, float)):
            message = f"xacro_args: expected strings, got {shown(name)}: {shown(value)}"
            raise ArgumentError(message)
    return {name: str(value) for name, value in arguments.items()}


def _reason(error: Exception) -> str:
    """Return the message of an error; of the inner error where xacro only wraps it."""
    while str(error).startswith("<class") and isinstance(getattr(error, "exc", None), Exception):
        error = getattr(error, "exc")  # noqa: B009 - only xacro's errors have it
    return _one_line(error)


def _hint(reason: str, source: Source, included: str | None) -> str:
    """Return the probable cause of an error of xacro, after a semicolon; empty if there is none."""
    if "unbound prefix" in reason:
        return '; declare it as in <robot xmlns:xacro="http://www.ros.org/wiki/xacro">'
    if "is not defined" not in reason:
        return ""
    text = source.text
    if included and included != str(source.path):
        text = Path(included).read_text(encoding="utf-8", errors="replace")
    element = _WITHOUT_PREFIX.search(_COMMENT.sub("", text))
    return f"; xacro expands <{element[1]}> only as <xacro:{element[1]}>" if element else ""


def _position(xacro: Any) -> str:
    """Return the macro and the included file in which an error occurred."""
    files, macros = xacro.filestack or (), xacro.macrostack
    parts = [f"in macro {shown(macros[-1].body.getAttribute('name'))}"] if macros else []
    parts += [f"in {_one_line(files[-1])}"] if len(files) > 1 else []
    return f" ({', '.join(parts)})" if parts else ""


def _messages(output: str) -> list[str]:
    """Return the messages that xacro printed, each as one line."""
    messages: list[str] = []
    for line in output.splitlines():
        if messages and _CONTINUATION.match(line):
            messages[-1] = _one_line(f"{messages[-1]} {line}")
        elif line.strip():
            messages.append(_one_line(line).removeprefix("warning: "))
    return messages


def _one_line(message: object) -> str:
    """Return a message of xacro without terminal colors and line breaks."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(message)) or type(message).__name__
    return " ".join(plain.split())
