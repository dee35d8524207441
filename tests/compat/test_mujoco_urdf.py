"""Real robots there and back: URDF into linkwork, and URDF into MuJoCo into linkwork.

MuJoCo drops shapes here, keeps bodies that do not move, and puts the robot on a free joint.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from lxml import etree
from tests.support.kindyn import on_numpy
from tests.support.models import assert_close, random_q
from tests.support.mujoco import rigid
from tests.support.real_robots import ROBOT_FILES, label, load_quietly

import linkwork as lw
from linkwork.compat.mujoco import Conventions
from linkwork.io.mjcf.reader import collected_warnings

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


REFUSED_BY_MUJOCO = {
    "alex_description/alex_psyonic_hands",
    "allegro_hand_description/allegro_left_hand",
    "allegro_hand_description/allegro_right_hand",
    "anymal_b_simple_description/anymal-kinova",
    "anymal_b_simple_description/anymal",
    "anymal_c_simple_description/anymal",
    "b1_description/b1-z1",
    "b1_description/b1",
    "finger_edu_description/finger_edu",
    "go1_description/go1",
    "human_description/human",
    "hyq_description/hyq_no_sensors",
    "icub_description/icub",
    "icub_description/icub_reduced",
    "pr2_description/pr2",
    "romeo_description/romeo",
    "romeo_description/romeo_laas_small",
    "romeo_description/romeo_small",
    "tiago_description/tiago",
    "tiago_description/tiago_dual",
    "tiago_description/tiago_no_hand",
    "iCubGenova03/model",
    "iCubLisboa01/model",
    "iCubNancy01/model",
}
TAKEN = [path for path in ROBOT_FILES if label(path) not in REFUSED_BY_MUJOCO]


@pytest.mark.parametrize("path", TAKEN, ids=label)
def test_robots_are_the_same_by_way_of_mujoco(path):
    mj = on_a_free_joint(path)
    model = load_quietly(path, mimic=False)
    if "world" in model.link_names:
        model = model.renamed(links={"world": "world_of_the_file"})
    there = lw.KinDyn(model, representation="inertial")
    back = rigid(mj, gravity=there.gravity, representation="body")
    to_there, to_back = Conventions(there, mj), Conventions(back, mj)
    rng = np.random.default_rng(5)
    q, nu = random_q(there.layout, rng), rng.normal(size=there.nv)
    qpos, qvel = to_there.qpos(q), to_there.qvel(q, nu)
    state = to_back.q(qpos), to_back.nu(qpos, qvel)

    assert set(model.link_names) == set(back.model.link_names)
    wanted = ("mass_matrix", "bias_force", ("transforms", model.link_names))
    (M, h, poses), (M_back, h_back, poses_back) = (
        on_numpy(kd).function(*wanted)(*pair) for kd, pair in ((there, (q, nu)), (back, state))
    )
    assert_close(poses_back, poses, 1e-9)
    M_mj = to_there.full_m(q, M)
    assert_close(to_back.full_m(state[0], M_back), M_mj, 1e-9)
    found = to_back.qfrc_bias(*state, h_back, M_back)
    assert_close(found, to_there.qfrc_bias(q, nu, h, M), 1e-9, scale=np.abs(M_mj).max())


def test_mujoco_takes_as_many_robots_as_it_does():
    taken = sum(on_a_free_joint(path) is not None for path in ROBOT_FILES)
    assert len(ROBOT_FILES) - taken == REFUSED
