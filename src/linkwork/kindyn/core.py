"""The part of `KinDyn` that every method uses: the options, the layout, and the kernels."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.cached_property import cached_property
from linkwork.engine.runtime.compiler import LOCK
from linkwork.engine.runtime.sources import are_known
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import (
    ArgumentError,
    FloatingBaseWarning,
    FrozenError,
    nearest,
    shown,
    warn,
    warn_once,
)
from linkwork.kindyn.foreign_names import no_attribute
from linkwork.kindyn.kernels import QuantityKernel
from linkwork.kindyn.loops import check_closing_joints, near_redundancy
from linkwork.kindyn.options import methods_of
from linkwork.kindyn.programs import MOST_UNROLLED, key_of
from linkwork.kindyn.quantities import Context, Quantity, declared_quantities
from linkwork.kindyn.requests import KernelRequest, Request, Spec, spec_of, wrench_frames
from linkwork.mechanics.base import REPRESENTATIONS, Representation
from linkwork.mechanics.constraints import (
    Equations,
    equations_of_constraint,
    equations_of_joint,
)
from linkwork.mechanics.joint_dynamics import NO_CHANGES, joint_dynamics_of
from linkwork.mechanics.problem import Problem
from linkwork.model.check import sign_of_fixed_base
from linkwork.model.describe import tables
from linkwork.model.graph import closing_joints, opened
from linkwork.model.layout import JointLimits, Layout
from linkwork.model.model import Model
from linkwork.model.parts import Joint
from linkwork.model.pose import IDENTITY, Pose, as_floats, as_pose
from linkwork.model.table import as_html
from linkwork.model.tree import Tree, tree_from
from linkwork.spatial.blocks import Scalar, as_vec

if TYPE_CHECKING:
    from typing_extensions import Never, Self

    from linkwork.parameters.descriptions import Parameter
    from linkwork.parameters.skeleton import ParametricSkeleton
    from linkwork.parameters.table import ParameterTable
    from linkwork.parameters.variation import Variation

STANDARD_GRAVITY = (0.0, 0.0, -9.80665)
"""Acceleration of free fall in the world [m/s^2]."""
LONGEST_OPTION = 100  # characters of an option in a repr
MOST_CACHED = 64  # results of `cached` that a robot keeps

T = TypeVar("T")
_Name = TypeVar("_Name", bound=str)


@methods_of("KinDyn")
class KinDynCore:
    """A robot and its options, which `KinDyn` documents."""

    quantities: ClassVar[Mapping[str, Quantity]] = {}
    """The quantities of the class by name: inputs, shapes, units."""

    model: Model
    base: str
    floating: bool
    representation: Representation
    gravity: tuple[float, float, float]
    base_pose: Pose | None
    dtype: type[Any]
    check: bool
    joint_dynamics: bool
    cut: tuple[str, ...]
    _descriptions: tuple[Parameter, ...]  # the option `parameters`
    _results: dict[Hashable, Any]  # of `cached`, the last one used last
    # Kernels by the name of the (first) quantity, then by `KernelRequest.detail`.
    _kernels: dict[str, dict[Any, QuantityKernel[Any]]]

    _FURTHER_QUANTITIES: ClassVar[tuple[Quantity, ...]] = ()  # without a method of their own
    # What `warmup()` compiles if no quantity was requested yet.
    _WARMED_FIRST = ("mass_matrix", "bias_force", "inverse_dynamics", "forward_dynamics")

    def __init_subclass__(cls) -> None:
        cls.quantities = declared_quantities(cls)

    def __init__(
        self,
        model: Model,
        base: str | None = None,
        *,
        floating: bool | None = None,
        representation: Representation | None = None,
        gravity: ArrayLike = STANDARD_GRAVITY,
        base_pose: Pose | ArrayLike | None = None,
        dtype: Any = np.float64,
        check: bool = False,
        joint_dynamics: bool = False,
        cut: Iterable[str] = (),
        parameters: Iterable[Parameter] = (),
        **unknown: Never,
    ) -> None:
        if unknown:
            name = next(iter(unknown))
            hint = nearest(name, self._OPTIONS)
            raise ArgumentError(f"{type(self).__name__} has no option {name!r}; {hint}")
        if not isinstance(model, Model):
            hint = "; lw.load reads a file" if isinstance(model, str) else ""
            raise ArgumentError(f"model: expected a Model, got {shown(model)}{hint}")
        is_default_base = base is None
        base = model.default_base if base is None else base
        model.frame_index(base)
        if not _is_float(dtype):
            raise ArgumentError(f"dtype: expected float64 or float32, got {dtype!r}")
        if floating is None:
            floating = True
            if is_default_base:  # whoever chooses a base knows that it floats
                _hint_at_fixed_base(model, base)
        if base_pose is not None and floating:
            text = "base_pose: a floating base has its pose in q; it is for floating=False"
            raise ArgumentError(text)
        self.__dict__.update(
            model=model,
            base=base,
            floating=bool(floating),
            representation=_representation(representation),
            gravity=tuple(gravity_vector(gravity).tolist()),
            base_pose=None if base_pose is None else as_pose(base_pose, "base_pose"),
            dtype=np.dtype(dtype).type,
            check=bool(check),
            joint_dynamics=bool(joint_dynamics),
            cut=joint_names(cut, "cut"),
            _descriptions=parameters,
            _kernels=defaultdict(dict),
            _results={},
        )
        if type(parameters) is not tuple or parameters:
            self.__dict__["_descriptions"] = self.parameters.descriptions
        if self._descriptions or self.joint_dynamics or self.cut:
            dynamics = self.joint_dynamics
            check_closing_joints(model, self.closing_joints, self._descriptions, dynamics=dynamics)
        moving = sum(not joint.is_fixed for joint in model.joints)
        if moving > MOST_UNROLLED:
            text = f"{model.name}: {moving} moving joints are too many to compile"
            warn(f"{text}; NumPy computes instead")

    _OPTIONS: ClassVar[tuple[str, ...]] = (
        *("base", "floating", "representation", "gravity", "base_pose", "dtype", "check"),
        *("joint_dynamics", "cut", "parameters"),
    )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise no_attribute(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        text = f"{name}: a KinDyn does not change; `kd.replace(...)` returns a changed copy"
        raise FrozenError(text)

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    @property
    def options(self) -> dict[str, Any]:
        """The options with which `KinDyn(model, **options)` creates an equal object."""
        attributes = {"parameters": "_descriptions"}
        return {name: getattr(self, attributes.get(name, name)) for name in self._OPTIONS}

    def __repr__(self) -> str:
        """Show the options that differ from their defaults; long values are shortened."""
        arguments = signature(KinDynCore).parameters.items()
        defaults = {name: argument.default for name, argument in arguments}
        defaults["representation"] = "mixed"
        text = ", ".join(
            f"{name}={_option_text(value)}"
            for name, value in self.options.items()
            if value is not None and value != defaults.get(name)
        )
        text = text.replace(repr(self.dtype), self.dtype.__name__)
        return f"{type(self).__name__}({self.model.name!r}, {text})"

    def _repr_html_(self) -> str:
        """Show the options and tables of the robot in a notebook."""
        sizes = f"nq {self.layout.nq}, nv {self.layout.nv}"
        return as_html(f"{self!r}: {sizes}", tables(self.model))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, KinDynCore) or type(self) is not type(other):
            return NotImplemented
        return self.options == other.options and self.model == other.model

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.model, *self.options.values()))

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """Return what dask derives names of results from: robot and options, in every process."""
        return type(self).__qualname__, self.model.name, self._digest, repr(self.dtype), self.check

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self.options), (self.model,)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with changed options."""
        options: dict[str, Any] = {"model": self.model, **self.options, **changes}
        return type(self)(options.pop("model"), **options)

    def _number(self, value: ArrayLike) -> Any:
        """Convert a float to an array, which is faster here than in the kernel."""
        return np.array(value, self.dtype) if isinstance(value, (int, float)) else value

    @cached_property
    def layout(self) -> Layout:
        """Slices of q and nu by joint name."""
        tree_model = opened(self.model, self.closing_joints)
        return Layout(tree_model, self.floating, self.base_pose or IDENTITY)

    @cached_property
    def problem(self) -> Problem:
        """The tree of the robot, its constraint equations and settings, as algorithms take them."""
        is_single = self.dtype is np.float32
        return Problem(self.tree, self.layout, self._equations, single=is_single)

    @cached_property
    def closing_joints(self) -> tuple[Joint, ...]:
        """The joints that close loops: they have no coordinate in q."""
        return closing_joints(self.model, self.base, self.cut)

    @cached_property
    def _equations(self) -> tuple[Equations, ...]:
        """The equations of the joints that close loops, and of the constraints of the model."""
        return self._loop_equations()

    def _loop_equations(self) -> tuple[Equations, ...]:
        return (
            *map(equations_of_joint, self.closing_joints),
            *map(equations_of_constraint, self.model.constraints),
        )

    def _check_specs(self, specs: Sequence[Spec]) -> None:
        """Raise for quantities that the loops of the model make ambiguous."""
        for spec in specs if self._equations else ():
            if spec.quantity.hint_with_loops:
                text = f"{spec.name}: the model has closed loops or constraints"
                raise ArgumentError(f"{text}; {spec.quantity.hint_with_loops}")

    @cached_property
    def _near_redundancy(self) -> str | None:
        return near_redundancy(self.problem)

    @cached_property
    def tree(self) -> Tree:
        """The robot seen from the base, without the joints that close loops."""
        return tree_from(self.layout.model, self.base)

    @property
    def nq(self) -> int:
        """Length of q."""
        return self.layout.nq

    @property
    def nv(self) -> int:
        """Length of nu."""
        return self.layout.nv

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The moving, independent joints in the order of s."""
        return self.layout.joint_names

    @property
    def limits(self) -> JointLimits:
        """Bounds of the joints as arrays: lower and upper as s, velocity and effort as s_dot.

        Infinite where there is none, as for joints of several coordinates and (cos, sin).
        """
        return self.layout.limits

    @cached_property
    def actuation(self) -> Array:
        """(nv, n) matrix B of the n actuators of the model, for tau = B u with their forces u.

        An actuator of a dependent joint drives the joint that leads it.

        Raises:
            ArgumentError: an actuator drives a joint that closes a loop and has no coordinate.
        """
        followers, nu = self.layout.followers, self.layout.nu
        B = np.zeros((self.nv, len(self.model.actuators)), dtype=self.dtype)
        for column, actuator in enumerate(self.model.actuators):
            follower = followers.get(actuator.joint)
            name = follower.leader if follower else actuator.joint
            factor = follower.multiplier if follower else 1.0
            if name not in nu:
                text = f"actuator {actuator.name!r} drives joint {name!r}, which closes a loop"
                raise ArgumentError(f"{text}; cut another joint: KinDyn(model, cut=[...])")
            B[nu[name], column] = factor * np.array(actuator.gear)
        B.setflags(write=False)
        return B

    @property
    def total_mass(self) -> float:
        """Mass of the robot [kg]."""
        return self.model.total_mass

    @overload
    def function(
        self, request: Request, /, *, wrenches: Sequence[str] = (), gravity: bool = False
    ) -> QuantityKernel[Array]: ...

    @overload
    def function(
        self,
        request: Request,
        second: Request,
        /,
        *more: Request,
        wrenches: Sequence[str] = (),
        gravity: bool = False,
    ) -> QuantityKernel[tuple[Array, ...]]: ...

    def function(
        self, *requests: Request, wrenches: Sequence[str] = (), gravity: bool = False
    ) -> QuantityKernel[Any]:
        """Return the compiled function of one or several quantities.

        Args:
            requests: names such as "mass_matrix", or ("jacobian", frame). Several make one fused
                function, which shares all common work and returns a tuple.
            wrenches: frames on which wrenches act; each becomes one more input, `wrench_<frame>`.
            gravity: whether gravity is one more input.

        Returns:
            a `Kernel`: call it with the inputs its repr lists, in order or by name; `named` gives
            the results by name, and `program.n_ops` counts its operations.
        """
        if not requests:
            raise ArgumentError("name at least one quantity")
        specs = tuple(spec_of(request, self.model, self.quantities) for request in requests)
        self._check_specs(specs)
        if any(spec.quantity.solves_constraints for spec in specs):
            text = self._near_redundancy
            if text is not None:
                warn_once(f"nearly redundant: {text}", text)
        table = self.parameters if self._descriptions else None
        return self._kernel(
            KernelRequest(specs, wrench_frames(wrenches, self.model), bool(gravity), table)
        )

    def warmup(self, *requests: Request) -> None:
        """Compile functions now, and wait for it.

        Args:
            requests: what to compile, as `function` takes it. By default, all that was requested
                so far; if nothing was, forward dynamics and what is used with it.
        """
        of_each = [list(kernels.values()) for kernels in list(self._kernels.values())]
        kernels = [kernel for kernels in of_each for kernel in kernels]
        if requests or not kernels:
            names = unambiguous(self, self._WARMED_FIRST)
            kernels = [self.function(request) for request in requests or names]
        for kernel in kernels:
            kernel.warmup()

    def _of(self, name: str, frames: Any = ()) -> QuantityKernel[Array]:
        """Return the kernel of one quantity, from a dictionary first; `function` takes longer.

        Args:
            name: name of the quantity.
            frames: a name if it takes one frame, a tuple if it takes none, several, or any number.
        """
        try:
            return self._kernels[name][frames]
        except (KeyError, TypeError):  # not compiled yet, or not names, which `function` reports
            is_one = len(self.quantities[name].frames) == 1
            return self.function((name, frames) if is_one else (name, *frames))  # pyright: ignore[reportArgumentType]

    def _kernel(self, request: KernelRequest) -> QuantityKernel[Any]:
        """Return the kernel of a request, which is created by the first call."""
        kernels, detail = self._kernels[request.specs[0].name], request.detail
        kernel = kernels.get(detail)
        if kernel is not None:
            return kernel
        with LOCK:  # which is not left locked in a forked child
            kernel = kernels.get(detail)
            if kernel is None:
                kernel = kernels[detail] = self._new_kernel(request)
            return kernel

    def _new_kernel(self, request: KernelRequest) -> QuantityKernel[Any]:
        return QuantityKernel(self, request)

    def _key_of(self, request: KernelRequest) -> str | None:
        """Return the key of a program in the disk cache; None if users' code takes part in it."""
        return key_of(self._digest, request) if self._is_known(request) else None

    @cached_property
    def parameters(self) -> ParameterTable:
        """The model parameters that are inputs of all functions: slices by name."""
        from linkwork.parameters.table import ParameterTable  # loaded only where it is used

        table = ParameterTable(self.model, self._descriptions, {"gravity": self.gravity})
        table.reject_without_effect(joint_dynamics=self.joint_dynamics)
        return table

    def parameter_values(self, values: Mapping[str, ArrayLike] | None = None) -> Array:
        """The model parameters that are inputs of all functions, in one vector.

        Args:
            values: other numbers by the names in `kd.parameters`, each (..., size).

        Returns:
            (..., n) what a call with `parameters=` takes.
        """
        return self.parameters.vector(values).astype(self.dtype)

    def _context(self, numbers: Sequence[Scalar] | None = None) -> Context:
        """Return what quantities are computed for; `numbers` replace the model parameters."""
        base_link = self.model.frame(self.base).link
        problem, gravity, changes = self.problem, as_vec(self.gravity), NO_CHANGES
        if numbers is not None:
            variation = self.parameters.variation(numbers)
            problem = self._varied(variation)
            gravity = variation.gravity[0] if variation.gravity else gravity
            changes = variation.joint_dynamics
        joint_dynamics = joint_dynamics_of(self.layout, changes) if self.joint_dynamics else {}
        return Context(problem, self.representation, gravity, base_link, joint_dynamics, {})

    def _varied(self, variation: Variation) -> Problem:
        """Return the problem of the robot with other constants."""
        return self.problem.with_skeleton(self._parametric_skeleton.skeleton(variation))

    @cached_property
    def _parametric_skeleton(self) -> ParametricSkeleton:
        from linkwork.parameters.skeleton import ParametricSkeleton

        return ParametricSkeleton(self.tree, self.layout)

    def _is_known(self, request: KernelRequest) -> bool:
        """Return whether the digest and linkwork's sources decide what a kernel computes."""
        if type(self).__module__.partition(".")[0] != "linkwork":
            return False
        model = self.model
        parts = [model, *model.joints, *model.links, *model.frames, *self._descriptions]
        parts += [link.inertia for link in model.links]
        kinds = {joint.kind: joint.motion_kind for joint in model.joints}
        quantities = [spec.quantity.compute for spec in request.specs]
        one_of_each = {type(part): part for part in (*parts, *kinds.values())}
        return are_known([*one_of_each.values(), *quantities])

    @cached_property
    def _digest(self) -> str:
        """A digest of the robot and the options: the key of compiled code in the cache."""
        return self._robot_digest()

    def _robot_digest(self) -> str:
        model = self.model
        inertias = [(link.name, link.inertia) for link in model.links]
        options = (self.base, self.floating, self.representation, self.gravity, self.base_pose)
        text = repr((inertias, model.joints, model.frames, options, self.joint_dynamics))
        if self._equations:
            text += repr((self.cut, model.constraints, self.dtype.__name__))
        if self._descriptions:
            shapes = [link.visuals[:1] for link in model.links]
            text += repr((self._descriptions, shapes))
        return hashlib.sha256(text.encode()).hexdigest()


def cached(robot: KinDynCore, create: Callable[..., T], *arguments: Hashable) -> T:
    """Return `create(robot, *arguments)`, of which a robot keeps the results that were used last.

    The results end with the robot. If two threads create a result, both get the first one.
    """
    results, key = robot._results, (create, *arguments)  # pyright: ignore[reportPrivateUsage]
    with LOCK:
        if key in results:
            result = results[key] = results.pop(key)
            return result
    result = create(robot, *arguments)
    with LOCK:
        result = results.setdefault(key, result)
        if len(results) > MOST_CACHED:
            del results[next(iter(results))]
    return result


def unambiguous(kd: KinDynCore, names: Iterable[_Name]) -> tuple[_Name, ...]:
    """Select the quantities that the closed loops of a robot do not make ambiguous."""
    has_loops, table = bool(kd.problem.equations), kd.quantities
    return tuple(name for name in names if not (has_loops and table[name].hint_with_loops))


def options_of_call(**options: Any) -> dict[str, Any]:
    """Return the options of a call that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def gravity_vector(gravity: Any) -> Array:
    """Return the option `gravity` as an array (3,)."""
    vector = as_floats(gravity, "gravity")
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise ArgumentError(f"gravity: expected three finite numbers, got {gravity!r}")
    return vector


def joint_names(names: Any, what: str, kind: str = "joints") -> tuple[str, ...]:
    """Return names of joints, or of another kind of parts, in a tuple."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ArgumentError(f"{what}: expected a list of names of {kind}, got {shown(names)}")
    return tuple(names)


def _option_text(value: Any) -> str:
    """Return an option in a repr; of a long list, its length."""
    text = repr(value)
    is_long = isinstance(value, tuple) and len(text) > LONGEST_OPTION
    return f"<tuple of {len(value)}>" if is_long else text


def _representation(name: Any) -> Representation:
    """Return the option `representation`; mixed if it is not given."""
    name = "mixed" if name is None else name
    if not isinstance(name, str) or name not in REPRESENTATIONS:
        hint = nearest(name, REPRESENTATIONS)
        raise ArgumentError(f"unknown velocity representation {name!r}; {hint}")
    return name


def _is_float(dtype: Any) -> bool:
    try:
        return np.dtype(dtype).name in ("float64", "float32")
    except TypeError:
        return False


def _hint_at_fixed_base(model: Model, base: str) -> None:
    """Warn, once for each robot, if a base that floats by default looks as if it were fixed."""
    evidence = sign_of_fixed_base(model, base)
    if evidence:
        text = f"{model.name}: the base {base!r} floats, which is the default, but {evidence}"
        choice = "floating=False fixes it to the world, floating=True confirms that it floats"
        warn_once(f"base of {model.name}", f"{text}; {choice}", FloatingBaseWarning)
