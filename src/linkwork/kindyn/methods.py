"""Methods that are declared only: name, arguments and documentation of a quantity.

    @quantity
    def mass_matrix(self, q: ArrayLike, *, out: ..., threads: ...) -> Array:
        '''Mass matrix M: the kinetic energy is `nu @ M @ nu / 2`.'''
        ...

A quantity of the robot becomes an attribute that holds the kernel itself once it was used, so that
a call passes no Python code. A quantity of frames becomes a method that looks up the kernel of its
frames.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, TypeVar, cast

from linkwork.kindyn.quantities import QUANTITIES

Method = TypeVar("Method", bound=Callable[..., Any])


def quantity(method: Method) -> Method:
    """Make the declaration of a quantity a method that computes it."""
    name = method.__name__
    row, own = QUANTITIES[name], inspect.signature(method).parameters
    declared = [p.name for p in own.values() if p.kind is p.POSITIONAL_OR_KEYWORD][1:]
    inputs = [one.name for one in row.inputs]
    assert declared == [*row.frames, *inputs], f"{name} takes {[*row.frames, *inputs]}"
    method.__qualname__ = f"KinDyn.{name}"  # what messages and help call it
    made: Any = (_OfRobot, _of_frame, _of_pair)[len(row.frames)](name)
    return cast("Method", update_wrapper(made, method))


Class = TypeVar("Class", bound=type[Any])


def owned(cls: Class) -> Class:
    """Have the methods of a class that is cut into several called its own in messages."""
    for part in cls.__mro__:
        for name, value in vars(part).items():
            if inspect.isfunction(value):
                value.__qualname__ = f"{cls.__name__}.{name}"
    return cls


class _OfRobot:
    """A quantity of the robot: an attribute of a `KinDyn`, its kernel."""

    __wrapped__: Callable[..., Any]

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, kindyn: Any, owner: type[Any]) -> Any:
        if kindyn is None:
            return self
        kernel = kindyn.function(self._name)
        signature = inspect.signature(self.__wrapped__)
        kernel.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])
        kernel.__doc__, kernel.__name__ = self.__doc__, self._name
        if inspect.getattr_static(owner, self._name) is self:  # else another method calls this one
            kindyn.__dict__[self._name] = kernel
        return kernel

    def __call__(self, kindyn: Any, *args: Any, **named: Any) -> Any:
        """`KinDyn.mass_matrix(kd, q)`, as for any method."""
        return self.__get__(kindyn, type(kindyn))(*args, **named)


def _of_frame(name: str) -> Callable[..., Any]:
    """A method that looks up the kernel of its frame and calls it."""

    def method(self: Any, frame: str, *inputs: Any, **named: Any) -> Any:
        try:
            kernel = self._kernels[name][frame]
        except (KeyError, TypeError):  # not made yet, or no name, which `function` says
            kernel = self.function((name, frame))
        return kernel(*inputs, **named)

    return method


def _of_pair(name: str) -> Callable[..., Any]:
    """The same for two frames."""

    def method(self: Any, reference: str, frame: str, *inputs: Any, **named: Any) -> Any:
        try:
            kernel = self._kernels[name][reference, frame]
        except (KeyError, TypeError):
            kernel = self.function((name, reference, frame))
        return kernel(*inputs, **named)

    return method
