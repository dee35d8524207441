"""The methods of `KinDyn` and `ConstrainedKinDyn` for arrays of another framework.

A bridge derives classes from `BridgedKinDyn` and `BridgedConstrainedKinDyn` and defines two
methods: one converts a kernel to a function of the framework's arrays, the other converts a NumPy
array. The remaining methods, their arguments and their documentation are read from the classes for
NumPy:

    class Functions(Bridged):
        def _wrapped(self, kernel):   # a function of arrays, with the arguments of `call`
        def _constant(self, array):   # an array of the framework

    class KinDyn(Functions, BridgedKinDyn): ...
    class ConstrainedKinDyn(Functions, BridgedConstrainedKinDyn): ...
    Functions._CLASSES = KinDyn, ConstrainedKinDyn

A quantity without frames is an attribute: after its first use, the compiled function itself. A
quantity of frames is a method that looks up the function for its frames.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial, wraps
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.arguments import in_order
from linkwork.engine.kernel.kernel import OPTIONS, Kernel
from linkwork.errors import ArgumentError, FrozenError
from linkwork.kindyn import ConstrainedKinDyn as NumpyConstrainedKinDyn
from linkwork.kindyn import KinDyn as NumpyKinDyn
from linkwork.kindyn.core import cached
from linkwork.kindyn.foreign_names import no_attribute
from linkwork.kindyn.kernels import QuantityKernel
from linkwork.kindyn.quantities import Quantity
from linkwork.kindyn.requests import usage

if TYPE_CHECKING:
    from typing_extensions import Self

# Quantities whose methods choose the frames themselves; they are defined in `Bridged`.
_DEFINED_HERE = ("transforms", "relative_jacobian")


METHODS = {name: one for name, one in NumpyKinDyn.quantities.items() if one.method}
"""The quantities of `KinDyn` that have a method, by name."""
CONSTRAINED_METHODS = NumpyConstrainedKinDyn.quantities
"""The quantities of `ConstrainedKinDyn`, all of which have a method, by name."""


@cache
def _signature(quantity: Quantity) -> inspect.Signature:
    """Return the signature of a method without `self`, `out`, `threads` and annotations."""
    assert quantity.method is not None
    parameters = inspect.signature(quantity.method).parameters.values()
    return inspect.Signature(
        [p.replace(annotation=p.empty) for p in parameters if p.name not in ("self", *OPTIONS)]
    )


@cache
def _defaults(quantity: Quantity) -> dict[str, Any]:
    """Return the values of inputs that are optional, such as the time of `integrate`, by name."""
    arguments = [_signature(quantity).parameters[one.name] for one in quantity.inputs]
    return {one.name: one.default for one in arguments if one.default is not one.empty}


def call(kernel: Kernel, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Kernel, list[Any]]:
    """Return the kernel for a call, and its arguments in order.

    Args:
        kernel: the called kernel.
        args: positional arguments.
        named: keyword arguments: names of inputs, and `gravity` and `wrenches` (by frame) where
            they apply. With them, another kernel may be returned, which has them as inputs.
    """
    names = [port.name for port in kernel.signature.inputs]
    for option in OPTIONS:
        if option in named:
            message = f"{kernel.signature.name}: {option}= is only for calls with NumPy arrays"
            raise ArgumentError(f"{message}; use the method of linkwork.KinDyn")
    forces = {name: named[name] for name in ("gravity", "wrenches") if named.get(name) is not None}
    remaining = {k: v for k, v in named.items() if k not in ("gravity", "wrenches")}
    if not forces or not isinstance(kernel, QuantityKernel) or len(args) > len(names):
        return kernel, in_order(kernel.signature, args, {**remaining, **forces})
    kernel_with_forces = kernel.with_forces(forces.get("wrenches"), forces.get("gravity"))
    if kernel_with_forces is None:
        return kernel, in_order(kernel.signature, args, {**remaining, **forces})
    other, values = kernel_with_forces
    added = [port.name for port in other.signature.inputs[kernel.n_without_parameters :]]
    forces_by_name = dict(zip(added, values, strict=False))
    for name, value in zip(names, args, strict=False):
        if name in remaining:
            raise ArgumentError(f"{kernel.signature.name}: argument {name!r} was passed twice")
        remaining[name] = value
    return other, in_order(other.signature, (), {**remaining, **forces_by_name})


class Bridged:
    """What the robots of all bridges have: options, and functions of quantities."""

    _NUMPY: ClassVar[type[Any]]  # the class for NumPy
    _METHODS: ClassVar[Mapping[str, Quantity]]  # its quantities that have a method
    _OWN_OPTIONS: ClassVar[tuple[str, ...]] = ()  # options that the class for NumPy does not have
    # `KinDyn` and `ConstrainedKinDyn` of the same bridge
    _CLASSES: ClassVar[tuple[type[Any], type[Any]]]

    numpy: Any
    """The same robot with the same options, for NumPy arrays."""

    _functions: dict[int, tuple[Kernel, Any]]  # by the id of the kernel
    _functions_of_quantities: dict[tuple[Any, ...], Any]  # by name and frames

    def __init__(self, model: Any, base: str | None = None, **options: Any) -> None:
        robot = model if isinstance(model, self._NUMPY) else self._NUMPY(model, base, **options)
        self.__dict__.update(numpy=robot, _functions={}, _functions_of_quantities={})

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    else:

        def __getattr__(self, name: str) -> Any:
            raise no_attribute(self, name)

    # Defined by each bridge.

    def _wrapped(self, kernel: Kernel) -> Any:
        """Convert a kernel to a function of the framework's arrays."""
        raise NotImplementedError

    def _constant(self, array: Any) -> Any:
        """Convert a NumPy array to an array of the framework."""
        raise NotImplementedError

    # Shared by all bridges.

    def __setattr__(self, name: str, value: object) -> None:
        message = f"{name}: a KinDyn cannot be changed; `kd.replace(...)` returns a changed copy"
        raise FrozenError(message)

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
        """Return a copy with some options changed."""
        bridge_options = self._own_options
        robot = self.numpy.replace(**{k: v for k, v in changes.items() if k not in bridge_options})
        bridge_options = {name: changes.get(name, old) for name, old in bridge_options.items()}
        return type(self)(robot.model, **robot.options, **bridge_options)

    @property
    def options(self) -> dict[str, Any]:
        """The options with which `KinDyn(model, **options)` builds an equal object."""
        return {**self.numpy.options, **self._own_options}

    @property
    def _own_options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._OWN_OPTIONS}

    def function(self, *requests: Any, **options: Any) -> Any:
        """Return the function of one or several quantities; see `linkwork.KinDyn.function`."""
        return self._function(self.numpy.function(*requests, **options))

    def warmup(self, *requests: Any) -> None:
        """Compile functions now; see `linkwork.KinDyn.warmup`."""
        self.numpy.warmup(*requests)

    def _function(self, kernel: Kernel) -> Any:
        """Return the function of a kernel, wrapped once."""
        entry = self._functions.get(id(kernel))
        if entry is None:
            entry = self._functions[id(kernel)] = kernel, self._wrapped(kernel)
        return entry[1]

    def _of(self, *request: Any) -> Any:
        """Return the function of one quantity and its frames."""
        try:
            return self._functions_of_quantities[request]
        except (KeyError, TypeError):  # not wrapped yet, or invalid names: `function` raises
            function = self._functions_of_quantities[request] = self.function(request)
            return function


class BridgedKinDyn(Bridged):
    """Base class of the `KinDyn` of each bridge: the options and methods of `linkwork.KinDyn`."""

    _NUMPY, _METHODS = NumpyKinDyn, METHODS

    numpy: NumpyKinDyn

    def constrained(self, contacts: Any = (), **options: Any) -> Any:
        """Return the robot with contacts and loops; see `linkwork.KinDyn.constrained`.

        Calls with equal arguments return the same object.
        """
        return cached(self.numpy.constrained(contacts, **options), _bridged, self)

    def transforms(self, q: Any, *, frames: Sequence[str] | None = None, **named: Any) -> Any:
        """See `linkwork.KinDyn.transforms`."""
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
        """See `linkwork.KinDyn.relative_jacobian`."""
        if origin is None and axes is None:
            return self._of("relative_jacobian", reference, frame)(q, **named)
        representation = self.numpy.representation
        origin = origin or (reference if representation == "inertial" else frame)
        axes = axes or (frame if representation == "body" else reference)
        return self._of("relative_jacobian_at", reference, frame, origin, axes)(q, **named)


def _bridged(robot: Any, kd: BridgedKinDyn) -> Any:
    """Return a robot with contacts for the arrays of `kd`, whose robot with contacts it is."""
    constrained: Any = kd._CLASSES[1](robot, **kd._own_options)  # pyright: ignore[reportPrivateUsage]
    constrained.__dict__["kindyn"] = kd
    return constrained


class BridgedConstrainedKinDyn(Bridged):
    """Base class of the `ConstrainedKinDyn` of each bridge."""

    _NUMPY, _METHODS = NumpyConstrainedKinDyn, CONSTRAINED_METHODS

    numpy: NumpyConstrainedKinDyn

    @cached_property
    def kindyn(self) -> Any:
        """The same robot without contacts."""
        return self._CLASSES[0](self.numpy.kindyn, **self._own_options)

    def forces_of(self, name: str, q: Any, forces: Any, **named: Any) -> Any:
        """See `linkwork.ConstrainedKinDyn.forces_of`."""
        index = self.numpy._wrench_index(name)  # pyright: ignore[reportPrivateUsage]
        return self.constraint_wrenches(q, forces, **named)[..., index, :]

    def project_configuration(self, q: Any, **options: Any) -> Any:
        """Return (..., nq), a configuration nearby that satisfies the constraints.

        Takes the arguments of `linkwork.ConstrainedKinDyn.project_configuration`. The result has no
        derivatives.
        """
        try:
            values = np.asarray(q.detach() if hasattr(q, "detach") else q)
        except (TypeError, RuntimeError) as error:
            raise no_numeric_values() from error
        return self._constant(self.numpy.project_configuration(values, **options))


class BridgedRollout:
    """Base class of the rollouts of each bridge: the arguments of `linkwork.Rollout`."""

    def __call__(
        self,
        x0: Any,
        controls: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        steps: int | None = None,
        final: bool = False,
    ) -> Any:
        """Return the states at the start and after each of N steps.

        Args:
            x0: (..., *state.shape) the initial state; a tuple if there are several. Batch axes of
                all arguments are broadcast against each other.
            controls: (..., N, *control.shape) the values for each step; a tuple if the step has
                several such inputs.
            params: by name, (..., *param.shape): inputs that are constant over all steps.
            steps: N, if there are no controls.
            final: return only the last states.

        Returns:
            (..., N + 1, *state.shape), x0 first; (..., *state.shape) if `final`. A tuple if there
            are several states.
        """
        return self._states(x0, controls, params, steps, final)

    def _states(self, x0: Any, controls: Any, params: Any, steps: Any, final: bool) -> Any:
        raise NotImplementedError


def no_numeric_values() -> ArgumentError:
    """Return the error for a symbol, or a traced array, in place of numbers."""
    text = "project_configuration: q has no numeric values here, and the search needs them"
    return ArgumentError(f"{text}; closing_step is one step of it, as a function of symbols")


def is_attribute(quantity: Quantity) -> bool:
    """Return whether the function itself can stand for the method: no frames, no default values."""
    return not quantity.frames and not _defaults(quantity)


class _Attribute:
    """A quantity without frames: an attribute whose value is its function."""

    def __init__(self, quantity: Quantity) -> None:
        self._quantity = quantity

    def __get__(self, bridged: Any, owner: type[Any]) -> Any:
        if bridged is None:
            return self
        name = self._quantity.name
        function = bridged.__dict__[name] = documented(bridged._of(name), self._quantity)
        return function

    def __call__(self, bridged: Any, *args: Any, **named: Any) -> Any:
        """Call as an unbound method: `KinDyn.mass_matrix(kd, q)`."""
        return self.__get__(bridged, type(bridged))(*args, **named)


def _frame_method(quantity: Quantity) -> Callable[..., Any]:
    """Build a method that looks up the function of its frames and calls it."""
    count, defaults = len(quantity.frames), _defaults(quantity)

    def call_function(self: Any, *args: Any, **named: Any) -> Any:
        frames, inputs = args[:count], args[count:]
        for name in quantity.frames[len(frames) :]:
            if name not in named:
                raise ArgumentError(f"{usage(quantity)}: {name} is missing")
            frames = (*frames, named.pop(name))
        function = self._of(quantity.name, *frames)
        for one in quantity.inputs[len(inputs) :]:
            if one.name in named:
                break
            if one.name not in defaults:
                raise ArgumentError(f"{usage(quantity)}: {one.name} is missing")
            inputs = (*inputs, defaults[one.name])
        return function(*inputs, **named)

    return call_function


def documented(function: Any, quantity: Quantity) -> Any:
    """Set the signature and documentation of the method for NumPy on a function."""
    signature = _signature(quantity)
    if inspect.isfunction(function):
        receiver = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        signature = signature.replace(parameters=[receiver, *signature.parameters.values()])
    function.__signature__ = signature
    function.__name__, function.__doc__ = quantity.name, without_examples(quantity.method)
    return function


def without_examples(method: Any) -> str:
    """Return the docstring of a method without examples, which use NumPy arrays."""
    return (inspect.getdoc(method) or "").partition("\n\nExamples:")[0]


def _delegated(cls: type[Any], name: str) -> property:
    doc = inspect.getdoc(getattr(cls, name, None))
    return property(lambda self: getattr(self.numpy, name), doc=doc)


def _converted(cls: type[Any], name: str) -> Callable[..., Any]:
    """Build a method that converts the array which the method for NumPy returns."""
    method = getattr(cls, name)

    @wraps(method)
    def convert(self: Any, *args: Any, **named: Any) -> Any:
        return self._constant(method(self.numpy, *args, **named))

    convert.__doc__ = without_examples(method)
    return convert


def _complete(cls: type[Bridged], attributes: Sequence[str], constants: Sequence[str]) -> None:
    """Add the quantities of the class for NumPy, its attributes, and methods of constant arrays."""
    for name, quantity in cls._METHODS.items():  # pyright: ignore[reportPrivateUsage]
        if name not in _DEFINED_HERE:
            create = _Attribute if is_attribute(quantity) else _frame_method
            setattr(cls, name, documented(create(quantity), quantity))
    for name in attributes:
        setattr(cls, name, _delegated(cls._NUMPY, name))  # pyright: ignore[reportPrivateUsage]
    for name in constants:
        setattr(cls, name, _converted(cls._NUMPY, name))  # pyright: ignore[reportPrivateUsage]


_OF_ROBOT = (
    *("model", "base", "floating", "representation", "gravity", "base_pose", "check", "dtype"),
    *("joint_dynamics", "layout", "tree", "nq", "nv", "joint_names", "limits", "total_mass"),
    *("parameters", "closing_joints", "actuation", "problem", "quantities"),
)
_OF_CONSTRAINTS = (
    *("contacts", "actuated", "stabilization", "independent", "rows", "m", "wrench_names"),
)
_CONSTANTS = (
    *("neutral", "random", "q", "parameter_values", "inertial_parameters"),
    *("jacobian_sparsity", "relative_jacobian_sparsity"),
)
_complete(BridgedKinDyn, _OF_ROBOT, _CONSTANTS)
_complete(BridgedConstrainedKinDyn, (*_OF_ROBOT, *_OF_CONSTRAINTS), ("parameter_values",))
for _name in ("transforms", "relative_jacobian"):
    getattr(BridgedKinDyn, _name).__doc__ = without_examples(METHODS[_name].method)
BridgedConstrainedKinDyn.forces_of.__doc__ = NumpyConstrainedKinDyn.forces_of.__doc__
