"""What adam keeps behind `rbdalgos`: the same quantities, as arrays that also answer to `array`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from numpy.typing import ArrayLike

from linkwork.compat.adam.core.constants import Representations
from linkwork.compat.adam.kindyn import KinDynComputations
from linkwork.compat.adam.parts import Values, values
from linkwork.engine.symbolic.arrays import Array

if TYPE_CHECKING:
    from linkwork.compat.adam.model.model import AdamModel

P = ParamSpec("P")


def _as_values(
    method: Callable[Concatenate[KinDynComputations, P], Array],
) -> Callable[Concatenate[RBDAlgorithms, P], Values]:
    """The same method, asked of the algorithms."""

    @wraps(method)
    def asked(self: RBDAlgorithms, *args: P.args, **kwargs: P.kwargs) -> Values:
        return values(method(self.kindyn, *args, **kwargs))

    return asked


def _in_body(kindyn: KinDynComputations) -> KinDynComputations:
    """The same robot and functions, with velocities in the axes of bodies."""
    found = object.__new__(type(kindyn))
    vars(found).update(vars(kindyn))
    found.set_frame_velocity_representation(Representations.BODY_FIXED_REPRESENTATION)
    return found


class RBDAlgorithms:
    """The algorithms of a `KinDynComputations`, which is asked for everything."""

    def __init__(self, kindyn: KinDynComputations) -> None:
        self.kindyn = kindyn

    forward_kinematics = _as_values(KinDynComputations.forward_kinematics)
    jacobian = _as_values(KinDynComputations.jacobian)
    relative_jacobian = _as_values(KinDynComputations.relative_jacobian)
    jacobian_dot = _as_values(KinDynComputations.jacobian_dot)
    CoM_position = _as_values(KinDynComputations.CoM_position)
    CoM_jacobian = _as_values(KinDynComputations.CoM_jacobian)

    @property
    def model(self) -> AdamModel:
        """Links, frames and joints by name."""
        return self.kindyn.model

    @property
    def NDoF(self) -> int:
        """How many joints move."""
        return self.kindyn.NDoF

    @property
    def root_link(self) -> str:
        """The link whose pose and velocity are those of the base."""
        return self.kindyn.root_link

    @property
    def frame_velocity_representation(self) -> Representations:
        """How velocities of the base and of frames are written; may be set."""
        return self.kindyn.frame_velocity_representation

    @frame_velocity_representation.setter
    def frame_velocity_representation(self, representation: Representations) -> None:
        self.kindyn.set_frame_velocity_representation(representation)

    def set_frame_velocity_representation(self, representation: Representations) -> None:
        """Set how velocities of the base and of frames are written, in every method."""
        self.kindyn.set_frame_velocity_representation(representation)

    def get_total_mass(self) -> float:
        """Mass of the robot [kg]."""
        return self.kindyn.get_total_mass()

    def crba(self, base_transform: ArrayLike, joint_positions: ArrayLike) -> tuple[Values, Values]:
        """(..., 6 + n, 6 + n) mass matrix and (..., 6, 6 + n) centroidal momentum matrix."""
        at = base_transform, joint_positions
        M, J = self.kindyn.mass_matrix(*at), self.kindyn.centroidal_momentum_matrix(*at)
        return values(M), values(J)

    def link_poses(
        self, base_transform: ArrayLike, joint_positions: ArrayLike
    ) -> dict[str, Values]:
        """Poses of all links in the world, by name."""
        poses = self.kindyn.link_poses(base_transform, joint_positions)
        return {name: values(pose) for name, pose in poses.items()}

    def joints_jacobian(self, frame: str, joint_positions: ArrayLike) -> Values:
        """(..., 6, n) Jacobian relative to the root link, in the axes of the frame."""
        return values(_in_body(self.kindyn).relative_jacobian(frame, joint_positions))

    def rnea(
        self,
        base_transform: ArrayLike,
        joint_positions: ArrayLike,
        base_velocity: ArrayLike,
        joint_velocities: ArrayLike,
        g: ArrayLike,
    ) -> Values:
        """(..., 6 + n) bias forces under a gravity (6,)."""
        moving = base_transform, joint_positions, base_velocity, joint_velocities
        return values(self.kindyn.robot_kernel("bias_force")(*moving, g))

    def aba(  # noqa: PLR0917 - adam's arguments
        self,
        base_transform: ArrayLike,
        joint_positions: ArrayLike,
        base_velocity: ArrayLike,
        joint_velocities: ArrayLike,
        joint_torques: ArrayLike,
        g: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Values:
        """(..., 6 + n) accelerations under a gravity (6,)."""
        moving = base_transform, joint_positions, base_velocity, joint_velocities
        kernel, wrenches = self.kindyn.aba_kernel(external_wrenches)
        return values(kernel(*moving, joint_torques, g, *wrenches))
