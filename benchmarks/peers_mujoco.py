"""MuJoCo, called stage by stage, so that it computes only the function that is measured."""

from __future__ import annotations

from typing import Any

import numpy as np
from conventions import Convention
from peers import Peer
from timing import Task
from urdf_text import for_mujoco, lumped, mujoco_name

import linkwork as lw
from robots import GRAVITY, State


class MuJoCo(Peer):
    """MuJoCo's engine with the robot of the same URDF on a free joint; no contacts."""

    name, package = "mujoco", "mujoco"

    def __init__(self, kd: lw.KinDyn, source: str, frame: str) -> None:
        import mujoco

        del source  # its merging of links rejects links of nearly no mass
        spec = mujoco.MjSpec.from_string(for_mujoco(lumped(kd.model)))
        spec.body(mujoco_name(str(kd.base))).add_freejoint()
        spec.body(frame).add_site(name="site")
        self.mj, self.model = mujoco, spec.compile()
        self.model.opt.gravity[:] = GRAVITY
        self.data, self.mass = mujoco.MjData(self.model), self.model.body_subtreemass[1]
        self.site = self.model.site("site").id
        names = [self.model.joint(k).name for k in range(1, self.model.njnt)]
        self.convention = Convention(kd, "mujoco", names)

    def tasks(self, function: str, state: State) -> list[Task]:
        ways = {
            "rnea": self._rnea,
            "crba": self._crba,
            "aba": self._aba,
            "pose": self._pose,
            "jacobian": self._jacobian,
            "cmm": self._cmm,
        }
        if function not in ways:
            return []
        own = self.convention.state(state)
        return [Task(ways[function], (self.convention.q(state.q), own.nu, own.nu_dot, own.tau))]

    def _place(self, q: Any) -> None:
        self.data.qpos[:] = q
        self.mj.mj_kinematics(self.model, self.data)
        self.mj.mj_comPos(self.model, self.data)

    def _rnea(self, q: Any, nu: Any, nu_dot: Any, _tau: Any) -> Any:
        self._place(q)
        self.data.qvel[:], self.data.qacc[:] = nu, nu_dot
        self.mj.mj_comVel(self.model, self.data)
        result = np.empty(self.model.nv)
        self.mj.mj_rne(self.model, self.data, 1, result)
        return result

    def _crba(self, q: Any, *_: Any) -> Any:
        self._place(q)
        self.mj.mj_crb(self.model, self.data)
        result = np.empty((self.model.nv, self.model.nv))
        self.mj.mj_fullM(self.model, self.data, result)
        return result

    def _aba(self, q: Any, nu: Any, _nu_dot: Any, tau: Any) -> Any:
        self._place(q)
        self.mj.mj_crb(self.model, self.data)
        self.mj.mj_factorM(self.model, self.data)
        self.data.qvel[:] = nu
        self.mj.mj_comVel(self.model, self.data)
        bias, result = np.empty(self.model.nv), np.empty((1, self.model.nv))
        self.mj.mj_rne(self.model, self.data, 0, bias)
        self.mj.mj_solveM(self.model, self.data, result, (tau - bias)[None])
        return result

    def _pose(self, q: Any, *_: Any) -> Any:
        self.data.qpos[:] = q
        self.mj.mj_kinematics(self.model, self.data)
        H = np.eye(4)
        H[:3, :3] = self.data.site_xmat[self.site].reshape(3, 3)
        H[:3, 3] = self.data.site_xpos[self.site]
        return H

    def _jacobian(self, q: Any, *_: Any) -> Any:
        self._place(q)
        J = np.empty((6, self.model.nv))
        self.mj.mj_jacSite(self.model, self.data, J[:3], J[3:], self.site)
        return J

    def _cmm(self, q: Any, *_: Any) -> Any:
        self._place(q)
        A = np.empty((6, self.model.nv))
        self.mj.mj_jacSubtreeCom(self.model, self.data, A[:3], 1)
        A[:3] *= self.mass
        self.mj.mj_angmomMat(self.model, self.data, A[3:], 1)
        return A
