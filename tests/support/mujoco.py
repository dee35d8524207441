"""One robot in MuJoCo and in linkwork, in the same state, and the quantities of both."""

from __future__ import annotations

import warnings

import mujoco
import numpy as np
from tests.support.kindyn import on_numpy
from tests.support.models import assert_close, random_q

import linkwork as lw
from linkwork.compat.mujoco import Conventions, kindyn_from_mjmodel
from linkwork.io.mjcf.package import names_of

OFF = (
    mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    | mujoco.mjtDisableBit.mjDSBL_SPRING
    | mujoco.mjtDisableBit.mjDSBL_DAMPER
    | mujoco.mjtDisableBit.mjDSBL_ACTUATION
)


def compiled(text: str) -> mujoco.MjModel:
    """Compile a model from a string, with only rigid-body dynamics enabled."""
    mj = mujoco.MjModel.from_xml_string(text)
    mj.opt.disableflags |= OFF
    mj.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    return mj


def mass_matrix(mj: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """MuJoCo's mass matrix in a state for which `mj_forward` was called."""
    M = np.zeros((mj.nv, mj.nv))
    mujoco.mj_fullM(mj, data, M)
    return M


def rigid(mj: mujoco.MjModel, **options):
    """The robot in linkwork, without warnings about unsupported elements.

    `compiled` disables equalities in MuJoCo to compare the motion without their soft forces; the
    robot is read as if they were enabled.
    """
    flags = mj.opt.disableflags
    mj.opt.disableflags = flags & ~int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lw.LinkworkWarning)
            return kindyn_from_mjmodel(mj, **options)
    finally:
        mj.opt.disableflags = flags


class Both:
    """A robot in some state, in MuJoCo and in linkwork. MuJoCo's armature is set to zero."""

    def __init__(self, mj, seed=0, kd=None, **options):
        self.mj, self.names = mj, names_of(mj)
        mj.dof_armature[:] = 0.0
        mujoco.mj_setConst(mj, mujoco.MjData(mj))  # which else keeps the armature of simple bodies
        kd = kd or rigid(mj, **options)
        self.kd, self.map = on_numpy(kd), Conventions(kd, mj)
        rng = np.random.default_rng(seed)
        self.q = random_q(kd.layout, rng)
        self.nu, self.nu_dot, self.tau = rng.normal(size=(3, kd.nv)) * [[2.0], [3.0], [4.0]]
        self.data = mujoco.MjData(mj)
        self.data.qpos[:] = self.map.qpos(self.q)
        self.data.qvel[:] = self.map.qvel(self.q, self.nu)
        self.data.qfrc_applied[:] = self.map.qfrc(self.q, self.tau)
        mujoco.mj_forward(mj, self.data)
        self.M = mass_matrix(mj, self.data)

    def agree(self, rtol=1e-9):
        """Compare all quantities."""
        self.agree_on_poses(rtol)
        self.agree_on_jacobians(rtol)
        self.agree_on_dynamics(rtol)

    def agree_on_poses(self, rtol=1e-9):
        data, frames = self.data, self.kd.model.frame_names
        there = [(name, data.xpos[i], data.xmat[i]) for i, name in enumerate(self.names.bodies)]
        there += [
            (name, data.site_xpos[i], data.site_xmat[i]) for i, name in enumerate(self.names.sites)
        ]
        compared = 0
        for name, xpos, xmat in there:
            if name in frames:
                pose = self.kd.transform(name, self.q)
                assert_close(pose[:3, 3], xpos, rtol, scale=max(1.0, np.abs(xpos).max()))
                assert_close(pose[:3, :3].ravel(), xmat, rtol)
                compared += 1
        assert compared >= self.mj.nbody - 1

    def agree_on_jacobians(self, rtol=1e-9):
        jacp, jacr = np.zeros((2, 3, self.mj.nv))
        for body, name in enumerate(self.names.bodies):
            if name in self.kd.model.link_names:
                mujoco.mj_jacBody(self.mj, self.data, jacp, jacr, body)
                J, pose = self.kd.jacobian(name, self.q), self.kd.transform(name, self.q)
                scale = max(1.0, np.abs(J).max(initial=0.0))
                actual = self.map.jacobian(self.data.qpos, jacp, jacr, pose)
                assert_close(actual, J, rtol, scale=scale)

    def agree_on_dynamics(self, rtol=1e-9):
        kd, data, q, nu = self.kd, self.data, self.q, self.nu
        assert_close(kd.mass_matrix(q), self.map.mass_matrix(data.qpos, self.M), rtol)
        h = self.map.bias_force(data.qpos, data.qvel, data.qfrc_bias, self.M)
        bias, scale = kd.bias_force(q, nu), np.abs(self.M).max()
        assert_close(bias, h, rtol, scale=max(scale, np.abs(h).max()))
        self.agree_on_energy(rtol)
        if kd.nv != self.mj.nv:
            return  # MuJoCo moves dependent joints by themselves
        nu_dot = self.map.nu_dot(data.qpos, data.qvel, data.qacc)
        assert_close(kd.forward_dynamics(q, nu, self.tau), nu_dot, rtol)
        data.qacc[:] = self.map.qacc(q, nu, self.nu_dot)
        mujoco.mj_inverse(self.mj, data)
        tau = kd.inverse_dynamics(q, nu, self.nu_dot)
        assert_close(self.map.tau(data.qpos, data.qfrc_inverse), tau, rtol)

    def agree_on_energy(self, rtol=1e-9):
        potential, kinetic = self.data.energy
        scale = max(1.0, abs(potential), kinetic)
        assert_close(self.kd.kinetic_energy(self.q, self.nu), kinetic, rtol, scale=scale)
        assert_close(self.kd.potential_energy(self.q), potential, rtol, scale=scale)
