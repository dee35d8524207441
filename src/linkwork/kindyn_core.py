"""What stands behind `KinDyn`: the options, the layout, and the kernels by name.

q     [base position (3), base quaternion wxyz (4), s], or just s if the base is fixed
nu    [base velocity (6), s_dot], or just s_dot
Batch any leading axes, broadcast as NumPy does
"""

from __future__ import annotations

import hashlib
import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms.base import REPRESENTATIONS, Representation
from linkwork.algorithms.configurations import random_configurations
from linkwork.algorithms.functions import MOST_UNROLLED, Spec, build_kernel, spec_of
from linkwork.algorithms.quantities import QUANTITIES, Setting
from linkwork.algorithms.skeleton import skeleton_of
from linkwork.arrays import Array
from linkwork.errors import ArgumentError, LinkworkWarning, nearest, shown
from linkwork.kernel.kernel import Kernel
from linkwork.model.layout import Layout
from linkwork.model.model import Model
from linkwork.model.pose import as_floats
from linkwork.model.tree import Tree, tree_from

if TYPE_CHECKING:
    from typing_extensions import Self

STANDARD_GRAVITY = (0.0, 0.0, -9.80665)
"""Acceleration of free fall in the world [m/s^2]."""

Function: TypeAlias = str | tuple[str, str]


@dataclass(frozen=True, eq=False)
class KinDynCore:
    """One robot and how it is seen. Stateless, thread-safe, picklable.

    The options are those of `KinDyn`, which documents them.
    """

    model: Model
    base: str | None = None
    floating: bool = True
    velocity: Representation = "mixed"
    gravity: tuple[float, float, float] = STANDARD_GRAVITY
    dtype: type[Any] = np.float64
    check: bool = False
    _kernels: dict[Any, Kernel] = field(default_factory=dict, init=False, repr=False)
    _lock: Any = field(default_factory=threading.RLock, init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):
            raise ArgumentError(f"model: expected a Model, got {shown(self.model)}")
        if self.velocity not in REPRESENTATIONS:
            hint = nearest(self.velocity, REPRESENTATIONS)
            raise ArgumentError(f"unknown velocity representation {self.velocity!r}; {hint}")
        base = self.model.default_base if self.base is None else self.base
        self.model.frame_index(base)
        gravity = as_floats(self.gravity, "gravity")
        if gravity.shape != (3,) or not np.isfinite(gravity).all():
            raise ArgumentError(f"gravity: expected three finite numbers, got {self.gravity!r}")
        if not _is_float(self.dtype):
            raise ArgumentError(f"dtype: expected float64 or float32, got {self.dtype!r}")
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "gravity", tuple(gravity.tolist()))
        object.__setattr__(self, "dtype", np.dtype(self.dtype).type)
        moving = sum(joint.kind != "fixed" for joint in self.model.joints)
        if moving > MOST_UNROLLED:
            text = f"{self.model.name}: {moving} moving joints are too many to compile"
            warnings.warn(LinkworkWarning(f"{text}; NumPy computes instead"), stacklevel=3)

    def __reduce__(self) -> tuple[Any, ...]:
        options = (self.base, self.floating, self.velocity, self.gravity, self.dtype, self.check)
        return type(self), (self.model, *options)

    def replace(self, **changes: Any) -> Self:
        """Another one, with some options changed."""
        return replace(self, **changes)

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

    def neutral(self) -> Array:
        """(nq,) every joint at rest, the base at the origin of the world."""
        return self.layout.rest().astype(self.dtype)

    def random(self, n: int | tuple[int, ...] = (), *, seed: int | None = None) -> Array:
        """Random configurations: joints within their limits, or within [-pi, pi] and [-1, 1].

        Args:
            n: number of them, or a batch shape.
            seed: for the same ones again.

        Returns:
            (*n, nq); the base within one metre of the world's origin, turned at random.
        """
        batch = (n,) if isinstance(n, int) else tuple(n)
        q = random_configurations(self.layout, batch, np.random.default_rng(seed))
        return q.astype(self.dtype)

    def function(self, *requests: Function) -> Kernel:
        """The compiled function of one or several quantities.

        Args:
            requests: names such as "mass_matrix", or ("jacobian", frame). Several make one fused
                function, which shares all common work and returns a tuple.

        Returns:
            a `Kernel`: call it with the inputs its repr lists; `program.n_ops` counts its
            operations.
        """
        if not requests:
            raise ArgumentError("name at least one quantity")
        specs = tuple(spec_of(request, self.model.frame_names) for request in requests)
        return self._kernel(specs)

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
        """Call the kernel of a quantity and its frame; this is where most calls pass."""
        if wrenches is None and gravity is None:
            kernel = self._kernels.get(what) if _is_hashable(what) else None
            if kernel is not None:
                return kernel(*arguments) if out is None else kernel(*arguments, out=out)
        if wrenches is not None and not isinstance(wrenches, Mapping):
            raise ArgumentError(f"wrenches: expected arrays by frame, got {shown(wrenches)}")
        spec = spec_of(what if what[0] not in WHOLE else what[0], self.model.frame_names)
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
        with self._lock:
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
        return Setting(self._skeleton, self.velocity, self.gravity)

    @cached_property
    def _skeleton(self) -> Any:
        return skeleton_of(self.tree, self.layout)

    @cached_property
    def _digest(self) -> str:
        """Names the robot and the options, so that compiled code can be found again."""
        model = self.model
        inertias = [(link.name, link.inertia) for link in model.links]
        options = (self.base, self.floating, self.velocity, self.gravity)
        text = repr((inertias, model.joints, model.frames, options))
        return hashlib.sha256(text.encode()).hexdigest()


WHOLE = frozenset(name for name, what in QUANTITIES.items() if not what.of_frame)  # of no frame


def _is_hashable(what: tuple[str, Any]) -> bool:
    return what[1] is None or isinstance(what[1], (str, tuple))


def _is_float(dtype: Any) -> bool:
    try:
        return np.dtype(dtype).name in ("float64", "float32")
    except TypeError:
        return False
