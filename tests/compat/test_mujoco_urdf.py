"""Real robots: URDF read by linkwork, and URDF read by MuJoCo and then by linkwork.

MuJoCo is set to drop shapes, to keep fixed bodies, and to add a free joint.
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
from linkwork.io.mjcf.package import collected_warnings

NOT_FOR_MUJOCO = ("visual", "collision", "transmission", "gazebo", "material", "sensor", "mimic")
REJECTED = 24  # robots of 84 with unphysical inertias, or moving bodies without mass


def on_a_free_joint(path):
    """Return MuJoCo's model of a robot, or None if MuJoCo rejects it."""
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


REJECTED_BY_MUJOCO = {
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
ACCEPTED = [path for path in ROBOT_FILES if label(path) not in REJECTED_BY_MUJOCO]


@pytest.mark.parametrize("path", ACCEPTED, ids=label)
def test_robots_read_through_mujoco_are_the_same(path):
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
    expected = ("mass_matrix", "bias_force", ("transforms", model.link_names))
    (M, h, poses), (M_back, h_back, poses_back) = (
        on_numpy(kd).function(*expected)(*pair) for kd, pair in ((there, (q, nu)), (back, state))
    )
    assert_close(poses_back, poses, 1e-9)
    M_mj = to_there.full_m(q, M)
    assert_close(to_back.full_m(state[0], M_back), M_mj, 1e-9)
    result = to_back.qfrc_bias(*state, h_back, M_back)
    assert_close(result, to_there.qfrc_bias(q, nu, h, M), 1e-9, scale=np.abs(M_mj).max())


def test_the_number_of_robots_that_mujoco_rejects():
    accepted = sum(on_a_free_joint(path) is not None for path in ROBOT_FILES)
    assert len(ROBOT_FILES) - accepted == REJECTED
