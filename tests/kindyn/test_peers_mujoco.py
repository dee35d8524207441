"""Real robots against MuJoCo, which sees a free base as [velocity in the world; turning in it].

MuJoCo takes 60 of the 84 robots once shapes are left out and a link called "world" is renamed; it
refuses the others for inertias that no body could have (22) and for bodies without mass (2).
"""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from lxml import etree
from tests.support.kindyn import GRAVITY, rotation_of, run_program
from tests.support.models import assert_close, random_q
from tests.support.mujoco import mass_matrix
from tests.support.real_robots import ROBOT_FILES, label, load_quietly

import linkwork as lw

pytestmark = pytest.mark.peers

mujoco = pytest.importorskip("mujoco")

NOT_FOR_MUJOCO = ("visual", "collision", "transmission", "gazebo", "material", "sensor", "mimic")
ROBOTS = [
    "talos_data/talos_reduced",
    "talos_data/talos_full_v2",
    "simple_humanoid_description/simple_humanoid",
    "iCubGenova04/model",
    "g1_description/g1_29dof_rev_1_0",
    "go2_description/go2",
    "solo_description/solo12",
    "panda_description/panda",
    "kinova_description/kinova",
    "ur_description/ur5_robot",
    "tiago_pro_description/tiago_pro",
    "iris_description/iris",
]


def floating_version(path):
    """The robot on a free joint in an empty world."""
    root = etree.fromstring(path.read_bytes(), etree.XMLParser(remove_comments=True))
    for element in [e for tag in NOT_FOR_MUJOCO for e in root.iter(tag)]:
        element.getparent().remove(element)
    for element in root.iter("link", "parent", "child"):
        for key in ("name", "link"):
            if element.get(key) == "world":
                element.set(key, "world_of_the_file")
    base = load_quietly(path).default_base.replace("world", "world_of_the_file")
    etree.SubElement(root, "link", name="nothing")
    joint = etree.SubElement(root, "joint", name="free", type="floating")
    etree.SubElement(joint, "parent", link="nothing")
    etree.SubElement(joint, "child", link=base)
    etree.SubElement(etree.SubElement(root, "mujoco"), "compiler", fusestatic="true")
    return etree.tostring(root).decode()


@pytest.mark.parametrize("name", ROBOTS)
def test_real_robots_have_the_mass_matrix_and_bias_that_mujoco_gives_them(name):
    """The velocity map is constant up to w x w = 0, so h needs no further term."""
    path = next(path for path in ROBOT_FILES if label(path) == name)
    there = mujoco.MjModel.from_xml_string(floating_version(path))
    there.opt.gravity, there.dof_armature[:] = GRAVITY, 0.0
    data = mujoco.MjData(there)
    kd = lw.KinDyn(load_quietly(path, mimic=False))
    rng = np.random.default_rng(7)
    q, nu = random_q(kd.layout, rng), 2 * rng.normal(size=kd.nv)
    assert there.nv == kd.nv
    T = np.zeros((kd.nv, kd.nv))  # v = T nu
    T[:3, :3], T[3:6, 3:6] = np.eye(3), rotation_of(q[3:7]).T
    data.qpos[:7] = q[:7]
    for joint in kd.joint_names:
        at = there.joint(joint)
        data.qpos[at.qposadr] = q[kd.layout.q[joint]]
        T[at.dofadr, kd.layout.nu[joint]] = 1.0
    data.qvel[:] = T @ nu
    mujoco.mj_forward(there, data)
    M = mass_matrix(there, data)

    found, bias = run_program(kd.function("mass_matrix", "bias_force").program, q, nu)

    assert_close(found, T.T @ M @ T, rtol=1e-9)
    assert_close(bias, T.T @ data.qfrc_bias, rtol=1e-9)


def test_mujoco_loads_as_many_robots_as_the_table_says():
    loaded = 0
    for path in ROBOT_FILES:
        with contextlib.suppress(ValueError):
            loaded += mujoco.MjModel.from_xml_string(floating_version(path)).nv >= 6
    assert loaded == 60
