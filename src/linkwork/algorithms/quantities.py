"""What can be computed of a robot, by name: inputs, shape, and the function that computes it.

A quantity may need a frame; a fused function computes several quantities from shared work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from linkwork.algorithms import centroidal, dynamics, frames, jacobians
from linkwork.algorithms.base import Representation
from linkwork.algorithms.blocks import Scalar, Vec
from linkwork.algorithms.skeleton import Skeleton

Values: TypeAlias = Mapping[str, Sequence[Scalar]]


@dataclass(frozen=True)
class Setting:
    """What a quantity is computed for, besides its inputs."""

    skeleton: Skeleton
    velocity: Representation
    gravity: Vec


@dataclass(frozen=True)
class Quantity:
    """Something that can be computed of a robot."""

    inputs: tuple[str, ...]
    shape: Callable[[int], tuple[int, ...]]  # of one row, from nv
    compute: Callable[..., Any]  # (setting, values), and the frame if it needs one
    of_frame: bool = False


def _gravity(at: Setting, values: Values) -> Vec:
    given = values.get("gravity")
    return at.gravity if given is None else (given[0], given[1], given[2])


def _wrenches(values: Values) -> dict[int, Sequence[Scalar]]:
    return {int(name[6:]): numbers for name, numbers in values.items() if name.startswith("wrench")}


def _inverse(
    at: Setting, v: Values, *, nu: bool = True, nu_dot: bool = True, gravity: Vec | None = None
) -> Any:
    return dynamics.inverse_dynamics(
        at.skeleton,
        v["q"],
        v["nu"] if nu else None,
        v["nu_dot"] if nu_dot else None,
        gravity=_gravity(at, v) if gravity is None else gravity,
        velocity=at.velocity,
        wrenches=_wrenches(v),
    )


def _forward(at: Setting, v: Values) -> Any:
    return dynamics.forward_dynamics(
        at.skeleton,
        v["q"],
        v["nu"],
        v["tau"],
        gravity=_gravity(at, v),
        velocity=at.velocity,
        wrenches=_wrenches(v),
    )


_NO_GRAVITY: Vec = (0.0, 0.0, 0.0)

QUANTITIES: dict[str, Quantity] = {
    "transform": Quantity(
        ("q",), lambda nv: (4, 4), lambda at, v, f: frames.frame_pose(at.skeleton, v["q"], f), True
    ),
    "transforms": Quantity(
        ("q",), lambda nv: (4, 4), lambda at, v, f: frames.frame_poses(at.skeleton, v["q"], f), True
    ),
    "velocity": Quantity(
        ("q", "nu"),
        lambda nv: (6,),
        lambda at, v, f: frames.frame_velocity(
            at.skeleton, v["q"], v["nu"], f, velocity=at.velocity
        ),
        True,
    ),
    "acceleration": Quantity(
        ("q", "nu", "nu_dot"),
        lambda nv: (6,),
        lambda at, v, f: frames.frame_acceleration(
            at.skeleton, v["q"], v["nu"], v["nu_dot"], f, velocity=at.velocity
        ),
        True,
    ),
    "bias_acceleration": Quantity(
        ("q", "nu"),
        lambda nv: (6,),
        lambda at, v, f: frames.frame_acceleration(
            at.skeleton, v["q"], v["nu"], None, f, velocity=at.velocity
        ),
        True,
    ),
    "jacobian": Quantity(
        ("q",),
        lambda nv: (6, nv),
        lambda at, v, f: jacobians.jacobian(at.skeleton, v["q"], f, velocity=at.velocity),
        True,
    ),
    "jacobian_dot": Quantity(
        ("q", "nu"),
        lambda nv: (6, nv),
        lambda at, v, f: jacobians.jacobian_dot(
            at.skeleton, v["q"], v["nu"], f, velocity=at.velocity
        ),
        True,
    ),
    "mass_matrix": Quantity(
        ("q",),
        lambda nv: (nv, nv),
        lambda at, v: dynamics.mass_matrix(at.skeleton, v["q"], velocity=at.velocity),
    ),
    "inverse_dynamics": Quantity(("q", "nu", "nu_dot"), lambda nv: (nv,), _inverse),
    "bias_force": Quantity(
        ("q", "nu"), lambda nv: (nv,), lambda at, v: _inverse(at, v, nu_dot=False)
    ),
    "coriolis_force": Quantity(
        ("q", "nu"),
        lambda nv: (nv,),
        lambda at, v: _inverse(at, v, nu_dot=False, gravity=_NO_GRAVITY),
    ),
    "gravity_force": Quantity(
        ("q",), lambda nv: (nv,), lambda at, v: _inverse(at, v, nu=False, nu_dot=False)
    ),
    "forward_dynamics": Quantity(("q", "nu", "tau"), lambda nv: (nv,), _forward),
    "com": Quantity(("q",), lambda nv: (3,), lambda at, v: centroidal.com(at.skeleton, v["q"])),
    "com_velocity": Quantity(
        ("q", "nu"),
        lambda nv: (3,),
        lambda at, v: centroidal.com_velocity(at.skeleton, v["q"], v["nu"], velocity=at.velocity),
    ),
    "com_jacobian": Quantity(
        ("q",),
        lambda nv: (3, nv),
        lambda at, v: centroidal.com_jacobian(at.skeleton, v["q"], velocity=at.velocity),
    ),
    "momentum": Quantity(
        ("q", "nu"),
        lambda nv: (6,),
        lambda at, v: centroidal.momentum(at.skeleton, v["q"], v["nu"], velocity=at.velocity),
    ),
    "centroidal_momentum": Quantity(
        ("q", "nu"),
        lambda nv: (6,),
        lambda at, v: centroidal.centroidal_momentum(
            at.skeleton, v["q"], v["nu"], velocity=at.velocity
        ),
    ),
    "centroidal_momentum_matrix": Quantity(
        ("q",),
        lambda nv: (6, nv),
        lambda at, v: centroidal.centroidal_momentum_matrix(
            at.skeleton, v["q"], velocity=at.velocity
        ),
    ),
    "kinetic_energy": Quantity(
        ("q", "nu"),
        lambda nv: (),
        lambda at, v: centroidal.kinetic_energy(at.skeleton, v["q"], v["nu"], velocity=at.velocity),
    ),
    "potential_energy": Quantity(
        ("q",),
        lambda nv: (),
        lambda at, v: centroidal.potential_energy(at.skeleton, v["q"], gravity=_gravity(at, v)),
    ),
}
