"""A robot in linkwork and in Pinocchio, and the quantities of both in some state."""

from __future__ import annotations

import numpy as np
from tests.support.kindyn import on_numpy
from tests.support.models import assert_close, random_q
from tests.support.spatial import pin

from linkwork.compat.pinocchio import Conventions
from linkwork.model.joints import plane_basis
from linkwork.model.joints.kind import axes_across


def to_pinocchio(kd):
    """Build a Pinocchio model with all kinds of joints, of which URDF has only some.

    The axis of Pinocchio's planar joints, and of its joints of (cos, sin), is z.
    """
    model, tree = pin.Model(), kd.tree
    model.gravity.linear = np.array(kd.gravity)
    bodies = {joint.name: body for body, _, joint in tree.outward()}
    base = (
        model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")
        if kd.floating
        else 0
    )
    poses = {0: (base, kd.layout.base_pose.matrix())}  # by body: its joint there, joint_H_body
    order = [one.name for one in Conventions(kd).slices if one.name]
    for name in order:
        joint, body = kd.model.joint(name), bodies[name]
        parent, parent_H_body = poses[tree.parents[body]]
        axis = (-1.0 if tree.backwards[body] else 1.0) * np.array(joint.axis)
        kind, rotation = _kind(joint, axis)
        placement = pin.SE3(parent_H_body @ tree.parent_H_joint[body] @ rotation)
        index = model.addJoint(parent, kind, placement, name)
        there = model.joints[index]
        model.armature[there.idx_v : there.idx_v + there.nv] = joint.armature
        poses[body] = index, np.linalg.inv(rotation) @ tree.joint_H_body[body]
    for k, name in enumerate(kd.model.frame_names):
        joint, joint_H_body = poses[tree.frame_bodies[k]]
        placement = pin.SE3(joint_H_body @ tree.body_H_frame[k])
        inertia = pin.Inertia.Zero()
        if name in kd.model.link_names:
            body = kd.model.link(name).inertia
            inertia.mass, inertia.lever, inertia.inertia = (
                body.mass,
                np.array(body.com),
                body.matrix(),
            )
        model.addFrame(pin.Frame(name, joint, 0, placement, pin.BODY, inertia))
    return model


def _kind(joint, axis):
    """Return a joint of Pinocchio, and the pose that rotates its axis there."""
    unbounded = joint.kind == "revolute_cos_sin" or (
        joint.kind == "revolute" and np.isinf([joint.limits.lower, joint.limits.upper]).all()
    )
    rotation = np.eye(4)
    if joint.kind == "planar" or unbounded:
        rotation[:3, :3] = np.column_stack([plane_basis(axis), axis])
    if unbounded:
        return pin.JointModelRUBZ(), rotation
    kinds = {
        "universal": lambda: pin.JointModelUniversal(axis, np.array(axes_across(joint.axis)[0])),
        "planar": pin.JointModelPlanar,
        "spherical": pin.JointModelSpherical,
        "floating": pin.JointModelFreeFlyer,
        "helical": lambda: pin.JointModelHelicalUnaligned(axis, joint.pitch),
        "prismatic": lambda: pin.JointModelPrismaticUnaligned(axis),
        "revolute": lambda: pin.JointModelRevoluteUnaligned(axis),
    }
    return kinds[joint.kind](), rotation


class Both:
    """A KinDyn and a Pinocchio model in the same state, moving fast."""

    def __init__(self, kd, pin_model, conventions=None, seed=0, batch=()):
        rng = np.random.default_rng(seed)
        self.kd, self.pin_model = kd, pin_model
        self.maps = conventions or Conventions(kd)
        self.data = pin_model.createData()
        self.q = random_q(kd.layout, rng, batch)
        self.nu, self.nu_dot = rng.normal(size=(2, *batch, kd.nv)) * 4
        self.q_there = self.maps.q_to_pinocchio(self.q)
        self.v = self.maps.v_to_pinocchio(self.q, self.nu)
        self.a = self.maps.a_to_pinocchio(self.q, self.nu, self.nu_dot)

    def here(self):
        kd = on_numpy(self.kd)
        M = kd.mass_matrix(self.q)
        h = kd.bias_force(self.q, self.nu)
        return M, h, kd.inverse_dynamics(self.q, self.nu, self.nu_dot)

    def there(self):
        q, v = self.q_there, self.v
        return self.mass_matrix(), self._rnea(q, v, 0 * v), self._rnea(q, v, self.a)

    def mass_matrix(self):
        M = pin.crba(self.pin_model, self.data, self.q_there)
        return np.triu(M) + np.triu(M, 1).T

    def _rnea(self, q, v, a):
        return pin.rnea(self.pin_model, self.data, q, v, a).copy()

    def jacobian(self, frame):
        index = frame_index(self.pin_model, frame)
        pin.computeJointJacobians(self.pin_model, self.data, self.q_there)
        pin.updateFramePlacements(self.pin_model, self.data)
        reference = getattr(pin.ReferenceFrame, self.maps.reference_frame)
        return pin.getFrameJacobian(self.pin_model, self.data, index, reference)

    def pose(self, frame):
        pin.framesForwardKinematics(self.pin_model, self.data, self.q_there)
        return self.data.oMf[frame_index(self.pin_model, frame)].homogeneous

    def assert_same(self, frames, rtol):
        """M, h, tau, Jacobians and poses agree, mapped either way."""
        (M, h, tau), (M_there, h_there, tau_there) = self.here(), self.there()
        maps, q, q_there = self.maps, self.q, self.q_there
        assert_close(maps.mass_matrix_from_pinocchio(q_there, M_there), M, rtol)
        assert_close(maps.mass_matrix_to_pinocchio(q, M), M_there, rtol)
        force = max(np.abs(h).max(initial=1.0), np.abs(tau).max(initial=1.0))
        actual = maps.bias_from_pinocchio(q_there, self.v, h_there, M_there)
        assert_close(actual, h, rtol, scale=force)
        assert_close(maps.bias_to_pinocchio(q, self.nu, h, M), h_there, rtol, scale=force)
        assert_close(maps.tau_from_pinocchio(q_there, tau_there), tau, rtol, scale=force)
        assert_close(maps.tau_to_pinocchio(q, tau), tau_there, rtol, scale=force)
        kd = on_numpy(self.kd)
        for frame in frames:
            assert_close(self.pose(frame), kd.transform(frame, q), rtol)
            J, J_there = kd.jacobian(frame, q), self.jacobian(frame)
            assert_close(maps.jacobian_from_pinocchio(q_there, J_there), J, rtol)
            assert_close(maps.jacobian_to_pinocchio(q, J), J_there, rtol)


def frame_index(pin_model, name):
    """Index of a link or an additional frame; a joint may have the same name."""
    kinds = ("BODY", "OP_FRAME", "FIXED_JOINT", "JOINT")
    actual = {str(f.type): i for i, f in enumerate(pin_model.frames) if f.name == name}
    return next(actual[kind] for kind in kinds if kind in actual)
