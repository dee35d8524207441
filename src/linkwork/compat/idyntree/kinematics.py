"""Motion of links along a walk, joint by joint, under iDynTree's names.

Velocities and accelerations are those of the links' frames, in their own axes (body-fixed). For
numbers in a loop use `KinDynComputations`: these functions are for code that is written with them.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from linkwork.compat.idyntree.containers import LinkAccArray, LinkPositions, LinkVelArray
from linkwork.compat.idyntree.joints import IJoint
from linkwork.compat.idyntree.model import Model
from linkwork.compat.idyntree.poses import Transform
from linkwork.compat.idyntree.traversal import Traversal


def ForwardPositionKinematics(
    model: Model,
    traversal: Traversal,
    worldHbase: ArrayLike,
    jointPositions: ArrayLike,
    linkPositions: LinkPositions,
) -> bool:
    """Write the pose of each link in the world."""
    for link, parent, joint in _steps(model, traversal):
        if joint is None:
            linkPositions(link)[...] = Transform(worldHbase)
        else:
            parent_H_link = joint.getTransform(jointPositions, parent, link)
            linkPositions(link)[...] = linkPositions(parent) * parent_H_link
    return True


def ForwardPosVelKinematics(  # noqa: PLR0917 - iDynTree's
    model: Model,
    traversal: Traversal,
    robotPos: Any,
    robotVel: Any,
    linkPositions: LinkPositions,
    linkVelocities: LinkVelArray,
) -> bool:
    """Write the pose and the velocity of each link."""
    linkAccelerations = LinkAccArray(model)
    for link, parent, joint in _steps(model, traversal):
        if joint is None:
            linkPositions(link)[...] = robotPos.worldBasePos
            linkVelocities(link)[...] = robotVel.baseVel
        else:
            joint.computeChildPosVelAcc(
                robotPos.jointPos,
                robotVel.jointVel,
                0.0 * robotVel.jointVel,
                linkPositions,
                linkVelocities,
                linkAccelerations,
                link,
                parent,
            )
    return True


def ForwardVelAccKinematics(  # noqa: PLR0917 - iDynTree's
    model: Model,
    traversal: Traversal,
    robotPos: Any,
    robotVel: Any,
    robotAcc: Any,
    linkVel: LinkVelArray,
    linkAcc: LinkAccArray,
) -> bool:
    """Write the velocity and the acceleration of each link."""
    return ForwardPosVelAccKinematics(
        model, traversal, robotPos, robotVel, robotAcc, LinkPositions(model), linkVel, linkAcc
    )


def ForwardPosVelAccKinematics(  # noqa: PLR0917 - iDynTree's
    model: Model,
    traversal: Traversal,
    robotPos: Any,
    robotVel: Any,
    robotAcc: Any,
    linkPos: LinkPositions,
    linkVel: LinkVelArray,
    linkAcc: LinkAccArray,
) -> bool:
    """Write pose, velocity and acceleration of each link."""
    for link, parent, joint in _steps(model, traversal):
        if joint is None:
            linkPos(link)[...] = robotPos.worldBasePos
            linkVel(link)[...] = robotVel.baseVel
            linkAcc(link)[...] = robotAcc.baseAcc
        else:
            joint.computeChildPosVelAcc(
                robotPos.jointPos,
                robotVel.jointVel,
                robotAcc.jointAcc,
                linkPos,
                linkVel,
                linkAcc,
                link,
                parent,
            )
    return True


def _steps(model: Model, traversal: Traversal) -> list[tuple[int, int, IJoint | None]]:
    """Link, parent and joint of each step of a walk."""
    found: list[tuple[int, int, IJoint | None]] = []
    for index in range(traversal.getNrOfVisitedLinks()):
        link, parent = traversal.getLink(index).getIndex(), traversal.getParentLink(index)
        joint = traversal.getParentJoint(index)
        reached = None if joint is None else model.getJoint(joint.getIndex())
        found.append((link, -1 if parent is None else parent.getIndex(), reached))
    return found
