"""The robots that are measured, and random states of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

import linkwork as lw
from linkwork.engine.symbolic.arrays import Array
from linkwork.model.inertia import solid_box

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.support.real_robots import FILES, load_quietly


@dataclass(frozen=True)
class Case:
    """A robot file and the frame whose pose and Jacobian are measured."""

    name: str
    ending: str  # of the path of its file
    frame: str

    @property
    def path(self) -> Path:
        """Where the file is."""
        return next(path for path in FILES if path.as_posix().endswith(self.ending))


CASES = (
    Case("ur5", "ur_description/urdf/ur5_robot.urdf", "tool0"),
    Case("panda", "panda_description/urdf/panda.urdf", "panda_hand"),
    Case("anymal", "anymal_b_simple_description/robots/anymal.urdf", "LF_FOOT"),
    Case("iCub", "iCubGazeboV2_5/model.urdf", "l_sole"),
    Case("talos_reduced", "talos_data/robots/talos_reduced.urdf", "left_sole_link"),
)
TALOS = CASES[-1]
# Robots of GRiD's published protocol: name, file or name to load, whether the base floats.
GRID_ROBOTS = (
    ("iiwa14", "iiwa14_description", False),
    ("go2", "go2", True),
    ("g1", "g1_29dof_rev_1_0", True),
)
GRAVITY = (0.0, 0.0, -9.80665)  # acceleration of free fall in the world [m/s^2]


@cache
def model_of(case: Case) -> lw.Model:
    """The robot of a case. Joints that mimic others are free, as most of the peers have them."""
    return load_quietly(case.path, mimic=False)


@cache
def kindyn_of(case: Case) -> lw.KinDyn:
    """linkwork as it comes: floating base, mixed representation."""
    return lw.KinDyn(model_of(case), floating=True, gravity=GRAVITY)


@dataclass(frozen=True)
class State:
    """A state, or a batch of states, in linkwork's conventions; no wrench on the base."""

    q: Array
    nu: Array
    nu_dot: Array
    tau: Array

    def row(self, number: int) -> State:
        """One state of a batch."""
        return State(self.q[number], self.nu[number], self.nu_dot[number], self.tau[number])

    def without_acceleration(self) -> State:
        """The same with nu_dot = 0."""
        return replace(self, nu_dot=np.zeros_like(self.nu_dot))


def random_states(kd: lw.KinDyn, n: int, seed: int = 0) -> State:
    """A batch of random states."""
    rng = np.random.default_rng(seed)
    nu, nu_dot, tau = (rng.normal(size=(n, kd.nv)).astype(kd.dtype) for _ in range(3))
    tau[:, :6] = 0.0
    return State(kd.random(n, seed=seed), nu, nu_dot, tau)


def chain(joints: int) -> lw.Model:
    """A chain of boxes on turning joints, each with mounts and inertias that are not special."""
    builder = lw.ModelBuilder(f"chain{joints}")
    size = (0.1, 0.15, 0.4)
    builder.add_link("link0", inertia=solid_box(2.0, size, com=(0.01, 0.02, 0.03)))
    axes: Sequence[tuple[float, float, float]] = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    for k in range(joints):
        builder.add_link(f"link{k + 1}", inertia=solid_box(1.0, size, com=(0.01, 0.02, 0.2)))
        mount = lw.Pose(xyz=(0.01, 0.02, 0.4))
        builder.add_joint(
            f"joint{k:03}",
            "revolute",
            f"link{k}",
            f"link{k + 1}",
            axis=axes[k % 3],
            first_H_joint=mount,
            lower=-3.0,
            upper=3.0,
            velocity=10.0,
            effort=100.0,
        )
    return builder.build()
