"""What can be computed of a robot, by name: inputs, shape, and the function that computes it.

A quantity may need frames; a fused function computes several quantities from shared work. To add
one: a function in `algorithms`, a row in `QUANTITIES`, its name among the types in `requests`, and
the declaration of a method of `KinDyn`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from linkwork.algorithms.centroidal import average_velocity, com, momentum
from linkwork.algorithms.derivatives import centroidal as centroidal_derivatives
from linkwork.algorithms.derivatives import frames as frame_derivatives
from linkwork.algorithms.derivatives import manifold as manifold_derivatives
from linkwork.algorithms.derivatives.forward_dynamics import forward_dynamics_derivatives
from linkwork.algorithms.derivatives.gravity import gravity_force_derivative
from linkwork.algorithms.derivatives.inverse_dynamics import inverse_dynamics_derivatives
from linkwork.algorithms.dynamics import coriolis, dynamics, energy
from linkwork.algorithms.dynamics.inverse_mass_matrix import inverse_mass_matrix
from linkwork.algorithms.dynamics.joint_wrenches import joint_wrenches
from linkwork.algorithms.dynamics.regressor import PER_LINK, regressor
from linkwork.algorithms.kinematics import frames, jacobians, manifold, relative
from linkwork.kindyn import results
from linkwork.kindyn.inputs import DT, NU, NU_DOT, Q_END, Q_START, TAU, UNNORMALIZED_Q, Input, Q
from linkwork.mechanics.base import Representation
from linkwork.mechanics.joint_dynamics import DynamicsByIndex
from linkwork.mechanics.skeleton import Skeleton
from linkwork.model.layout import Layout
from linkwork.spatial.blocks import ZERO, Scalar, Vec

Numbers: TypeAlias = Sequence[Scalar]
Shape: TypeAlias = Callable[[Layout], tuple[int, ...]]
PER_WRENCH = -1  # stands in a shape for the number of wrenches that are given


@dataclass(frozen=True)
class Context:
    """What a quantity is computed for, besides its inputs."""

    skeleton: Skeleton
    velocity: Representation  # in which velocities, Jacobians and wrenches are written
    gravity: Vec
    base_link: str
    joint_dynamics: DynamicsByIndex  # of the joints, if they enter the dynamics
    wrenches: Mapping[int, Numbers]  # by the index of the frame they act on


@dataclass(frozen=True)
class Quantity:
    """Something that can be computed of a robot."""

    inputs: tuple[Input, ...]
    shape: Shape | tuple[Shape, ...]  # of one row; of each field of `result`, if that is given
    compute: Callable[..., Any]  # (context, numbers of each input, index of each frame)
    frames: tuple[str, ...] = ()  # what the frames are that it needs
    of_many: bool = False  # whether it takes any number of frames, and gives a row for each
    forces: tuple[str, ...] = ()  # which of gravity and wrenches a call may give
    # Operations, or results to store, for each pair of a body and a coordinate that moves it.
    per_pair: int = 0
    of_links: bool = False  # whether each link counts as a body, even if fixed to another
    result: type[tuple[Any, ...]] | None = None  # the named tuple of one with several outputs
    # whether no number of the robot enters, so that it takes no parameters
    of_coordinates: bool = False

    def __post_init__(self) -> None:
        assert isinstance(self.shape, tuple) == (self.result is not None)


def _of(function: Callable[..., Any], *needed: str, **constants: Any) -> Callable[..., Any]:
    """A function of the skeleton, the inputs and the frames, in the representation in force.

    Args:
        function: to compute with; it also takes `velocity`, the representation.
        needed: further fields of the context that it takes.
        constants: further arguments that are the same in every context.
    """
    return _without_velocity(function, "velocity", *needed, **constants)


def _without_velocity(
    function: Callable[..., Any], *needed: str, **constants: Any
) -> Callable[..., Any]:
    """The same where no velocity enters, so that the representation does not matter."""

    def compute(context: Context, *given: Any) -> Any:
        named = {name: getattr(context, name) for name in needed}
        return function(context.skeleton, *given, **named, **constants)

    return compute


def _bias_acceleration(
    skeleton: Skeleton, q: Numbers, nu: Numbers, frame: int, *, velocity: Representation
) -> Any:
    return frames.frame_acceleration(skeleton, q, nu, None, frame, velocity=velocity)


def _fixed_shape(*shape: int) -> Shape:
    return lambda layout: shape


def _by_nv(*rows: int) -> Shape:
    return lambda layout: (*rows, layout.nv)


def _q_by_nv(layout: Layout) -> tuple[int, ...]:
    return (layout.nq, layout.nv)


def _nv_by_q(layout: Layout) -> tuple[int, ...]:
    return (layout.nv, layout.nq)


def _by_nq(layout: Layout) -> tuple[int, ...]:
    return (layout.nq,)


def _square(layout: Layout) -> tuple[int, ...]:
    return (layout.nv, layout.nv)


def _per_wrench(layout: Layout) -> tuple[int, ...]:
    return (PER_WRENCH, layout.nv, 6)


def _by_joints(layout: Layout) -> tuple[int, ...]:
    return (6, sum(joint.nv for joint in layout.model.joints))


_Q, _Q_NU, _ALL = (Q,), (Q, NU), (Q, NU, NU_DOT)
_FRAME, _PAIR = ("frame",), ("reference", "frame")
_GRAVITY, _WRENCHES, _BOTH = ("gravity",), ("wrenches",), ("gravity", "wrenches")
_POSE, _SIX, _THREE, _ONE = (_fixed_shape(*s) for s in ((4, 4), (6,), (3,), ()))
_BIAS_FORCE = _of(dynamics.inverse_dynamics, "gravity", "joint_dynamics")  # at nu_dot = 0

QUANTITIES: dict[str, Quantity] = {
    "transform": Quantity(_Q, _POSE, _without_velocity(frames.frame_pose), _FRAME),
    "transforms": Quantity(
        _Q, _POSE, _without_velocity(frames.frame_poses), ("frames",), of_many=True
    ),
    "relative_transform": Quantity(_Q, _POSE, _without_velocity(relative.relative_pose), _PAIR),
    "velocity": Quantity(_Q_NU, _SIX, _of(frames.frame_velocity), _FRAME),
    "acceleration": Quantity(_ALL, _SIX, _of(frames.frame_acceleration), _FRAME),
    "bias_acceleration": Quantity(_Q_NU, _SIX, _of(_bias_acceleration), _FRAME),
    "jacobian": Quantity(_Q, _by_nv(6), _of(jacobians.jacobian), _FRAME),
    "jacobian_dot": Quantity(_Q_NU, _by_nv(6), _of(jacobians.jacobian_dot), _FRAME),
    "relative_jacobian": Quantity(_Q, _by_joints, _of(relative.relative_jacobian), _PAIR),
    "relative_jacobian_at": Quantity(
        _Q,
        _by_joints,
        _without_velocity(relative.relative_jacobian_at),
        (*_PAIR, "origin", "axes"),
    ),
    "mass_matrix": Quantity(_Q, _square, _of(dynamics.mass_matrix, "joint_dynamics"), per_pair=21),
    "inverse_mass_matrix": Quantity(
        _Q, _square, _of(inverse_mass_matrix, "joint_dynamics"), per_pair=50
    ),
    "mass_matrix_dot": Quantity(_Q_NU, _square, _of(coriolis.mass_matrix_dot), per_pair=60),
    "coriolis_matrix": Quantity(_Q_NU, _square, _of(coriolis.coriolis_matrix), per_pair=60),
    "inverse_dynamics": Quantity(
        _ALL, _by_nv(), _of(dynamics.inverse_dynamics, *_BOTH, "joint_dynamics"), forces=_BOTH
    ),
    "inverse_dynamics_derivatives": Quantity(
        _ALL,
        (_square,) * 3,
        _of(inverse_dynamics_derivatives, *_BOTH, "joint_dynamics"),
        forces=_BOTH,
        per_pair=95,
        result=results.InverseDynamicsDerivatives,
    ),
    "bias_force": Quantity(_Q_NU, _by_nv(), _BIAS_FORCE, forces=_GRAVITY),
    "coriolis_force": Quantity(_Q_NU, _by_nv(), _of(dynamics.inverse_dynamics, gravity=ZERO)),
    "gravity_force": Quantity(_Q, _by_nv(), _BIAS_FORCE, forces=_GRAVITY),
    "gravity_force_derivative": Quantity(
        _Q, _square, _of(gravity_force_derivative, "gravity"), forces=_GRAVITY, per_pair=10
    ),
    "external_force": Quantity(
        _Q, _by_nv(), _of(dynamics.external_force, "wrenches"), forces=_WRENCHES
    ),
    "forward_dynamics": Quantity(
        (Q, NU, TAU),
        _by_nv(),
        _of(dynamics.forward_dynamics, *_BOTH, "joint_dynamics"),
        forces=_BOTH,
    ),
    "forward_dynamics_derivatives": Quantity(
        (Q, NU, TAU),
        (_square, _square, _square, _per_wrench),
        _of(forward_dynamics_derivatives, *_BOTH, "joint_dynamics"),
        forces=_BOTH,
        per_pair=280,
        result=results.ForwardDynamicsDerivatives,
    ),
    "joint_wrenches": Quantity(
        _ALL,
        lambda layout: (len(layout.model.joints), 6),
        _of(joint_wrenches, *_BOTH, "base_link"),
        forces=_BOTH,
    ),
    "regressor": Quantity(
        _ALL,
        lambda layout: (layout.nv, PER_LINK * len(layout.model.links)),
        _of(regressor, "gravity"),
        forces=_GRAVITY,
        per_pair=90,
        of_links=True,
    ),
    "com": Quantity(_Q, _THREE, _without_velocity(com.com)),
    "com_velocity": Quantity(_Q_NU, _THREE, _of(com.com_velocity)),
    "com_acceleration": Quantity(_ALL, _THREE, _of(com.com_acceleration)),
    "com_bias_acceleration": Quantity(_Q_NU, _THREE, _of(com.com_acceleration)),
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
    "kinetic_energy": Quantity(_Q_NU, _ONE, _of(energy.kinetic_energy, "joint_dynamics")),
    "potential_energy": Quantity(
        _Q, _ONE, _without_velocity(energy.potential_energy, "gravity"), forces=_GRAVITY
    ),
    "integrate": Quantity((Q, NU, DT), _by_nq, _of(manifold.integrate), of_coordinates=True),
    "difference": Quantity(
        (Q_START, Q_END), _by_nv(), _of(manifold.difference), of_coordinates=True
    ),
    "normalize": Quantity(
        (UNNORMALIZED_Q,), _by_nq, _without_velocity(manifold.normalize), of_coordinates=True
    ),
    "velocity_derivatives": Quantity(
        _Q_NU,
        (_by_nv(6),) * 2,
        _of(frame_derivatives.velocity_derivatives),
        _FRAME,
        result=results.VelocityDerivatives,
    ),
    "acceleration_derivatives": Quantity(
        _ALL,
        (_by_nv(6),) * 3,
        _of(frame_derivatives.acceleration_derivatives),
        _FRAME,
        result=results.AccelerationDerivatives,
    ),
    "com_velocity_derivatives": Quantity(
        _Q_NU,
        (_by_nv(3),) * 2,
        _of(centroidal_derivatives.com_velocity_derivatives),
        result=results.ComVelocityDerivatives,
    ),
    "centroidal_momentum_rate": Quantity(_ALL, _SIX, _of(momentum.centroidal_momentum_rate)),
    "centroidal_momentum_derivatives": Quantity(
        _Q_NU,
        (_by_nv(6),) * 2,
        _of(centroidal_derivatives.centroidal_momentum_derivatives),
        result=results.CentroidalMomentumDerivatives,
    ),
    "centroidal_momentum_rate_derivatives": Quantity(
        _ALL,
        (_by_nv(6),) * 3,
        _of(centroidal_derivatives.centroidal_momentum_rate_derivatives),
        result=results.CentroidalMomentumRateDerivatives,
    ),
    "velocity_kinematics": Quantity(
        _Q,
        _q_by_nv,
        _of(manifold_derivatives.velocity_kinematics),
        per_pair=21,
        of_coordinates=True,
    ),
    "velocity_kinematics_inverse": Quantity(
        _Q,
        _nv_by_q,
        _of(manifold_derivatives.velocity_kinematics_inverse),
        per_pair=21,
        of_coordinates=True,
    ),
    "integrate_derivatives": Quantity(
        (Q, NU, DT),
        (_square,) * 2,
        _of(manifold_derivatives.integrate_derivatives),
        per_pair=42,
        result=results.IntegrateDerivatives,
        of_coordinates=True,
    ),
    "difference_derivatives": Quantity(
        (Q_START, Q_END),
        (_square,) * 2,
        _of(manifold_derivatives.difference_derivatives),
        per_pair=42,
        result=results.DifferenceDerivatives,
        of_coordinates=True,
    ),
}
