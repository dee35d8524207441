"""From the name of a quantity to a kernel that computes it.

A `Spec` is a name, or a name and a frame. Several specs make one fused kernel, whose inputs are the
union of what each needs.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from linkwork.algorithms import dynamics
from linkwork.arrays import Array
from linkwork.errors import (
    ArgumentError,
    LinkworkError,
    LinkworkWarning,
    SingularJointError,
    ValueRangeError,
    name_not_found,
)
from linkwork.expr.program import Port, Program, trace
from linkwork.kernel.arguments import Signature, Unit
from linkwork.kernel.kernel import Kernel
from linkwork.kindyn.quantities import QUANTITIES, Quantity, Setting
from linkwork.machine.sources import source_digest
from linkwork.model.layout import BASE_NV, Layout

ORDER = ("q", "any_q", "q_end", "step", "nu", "nu_dot", "tau", "gravity")
CONFIGURATIONS = ("q", "any_q", "q_end")
SHOWN = {"any_q": "q"}  # inputs that go by another name in messages
MOST_UNROLLED = 256  # robots with more moving joints are computed with NumPy
MOST_STEPS = 250_000  # so are quantities with more operations


@dataclass(frozen=True, slots=True)
class Spec:
    """A quantity, and the frames it is of."""

    name: str
    frame: str | tuple[str, ...] | None = None

    @property
    def frames(self) -> tuple[str, ...]:
        """The frames it is of."""
        return (self.frame,) if isinstance(self.frame, str) else self.frame or ()

    def shape(self, layout: Layout) -> tuple[int, ...]:
        """Shape of one row of the result."""
        own = self.quantity.shape(layout)
        return (len(self.frames), *own) if self.quantity.of_many else own

    @property
    def quantity(self) -> Quantity:
        """What is to be computed."""
        return QUANTITIES[self.name]


def spec_of(request: object, frame_names: Sequence[str]) -> Spec:
    """Take `"mass_matrix"` or `("jacobian", "l_sole")` as a spec, or say what is wrong with it."""
    parts: list[Any] = list(request) if isinstance(request, (tuple, list)) else [request]
    name = parts[0] if parts else None
    if not isinstance(name, str) or name not in QUANTITIES:
        raise name_not_found("quantity", name, QUANTITIES)
    quantity = QUANTITIES[name]
    if len(parts) != 1 + len(quantity.frames):
        wanted = f"({', '.join([repr(name), *quantity.frames])})" if quantity.frames else repr(name)
        raise ArgumentError(f"expected {wanted}, got {request!r}")
    if len(parts) == 1:
        return Spec(name)
    if quantity.of_many and not isinstance(parts[1], (list, tuple)):
        raise ArgumentError(f"frames: expected a list of names, got {parts[1]!r}")
    frames: list[Any] = list(parts[1]) if quantity.of_many else parts[1:]
    for wanted in frames:
        if not isinstance(wanted, str) or wanted not in frame_names:
            raise name_not_found("frame", wanted, frame_names)
    return Spec(name, frames[0] if quantity.frames == ("frame",) else tuple(frames))


def build_kernel(
    setting: Callable[[], Setting],
    layout: Layout,
    specs: Sequence[Spec],
    *,
    key: str,
    dtype: Any,
    wrench_frames: Sequence[str] = (),
    with_gravity: bool = False,
    check: bool = False,
) -> Kernel:
    """The kernel of some quantities.

    Args:
        setting: makes what the quantities are computed for; called when the program is traced.
        layout: what the entries of q and nu mean.
        specs: what to compute.
        key: names the robot and the options, for the cache.
        dtype: float64 or float32.
        wrench_frames: frames on which a wrench is given, each an input of its own.
        with_gravity: whether gravity is an input.
        check: whether to refuse input that is not finite.
    """
    needed = {name for spec in specs for name in spec.quantity.inputs}
    needed |= {"gravity"} if with_gravity else set()
    sizes = dict.fromkeys(ORDER, layout.nv) | dict.fromkeys(CONFIGURATIONS, layout.nq)
    sizes["gravity"] = 3
    inputs = [Port(SHOWN.get(name, name), (sizes[name],)) for name in ORDER if name in needed]
    inputs += [Port(f"wrench on {frame}", (6,)) for frame in wrench_frames]
    outputs = [Port(spec.name, spec.shape(layout)) for spec in specs]
    places = {name: place for place, name in enumerate(layout.model.frame_names)}
    parameters = [name for name in ORDER if name in needed]
    units = _units(layout, parameters)
    parameters += [f"wrench{places[frame]}" for frame in wrench_frames]

    def compute(*columns: Sequence[Any]) -> tuple[Array, ...]:
        at = setting()
        rows = dict(zip(parameters, columns, strict=True))
        return tuple(
            _computed(at, spec, rows, port, places)
            for spec, port in zip(specs, outputs, strict=True)
        )

    def program() -> Program:
        return trace(
            lambda *arrays: compute(*map(tuple, arrays)), inputs, [port.name for port in outputs]
        )

    text = "|".join((key, repr(tuple(specs)), repr(inputs), source_digest()))
    checks = [_CHECKS[spec.name] for spec in specs if spec.name in _CHECKS]
    return Kernel(
        Signature(" + ".join(spec.name for spec in specs), tuple(inputs), tuple(outputs), units),
        program,
        key=hashlib.sha256(text.encode()).hexdigest(),
        dtype=dtype,
        plain=_flat(compute) if _is_too_long(setting, layout, specs) else None,
        check_input=_finite_check(layout) if check else None,
        check_result=_result_check(checks[0], setting, layout) if checks else None,
    )


def _is_too_long(setting: Callable[[], Setting], layout: Layout, specs: Sequence[Spec]) -> bool:
    """Whether a program would have too many steps to be compiled."""
    n_moving = sum(not joint.is_fixed for joint in layout.model.joints)
    if n_moving > MOST_UNROLLED:
        return True
    n_bodies = max(n_moving, len(layout.model.links))
    worst = max(spec.quantity.per_pair for spec in specs) * n_bodies * (n_moving + BASE_NV)
    if worst <= MOST_STEPS:
        return False
    skeleton = setting().skeleton
    moved_by = [BASE_NV * layout.floating]  # how many coordinates move each body
    for body in skeleton.bodies[1:]:
        moved_by.append(moved_by[body.parent] + len(body.nu_indices))
    of_bodies = sum(moved_by)
    of_links = sum(moved_by[body] for body, _, _ in skeleton.frames[: len(layout.model.links)])
    for spec in specs:
        pairs = of_links if spec.name == "regressor" else of_bodies
        steps = spec.quantity.per_pair * pairs
        if steps > MOST_STEPS:
            text = f"{layout.model.name}: {spec.name} has about {steps:,} operations, too many to"
            warnings.warn(LinkworkWarning(f"{text} compile; NumPy computes instead"), stacklevel=5)
            return True
    return False


def _flat(compute: Callable[..., tuple[Array, ...]]) -> Callable[..., Sequence[Any]]:
    def plain(*columns: Sequence[Any]) -> list[Any]:
        return [array.reshape(-1) for array in compute(*columns)]

    return plain


def _computed(
    at: Setting, spec: Spec, rows: dict[str, Any], port: Port, places: Mapping[str, int]
) -> Array:
    frames = [places[name] for name in spec.frames]
    found = np.empty(port.size, dtype=object)
    found[:] = list(_flattened(spec.quantity.compute(at, rows, *frames)))
    return found.reshape(port.shape)


def _flattened(nested: Any) -> Iterator[Any]:
    if isinstance(nested, (list, tuple)):
        for part in nested:
            yield from _flattened(part)
    else:
        yield nested


def _units(layout: Layout, inputs: Sequence[str]) -> tuple[Unit, ...]:
    """The quaternions and (cos, sin) pairs in the configurations among the inputs."""
    found: list[Unit] = []
    for k in (k for k, name in enumerate(inputs) if name in ("q", "q_end")):
        found += [Unit(k, 3, 4, "the base quaternion")] if layout.floating else []
        for name, at in layout.q.items():
            found += [
                Unit(k, at.start + part.start, part.count, f"the {part.name} of {name!r}")
                for part in layout.model.joint(name).motion_kind.unit_norm
            ]
    return tuple(found)


_Blame: TypeAlias = Callable[[Setting, Layout, Array], LinkworkError]


def _result_check(
    blame: _Blame, setting: Callable[[], Setting], layout: Layout
) -> Callable[[Kernel, Sequence[Array], Sequence[Array]], None]:
    """Refuses infinite numbers that finite input gave, and says what is to blame."""

    def check(kernel: Kernel, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        del kernel
        bad = ~np.all([np.isfinite(array).all(axis=1) for array in outputs], axis=0)
        if bad.any():
            for array in inputs:
                bad = bad & np.isfinite(array).all(axis=1)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            error = blame(setting(), layout, inputs[0][row if len(inputs[0]) > 1 else 0])
            where = f" (in row {row} of {len(bad)})" if len(bad) > 1 else ""
            error = type(error)(f"{error}{where}")
            if isinstance(error, SingularJointError):
                error.mask = bad if len(bad) > 1 else None
            raise error

    return check


def _singular_joint(at: Setting, layout: Layout, q: Array) -> LinkworkError:
    text = "nothing resists its motion here, so it has no acceleration"
    return SingularJointError(f"{_freest(at, layout, q)}: {text}")


def _singular_whole(at: Setting, layout: Layout, q: Array) -> LinkworkError:
    del at, layout, q
    text = "its masses lie on a line, so its average velocity is not defined"
    return SingularJointError(f"the robot as one body: {text}")


def _no_direction(at: Setting, layout: Layout, q: Array) -> LinkworkError:
    del at
    for unit in _units(layout, ("q",)):
        if not q[unit.offset : unit.offset + unit.count].any():
            return ValueRangeError(f"q: {unit.owner} is zero, so it has no direction")
    return ValueRangeError("q: numbers too large to normalize")


_CHECKS: dict[str, _Blame] = {
    "forward_dynamics": _singular_joint,
    "average_velocity": _singular_whole,
    "average_velocity_jacobian": _singular_whole,
    "centroidal_average_velocity": _singular_whole,
    "centroidal_average_velocity_jacobian": _singular_whole,
    "normalize": _no_direction,
}


def _freest(at: Setting, layout: Layout, q: Array) -> str:
    """The coordinate that moves most in the motion which the mass matrix resists least."""
    rows = dynamics.mass_matrix(
        at.skeleton, tuple(map(float, q)), velocity=at.velocity, joint_dynamics=at.joint_dynamics
    )
    _, motions = np.linalg.eigh(np.array(rows, dtype=np.float64))
    place = int(np.argmax(np.abs(motions[:, 0])))
    names = [name for name, where in layout.nu.items() if where.start <= place < where.stop]
    return f"joint {names[0]!r}" if names else "the base"


def _finite_check(layout: Layout) -> Callable[[Sequence[Port], Sequence[Array]], None]:
    """Refuses numbers that are not finite, and says which joint they are of."""

    def owner(port: Port, place: int) -> str:
        slices = layout.q if port.name in CONFIGURATIONS else layout.nu
        if port.name not in ORDER or port.name == "gravity":
            return f"entry {place}"
        names = [name for name, at in slices.items() if at.start <= place < at.stop]
        return f"joint {names[0]!r}" if names else "the base"

    def check(ports: Sequence[Port], rows: Sequence[Array]) -> None:
        for port, array in zip(ports, rows, strict=True):
            bad = np.argwhere(~np.isfinite(array))
            if len(bad):
                row, place = bad[0]
                where = f" (row {row})" if len(array) > 1 else ""
                value = array[row, place]
                raise ValueRangeError(f"{port.name}: {owner(port, place)} is {value}{where}")

    return check
