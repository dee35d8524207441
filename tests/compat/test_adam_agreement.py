"""The same code runs on adam and on linkwork's adam interface, and agrees with iDynTree.

Real robots, three representations, fast motion far from the origin. adam's own tests check the same
quantities to 1e-5; here linkwork must agree to 1e-11, and adam to 1e-9.

adam 0.5 cannot read prismatic joints, so robots with such joints are compared with iDynTree only.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.support.adam import (
    REPRESENTATIONS,
    AtIDynTree,
    Interpreted,
    OnNumpy,
    State,
    adam_kindyn,
    quietly,
    text_of,
)
from tests.support.models import assert_close

from linkwork.compat.adam import KinDynComputations, Representations

ICUB = (
    *("torso_pitch", "torso_roll", "torso_yaw", "neck_pitch", "l_shoulder_pitch", "l_elbow"),
    *("r_shoulder_roll", "l_hip_pitch", "l_hip_roll", "l_hip_yaw", "l_knee", "l_ankle_pitch"),
    *("l_ankle_roll", "r_knee", "r_hip_pitch"),
)
PANDA = tuple(f"panda_joint{k}" for k in range(1, 8))
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")

# robot, moving joints (None: all), a frame, links on which wrenches act
ROBOTS = {
    "iCubGenova04/model": (ICUB, "l_sole", ("l_lower_leg", "head")),
    "iCubGenova03/model": (None, "r_hand", ("l_foot", "chest")),
    "anymal_b_simple_description/anymal": (None, "LF_FOOT", ("RH_SHANK", "LF_FOOT")),
    "talos_data/talos_reduced": (None, "gripper_left_base_link", ("leg_right_6_link",)),
    "panda_description/panda": (PANDA, "panda_hand", ("panda_link5",)),
    "ur_description/ur5_robot": (None, "ee_link", ("forearm_link",)),
}
PRISMATIC = {
    "panda_description/panda": ((*PANDA, *FINGERS), "panda_leftfinger", ("panda_rightfinger",)),
    "tiago_description/tiago_no_hand": (None, "arm_tool_link", ("torso_lift_link",)),
    "baxter_description/baxter": (None, "left_gripper", ("right_hand_link",)),
}
# robots whose programs take long to trace: NumPy runs the algorithms
LARGE = {
    "iCubGenova03/model",
    "talos_data/talos_reduced",
    "tiago_description/tiago_no_hand",
    "baxter_description/baxter",
}
each_robot = pytest.mark.parametrize("robot", ROBOTS)
each_representation = pytest.mark.parametrize(
    "representation", REPRESENTATIONS, ids=lambda r: r.name.partition("_")[0].lower()
)
FORCES = ("bias_force", "coriolis_term", "gravity_term")


@cache
def linkwork_kindyn(robot, *, prismatic=False):
    joints = (PRISMATIC if prismatic else ROBOTS)[robot][0]
    kind = OnNumpy if robot in LARGE else Interpreted
    return quietly(kind, text_of(robot, joints), joints and list(joints))


@cache
def there(robot):
    joints = ROBOTS[robot][0]
    return adam_kindyn(text_of(robot, joints), joints and list(joints))


def wrenches_on(links, seed=7):
    rng = np.random.default_rng(seed)
    return {link: rng.uniform(-10, 10, size=6) for link in links}


def assert_agree(actual, expected, rtol):
    """Compare relative to the largest element; forces to the largest force, as they may cancel."""
    forces = max(np.abs(expected[name]).max() for name in FORCES)
    for name, value in expected.items():
        scale = forces if name in FORCES else max(np.abs(value).max(initial=0.0), 1e-3)
        try:
            assert_close(actual[name], value, rtol, scale=scale)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


def check_against_idyntree(kd, case, urdf, representation, rtol):
    """Check what adam's tests check, with code that runs on adam and on linkwork."""
    _, frame, links = case
    state = State(kd.NDoF)
    joints = list(kd.rbdalgos.model.actuated_joints)
    wrenches = wrenches_on(links)
    kd.set_frame_velocity_representation(representation)
    idyntree = AtIDynTree(urdf, joints, kd.rbdalgos.root_link, state, representation)

    result, expected = state.everything(kd, frame, wrenches), idyntree.everything(frame)

    result["bias_acceleration"] = result["jacobian_dot"] @ state.nu
    assert_agree(result, expected, rtol)
    relative = idyntree.relative_jacobian(kd.rbdalgos.root_link, frame)
    assert_close(result["relative_jacobian"], relative, rtol, scale=1.0)
    mass = idyntree.kd.model().getTotalMass()
    assert_close(kd.get_total_mass(), mass, 1e-12)
    tau = np.concatenate([np.zeros(6), state.tau])
    pushed = sum(idyntree.jacobian(link).T @ wrenches[link] for link in links)
    M, h = expected["mass_matrix"], expected["bias_force"]
    for name, forces in (("aba", tau), ("aba with wrenches", tau + pushed)):
        terms = M @ result[name], h, forces
        scale = max(np.abs(term).max() for term in terms)
        assert_close(terms[0] + terms[1], terms[2], rtol, scale=scale)


@each_robot
@each_representation
@pytest.mark.parametrize("library", ["adam", "linkwork"])
def test_both_libraries_agree_with_idyntree(library, robot, representation):
    kd = there(robot) if library == "adam" else linkwork_kindyn(robot)
    rtol = 1e-9 if library == "adam" else 1e-11
    xml = text_of(robot, ROBOTS[robot][0])
    check_against_idyntree(kd, ROBOTS[robot], xml, representation, rtol)


@pytest.mark.parametrize("robot", PRISMATIC)
@each_representation
def test_robots_with_prismatic_joints_agree_with_idyntree(robot, representation):
    """adam does not rotate the axis of a prismatic joint by the rotation of its origin."""
    case = PRISMATIC[robot]
    kd = linkwork_kindyn(robot, prismatic=True)
    xml = text_of(robot, case[0])
    check_against_idyntree(kd, case, xml, representation, 1e-11)


@each_robot
@each_representation
def test_linkwork_agrees_with_adam(robot, representation):
    """Except for `jacobian_dot`, of which only the product with the velocity is right in adam."""
    theirs, actual = there(robot), linkwork_kindyn(robot)
    _, frame, links = ROBOTS[robot]
    state, wrenches = State(actual.NDoF, seed=1), wrenches_on(links, seed=2)
    for kd in (theirs, actual):
        kd.set_frame_velocity_representation(representation)

    expected = state.everything(theirs, frame, wrenches)
    result = state.everything(actual, frame, wrenches)

    both = (expected, result)
    products = [quantities.pop("jacobian_dot") @ state.nu for quantities in both]
    assert_close(products[1], products[0], 1e-9)
    condition = np.linalg.cond(result["mass_matrix"])
    for name in ("aba", "aba with wrenches"):
        accelerations = [quantities.pop(name) for quantities in both]
        assert_close(accelerations[1], accelerations[0], 1e-9 * max(1.0, condition / 1e5))
    assert_agree(result, expected, 1e-11)
    assert theirs.rbdalgos.model.actuated_joints == actual.rbdalgos.model.actuated_joints


@each_representation
def test_jacobian_dot_is_the_derivative_of_the_jacobian_of_adam(representation):
    """Along the motion, by central differences of adam's Jacobian."""
    robot = "ur_description/ur5_robot"
    theirs, actual = there(robot), linkwork_kindyn(robot)
    state, step = State(actual.NDoF), 1e-6
    for kd in (theirs, actual):
        kd.set_frame_velocity_representation(representation)
    moved = [_moved(state, actual, t) for t in (step, -step)]

    ahead, behind = (theirs.jacobian("ee_link", H, s) for H, s in moved)

    result = actual.jacobian_dot("ee_link", state.H, state.s, state.v, state.sd)
    assert_close(result, (ahead - behind) / (2 * step), 1e-8)


def _moved(state, kd, t):
    from linkwork.spatial import quat

    q = np.concatenate([state.H[:3, 3], quat.from_rotation(state.H[:3, :3]), state.s])
    q = kd._kd.integrate(q, state.nu, t)
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = quat.to_rotation(q[3:7]), q[:3]
    return H, q[7:]


@pytest.mark.parametrize("robot", ["iCubGenova04/model", "ur_description/ur5_robot"])
def test_each_row_of_a_batch_agrees_with_a_single_call(robot):
    kd = linkwork_kindyn(robot)
    _, frame, links = ROBOTS[robot]
    state, wrenches = State(kd.NDoF, batch=(2, 3)), wrenches_on(links)
    kd.set_frame_velocity_representation(Representations.MIXED_REPRESENTATION)

    result = state.everything(kd, frame, wrenches)

    for index in np.ndindex(2, 3):
        alone = state.row(*index).everything(kd, frame, wrenches)
        assert_agree({name: value[index] for name, value in result.items()}, alone, 1e-12)


WITH_FIXED = ["shoulder_pan_joint", "ee_fixed_joint", "shoulder_lift_joint", "elbow_joint"]


def test_a_fixed_joint_may_be_listed():
    """Its entries have no effect, and its rows and columns are 0, as in adam."""
    text = text_of("ur_description/ur5_robot", None)
    state, theirs = State(len(WITH_FIXED)), adam_kindyn(text, WITH_FIXED)
    without = quietly(KinDynComputations, text, [x for x in WITH_FIXED if x != "ee_fixed_joint"])
    moving = [0, 2, 3]
    for kind in (KinDynComputations, OnNumpy):
        kd = quietly(kind, text, WITH_FIXED)
        assert kd.NDoF == theirs.NDoF == 4
        assert kd.model.joints["ee_fixed_joint"].idx == 1
        q, nu = (state.H, state.s), (state.v, state.sd)
        for name, arguments in {
            "forward_kinematics": ("ee_link", *q),
            "jacobian": ("ee_link", *q),
            "relative_jacobian": ("ee_link", state.s),
            "CoM_position": q,
            "CoM_jacobian": q,
            "mass_matrix": q,
            "centroidal_momentum_matrix": q,
            "bias_force": (*q, *nu),
            "coriolis_term": (*q, *nu),
            "gravity_term": q,
        }.items():
            expected = np.squeeze(getattr(theirs, name)(*arguments))
            assert_close(getattr(kd, name)(*arguments), expected, 1e-9)
        acceleration = kd.aba(*q, *nu, state.tau)  # adam: a singular matrix
        entries = [*range(6), *(6 + k for k in moving)]
        expected = without.aba(
            state.H, state.s[moving], state.v, state.sd[moving], state.tau[moving]
        )
        assert_close(acceleration[entries], expected, 1e-12)
        assert acceleration[7] == 0.0
        batch = State(len(WITH_FIXED), batch=(5,))
        assert_close(
            kd.mass_matrix(batch.H, batch.s)[3], kd.mass_matrix(batch.H[3], batch.s[3]), 1e-14
        )
