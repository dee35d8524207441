"""What can be computed of a robot, by name: inputs, shape, and the function that computes it.

A quantity may need frames; a fused function computes several quantities from shared work. To add
one: a function in `algorithms`, a row in `QUANTITIES`, its name among the types in `requests`, and
the declaration of a method of `KinDyn`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from linkwork.algorithms import (
    average_velocity,
    com,
    coriolis,
    dynamics,
    energy,
    frames,
    jacobians,
    manifold,
    momentum,
    relative,
)
from linkwork.algorithms.joint_wrenches import joint_wrenches
from linkwork.algorithms.regressor import PER_LINK, regressor
from linkwork.kindyn.inputs import DT, NU, NU_DOT, Q_END, Q_START, TAU, UNNORMALIZED_Q, Input, Q
from linkwork.mechanics.base import Representation
from linkwork.mechanics.joint_dynamics import DynamicsByIndex
from linkwork.mechanics.skeleton import Skeleton
from linkwork.model.layout import Layout
from linkwork.spatial.blocks import ZERO, Scalar, Vec

Numbers: TypeAlias = Sequence[Scalar]
Shape: TypeAlias = Callable[[Layout], tuple[int, ...]]


@dataclass(frozen=True)
class Setting:
    """What a quantity is computed for, besides its inputs."""

    skeleton: Skeleton
    representation: Representation
    gravity: Vec
    base_link: str
    joint_dynamics: DynamicsByIndex  # of the joints, if they enter the dynamics
    wrenches: Mapping[int, Numbers]  # by the index of the frame they act on


@dataclass(frozen=True)
class Quantity:
    """Something that can be computed of a robot."""

    inputs: tuple[Input, ...]
    shape: Shape  # of one row
    compute: Callable[..., Any]  # (setting, numbers of each input, index of each frame)
    frames: tuple[str, ...] = ()  # what the frames are that it needs
    of_many: bool = False  # whether it takes any number of frames, and gives a row for each
    forces: tuple[str, ...] = ()  # which of gravity and wrenches a call may give
    per_pair: int = 0  # operations for each pair of a body and a coordinate that moves it
    of_links: bool = False  # whether each link counts as a body, even if fixed to another


def _inverse(
    at: Setting,
    q: Numbers,
    nu: Numbers | None = None,
    nu_dot: Numbers | None = None,
    *,
    bare: bool = False,
) -> Any:
    """Inverse dynamics; bare of gravity and of what the joints themselves add."""
    return dynamics.inverse_dynamics(
        at.skeleton,
        q,
        nu,
        nu_dot,
        gravity=ZERO if bare else at.gravity,
        velocity=at.representation,
        wrenches=at.wrenches,
        joint_dynamics={} if bare else at.joint_dynamics,
    )


def _forward(at: Setting, q: Numbers, nu: Numbers, tau: Numbers) -> Any:
    return dynamics.forward_dynamics(
        at.skeleton,
        q,
        nu,
        tau,
        gravity=at.gravity,
        velocity=at.representation,
        wrenches=at.wrenches,
        joint_dynamics=at.joint_dynamics,
    )


def _external(at: Setting, q: Numbers) -> Any:
    return dynamics.external_force(at.skeleton, q, velocity=at.representation, wrenches=at.wrenches)


def _joint_wrenches(at: Setting, q: Numbers, nu: Numbers, nu_dot: Numbers) -> Any:
    return joint_wrenches(
        at.skeleton,
        q,
        nu,
        nu_dot,
        base_link=at.base_link,
        gravity=at.gravity,
        velocity=at.representation,
        wrenches=at.wrenches,
    )


def _regressor(at: Setting, q: Numbers, nu: Numbers, nu_dot: Numbers) -> Any:
    return regressor(at.skeleton, q, nu, nu_dot, gravity=at.gravity, velocity=at.representation)


def _mass_matrix(at: Setting, q: Numbers) -> Any:
    return dynamics.mass_matrix(
        at.skeleton, q, velocity=at.representation, joint_dynamics=at.joint_dynamics
    )


def _kinetic_energy(at: Setting, q: Numbers, nu: Numbers) -> Any:
    return energy.kinetic_energy(
        at.skeleton, q, nu, velocity=at.representation, joint_dynamics=at.joint_dynamics
    )


def _potential_energy(at: Setting, q: Numbers) -> Any:
    return energy.potential_energy(at.skeleton, q, gravity=at.gravity)


def _acceleration(at: Setting, q: Numbers, nu: Numbers, nu_dot: Numbers, frame: int) -> Any:
    return frames.frame_acceleration(at.skeleton, q, nu, nu_dot, frame, velocity=at.representation)


def _bias_acceleration(at: Setting, q: Numbers, nu: Numbers, frame: int) -> Any:
    return frames.frame_acceleration(at.skeleton, q, nu, None, frame, velocity=at.representation)


def _relative_jacobian_at(at: Setting, q: Numbers, *indices: int) -> Any:
    *pair, origin, axes = indices
    return relative.relative_jacobian_at(at.skeleton, q, *pair, origin=origin, axes=axes)


def _com_acceleration(at: Setting, q: Numbers, nu: Numbers, nu_dot: Numbers | None = None) -> Any:
    return com.com_acceleration(at.skeleton, q, nu, nu_dot, velocity=at.representation)


def _integrate(at: Setting, q: Numbers, nu: Numbers, dt: Numbers) -> Any:
    step = [speed * dt[0] for speed in nu]
    layout, velocity = at.skeleton.layout, at.representation
    return manifold.integrate(layout, q, step, velocity=velocity)


def _difference(at: Setting, q_start: Numbers, q_end: Numbers) -> Any:
    layout, velocity = at.skeleton.layout, at.representation
    return manifold.difference(layout, q_start, q_end, velocity=velocity)


def _normalize(at: Setting, q: Numbers) -> Any:
    return manifold.normalize(at.skeleton.layout, q)


def _of(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the robot, some inputs, and frames, in the representation in force."""

    def compute(at: Setting, *given: Any) -> Any:
        return function(at.skeleton, *given, velocity=at.representation)

    return compute


def _position_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same where no velocity enters, so that the representation does not matter."""
    return lambda at, *given: function(at.skeleton, *given)


def _fixed_shape(*shape: int) -> Shape:
    return lambda layout: shape


def _by_nv(*rows: int) -> Shape:
    return lambda layout: (*rows, layout.nv)


def _by_nq(layout: Layout) -> tuple[int, ...]:
    return (layout.nq,)


def _square(layout: Layout) -> tuple[int, ...]:
    return (layout.nv, layout.nv)


def _by_joints(layout: Layout) -> tuple[int, ...]:
    return (6, sum(joint.nv for joint in layout.model.joints))


_Q, _Q_NU, _ALL = (Q,), (Q, NU), (Q, NU, NU_DOT)
_FRAME, _PAIR = ("frame",), ("reference", "frame")
_GRAVITY, _BOTH = ("gravity",), ("gravity", "wrenches")
_POSE, _SIX, _THREE, _ONE = (_fixed_shape(*s) for s in ((4, 4), (6,), (3,), ()))

QUANTITIES: dict[str, Quantity] = {
    "transform": Quantity(_Q, _POSE, _position_of(frames.frame_pose), _FRAME),
    "transforms": Quantity(
        _Q,
        _POSE,
        lambda at, q, *f: frames.frame_poses(at.skeleton, q, f),
        ("frames",),
        of_many=True,
    ),
    "relative_transform": Quantity(_Q, _POSE, _position_of(relative.relative_pose), _PAIR),
    "velocity": Quantity(_Q_NU, _SIX, _of(frames.frame_velocity), _FRAME),
    "acceleration": Quantity(_ALL, _SIX, _acceleration, _FRAME),
    "bias_acceleration": Quantity(_Q_NU, _SIX, _bias_acceleration, _FRAME),
    "jacobian": Quantity(_Q, _by_nv(6), _of(jacobians.jacobian), _FRAME),
    "jacobian_dot": Quantity(_Q_NU, _by_nv(6), _of(jacobians.jacobian_dot), _FRAME),
    "relative_jacobian": Quantity(_Q, _by_joints, _of(relative.relative_jacobian), _PAIR),
    "relative_jacobian_at": Quantity(
        _Q, _by_joints, _relative_jacobian_at, (*_PAIR, "origin", "axes")
    ),
    "mass_matrix": Quantity(_Q, _square, _mass_matrix, per_pair=21),
    "mass_matrix_dot": Quantity(_Q_NU, _square, _of(coriolis.mass_matrix_dot), per_pair=60),
    "coriolis_matrix": Quantity(_Q_NU, _square, _of(coriolis.coriolis_matrix), per_pair=60),
    "inverse_dynamics": Quantity(_ALL, _by_nv(), _inverse, forces=_BOTH),
    "bias_force": Quantity(_Q_NU, _by_nv(), _inverse, forces=_GRAVITY),
    "coriolis_force": Quantity(_Q_NU, _by_nv(), partial(_inverse, bare=True)),
    "gravity_force": Quantity(_Q, _by_nv(), _inverse, forces=_GRAVITY),
    "external_force": Quantity(_Q, _by_nv(), _external, forces=("wrenches",)),
    "forward_dynamics": Quantity((Q, NU, TAU), _by_nv(), _forward, forces=_BOTH),
    "joint_wrenches": Quantity(
        _ALL, lambda layout: (len(layout.model.joints), 6), _joint_wrenches, forces=_BOTH
    ),
    "regressor": Quantity(
        _ALL,
        lambda layout: (layout.nv, PER_LINK * len(layout.model.links)),
        _regressor,
        forces=_GRAVITY,
        per_pair=90,
        of_links=True,
    ),
    "com": Quantity(_Q, _THREE, _position_of(com.com)),
    "com_velocity": Quantity(_Q_NU, _THREE, _of(com.com_velocity)),
    "com_acceleration": Quantity(_ALL, _THREE, _com_acceleration),
    "com_bias_acceleration": Quantity(_Q_NU, _THREE, _com_acceleration),
    "com_jacobian": Quantity(_Q, _by_nv(3), _of(com.com_jacobian)),
    "momentum": Quantity(_Q_NU, _SIX, _of(momentum.momentum)),
    "momentum_jacobian": Quantity(_Q, _by_nv(6), _of(momentum.momentum_jacobian)),
    "centroidal_momentum": Quantity(_Q_NU, _SIX, _of(momentum.centroidal_momentum)),
    "centroidal_momentum_matrix": Quantity(_Q, _by_nv(6), _of(momentum.centroidal_momentum_matrix)),
    "centroidal_momentum_bias": Quantity(_Q_NU, _SIX, _of(momentum.centroidal_momentum_bias)),
    "average_velocity": Quantity(_Q_NU, _SIX, _of(average_velocity.average_velocity)),
    "average_velocity_jacobian": Quantity(
        _Q, _by_nv(6), _of(average_velocity.average_velocity_jacobian)
    ),
    "centroidal_average_velocity": Quantity(
        _Q_NU, _SIX, _of(average_velocity.centroidal_average_velocity)
    ),
    "centroidal_average_velocity_jacobian": Quantity(
        _Q, _by_nv(6), _of(average_velocity.centroidal_average_velocity_jacobian)
    ),
    "locked_inertia": Quantity(_Q, _fixed_shape(6, 6), _of(average_velocity.locked_inertia)),
    "centroidal_locked_inertia": Quantity(
        _Q, _fixed_shape(6, 6), _of(average_velocity.centroidal_locked_inertia)
    ),
    "kinetic_energy": Quantity(_Q_NU, _ONE, _kinetic_energy),
    "potential_energy": Quantity(_Q, _ONE, _potential_energy, forces=_GRAVITY),
    "integrate": Quantity((Q, NU, DT), _by_nq, _integrate),
    "difference": Quantity((Q_START, Q_END), _by_nv(), _difference),
    "normalize": Quantity((UNNORMALIZED_Q,), _by_nq, _normalize),
}
