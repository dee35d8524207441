"""The public interface as text: one line for each public name, with its signature.

    python tools/public_interface.py           write tests/architecture/public_interface.txt
    python tools/public_interface.py --print   print the lines

Modules, classes with their public methods and fields, and the commands with their options are
listed. `tests/architecture/test_public_interface.py` compares the file with the package, so that
a change of the interface is visible in a commit. CONTRIBUTING.md states how it may change.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import typer

FILE = Path(__file__).parents[1] / "tests" / "architecture" / "public_interface.txt"
MODULES = (
    "linkwork",
    "linkwork.linalg",
    "linkwork.parameters",
    "linkwork.robots",
    "linkwork.envs",
    "linkwork.spatial.so3",
    "linkwork.spatial.quat",
    "linkwork.spatial.se3",
    "linkwork.spatial.motion",
    "linkwork.spatial.inertia",
    "linkwork.compat.adam",
    "linkwork.compat.idyntree",
    "linkwork.compat.mujoco",
    "linkwork.compat.pinnzoo",
    "linkwork.compat.pinocchio",
    "linkwork.compat.robwork",
)
COMMANDS = "commands"
FRAMEWORKS = ("linkwork.casadi", "linkwork.jax", "linkwork.torch")  # need the package of that name
# What functions of linkwork return, without being a name in one of its modules.
CLASSES = (
    "linkwork.viewer.Viewer",
    "linkwork.workcell.dynamics.device_dynamics.CellDynamics",
    "linkwork.workcell.kinematics.device.Device",
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
    fields = (
        {one.name for one in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    )
    for attribute in sorted({*dir(cls), *fields}):
        if attribute in fields and not attribute.startswith("_"):
            yield f"{name}.{attribute}"
            continue
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


def public_names(module: ModuleType) -> list[str]:
    """Names in `__all__`, or those that a module defines or imports as `name as name`."""
    if module.__name__ == "linkwork":
        return dir(module)
    source = inspect.getsource(module)
    own = [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__ or f" {name} as {name}\n" in source
    ]
    return list(getattr(module, "__all__", None) or own)


def lines_of(path: str) -> Iterator[str]:
    """Yield lines for the public names of a module, or for a class."""
    if path in CLASSES:
        module, _, name = path.rpartition(".")
        yield from lines_of_value(path, getattr(importlib.import_module(module), name))
        return
    module = importlib.import_module(path)
    for name in sorted(public_names(module)):
        value = getattr(module, name)
        if inspect.ismodule(value):  # `linkwork.export` is a function, and a package with its name
            value = vars(type(value)).get("__call__")
        if not name.startswith("_") and value is not None:
            yield from lines_of_value(f"{path}.{name}", value)


def lines_of_value(path: str, value: Any) -> Iterator[str]:
    """Yield the line of a class or function, and those of the members of a class."""
    is_plain = callable(value) and not (
        isinstance(value, type) and issubclass(value, (Exception, Enum))
    )
    yield path + (signature(value) if is_plain else "")
    if isinstance(value, type):
        yield from members(path, value)


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


def interface() -> dict[str, list[str]]:
    """Return the lines of each module, of each class, and of the commands."""
    parts = {path: list(lines_of(path)) for path in (*MODULES, *FRAMEWORKS, *CLASSES)}
    return {**parts, COMMANDS: sorted(commands())}


def stored() -> dict[str, list[str]]:
    """Return the same, as it is stored."""
    parts = FILE.read_text(encoding="utf-8").split("\n# ")
    return {part.splitlines()[0]: part.splitlines()[1:] for part in parts[1:]}


if __name__ == "__main__":
    text = "The public interface; written by tools/public_interface.py.\n"
    for title, lines in interface().items():
        text += "\n".join((f"# {title}", *lines)) + "\n"
    if "--print" in sys.argv:
        sys.stdout.write(text)
    else:
        FILE.write_text(text, encoding="utf-8")
