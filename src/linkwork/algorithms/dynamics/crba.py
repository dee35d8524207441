"""The mass matrix, by the composite rigid body algorithm.

Inward, each body's inertia is added to its parent's: I_i is the composite inertia of body i and all
it carries. Unit velocity of joint i gives them the momentum  F_i = I_i S_i;  transformed inward to
joint j it gives the entry M_ij = S_j^T F_i,  and at the base the rows of the base.

Walker, Orin (1982); Featherstone (2008), section 6.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.algorithms.dynamics.rnea import summed_inward
from linkwork.algorithms.kinematics.frames import joint_poses
from linkwork.mechanics.base import Representation, base_of
from linkwork.mechanics.inertia import RigidInertia
from linkwork.mechanics.joint_dynamics import NO_JOINT_DYNAMICS, DynamicsByIndex
from linkwork.mechanics.joints import JointPose
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import IDENTITY, Force, Mat, Scalar, Vec

# From this many columns of one branch on, preparing their direct transform into the axes wanted
# takes fewer operations than rotating each column twice (tests/kindyn/test_operation_counts.py).
DIRECT_FROM = 3


@dataclass(frozen=True, slots=True)
class Inertias:
    """The mass matrix in pieces: the base's composite, momenta at the base, and joint entries."""

    base: RigidInertia
    momenta: dict[int, Force]  # by index in nu, about the base's origin
    joint: dict[tuple[int, int], Scalar]  # entry (i, j) with i >= j, by indices in nu


def mass_matrix(
    skeleton: Skeleton,
    q: Sequence[Scalar],
    *,
    velocity: Representation,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> list[list[Scalar]]:
    """(nv, nv) M, rows and columns as nu."""
    layout = skeleton.layout
    base = base_of(layout, q, velocity)
    R, origin = base.expressed_at
    parts = inertias(skeleton, joint_poses(skeleton, q), R)
    M: list[list[Scalar]] = [[0.0] * layout.nv for _ in range(layout.nv)]
    for (i, j), value in parts.joint.items():
        M[i][j] = M[j][i] = value
    for k, added in joint_dynamics.items():
        M[k][k] = M[k][k] + added.armature
    if not layout.floating:
        return M
    robot = parts.base.rotated(R).shifted(origin)
    h, tensor = robot.first_moment.wedge, robot.tensor.full
    for i in range(3):
        M[i][i] = robot.mass
        for j in range(3):
            M[3 + i][j] = M[j][3 + i] = h[i][j]
            M[3 + i][3 + j] = tensor[i][j]
    for k, momentum in parts.momenta.items():
        force, moment = momentum.shifted(origin)
        for i, value in enumerate((*force, *moment)):
            M[i][k] = M[k][i] = value
    return M


def inertias(skeleton: Skeleton, joints: dict[int, JointPose], R: Mat = IDENTITY) -> Inertias:
    """Return composite inertias, and the momentum per unit velocity of each joint.

    Args:
        skeleton: the robot.
        joints: pose of each body in its parent.
        R: rotation of the base in the axes in which momenta are wanted.
    """
    carried = composites(skeleton, joints)
    direct = to_base(skeleton, joints, R)
    momenta: dict[int, Force] = {}
    joint: dict[tuple[int, int], Scalar] = {}
    for number, pose in joints.items():
        for i, column in zip(pose.mount.nu_indices, pose.columns, strict=True):
            F = carried[number] @ column
            ancestor = number
            while ancestor:
                there, body = joints[ancestor], skeleton.bodies[ancestor]
                for j, value in zip(body.nu_indices, there.force(F), strict=True):
                    _add_entry(joint, i, j, value, same_body=ancestor == number)
                to_parent = direct[ancestor] if body.parent == 0 else there
                F = to_parent.inward(F)
                ancestor = body.parent
            # another joint may follow the same coordinate
            momenta[i] = momenta[i] + F if i in momenta else F
    return Inertias(carried[0], momenta, joint)


def composites(skeleton: Skeleton, joints: dict[int, JointPose]) -> dict[int, RigidInertia]:
    """Return the inertia of every body with all it carries, about its origin, in its axes."""
    composite = {number: body.inertia for number, body in enumerate(skeleton.bodies)}
    return dict(summed_inward(skeleton, joints, composite, JointPose.inertia_inward))


@dataclass(frozen=True, slots=True)
class Direct:
    """Wrenches on a body that hangs on the base, expressed directly in the axes of the result."""

    R: Mat  # of the body in those axes
    arm: Vec  # from the base's origin to the body's, in the body's axes

    def inward(self, wrench: Force) -> Force:
        """Return a wrench on the body in those axes, about the base's origin."""
        return self.R @ wrench.shifted(self.arm)


@dataclass(frozen=True, slots=True)
class ByBaseAxes:
    """The transformation of `Direct` by way of the base's axes, without preparation."""

    pose: JointPose
    R: Mat  # of the base in the axes wanted

    def inward(self, wrench: Force) -> Force:
        """Return a wrench on the body in those axes, about the base's origin."""
        return self.R @ self.pose.inward(wrench)


def to_base(
    skeleton: Skeleton, joints: dict[int, JointPose], R: Mat
) -> dict[int, Direct | ByBaseAxes]:
    """Return, for each child of the base, what transforms momenta to the axes of the result."""
    branch: dict[int, int] = {}
    columns: dict[int, int] = {}  # how many columns of S each branch has
    for number, pose in joints.items():
        parent = skeleton.bodies[number].parent
        branch[number] = branch[parent] if parent else number
        columns[branch[number]] = columns.get(branch[number], 0) + len(pose.columns)
    return {
        number: ByBaseAxes(joints[number], R)
        if R is IDENTITY or count < DIRECT_FROM
        else Direct(R @ joints[number].R, joints[number].arm)
        for number, count in columns.items()
    }


def _add_entry(
    joint: dict[tuple[int, int], Scalar], i: int, j: int, value: Scalar, *, same_body: bool
) -> None:
    """Add a pair of joints to the entry of their coordinates.

    Two joints that follow one coordinate meet in its diagonal entry, each with the other: twice.
    """
    if same_body and j > i:
        return  # the pair comes again the other way round
    key = (max(i, j), min(i, j))
    if i == j and not same_body:
        value = value + value
    joint[key] = joint.get(key, 0.0) + value
