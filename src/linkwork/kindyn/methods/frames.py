"""Frames of a robot: where they are, how they move, and their Jacobians."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms.kinematics import frames, jacobians, relative
from linkwork.engine.symbolic.arrays import Array
from linkwork.kindyn.core import KinDynCore
from linkwork.kindyn.inputs import Q
from linkwork.kindyn.options import CallOptions, check_options, methods_of
from linkwork.kindyn.quantities import (
    ACCELERATION,
    JACOBIAN,
    POSE,
    VELOCITY,
    Numbers,
    Quantity,
    quantity,
    with_context,
)
from linkwork.mechanics.base import Representation
from linkwork.mechanics.problem import Problem
from linkwork.mechanics.skeleton import Skeleton

if TYPE_CHECKING:
    from typing_extensions import Unpack

RELATIVE_COLUMNS = "linear, then angular rows; columns as the joints in nu"


def _bias_acceleration(
    skeleton: Skeleton, q: Numbers, nu: Numbers, frame: int, *, velocity: Representation
) -> Any:
    return frames.frame_acceleration(skeleton, q, nu, None, frame, velocity=velocity)


def _n_joint_velocities(problem: Problem) -> int:
    return sum(joint.nv for joint in problem.layout.model.joints)


@methods_of("KinDyn")
class FrameMethods(KinDynCore):
    """Quantities of frames, in the representation of the `KinDyn`."""

    _FURTHER_QUANTITIES = (
        Quantity(  # relative_jacobian(..., origin=, axes=)
            "relative_jacobian_at",
            (Q,),
            ((6, _n_joint_velocities),),
            with_context(relative.relative_jacobian_at),
            (RELATIVE_COLUMNS,),
            frames=("reference", "frame", "origin", "axes"),
        ),
    )

    @quantity(frames.frame_pose, (4, 4), POSE)
    def transform(self, frame: str, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., 4, 4) pose of a frame in the world, world_H_frame.

        Examples:
            >>> kd = lw.KinDyn(lw.load("arm"), floating=False)
            >>> q = kd.q(shoulder_pitch=0.6, elbow_pitch=1.2)
            >>> kd.transform("tool", q)[:3, 3].round(3)  # its position [m]
            array([ 0.725, -0.047,  0.638])
        """
        ...

    @quantity(
        frames.frame_poses, ("frames", 4, 4), f"for each frame: {POSE}", of_many=True, has_body=True
    )
    def transforms(
        self, q: ArrayLike, *, frames: Sequence[str] | None = None, **options: Unpack[CallOptions]
    ) -> Array:
        """(..., frames, 4, 4) poses of several frames in the world, world_H_frame.

        Args:
            q: (..., nq) configuration.
            frames: names of frames; default: `model.frame_names`.
            options: as for all methods.
        """
        if options:
            check_options(self.transforms, options)
        names: Any = tuple(frames) if isinstance(frames, list) else frames
        kernels = self._kernels["transforms"]
        try:
            kernel = kernels[names]
        except (KeyError, TypeError):  # not compiled yet, or not names, which `function` reports
            known: Any = self.model.frame_names if names is None else names
            kernel = kernels[names] = self.function(("transforms", known))
        return kernel(q, **options)

    @quantity(relative.relative_pose, (4, 4), POSE)
    def relative_transform(
        self, reference: str, frame: str, q: ArrayLike, **options: Unpack[CallOptions]
    ) -> Array:
        """(..., 4, 4) pose of a frame in another one, reference_H_frame."""
        ...

    @quantity(frames.frame_velocity, (6,), VELOCITY, derivatives="velocity_derivatives")
    def velocity(
        self, frame: str, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]
    ) -> Array:
        """(..., 6) velocity of a frame, [linear; angular].

        Examples:
            >>> kd = lw.KinDyn(lw.load("arm"), floating=False)
            >>> q, nu = kd.neutral(), np.eye(kd.nv)[0]  # the first joint turns with 1 rad/s
            >>> kd.velocity("tool", q, nu)[3:]
            array([0., 0., 1.])
        """
        ...

    @quantity(frames.frame_acceleration, (6,), ACCELERATION, derivatives="acceleration_derivatives")
    def acceleration(
        self,
        frame: str,
        q: ArrayLike,
        nu: ArrayLike,
        nu_dot: ArrayLike,
        **options: Unpack[CallOptions],
    ) -> Array:
        """(..., 6) time derivative of the velocity of a frame, in the same representation."""
        ...

    @quantity(_bias_acceleration, (6,), ACCELERATION)
    def bias_acceleration(
        self, frame: str, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]
    ) -> Array:
        """(..., 6) acceleration of a frame at nu_dot = 0: Jdot nu."""
        ...

    @quantity(jacobians.jacobian, (6, "nv"), JACOBIAN)
    def jacobian(self, frame: str, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., 6, nv) Jacobian J of a frame: its velocity is `J @ nu`.

        Examples:
            >>> kd = lw.KinDyn(lw.load("arm"), floating=False)
            >>> kd.jacobian("tool", kd.random(1000, seed=0)).shape  # a batch
            (1000, 6, 8)
        """
        ...

    @quantity(jacobians.jacobian_dot, (6, "nv"), JACOBIAN)
    def jacobian_dot(
        self, frame: str, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]
    ) -> Array:
        """(..., 6, nv) time derivative of the Jacobian of a frame."""
        ...

    @quantity(
        relative.relative_jacobian,
        (6, _n_joint_velocities),
        "linear, then angular rows; columns as the joints in nu",
        has_body=True,
    )
    def relative_jacobian(
        self,
        reference: str,
        frame: str,
        q: ArrayLike,
        *,
        origin: str | None = None,
        axes: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Array:
        """(..., 6, n) Jacobian of a frame relative to another: its velocity there is `J @ s_dot`.

        Args:
            reference: the frame from which the motion is seen.
            frame: the frame that moves.
            q: (..., nq) configuration.
            origin: frame at whose origin the velocity is taken. If not given, `reference` in the
                inertial representation, else `frame`.
            axes: frame in whose axes it is written. If not given, `frame` in the body
                representation, else `reference`.
            options: as for all methods.
        """
        if options:
            check_options(self.relative_jacobian, options)
        if origin is None and axes is None:
            kernel = self._of("relative_jacobian", (reference, frame))
        else:
            inertial, body = self.representation == "inertial", self.representation == "body"
            origin = origin or (reference if inertial else frame)
            axes = axes or (frame if body else reference)
            kernel = self._of("relative_jacobian_at", (reference, frame, origin, axes))
        return kernel(q, **options)

    def jacobian_sparsity(self, frame: str) -> Array:
        """(6, nv) of bool: False where the Jacobian of a frame is zero at every configuration."""
        return self._pattern(("jacobian", frame))

    def relative_jacobian_sparsity(self, reference: str, frame: str) -> Array:
        """(6, n) of bool: False where the relative Jacobian is zero at every configuration."""
        return self._pattern(("relative_jacobian", reference, frame))

    def _pattern(self, request: tuple[Any, ...]) -> Array:
        program = self.function(request).program
        pattern = [not program.is_zero(step) for step in program.results]
        return np.reshape(pattern, program.outputs[0].shape)
