"""What can be computed of a robot, by name: inputs, shape, and the function that computes it.

A quantity may need frames; a fused function computes several quantities from shared work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from linkwork.mechanics.base import Representation
from linkwork.mechanics.joint_dynamics import DynamicsByIndex
from linkwork.mechanics.skeleton import Skeleton
from linkwork.model.layout import Layout
from linkwork.spatial.blocks import ZERO, Scalar, Vec

Values: TypeAlias = Mapping[str, Sequence[Scalar]]
Shape: TypeAlias = Callable[[Layout], tuple[int, ...]]


@dataclass(frozen=True)
class Setting:
    """What a quantity is computed for, besides its inputs."""

    skeleton: Skeleton
    velocity: Representation
    gravity: Vec
    base_link: str
    joint_dynamics: DynamicsByIndex  # of the joints, if they enter the dynamics


@dataclass(frozen=True)
class Quantity:
    """Something that can be computed of a robot."""

    inputs: tuple[str, ...]
    shape: Shape  # of one row
    compute: Callable[..., Any]  # (setting, values, *places of the frames)
    frames: tuple[str, ...] = ()  # what the frames are that it needs
    of_many: bool = False  # whether it takes any number of frames, and gives a row for each
    per_pair: int = 0  # operations for each pair of a body and a coordinate that moves it

    @property
    def of_frame(self) -> bool:
        """Whether it is of one frame."""
        return len(self.frames) == 1 and not self.of_many


def _gravity(at: Setting, values: Values) -> Vec:
    given = values.get("gravity")
    return at.gravity if given is None else (given[0], given[1], given[2])


def _wrenches(values: Values) -> dict[int, Sequence[Scalar]]:
    return {int(name[6:]): numbers for name, numbers in values.items() if name.startswith("wrench")}


def _inverse(
    at: Setting, v: Values, *, nu: bool = True, nu_dot: bool = True, bare: bool = False
) -> Any:
    """Inverse dynamics; bare of gravity and of what the joints themselves add."""
    return dynamics.inverse_dynamics(
        at.skeleton,
        v["q"],
        v["nu"] if nu else None,
        v["nu_dot"] if nu_dot else None,
        gravity=ZERO if bare else _gravity(at, v),
        velocity=at.velocity,
        wrenches=_wrenches(v),
        joint_dynamics={} if bare else at.joint_dynamics,
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
        joint_dynamics=at.joint_dynamics,
    )


def _external(at: Setting, v: Values) -> Any:
    return dynamics.external_force(at.skeleton, v["q"], velocity=at.velocity, wrenches=_wrenches(v))


def _joint_wrenches(at: Setting, v: Values) -> Any:
    return joint_wrenches(
        at.skeleton,
        v["q"],
        v["nu"],
        v["nu_dot"],
        base_link=at.base_link,
        gravity=_gravity(at, v),
        velocity=at.velocity,
        wrenches=_wrenches(v),
    )


def _regressor(at: Setting, v: Values) -> Any:
    gravity = _gravity(at, v)
    return regressor(
        at.skeleton, v["q"], v["nu"], v["nu_dot"], gravity=gravity, velocity=at.velocity
    )


def _mass_matrix(at: Setting, v: Values) -> Any:
    return dynamics.mass_matrix(
        at.skeleton, v["q"], velocity=at.velocity, joint_dynamics=at.joint_dynamics
    )


def _kinetic_energy(at: Setting, v: Values) -> Any:
    return energy.kinetic_energy(
        at.skeleton, v["q"], v["nu"], velocity=at.velocity, joint_dynamics=at.joint_dynamics
    )


def _potential_energy(at: Setting, v: Values) -> Any:
    return energy.potential_energy(at.skeleton, v["q"], gravity=_gravity(at, v))


def _acceleration(at: Setting, v: Values, frame: int) -> Any:
    return frames.frame_acceleration(
        at.skeleton, v["q"], v["nu"], v.get("nu_dot"), frame, velocity=at.velocity
    )


def _bias_acceleration(at: Setting, v: Values, frame: int) -> Any:
    return _acceleration(at, {"q": v["q"], "nu": v["nu"]}, frame)


def _relative_jacobian_at(at: Setting, v: Values, *places: int) -> Any:
    *pair, origin, axes = places
    return relative.relative_jacobian_at(at.skeleton, v["q"], *pair, origin=origin, axes=axes)


def _com_acceleration(at: Setting, v: Values) -> Any:
    return com.com_acceleration(at.skeleton, v["q"], v["nu"], v["nu_dot"], velocity=at.velocity)


def _com_bias(at: Setting, v: Values) -> Any:
    return com.com_acceleration(at.skeleton, v["q"], v["nu"], None, velocity=at.velocity)


def _integrate(at: Setting, v: Values) -> Any:
    return manifold.integrate(at.skeleton.layout, v["q"], v["step"], velocity=at.velocity)


def _difference(at: Setting, v: Values) -> Any:
    return manifold.difference(at.skeleton.layout, v["q"], v["q_end"], velocity=at.velocity)


def _normalize(at: Setting, v: Values) -> Any:
    return manifold.normalize(at.skeleton.layout, v["any_q"])


def _of(function: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """A function of the robot, some inputs, and frames, in the representation in force."""

    def compute(at: Setting, v: Values, *places: int) -> Any:
        given = [v[name] for name in names]
        return function(at.skeleton, *given, *places, velocity=at.velocity)

    return compute


def _fixed_shape(*shape: int) -> Shape:
    return lambda layout: shape


def _by_nv(*rows: int) -> Shape:
    return lambda layout: (*rows, layout.nv)


def _square(layout: Layout) -> tuple[int, ...]:
    return (layout.nv, layout.nv)


def _by_joints(layout: Layout) -> tuple[int, ...]:
    return (6, sum(joint.nv for joint in layout.model.joints))


_Q, _Q_NU, _ALL = ("q",), ("q", "nu"), ("q", "nu", "nu_dot")
_FRAME, _PAIR = ("frame",), ("reference", "frame")
_POSE, _SIX, _THREE, _ONE = (_fixed_shape(*s) for s in ((4, 4), (6,), (3,), ()))

QUANTITIES: dict[str, Quantity] = {
    "transform": Quantity(
        _Q, _POSE, lambda at, v, f: frames.frame_pose(at.skeleton, v["q"], f), _FRAME
    ),
    "transforms": Quantity(
        _Q,
        _POSE,
        lambda at, v, *f: frames.frame_poses(at.skeleton, v["q"], f),
        ("frames",),
        of_many=True,
    ),
    "relative_transform": Quantity(
        _Q, _POSE, lambda at, v, *pair: relative.relative_pose(at.skeleton, v["q"], *pair), _PAIR
    ),
    "velocity": Quantity(_Q_NU, _SIX, _of(frames.frame_velocity, *_Q_NU), _FRAME),
    "acceleration": Quantity(_ALL, _SIX, _acceleration, _FRAME),
    "bias_acceleration": Quantity(_Q_NU, _SIX, _bias_acceleration, _FRAME),
    "jacobian": Quantity(_Q, _by_nv(6), _of(jacobians.jacobian, *_Q), _FRAME),
    "jacobian_dot": Quantity(_Q_NU, _by_nv(6), _of(jacobians.jacobian_dot, *_Q_NU), _FRAME),
    "relative_jacobian": Quantity(_Q, _by_joints, _of(relative.relative_jacobian, *_Q), _PAIR),
    "relative_jacobian_at": Quantity(
        _Q,
        _by_joints,
        _relative_jacobian_at,
        (*_PAIR, "origin", "axes"),
    ),
    "mass_matrix": Quantity(_Q, _square, _mass_matrix, per_pair=21),
    "mass_matrix_dot": Quantity(_Q_NU, _square, _of(coriolis.mass_matrix_dot, *_Q_NU), per_pair=60),
    "coriolis_matrix": Quantity(_Q_NU, _square, _of(coriolis.coriolis_matrix, *_Q_NU), per_pair=60),
    "inverse_dynamics": Quantity(_ALL, _by_nv(), _inverse),
    "bias_force": Quantity(_Q_NU, _by_nv(), lambda at, v: _inverse(at, v, nu_dot=False)),
    "coriolis_force": Quantity(
        _Q_NU, _by_nv(), lambda at, v: _inverse(at, v, nu_dot=False, bare=True)
    ),
    "gravity_force": Quantity(_Q, _by_nv(), lambda at, v: _inverse(at, v, nu=False, nu_dot=False)),
    "external_force": Quantity(_Q, _by_nv(), _external),
    "forward_dynamics": Quantity(("q", "nu", "tau"), _by_nv(), _forward),
    "joint_wrenches": Quantity(_ALL, lambda layout: (len(layout.model.joints), 6), _joint_wrenches),
    "regressor": Quantity(
        _ALL,
        lambda layout: (layout.nv, PER_LINK * len(layout.model.links)),
        _regressor,
        per_pair=90,
    ),
    "com": Quantity(_Q, _THREE, lambda at, v: com.com(at.skeleton, v["q"])),
    "com_velocity": Quantity(_Q_NU, _THREE, _of(com.com_velocity, *_Q_NU)),
    "com_acceleration": Quantity(_ALL, _THREE, _com_acceleration),
    "com_bias_acceleration": Quantity(_Q_NU, _THREE, _com_bias),
    "com_jacobian": Quantity(_Q, _by_nv(3), _of(com.com_jacobian, *_Q)),
    "momentum": Quantity(_Q_NU, _SIX, _of(momentum.momentum, *_Q_NU)),
    "momentum_jacobian": Quantity(_Q, _by_nv(6), _of(momentum.momentum_jacobian, *_Q)),
    "centroidal_momentum": Quantity(_Q_NU, _SIX, _of(momentum.centroidal_momentum, *_Q_NU)),
    "centroidal_momentum_matrix": Quantity(
        _Q, _by_nv(6), _of(momentum.centroidal_momentum_matrix, *_Q)
    ),
    "centroidal_momentum_bias": Quantity(
        _Q_NU, _SIX, _of(momentum.centroidal_momentum_bias, *_Q_NU)
    ),
    "average_velocity": Quantity(_Q_NU, _SIX, _of(average_velocity.average_velocity, *_Q_NU)),
    "average_velocity_jacobian": Quantity(
        _Q, _by_nv(6), _of(average_velocity.average_velocity_jacobian, *_Q)
    ),
    "centroidal_average_velocity": Quantity(
        _Q_NU, _SIX, _of(average_velocity.centroidal_average_velocity, *_Q_NU)
    ),
    "centroidal_average_velocity_jacobian": Quantity(
        _Q, _by_nv(6), _of(average_velocity.centroidal_average_velocity_jacobian, *_Q)
    ),
    "locked_inertia": Quantity(_Q, _fixed_shape(6, 6), _of(average_velocity.locked_inertia, *_Q)),
    "centroidal_locked_inertia": Quantity(
        _Q, _fixed_shape(6, 6), _of(average_velocity.centroidal_locked_inertia, *_Q)
    ),
    "kinetic_energy": Quantity(_Q_NU, _ONE, _kinetic_energy),
    "potential_energy": Quantity(_Q, _ONE, _potential_energy),
    "integrate": Quantity(("q", "step"), lambda layout: (layout.nq,), _integrate),
    "difference": Quantity(("q", "q_end"), _by_nv(), _difference),
    "normalize": Quantity(("any_q",), lambda layout: (layout.nq,), _normalize),
}
