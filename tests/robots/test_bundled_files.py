"""The bundled URDF files, checked with lxml and Pinocchio instead of linkwork's loader."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from lxml import etree

pytestmark = pytest.mark.peers

ROOT = Path(__file__).resolve().parents[2]
ROBOTS = ROOT / "src" / "linkwork" / "robots"

# name: (moving joints, least and greatest total mass in kg)
EXPECTED = {
    "pendulum": (1, 3, 4),
    "double_pendulum": (2, 3, 4),
    "cartpole": (2, 8, 9),
    "quadrotor": (0, 1, 1.5),
    "arm": (9, 15, 20),
    "quadruped": (12, 14, 16),
    "humanoid": (31, 60, 70),
}
LEGS = ("FL", "FR", "RL", "RR")

Element = Any  # of lxml; its stubs call every attribute and child optional

each_robot = pytest.mark.parametrize("name", EXPECTED)


def path(name: str) -> Path:
    return ROBOTS / f"{name}.urdf"


def read(name: str) -> Element:
    return etree.parse(path(name)).getroot()


def floating(name: str) -> pin.Model:
    return pin.buildModelFromUrdf(str(path(name)), pin.JointModelFreeFlyer())


def floats(text: str) -> np.ndarray:
    return np.array([float(word) for word in text.split()])


def placement(element: Element) -> pin.SE3:
    origin = element.find("origin")
    return pin.SE3(pin.rpy.rpyToMatrix(floats(origin.get("rpy"))), floats(origin.get("xyz")))


def tensor(inertia: Element) -> np.ndarray:
    xx, xy, xz, yy, yz, zz = (
        float(inertia.get(key)) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def stated_inertia(inertial: Element) -> pin.Inertia:
    """The inertia that the file states, in the link frame."""
    inertia = pin.Inertia(
        float(inertial.find("mass").get("value")), np.zeros(3), tensor(inertial.find("inertia"))
    )
    return placement(inertial).act(inertia)


def solid_inertia(visual: Element, mass: float) -> pin.Inertia:
    """The inertia, in the link frame, of a visual filled with the given mass."""
    (shape,) = visual.find("geometry")
    match shape.tag:
        case "box":
            inertia = pin.Inertia.FromBox(mass, *floats(shape.get("size")))
        case "cylinder":
            radius, length = float(shape.get("radius")), float(shape.get("length"))
            inertia = pin.Inertia.FromCylinder(mass, radius, length)
        case "sphere":
            inertia = pin.Inertia.FromSphere(mass, float(shape.get("radius")))
        case tag:
            raise AssertionError(f"<{tag}> is not a primitive")
    return placement(visual).act(inertia)


def masses_of_visuals(inertial: Element) -> list[float]:
    """A single visual has the total mass; for several, a comment states their masses in order."""
    comments = inertial.xpath("comment()")
    if not comments:
        return [float(inertial.find("mass").get("value"))]
    return [float(mass) for mass in re.findall(r"\w+ (\S+) kg", comments[0].text)]


def random_configuration(model: pin.Model, seed: int) -> np.ndarray:
    """Random joint positions in [-2, 2]; limits are ignored."""
    rng = np.random.default_rng(seed)
    return pin.integrate(model, pin.neutral(model), rng.uniform(-2, 2, model.nv))


def moving_joints(model: pin.Model) -> list[str]:
    """The names of the joints after the free-flyer, in the order of s."""
    return list(model.names)[2:]


def joint_values(model: pin.Model, values: dict[str, float]) -> np.ndarray:
    """The configuration with the base at the origin and the given joints; others are zero."""
    q = pin.neutral(model)
    for joint, value in values.items():
        q[model.joints[model.getJointId(joint)].idx_q] = value
    return q


def test_the_generator_reproduces_the_files_byte_for_byte(tmp_path):
    script = ROOT / "tools" / "make_robots.py"

    subprocess.run([sys.executable, "-B", script, tmp_path], check=True)

    written = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    bundled = {file.name: file.read_bytes() for file in ROBOTS.glob("*.urdf")}
    assert set(bundled) == {f"{name}.urdf" for name in EXPECTED}
    assert written == bundled


@each_robot
def test_each_element_is_on_a_separate_line(name):
    for line in path(name).read_text().splitlines():
        assert line.count("<") <= 1
        assert line == line.rstrip()
        assert (len(line) - len(line.lstrip())) % 2 == 0


@each_robot
def test_names_are_unique_and_readable(name):
    """Links and joints share one set of names, so that a frame is never ambiguous."""
    robot = read(name)

    names = [element.get("name") for element in robot.iter("link", "joint")]

    assert robot.get("name") == name
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"((FL|FR|RL|RR)_)?[a-z][a-z_]*", each) for each in names)


@each_robot
def test_shapes_are_primitives_with_a_known_material(name):
    robot = read(name)
    palette = {material.get("name") for material in robot.findall("material")}

    shapes = {shape.tag for geometry in robot.iter("geometry") for shape in geometry}
    used = {visual.find("material").get("name") for visual in robot.iter("visual")}

    assert shapes <= {"box", "cylinder", "sphere"}
    assert used == palette


@each_robot
def test_moving_joints_state_limits_and_losses(name):
    for joint in read(name).findall("joint"):
        if joint.get("type") == "fixed":
            continue
        limit, dynamics = joint.find("limit"), joint.find("dynamics")
        axis = floats(joint.find("axis").get("xyz"))

        assert np.linalg.norm(axis) == 1
        assert float(limit.get("velocity")) > 0
        assert float(limit.get("effort")) >= 0
        assert float(dynamics.get("damping")) > 0
        assert float(dynamics.get("friction")) > 0
        if joint.get("type") == "continuous":
            assert "lower" not in limit.attrib
            assert "upper" not in limit.attrib
        else:
            assert float(limit.get("lower")) < float(limit.get("upper"))


@each_robot
def test_inertias_are_those_of_the_visuals(name):
    for link in read(name).findall("link"):
        inertial, visuals = link.find("inertial"), link.findall("visual")
        if inertial is None:
            assert not visuals
            continue

        masses = masses_of_visuals(inertial)
        parts = [solid_inertia(*pair) for pair in zip(visuals, masses, strict=True)]
        total = sum(parts[1:], start=parts[0])

        stated, scale = stated_inertia(inertial), np.trace(total.inertia)
        assert stated.mass == pytest.approx(total.mass, rel=1e-12)
        np.testing.assert_allclose(stated.lever, total.lever, rtol=0, atol=1e-6)
        np.testing.assert_allclose(stated.inertia, total.inertia, rtol=0, atol=1e-5 * scale)


@each_robot
def test_inertias_satisfy_the_triangle_inequality(name):
    for inertia in read(name).iter("inertia"):
        least, middle, greatest = np.linalg.eigvalsh(tensor(inertia))

        assert least > 0
        assert least + middle > greatest


@each_robot
def test_sizes_and_mass(name):
    moving, least, greatest = EXPECTED[name]

    model = floating(name)

    # Pinocchio has (cos, sin) for a continuous joint.
    continuous = sum(joint.get("type") == "continuous" for joint in read(name).findall("joint"))
    assert model.nv == 6 + moving
    assert model.nq == 7 + moving + continuous
    assert least <= pin.computeTotalMass(model) <= greatest


@each_robot
def test_mass_matrix_is_positive_definite(name):
    model = floating(name)
    data = model.createData()

    for seed in range(20):
        M = np.triu(pin.crba(model, data, random_configuration(model, seed)))
        M += np.triu(M, 1).T

        assert np.linalg.eigvalsh(M)[0] > 0


@pytest.mark.parametrize("name", ["arm", "humanoid"])
def test_some_origins_are_tilted_and_some_products_of_inertia_are_not_zero(name):
    """A robot with all frames aligned would hide errors."""
    robot = read(name)

    tilted = [
        joint.get("name")
        for joint in robot.findall("joint")
        if joint.get("type") != "fixed" and floats(joint.find("origin").get("rpy")).any()
    ]
    products = [
        [float(inertia.get(key)) for key in ("ixy", "ixz", "iyz")]
        for inertia in robot.iter("inertia")
    ]
    askew = [floats(each.find("origin").get("rpy")).any() for each in robot.iter("inertial")]

    assert len(tilted) >= 3
    assert any(all(row) for row in products)
    assert any(askew)


@pytest.mark.parametrize(
    ("name", "sides"),
    [("humanoid", {"l_": "r_"}), ("quadruped", {"FL_": "FR_", "RL_": "RR_"})],
)
def test_a_mirrored_posture_has_the_mirrored_center_of_mass(name, sides):
    """Mirroring changes the sign of roll and yaw, but not of pitch, knees and elbows."""
    both_ways = sides | {right: left for left, right in sides.items()}
    model = floating(name)
    data = model.createData()
    rng = np.random.default_rng(0)

    for _ in range(20):
        posture = {joint: rng.uniform(-2, 2) for joint in moving_joints(model)}
        image = {}
        for joint, value in posture.items():
            prefix = next((prefix for prefix in both_ways if joint.startswith(prefix)), "")
            twin = both_ways.get(prefix, "") + joint.removeprefix(prefix)
            image[twin] = -value if joint.endswith(("roll", "yaw")) else value

        com = pin.centerOfMass(model, data, joint_values(model, posture)).copy()
        com_of_image = pin.centerOfMass(model, data, joint_values(model, image))

        np.testing.assert_allclose(com_of_image, com * (1, -1, 1), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "left", "right"),
    [("humanoid", "l_", "r_"), ("quadruped", "FL_", "FR_"), ("quadruped", "RL_", "RR_")],
)
def test_inertias_and_ranges_of_the_right_side_mirror_the_left(name, left, right):
    robot = read(name)
    by_name = {element.get("name"): element for element in robot.iter("link", "joint")}
    pairs = {key: right + key.removeprefix(left) for key in by_name if key.startswith(left)}
    M = np.diag([1, -1, 1])

    assert pairs
    for ours, twin in ((by_name[key], by_name[image]) for key, image in pairs.items()):
        if (limit := ours.find("limit")) is not None:
            span = np.array([float(limit.get("lower")), float(limit.get("upper"))])
            turned = span if ours.get("name").endswith(("pitch", "knee", "elbow")) else -span[::-1]
            assert [float(twin.find("limit").get(key)) for key in ("lower", "upper")] == [*turned]
        if (inertial := ours.find("inertial")) is not None:
            here, there = stated_inertia(inertial), stated_inertia(twin.find("inertial"))
            np.testing.assert_allclose(there.lever, M @ here.lever, rtol=0, atol=1e-15)
            np.testing.assert_allclose(there.inertia, M @ here.inertia @ M, rtol=0, atol=1e-15)


def test_the_humanoid_stands_on_level_soles():
    model = floating("humanoid")
    data = model.createData()
    q = pin.neutral(model)

    pin.framesForwardKinematics(model, data, q)
    left, right = (data.oMf[model.getFrameId(f"{side}_sole")] for side in "lr")
    head = data.oMf[model.getFrameId("head")].translation
    com = pin.centerOfMass(model, data, q)

    for sole in (left, right):
        np.testing.assert_allclose(sole.rotation, np.eye(3), rtol=0, atol=1e-12)
    assert left.translation[2] == pytest.approx(right.translation[2], abs=1e-12)
    assert right.translation[1] < com[1] < left.translation[1]
    assert com[1] == pytest.approx(0, abs=1e-12)
    assert abs(com[0] - left.translation[0]) < 0.06
    assert 1.4 < head[2] - left.translation[2] < 1.6


def test_humanoid_frames_and_joints_per_limb():
    robot = read("humanoid")
    moving = [joint for joint in robot.findall("joint") if joint.get("type") != "fixed"]
    massless = {link.get("name") for link in robot.findall("link") if not len(link)}

    def count(*words: str) -> int:
        return sum(any(word in joint.get("name") for word in words) for joint in moving)

    for side in "lr":
        assert count(f"{side}_hip", f"{side}_knee", f"{side}_ankle") == 6
        assert count(f"{side}_shoulder", f"{side}_elbow", f"{side}_wrist") == 7
    assert count("torso") == 3
    assert count("neck") == 2
    assert {"l_sole", "r_sole", "imu"} <= massless


def test_the_quadruped_stands_within_its_limits_on_four_level_feet():
    """Legs are in the order FL, FR, RL, RR; the header of the file states the stance."""
    model = floating("quadruped")
    data = model.createData()
    joints = moving_joints(model)
    stance = {"hip_roll": 0.0, "hip_pitch": 0.8, "knee": -1.6}

    q = joint_values(model, {f"{leg}_{joint}": stance[joint] for leg in LEGS for joint in stance})
    pin.framesForwardKinematics(model, data, q)
    feet = np.array([data.oMf[model.getFrameId(f"{leg}_foot")].translation for leg in LEGS])
    com = pin.centerOfMass(model, data, q)

    file_order = [joint.get("name") for joint in read("quadruped").findall("joint")]
    driven = [f"{leg}_{joint}" for leg in LEGS for joint in stance]
    assert [joint for joint in file_order if joint in joints] == driven
    assert (model.lowerPositionLimit[7:] < q[7:]).all()
    assert (q[7:] < model.upperPositionLimit[7:]).all()
    np.testing.assert_allclose(feet[:, 2], feet[0, 2], rtol=0, atol=1e-12)
    assert (feet.min(axis=0)[:2] < com[:2]).all()
    assert (com[:2] < feet.max(axis=0)[:2]).all()


def test_the_fingers_of_the_arm_close_together():
    """In Pinocchio, one finger depends on the other, and both move by the same distance."""
    model = pin.buildModelFromUrdf(str(path("arm")), mimic=True)
    data = model.createData()
    q = pin.neutral(model)

    assert (model.nq, model.nv) == (8, 8)
    for opening in (0.0, 0.03):
        q[model.joints[model.getJointId("left_finger_slide")].idx_q] = opening
        pin.framesForwardKinematics(model, data, q)
        hand, left, right = (
            data.oMf[model.getFrameId(frame)] for frame in ("hand", "left_finger", "right_finger")
        )
        gap = hand.rotation.T @ (left.translation - right.translation)
        np.testing.assert_allclose(gap, [0, 2 * opening, 0], rtol=0, atol=1e-12)
