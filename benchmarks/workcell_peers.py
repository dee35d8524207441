"""A workcell as one model of pin, and as one of MuJoCo: the same frames in the same places."""

from __future__ import annotations

from typing import Any

import numpy as np
from timing import Task

import linkwork as lw
from linkwork.engine.symbolic.arrays import Array
from linkwork.workcell.cell.structure import leader_of
from linkwork.workcell.state.state import State


def angle_of(cell: lw.WorkCell, frame: Any, state: State) -> float:
    """The position of a joint, dependent ones too."""
    leader, factor, offset = leader_of(cell, frame)
    return float(factor * state.values[cell.layout.span(leader)][0] + offset)


class PinocchioCell:
    """All robots and objects as joints of one model; objects are free-flyers on their parents."""

    name = "pin"

    def __init__(self, cell: lw.WorkCell) -> None:
        import pinocchio as pin

        self.pin, self.cell, self.model = pin, cell, pin.Model()
        self.joint_of: dict[str, int] = {}
        on: dict[str, tuple[int, Array]] = {"WORLD": (0, np.eye(4))}  # joint, and pose on it
        for frame in cell.frames[1:]:
            joint, pose = on[str(frame.parent)]
            if frame.kind == "fixed":
                on[frame.name] = joint, pose @ frame.parent_H_frame.matrix()
            else:
                mount = pose if frame.movable else pose @ frame.parent_H_frame.matrix()
                moved = self._joint(frame)
                index = self.model.addJoint(joint, moved, pin.SE3(mount), frame.name)
                last = frame.motion.joint_H_frame.matrix() if frame.motion else np.eye(4)
                self.joint_of[frame.name] = index
                on[frame.name] = index, last
        for frame in cell.frames:
            joint, pose = on[frame.name]
            own = pin.Frame(frame.name + "_", joint, pin.SE3(pose), pin.FrameType.OP_FRAME)
            self.model.addFrame(own)
        self.data = self.model.createData()
        self.frame_ids = [self.model.getFrameId(frame.name + "_") for frame in cell.frames]

    def _joint(self, frame: Any) -> Any:
        pin = self.pin
        if frame.movable:
            return pin.JointModelFreeFlyer()
        axis = np.array(frame.motion.axis)
        is_turn = frame.kind == "revolute"
        if axis.max() == 1.0:
            letter = "XYZ"[int(np.argmax(axis))]
            return getattr(pin, f"JointModel{'R' if is_turn else 'P'}{letter}")()
        kind = "Revolute" if is_turn else "Prismatic"
        return getattr(pin, f"JointModel{kind}Unaligned")(axis)

    def q(self, state: State) -> Array:
        """The configuration of a state."""
        q = np.zeros(self.model.nq)
        for name, index in self.joint_of.items():
            frame, start = self.cell.frame(name), self.model.idx_qs[index]
            if frame.movable:
                px, py, pz, w, x, y, z = self.cell.values(name, state)
                q[start : start + 7] = px, py, pz, x, y, z, w
            else:
                q[start] = angle_of(self.cell, frame, state)
        return q

    def task(self, state: State) -> Task:
        """World poses of all joints and frames."""
        arguments = self.model, self.data, self.q(state)
        return Task(self.pin.framesForwardKinematics, arguments)

    def poses(self, state: State) -> Array:
        """(frames, 4, 4) in the order of the cell."""
        self.task(state).run()
        return np.array([self.data.oMf[index].homogeneous for index in self.frame_ids])


class MuJoCoCell:
    """All frames as bodies of one model; objects have free joints in the world."""

    name = "MuJoCo"

    def __init__(self, cell: lw.WorkCell) -> None:
        import mujoco

        self.mj, self.cell = mujoco, cell
        spec = mujoco.MjSpec()
        self.names = {frame.name: f"b{k}" for k, frame in enumerate(cell.frames)}
        bodies: dict[str, Any] = {"WORLD": spec.worldbody}
        inside: dict[str, Array] = {"WORLD": np.eye(4)}  # body_H_frame
        for frame in cell.frames[1:]:
            parent = "WORLD" if frame.movable else str(frame.parent)
            pose = np.eye(4) if frame.movable else inside[parent] @ frame.parent_H_frame.matrix()
            name, wxyz = self.names[frame.name], _wxyz(pose)
            body = bodies[parent].add_body(name=name, pos=pose[:3, 3], quat=wxyz)
            body.mass, body.inertia, body.explicitinertial = 1.0, np.ones(3), True
            if frame.movable:
                body.add_freejoint(name=name)
            elif frame.motion:
                turn, slide = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE
                kind = turn if frame.kind == "revolute" else slide
                body.add_joint(name=name, type=kind, axis=frame.motion.axis)
            bodies[frame.name] = body
            last = frame.motion.joint_H_frame.matrix() if frame.motion else np.eye(4)
            inside[frame.name] = last
        self.inside = np.array([inside[frame.name] for frame in cell.frames])
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.frame_ids = [0, *(self.model.body(self.names[f.name]).id for f in cell.frames[1:])]

    def qpos(self, state: State) -> Array:
        """The configuration of a state."""
        qpos = np.zeros(self.model.nq)
        for frame in self.cell.frames:
            if frame.kind == "fixed":
                continue
            start = self.model.joint(self.names[frame.name]).qposadr[0]
            if frame.movable:
                pose = self.cell.world_H_frame(frame.name, state)
                qpos[start : start + 7] = *pose[:3, 3], *_wxyz(pose)
            else:
                qpos[start] = angle_of(self.cell, frame, state)
        return qpos

    def task(self, state: State) -> Task:
        """World poses of all bodies."""
        return Task(self._run, (self.qpos(state),))

    def _run(self, qpos: Array) -> None:
        self.data.qpos[:] = qpos
        self.mj.mj_kinematics(self.model, self.data)

    def poses(self, state: State) -> Array:
        """(frames, 4, 4) in the order of the cell."""
        self.task(state).run()
        poses = np.tile(np.eye(4), (len(self.frame_ids), 1, 1))
        poses[:, :3, :3] = self.data.xmat[self.frame_ids].reshape(-1, 3, 3)
        poses[:, :3, 3] = self.data.xpos[self.frame_ids]
        return poses @ self.inside


def _wxyz(pose: Array) -> Array:
    return lw.spatial.quat.from_rotation(pose[:3, :3])
