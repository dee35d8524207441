"""The public interface as text: one line for each public name, with its signature.

    python tools/public_interface.py           write tests/architecture/public_interface.txt
    python tools/public_interface.py --print   print the lines

Modules, classes with their public methods and fields, and the commands with their options are
listed. `tests/architecture/test_public_interface.py` compares the file with what there is, so that
a change of the interface is visible in a commit; CHANGELOG.md describes it.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import typer

FILE = Path(__file__).parents[1] / "tests" / "architecture" / "public_interface.txt"
MODULES = (
    "linkwork",
    "linkwork.linalg",
    "linkwork.parameters",
    "linkwork.robots",
    "linkwork.spatial.so3",
    "linkwork.spatial.quat",
    "linkwork.spatial.se3",
    "linkwork.spatial.motion",
    "linkwork.spatial.inertia",
    "linkwork.casadi",
    "linkwork.jax",
    "linkwork.torch",
    "linkwork.compat.adam",
    "linkwork.compat.idyntree",
    "linkwork.compat.mujoco",
    "linkwork.compat.pinnzoo",
    "linkwork.compat.pinocchio",
    "linkwork.compat.robwork",
)


def signature(function: Any) -> str:
    """Return the names, kinds and defaults of the parameters; no types, which differ by Python."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return "(...)"
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in parameters]
    plain = [one.replace(default=_Default(one.default)) for one in plain]
    return str(inspect.Signature(plain))


class _Default:
    """A default value, shown without addresses."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __new__(cls, value: Any) -> Any:
        return value if value is inspect.Parameter.empty else super().__new__(cls)

    def __repr__(self) -> str:
        if isinstance(self._value, (bool, int, float, str, tuple, type(None))):
            return repr(self._value)
        return type(self._value).__name__


def members(name: str, cls: type[Any]) -> Iterator[str]:
    """Yield lines for the public attributes of a class that linkwork defines."""
    for attribute in sorted(dir(cls)):
        owners = [base for base in cls.__mro__ if attribute in vars(base)]
        if attribute.startswith("_") or not owners:
            continue
        if not owners[0].__module__.startswith("linkwork"):
            continue
        value = vars(owners[0])[attribute]
        value = getattr(value, "__func__", value)
        value = inspect.unwrap(value) if callable(value) else value
        is_function = callable(value) and not isinstance(value, type)
        yield f"{name}.{attribute}{signature(value) if is_function else ''}"


def lines_of(module: str) -> Iterator[str]:
    """Yield lines for the public names of a module."""
    namespace = importlib.import_module(module)
    for name in sorted(getattr(namespace, "__all__", None) or dir(namespace)):
        value = getattr(namespace, name)
        if name.startswith("_") or name == "annotations" or inspect.ismodule(value):
            continue
        path = f"{module}.{name}"
        if isinstance(value, type):
            is_plain = not issubclass(value, (Exception, Enum))
            yield path + (signature(value) if is_plain else "")
            yield from members(path, value)
        else:
            yield path + (signature(value) if callable(value) else "")


def commands() -> Iterator[str]:
    """Yield lines for the commands and their options."""
    from linkwork.cli.main import app

    group: Any = typer.main.get_command(app)
    pending = [("linkwork", group)]
    while pending:
        name, command = pending.pop()
        options = [" ".join(sorted(one.opts + one.secondary_opts)) for one in command.params]
        yield f"$ {name} {' | '.join(sorted(options))}".rstrip()
        pending += [
            (f"{name} {key}", value) for key, value in getattr(command, "commands", {}).items()
        ]


def interface() -> list[str]:
    """Return all lines, sorted within each part."""
    return [line for module in MODULES for line in lines_of(module)] + sorted(commands())


if __name__ == "__main__":
    text = "\n".join(interface()) + "\n"
    if "--print" in sys.argv:
        sys.stdout.write(text)
    else:
        FILE.write_text(text, encoding="utf-8")
