"""One frame seen from another: its pose, and the Jacobian of its motion relative to it.

Joints between the base and the last body that carries both do not matter. The velocity of the
frame relative to the reference is written at some origin, in some axes:

    mixed      origin of the frame, axes of the reference
    body       origin and axes of the frame
    inertial   origin and axes of the reference

A relative Jacobian has columns for the joints only, as the base moves both.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.algorithms.kinematics.frames import Matrix, Scalars, homogeneous, path_poses, path_to
from linkwork.algorithms.kinematics.jacobians import rows_of_columns
from linkwork.mechanics.base import Representation
from linkwork.mechanics.joints import JointPose
from linkwork.mechanics.skeleton import Body, Skeleton
from linkwork.spatial.blocks import IDENTITY, ZERO, ZERO_MOTION, Mat, Motion, Vec


def relative_pose(skeleton: Skeleton, q: Scalars, reference: int, frame: int) -> Matrix:
    """(4, 4) reference_H_frame."""
    view = SharedView(skeleton, q, (reference, frame))
    R, o = view.pose(reference)
    R_frame, o_frame = view.pose(frame)
    return homogeneous(R.T @ R_frame, R.T @ (o_frame - o))


def relative_jacobian(
    skeleton: Skeleton, q: Scalars, reference: int, frame: int, *, velocity: Representation
) -> Matrix:
    """(6, n) J with velocity of the frame relative to the reference = J s_dot."""
    origin = reference if velocity == "inertial" else frame
    axes = frame if velocity == "body" else reference
    return relative_jacobian_at(skeleton, q, reference, frame, origin, axes)


def relative_jacobian_at(skeleton: Skeleton, q: Scalars, *frames: int) -> Matrix:
    """(6, n) Jacobian of the point at the origin of a third frame, in the axes of a fourth."""
    reference, frame, origin, axes = frames
    view = SharedView(skeleton, q, frames)
    (_, o), (R, _) = view.pose(origin), view.pose(axes)
    first = skeleton.layout.nv - sum(joint.nv for joint in skeleton.layout.model.joints)
    by_index: dict[int, Motion] = {}
    shared = set(view.columns(reference)) & set(view.columns(frame))
    for end, sign in ((frame, 1.0), (reference, -1.0)):
        for number, (body, columns) in view.columns(end).items():
            if number in shared:
                continue
            for k, column in zip(body.nu_indices, columns, strict=True):
                by_index[k] = by_index.get(k, ZERO_MOTION) + sign * (R.T @ column.at(o))
    return rows_of_columns(by_index, range(first, skeleton.layout.nv))


class SharedView:
    """Frames seen from the last body that all of them hang on."""

    def __init__(self, skeleton: Skeleton, q: Scalars, frames: Sequence[int]) -> None:
        self._skeleton = skeleton
        paths = [path_to(skeleton, skeleton.frames[frame][0]) for frame in frames]
        together = zip(*paths, strict=False)
        shared = next((k for k, step in enumerate(together) if len(set(step)) > 1), None)
        self._skip = min(map(len, paths)) if shared is None else shared
        # by frame: the joints between the shared body and the frame
        self.joints: dict[int, dict[int, JointPose]] = {}
        for frame in frames:
            body = skeleton.frames[frame][0]
            joints = path_poses(skeleton, q, body, skip=self._skip)
            self.joints[frame] = joints

    def pose(self, frame: int) -> tuple[Mat, Vec]:
        """Return rotation and position of a frame."""
        _, R_frame, p = self._skeleton.frames[frame]
        R, o = IDENTITY, ZERO
        for pose in self.joints[frame].values():
            o = o + R @ pose.p
            R = R @ pose.R
        return R @ R_frame, o + R @ p

    def columns(self, frame: int) -> dict[int, tuple[Body, list[Motion]]]:
        """Return the motion of each joint on the way to a frame, at the shared body's origin."""
        R, o = IDENTITY, ZERO
        columns: dict[int, tuple[Body, list[Motion]]] = {}
        for number, pose in self.joints[frame].items():
            o = o + R @ pose.p
            R = R @ pose.R
            at_origin = [(R @ column).shifted(o) for column in pose.columns]
            columns[number] = self._skeleton.bodies[number], at_origin
        return columns
