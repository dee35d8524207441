"""A real robot in one state, here and in Pinocchio."""

from __future__ import annotations

import numpy as np
from tests.support.kindyn import GRAVITY, base_X, base_X_dot_nu, run_program, shared
from tests.support.models import random_q
from tests.support.real_robots import ROBOT_FILES, label, load_quietly
from tests.support.spatial import pin

import linkwork as lw

OF_ONE_STATE = (
    "mass_matrix",
    "inverse_dynamics",
    "bias_force",
    "gravity_force",
    "com",
    "momentum",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "kinetic_energy",
    "potential_energy",
)


def robot(name):
    return next(path for path in ROBOT_FILES if label(path) == name)


class Moving:
    """A robot in a random pose, moving and accelerating."""

    def __init__(self, path, *, floating, velocity, base=None):
        model = load_quietly(path, mimic=False)
        self.kd = shared(lw.KinDyn(model, base=base, floating=floating, representation=velocity))
        rng = np.random.default_rng(7)
        self.q = random_q(self.kd.layout, rng)
        self.nu, self.nu_dot, self.tau = rng.normal(size=(3, self.kd.nv)) * [[2.0], [4.0], [6.0]]

    def everything(self):
        """All quantities of the state, from one fused program."""
        program = self.kd.function(*OF_ONE_STATE).program
        return dict(
            zip(OF_ONE_STATE, run_program(program, self.q, self.nu, self.nu_dot), strict=True)
        )


class AtPinocchio:
    """The same robot in the same state in Pinocchio: v = T nu, v_dot = T nu_dot + T_dot nu."""

    def __init__(self, path, here):
        root = (pin.JointModelFreeFlyer(),) if here.kd.floating else ()
        self.model = pin.buildModelFromUrdf(str(path), *root)
        self.model.gravity.linear = GRAVITY
        self.data = self.model.createData()
        layout, q, nu = here.kd.layout, here.q, here.nu
        self.T = np.zeros((self.model.nv, layout.nv))
        self.T_dot_nu = np.zeros(self.model.nv)
        self.q = pin.neutral(self.model)
        if here.kd.floating:
            self.q[:3], self.q[3:6], self.q[6] = q[:3], q[4:7], q[3]
            self.T[:6, :6] = base_X(q, here.kd.representation)
            self.T_dot_nu[:6] = base_X_dot_nu(q, nu, here.kd.representation)
        for joint in layout.joint_names:
            there = self.model.joints[self.model.getJointId(joint)]
            (angle,) = q[layout.q[joint]]
            both = [angle] if there.nq == 1 else [np.cos(angle), np.sin(angle)]
            self.q[there.idx_q : there.idx_q + there.nq] = both
            self.T[there.idx_v, layout.nu[joint].start] = 1.0
        assert self.model.nv == layout.nv
        self.v = self.T @ nu
        self.a = self.T @ here.nu_dot + self.T_dot_nu
        self.kd = here.kd

    def everything(self):
        model, data, q, v, T = self.model, self.data, self.q, self.v, self.T
        M = pin.crba(model, data, q).copy()
        M = np.triu(M) + np.triu(M, 1).T
        h = pin.rnea(model, data, q, v, 0 * v).copy()
        g = pin.computeGeneralizedGravity(model, data, q).copy()
        tau = pin.rnea(model, data, q, v, self.a).copy()
        com = pin.centerOfMass(model, data, q, v).copy()
        pin.ccrba(model, data, q, v)
        A, momentum = data.Ag.copy(), data.hg.vector.copy()
        potential = pin.computePotentialEnergy(model, data, q)
        if not self.kd.floating:  # Pinocchio leaves out what stands still
            still, moving = model.inertias[0], data.mass[0]
            full = (moving * com + still.mass * still.lever) / (moving + still.mass)
            to_whole = np.cross(np.broadcast_to(com - full, (len(v), 3)), A[:3].T).T
            A[3:] += to_whole
            momentum = A @ v
            com = full
            potential -= still.mass * GRAVITY @ still.lever
        R, o = np.eye(3), np.zeros(3)
        if self.kd.floating and self.kd.representation != "inertial":
            o = q[:3]
        about = momentum.copy()
        about[3:] += np.cross(com - o, momentum[:3])
        if self.kd.floating and self.kd.representation == "body":
            R = pin.Quaternion(q[6], *q[3:6]).toRotationMatrix()
        turn = np.kron(np.eye(2), R.T)
        return {
            "mass_matrix": T.T @ M @ T,
            "inverse_dynamics": T.T @ tau,
            "bias_force": T.T @ (h + M @ self.T_dot_nu),
            "gravity_force": T.T @ g,
            "com": com,
            "momentum": turn @ about,
            "centroidal_momentum": turn @ momentum,
            "centroidal_momentum_matrix": turn @ A @ T,
            "kinetic_energy": pin.computeKineticEnergy(model, data, q, v),
            "potential_energy": potential,
        }

    def acceleration(self, tau):
        """nu_dot under torques: tau is dual to nu, so T^-T tau is dual to v."""
        there = pin.aba(self.model, self.data, self.q, self.v, np.linalg.solve(self.T.T, tau))
        return np.linalg.solve(self.T, there - self.T_dot_nu)
