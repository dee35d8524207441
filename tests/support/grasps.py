"""Workcells with an arm and objects, and the same robot with its payload in the model."""

from __future__ import annotations

import numpy as np
from tests.support.kindyn import on_numpy
from tests.support.spatial import pin

import linkwork as lw
from linkwork.model.inertia import moved
from linkwork.model.pose import as_pose

OBJECTS = {
    "box": lw.solid_box(2.0, (0.1, 0.2, 0.3), com=(0.01, -0.02, 0.03)),
    "can": lw.solid_cylinder(0.5, 0.03, 0.12),
    "ball": lw.solid_sphere(0.8, 0.07, com=(0.0, 0.05, 0.0)),
    "grain": lw.point_mass(0.05, (0.1, 0.0, 0.0)),
}
FULL_ARM = lw.robots.load("arm")
ARM = FULL_ARM.reduced([joint.name for joint in FULL_ARM.joints if joint.kind == "revolute"])
"""With the fingers locked: one of them mimics the other, which Pinocchio does not read."""


def bench(robot=ARM, *, end="tool", floating=False):
    """An arm on a tilted table, objects next to it, and a sphere without mass."""
    cell = lw.WorkCell("bench")
    cell = cell.with_frame("table", parent_H_frame=lw.Pose((0.1, 0.2, 0.8), (0.3, -0.2, 0.4)))
    pose = lw.Pose((0.1, 0.0, 0.05), (0.0, 0.1, 0.7))
    cell = cell.with_robot(
        "arm", robot, parent="table", parent_H_base=pose, end=end, floating=floating
    )
    for k, (name, inertia) in enumerate(OBJECTS.items()):
        pose = lw.Pose((0.3, 0.1 * k, 0.1), (0.1 * k, 0.2, -0.3))
        cell = cell.with_frame(
            name,
            parent="table",
            parent_H_frame=pose,
            movable=True,
            attachable=True,
            inertia=inertia,
        )
    return cell.with_frame("marker", movable=True, attachable=True)


def loaded(cell, state, carried, **options):
    """A `KinDyn` of the arm with frames of the cell, by the link that carries each."""
    model = cell.device("arm").spec.model
    for frame, link in carried.items():
        pose = as_pose(cell.frame_H_frame(f"arm.{link}", frame, state))
        model = model.with_payload(link, moved(cell.frame(frame).inertia, pose))
    if not cell.device("arm").spec.floating:
        options["base_pose"] = cell.device("arm").world_H_base(state)
    floating = cell.device("arm").spec.floating
    return on_numpy(lw.KinDyn(model, floating=floating, **options))


def pinocchio_with(cell, state, frame, link):
    """A Pinocchio model of the fixed arm with a body appended to the joint that moves a link."""
    model = cell.device("arm").spec.model
    there = pin.buildModelFromXML(lw.dump_urdf(model))
    index = there.getFrameId(link)
    own, inertia = there.frames[index], cell.frame(frame).inertia
    pose = pin.SE3(cell.frame_H_frame(f"arm.{link}", frame, state))
    body = pin.Inertia(inertia.mass, np.array(inertia.com), inertia.matrix())
    there.appendBodyToJoint(own.parentJoint, body, own.placement * pose)
    R = cell.device("arm").world_H_base(state)[:3, :3]
    there.gravity.linear = R.T @ np.array([0.0, 0.0, -9.80665])
    return there
