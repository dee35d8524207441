"""The methods of `KinDyn` for arrays of another framework.

A bridge makes a class from `Bridged` and says two things: how a kernel becomes a function of its
arrays, and how a NumPy array becomes one of them. The methods, their arguments and their
documentation are those of `linkwork.KinDyn`, read from it:

    class KinDyn(Bridged):
        def _wrapped(self, kernel):   # a function of arrays, which takes what `call` takes
        def _constant(self, array):   # an array of the framework

A quantity of the robot is an attribute that holds the function itself once it was used; a quantity
of frames is a method that looks up the function of its frames.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from linkwork.engine.kernel.arguments import in_order
from linkwork.engine.kernel.kernel import Kernel
from linkwork.errors import ArgumentError, FrozenError
from linkwork.kindyn import KinDyn as NumpyKinDyn
from linkwork.kindyn.foreign_names import no_attribute
from linkwork.kindyn.kernels import QuantityKernel
from linkwork.kindyn.quantities import QUANTITIES, Quantity
from linkwork.kindyn.requests import missing_argument

if TYPE_CHECKING:
    from typing_extensions import Self

OPTIONS = ("out", "threads")  # of every call with NumPy arrays; a bridge has none of them
# Quantities whose methods choose the frames themselves, and are written out in `Bridged`.
_WRITTEN_OUT = ("transforms", "relative_jacobian", "relative_jacobian_at")


@dataclass(frozen=True)
class Method:
    """A method of `KinDyn` that computes a quantity."""

    name: str
    frames: tuple[str, ...]  # names of the arguments that are frames, which come first
    inputs: tuple[str, ...]  # names of the arguments that are arrays, in order
    defaults: Mapping[str, Any]  # of those that may be left out: the time of `integrate`
    forces: tuple[str, ...]  # which of gravity and wrenches it takes by name
    fields: tuple[str, ...]  # of the named tuple that it returns; none if it gives one array
    signature: inspect.Signature  # without `self`, `out` and `threads`
    doc: str


def _method(name: str, quantity: Quantity, declared: Callable[..., Any]) -> Method:
    signature = inspect.signature(declared)
    own = [p for p in signature.parameters.values() if p.name not in ("self", *OPTIONS)]
    inputs = tuple(one.name for one in quantity.inputs)
    given = {p.name: p.default for p in own if p.default is not p.empty}
    return Method(
        name,
        quantity.frames,
        inputs,
        {key: value for key, value in given.items() if key in inputs},
        quantity.forces,
        quantity.fields,
        signature.replace(
            parameters=[p.replace(annotation=p.empty) for p in own],
            return_annotation=signature.empty,
        ),
        (inspect.getdoc(declared) or "").partition("\n\nExamples:")[0],  # they are of NumPy
    )


METHODS: dict[str, Method] = {
    name: _method(name, one, one.method) for name, one in QUANTITIES.items() if one.method
}
"""The methods of `KinDyn` that compute quantities, by name."""


def call(kernel: Kernel, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Kernel, list[Any]]:
    """The kernel that a call needs, and its arguments in order.

    Args:
        kernel: what is called.
        args: arguments by position.
        named: by the names of inputs; also `gravity` and `wrenches`, by frame, where they enter.
            They may be the inputs of another kernel than that without them.
    """
    names = [port.name for port in kernel.signature.inputs]
    for option in OPTIONS:
        if option in named:
            text = f"{kernel.signature.name}: {option}= is for calls with NumPy arrays"
            raise ArgumentError(f"{text}; use the function of linkwork.KinDyn")
    forces = {name: named[name] for name in ("gravity", "wrenches") if named.get(name) is not None}
    rest = {k: v for k, v in named.items() if k not in ("gravity", "wrenches")}
    if not forces or not isinstance(kernel, QuantityKernel) or len(args) > len(names):
        return kernel, in_order(kernel.signature, args, {**rest, **forces})
    wrenches, gravity = forces.get("wrenches"), forces.get("gravity")
    if not kernel._takes(wrenches, gravity):  # pyright: ignore[reportPrivateUsage]
        return kernel, in_order(kernel.signature, args, {**rest, **forces})
    frames: tuple[str, ...] = tuple(wrenches or ())
    other = kernel.siblings.get((frames, gravity is not None))
    if other is None:
        other = kernel._made_with(frames, gravity is not None)  # pyright: ignore[reportPrivateUsage]
    more = {f"wrench_{frame}": value for frame, value in (wrenches or {}).items()}
    more |= {"gravity": gravity} if gravity is not None else {}
    for name, value in zip(names, args, strict=False):
        if name in rest:
            raise ArgumentError(f"{kernel.signature.name}: argument {name!r} is given twice")
        rest[name] = value
    return other, in_order(other.signature, (), {**rest, **more})


class Bridged:
    """What the `KinDyn` of every bridge has: the options and names of `linkwork.KinDyn`."""

    _OWN_OPTIONS: ClassVar[tuple[str, ...]] = ()  # those that `linkwork.KinDyn` does not have

    numpy: NumpyKinDyn
    """The same robot with the same options, for NumPy arrays."""

    _functions: dict[int, tuple[Kernel, Any]]  # by the id of the kernel
    _of_frames: dict[tuple[Any, ...], Any]

    def __init__(self, model: Any, base: str | None = None, **options: Any) -> None:
        robot = NumpyKinDyn(model, base, **options)
        self.__dict__.update(numpy=robot, _functions={}, _of_frames={})

    def __init_subclass__(cls) -> None:
        for name, method in METHODS.items():
            if name not in _WRITTEN_OUT and name not in vars(cls):
                made: Any = _Attribute(method) if is_attribute(method) else _made_method(method)
                setattr(cls, name, documented(made, method))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    else:

        def __getattr__(self, name: str) -> Any:
            raise no_attribute(self, name)

    # What a bridge says.

    def _wrapped(self, kernel: Kernel) -> Any:
        """A kernel as a function of arrays of the framework, by position or by name."""
        raise NotImplementedError

    def _constant(self, array: Any) -> Any:
        """A NumPy array as one of the framework."""
        raise NotImplementedError

    # What all have.

    def __setattr__(self, name: str, value: object) -> None:
        text = f"{name}: a KinDyn does not change; `kd.replace(...)` gives another one"
        raise FrozenError(text)

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{self.numpy!r}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bridged) or type(self) is not type(other):
            return NotImplemented
        return self.numpy == other.numpy and self._own_options == other._own_options

    def __hash__(self) -> int:
        return hash((type(self), self.numpy, *self._own_options.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self.options), (self.numpy.model,)

    def replace(self, **changes: Any) -> Self:
        """Another one, with some options changed."""
        own = self._own_options
        robot = self.numpy.replace(**{k: v for k, v in changes.items() if k not in own})
        own = {name: changes.get(name, value) for name, value in own.items()}
        return type(self)(robot.model, **robot.options, **own)

    @property
    def options(self) -> dict[str, Any]:
        """What `KinDyn(model, **options)` takes to make this one again."""
        return {**self.numpy.options, **self._own_options}

    @property
    def _own_options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._OWN_OPTIONS}

    def function(self, *requests: Any, **options: Any) -> Any:
        """The function of one or several quantities, as `linkwork.KinDyn.function` takes them."""
        return self._function(self.numpy.function(*requests, **options))

    def warmup(self, *requests: Any) -> None:
        """Compile functions now, as `linkwork.KinDyn.warmup` does."""
        self.numpy.warmup(*requests)

    def _function(self, kernel: Kernel) -> Any:
        """The function of a kernel, made once."""
        known = self._functions.get(id(kernel))
        if known is None:
            known = self._functions[id(kernel)] = kernel, self._wrapped(kernel)
        return known[1]

    def _of(self, *request: Any) -> Any:
        """The function of one quantity and its frames."""
        try:
            return self._of_frames[request]
        except (KeyError, TypeError):  # not made yet, or no names, which `function` says
            found = self._of_frames[request] = self.function(request)
            return found

    def transforms(self, q: Any, *, frames: Sequence[str] | None = None, **named: Any) -> Any:
        """(..., frames, 4, 4) poses of several frames in the world, world_H_frame.

        Args:
            q: as for all methods.
            frames: their names; all of `model.frame_names` if not given.
            named: further inputs by name, where the robot has parameters.
        """
        names: Any = tuple(frames) if isinstance(frames, list) else frames
        names = self.numpy.model.frame_names if names is None else names
        return self._of("transforms", names)(q, **named)

    def relative_jacobian(
        self,
        reference: str,
        frame: str,
        q: Any,
        *,
        origin: str | None = None,
        axes: str | None = None,
        **named: Any,
    ) -> Any:
        """(..., 6, n) Jacobian of a frame relative to another: its velocity there is `J @ s_dot`.

        Args:
            reference: the frame from which the motion is seen.
            frame: the frame that moves.
            q: as for all methods.
            origin: frame at whose origin the velocity is taken. If not given, `reference` in the
                inertial representation, else `frame`.
            axes: frame in whose axes it is written. If not given, `frame` in the body
                representation, else `reference`.
            named: further inputs by name, where the robot has parameters.
        """
        if origin is None and axes is None:
            return self._of("relative_jacobian", reference, frame)(q, **named)
        seen = self.numpy.representation
        origin = origin or (reference if seen == "inertial" else frame)
        axes = axes or (frame if seen == "body" else reference)
        return self._of("relative_jacobian_at", reference, frame, origin, axes)(q, **named)

    def neutral(self) -> Any:
        """(nq,) the neutral configuration, as `linkwork.KinDyn.neutral` returns it."""
        return self._constant(self.numpy.neutral())

    def random(self, n: int | tuple[int, ...] = (), *, seed: int | None = None) -> Any:
        """(*n, nq) random configurations, as `linkwork.KinDyn.random` gives them."""
        return self._constant(self.numpy.random(n, seed=seed))

    def q(self, positions: Any = None, /, **given: Any) -> Any:
        """(nq,) configuration from positions of joints by name; the others are neutral.

        Takes what `linkwork.KinDyn.q` takes, in numbers.
        """
        return self._constant(self.numpy.q(positions, **given))

    def inertial_parameters(self) -> Any:
        """(10 links,) the numbers phi in which the dynamics is linear."""
        return self._constant(self.numpy.inertial_parameters())

    def parameter_values(self, values: Any = None) -> Any:
        """(..., n) the numbers of the model that are inputs of all functions, in one vector.

        Takes what `linkwork.KinDyn.parameter_values` takes, in numbers.
        """
        robot: Any = self.numpy
        return self._constant(robot.parameter_values(values))

    def jacobian_sparsity(self, frame: str) -> Any:
        """(6, nv) of bool: False where the Jacobian of a frame is zero at every configuration."""
        return self._constant(self.numpy.jacobian_sparsity(frame))

    def relative_jacobian_sparsity(self, reference: str, frame: str) -> Any:
        """(6, n) of bool: False where the relative Jacobian is zero at every configuration."""
        return self._constant(self.numpy.relative_jacobian_sparsity(reference, frame))


def _passed_on(name: str) -> property:
    doc = inspect.getdoc(getattr(NumpyKinDyn, name, None))
    return property(lambda self: getattr(self.numpy, name), doc=doc)


# What is no array is that of the robot for NumPy.
for _name in (
    *("model", "base", "floating", "representation", "gravity", "base_pose", "check", "dtype"),
    *("joint_dynamics", "layout", "tree", "nq", "nv", "joint_names", "limits", "total_mass"),
    "parameters",
):
    setattr(Bridged, _name, _passed_on(_name))


def is_attribute(method: Method) -> bool:
    """Whether the method can be the function itself."""
    return not method.frames and not method.defaults


class _Attribute:
    """A quantity of the robot: an attribute of a bridge's `KinDyn`, its function."""

    def __init__(self, method: Method) -> None:
        self._method = method

    def __get__(self, bridged: Any, owner: type[Any]) -> Any:
        if bridged is None:
            return self
        function = bridged._of(self._method.name)
        bridged.__dict__[self._method.name] = documented(function, self._method)
        return function

    def __call__(self, bridged: Any, *args: Any, **named: Any) -> Any:
        """`KinDyn.mass_matrix(kd, q)`, as for any method."""
        return self.__get__(bridged, type(bridged))(*args, **named)


def _made_method(method: Method) -> Callable[..., Any]:
    """A method that looks up the function of its frames and calls it."""
    count = len(method.frames)

    def made(self: Any, *args: Any, **named: Any) -> Any:
        frames, inputs = args[:count], args[count:]
        for name in method.frames[len(frames) :]:
            if name not in named:
                raise missing_argument(method.name, name)
            frames = (*frames, named.pop(name))
        function = self._of(method.name, *frames)
        for name in method.inputs[len(inputs) :]:
            if name in named:
                break
            if name not in method.defaults:
                raise missing_argument(method.name, name)
            inputs = (*inputs, method.defaults[name])
        return function(*inputs, **named)

    made.__qualname__ = f"KinDyn.{method.name}"
    return made


def documented(function: Any, method: Method) -> Any:
    """A function with the signature and the documentation of a method of `KinDyn`."""
    signature = method.signature
    if inspect.isfunction(function):
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        signature = signature.replace(parameters=[own, *signature.parameters.values()])
    function.__signature__ = signature
    function.__name__, function.__doc__ = method.name, method.doc
    return function
