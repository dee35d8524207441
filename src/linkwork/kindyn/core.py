"""What stands behind `KinDyn`: the options, the layout, and the kernels by name.

q     [base position (3), base quaternion wxyz (4), s], or just s if the base is fixed
nu    [base velocity (6), s_dot], or just s_dot
Batch any leading axes, broadcast as NumPy does
"""

from __future__ import annotations

import hashlib
import warnings
import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arrays import Array
from linkwork.errors import ArgumentError, FrozenError, LinkworkWarning, nearest, shown
from linkwork.kernel.kernel import Kernel
from linkwork.kindyn.kernels import MOST_UNROLLED, Spec, build_kernel, spec_of
from linkwork.kindyn.quantities import QUANTITIES, Setting
from linkwork.machine.compiler import LOCK
from linkwork.mechanics.base import REPRESENTATIONS, Representation
from linkwork.mechanics.joint_dynamics import joint_dynamics_of
from linkwork.mechanics.skeleton import skeleton_of
from linkwork.model.layout import Layout
from linkwork.model.model import Model
from linkwork.model.pose import as_floats
from linkwork.model.tree import Tree, tree_from

if TYPE_CHECKING:
    from typing_extensions import Self

STANDARD_GRAVITY = (0.0, 0.0, -9.80665)
"""Acceleration of free fall in the world [m/s^2]."""

Function: TypeAlias = str | tuple[Any, ...]


class KinDynCore:
    """One robot and how it is seen. Stateless, thread-safe, picklable.

    The options are those of `KinDyn`, which documents them.
    """

    model: Model
    base: str
    floating: bool
    representation: Representation
    gravity: tuple[float, float, float]
    dtype: type[Any]
    check: bool
    joint_dynamics: bool

    def __init__(
        self,
        model: Model,
        base: str | None = None,
        *,
        floating: bool = True,
        velocity: Representation = "mixed",
        gravity: ArrayLike = STANDARD_GRAVITY,
        dtype: Any = np.float64,
        check: bool = False,
        joint_dynamics: bool = False,
    ) -> None:
        if not isinstance(model, Model):
            raise ArgumentError(f"model: expected a Model, got {shown(model)}")
        if velocity not in REPRESENTATIONS:
            hint = nearest(velocity, REPRESENTATIONS)
            raise ArgumentError(f"unknown velocity representation {velocity!r}; {hint}")
        base = model.default_base if base is None else base
        model.frame_index(base)
        fall = as_floats(gravity, "gravity")
        if fall.shape != (3,) or not np.isfinite(fall).all():
            raise ArgumentError(f"gravity: expected three finite numbers, got {gravity!r}")
        if not _is_float(dtype):
            raise ArgumentError(f"dtype: expected float64 or float32, got {dtype!r}")
        self.__dict__.update(
            model=model,
            base=base,
            floating=bool(floating),
            representation=velocity,
            gravity=tuple(fall.tolist()),
            dtype=np.dtype(dtype).type,
            check=bool(check),
            joint_dynamics=bool(joint_dynamics),
            _kernels={},
            _by_name=_ByName(self),
            _by_frame=_ByFrame(self),
        )
        moving = sum(not joint.is_fixed for joint in model.joints)
        if moving > MOST_UNROLLED:
            text = f"{model.name}: {moving} moving joints are too many to compile"
            warnings.warn(LinkworkWarning(f"{text}; NumPy computes instead"), stacklevel=3)

    _kernels: dict[Any, Kernel]
    _by_name: dict[str, Kernel]  # of quantities that need no frame: where most calls pass
    _by_frame: dict[str, dict[str, Kernel]]  # of quantities of one frame

    def __setattr__(self, name: str, value: object) -> None:
        text = f"{name}: a KinDyn does not change; `kd.replace(...)` gives another one"
        raise FrozenError(text)

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    @property
    def options(self) -> dict[str, Any]:
        """What `KinDyn(model, **options)` takes to make this one again."""
        return {
            "base": self.base,
            "floating": self.floating,
            "velocity": self.representation,
            "gravity": self.gravity,
            "dtype": self.dtype,
            "check": self.check,
            "joint_dynamics": self.joint_dynamics,
        }

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        told = told.replace(repr(self.dtype), self.dtype.__name__)
        return f"{type(self).__name__}({self.model.name!r}, {told})"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self.options), (self.model,)

    def replace(self, **changes: Any) -> Self:
        """Another one, with some options changed."""
        given: dict[str, Any] = {"model": self.model, **self.options, **changes}
        return type(self)(**given)

    @cached_property
    def layout(self) -> Layout:
        """Slices of q and nu by joint name."""
        return Layout(self.model, floating=self.floating)

    @cached_property
    def tree(self) -> Tree:
        """The robot seen from the base."""
        return tree_from(self.model, self.base)

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
    def total_mass(self) -> float:
        """Mass of the robot [kg]."""
        return self.model.total_mass

    def function(
        self, *requests: Function, wrenches: Sequence[str] = (), gravity: bool = False
    ) -> Kernel:
        """The compiled function of one or several quantities.

        Args:
            requests: names such as "mass_matrix", or ("jacobian", frame). Several make one fused
                function, which shares all common work and returns a tuple.
            wrenches: frames on which wrenches act; each becomes one more input.
            gravity: whether gravity is one more input.

        Returns:
            a `Kernel`: call it with the inputs its repr lists; `program.n_ops` counts its
            operations.
        """
        if not requests:
            raise ArgumentError("name at least one quantity")
        specs = tuple(spec_of(request, self.model.frame_names) for request in requests)
        if isinstance(wrenches, str):
            raise ArgumentError(f"wrenches: expected a list of frames, got {wrenches!r}")
        return self._kernel(specs, tuple(wrenches), with_gravity=gravity)

    def warmup(self, *requests: Function) -> None:
        """Compile functions now, or wait for it; all that were asked for if none is named."""
        kernels = [self.function(request) for request in requests] or set(self._kernels.values())
        for kernel in kernels:
            kernel.warmup()

    def _call(
        self,
        what: tuple[str, Any],
        arguments: tuple[Any, ...],
        out: Array | None,
        wrenches: Mapping[str, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
    ) -> Array:
        """Call the kernel of a quantity and its frame."""
        if wrenches is None and gravity is None:
            try:
                kernel = self._kernels.get(what)
            except TypeError:  # what cannot be hashed is no name
                kernel = None
            if kernel is not None:
                return kernel(*arguments) if out is None else kernel(*arguments, out=out)
        if wrenches is not None and not isinstance(wrenches, Mapping):
            raise ArgumentError(f"wrenches: expected arrays by frame, got {shown(wrenches)}")
        spec = spec_of(_request(what), self.model.frame_names)
        frames = tuple(wrenches or ())
        kernel = self._kernel((spec,), frames, with_gravity=gravity is not None)
        if not frames and gravity is None:
            self._kernels[spec.name, spec.frame] = kernel
        more = () if gravity is None else (gravity,)
        return kernel(*arguments, *more, *(wrenches or {}).values(), out=out)

    def _kernel(
        self, specs: tuple[Spec, ...], frames: tuple[str, ...] = (), *, with_gravity: bool = False
    ) -> Kernel:
        key: Any = (specs, frames, with_gravity) if frames or with_gravity else specs
        found = self._kernels.get(key)
        if found is not None:
            return found
        with LOCK:  # which is not left locked in a forked child
            if key not in self._kernels:
                for frame in (*frames, *(name for spec in specs for name in spec.frames)):
                    self.model.frame_index(frame)
                self._kernels[key] = build_kernel(
                    self._setting,
                    self.layout,
                    specs,
                    key=self._digest,
                    dtype=self.dtype,
                    wrench_frames=frames,
                    with_gravity=with_gravity,
                    check=self.check,
                )
            return self._kernels[key]

    def _setting(self) -> Setting:
        base_link = self.model.frame(self.base).link
        joint_dynamics = joint_dynamics_of(self.layout) if self.joint_dynamics else {}
        return Setting(self._skeleton, self.representation, self.gravity, base_link, joint_dynamics)

    @cached_property
    def _skeleton(self) -> Any:
        return skeleton_of(self.tree, self.layout)

    @cached_property
    def _digest(self) -> str:
        """Names the robot and the options, so that compiled code can be found again."""
        model = self.model
        inertias = [(link.name, link.inertia) for link in model.links]
        options = (self.base, self.floating, self.representation, self.gravity)
        text = repr((inertias, model.joints, model.frames, options, self.joint_dynamics))
        return hashlib.sha256(text.encode()).hexdigest()


class _ByName(dict[str, Kernel]):
    """Kernels by the name of their quantity or of its frame, made when they are asked for."""

    def __init__(self, kindyn: KinDynCore, *of: str) -> None:
        super().__init__()
        self._kindyn, self._of = weakref.ref(kindyn), of  # it holds us

    def __missing__(self, name: str) -> Kernel:
        kindyn = self._kindyn()
        assert kindyn is not None
        kernel = self[name] = kindyn.function((*self._of, name))
        return kernel


class _ByFrame(dict[str, dict[str, Kernel]]):
    """Kernels by the name of their quantity, and then of its frame."""

    def __init__(self, kindyn: KinDynCore) -> None:
        super().__init__()
        self._kindyn = weakref.ref(kindyn)

    def __missing__(self, name: str) -> dict[str, Kernel]:
        kindyn = self._kindyn()
        assert kindyn is not None
        kernels = self[name] = _ByName(kindyn, name)
        return kernels


def _request(what: tuple[str, Any]) -> Any:
    """A quantity and its frames as `function` takes them."""
    name, frames = what
    count = len(QUANTITIES[name].frames)
    if not count:
        return name
    return (name, *frames) if count > 1 else what


def _is_float(dtype: Any) -> bool:
    try:
        return np.dtype(dtype).name in ("float64", "float32")
    except TypeError:
        return False
