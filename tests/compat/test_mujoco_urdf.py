"""Real robots there and back: URDF into linkwork, and URDF into MuJoCo into linkwork.

MuJoCo drops shapes here, keeps bodies that do not move, and puts the robot on a free joint.
"""

from __future__ import annotations

import numpy as np
import pytest
from lxml import etree

import linkwork as lw
from kindyn_helpers import run_program
from models_for_tests import assert_close, random_q
from real_robots import ROBOT_FILES, label, load_quietly

mujoco = pytest.importorskip("mujoco")

from linkwork.compat.mujoco import Conventions  # noqa: E402 - needs mujoco
from linkwork.io.mjcf import collected_warnings  # noqa: E402 - the same
from mujoco_helpers import rigid  # noqa: E402 - the same

NOT_FOR_MUJOCO = ("visual", "collision", "transmission", "gazebo", "material", "sensor", "mimic")
REFUSED = 24  # robots of 84 with inertias that no body has, or bodies without mass


def on_a_free_joint(path):
    """MuJoCo's model of a robot, or None if it refuses it."""
    root = etree.fromstring(path.read_bytes(), etree.XMLParser(remove_comments=True))
    for element in [e for tag in NOT_FOR_MUJOCO for e in root.iter(tag)]:
        element.getparent().remove(element)
    for element in root.iter("link", "parent", "child"):
        for key in ("name", "link"):
            if element.get(key) == "world":
                element.set(key, "world_of_the_file")
    base = load_quietly(path).default_base.replace("world", "world_of_the_file")
    etree.SubElement(etree.SubElement(root, "mujoco"), "compiler", fusestatic="false")
    with collected_warnings(mujoco):
        try:
            spec = mujoco.MjSpec.from_string(etree.tostring(root).decode())
            spec.body(base).add_freejoint()
            return spec.compile()
        except ValueError:
            return None


@pytest.mark.parametrize("path", ROBOT_FILES, ids=label)
def test_robots_are_the_same_by_way_of_mujoco(path):
    mj = on_a_free_joint(path)
    if mj is None:
        pytest.skip("MuJoCo refuses this robot")
    model = load_quietly(path, mimic=False)
    if "world" in model.link_names:
        model = lw.renamed(model, links={"world": "world_of_the_file"})
    there = lw.KinDyn(model, velocity="inertial")
    back = rigid(mj, gravity=there.gravity, velocity="body")
    to_there, to_back = Conventions(there, mj), Conventions(back, mj)
    rng = np.random.default_rng(5)
    q, nu = random_q(there.layout, rng), rng.normal(size=there.nv)
    qpos, qvel = to_there.qpos(q), to_there.qvel(q, nu)
    state = to_back.q(qpos), to_back.nu(qpos, qvel)

    assert set(model.link_names) == set(back.model.link_names)
    wanted = ("mass_matrix", "bias_force", ("transforms", model.link_names))
    (M, h, poses), (M_back, h_back, poses_back) = (
        run_program(kd.function(*wanted).program, *pair)
        for kd, pair in ((there, (q, nu)), (back, state))
    )
    assert_close(poses_back, poses, 1e-9)
    M_mj = to_there.full_m(q, M)
    assert_close(to_back.full_m(state[0], M_back), M_mj, 1e-9)
    found = to_back.qfrc_bias(*state, h_back, M_back)
    assert_close(found, to_there.qfrc_bias(q, nu, h, M), 1e-9, scale=np.abs(M_mj).max())


def test_mujoco_takes_as_many_robots_as_it_does():
    taken = sum(on_a_free_joint(path) is not None for path in ROBOT_FILES)
    assert len(ROBOT_FILES) - taken == REFUSED
