"""Cassie with its closed loops: five SDF files, against the files and against Pinocchio."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lxml import etree
from tests.support.kindyn import on_numpy, run_program
from tests.support.real_robots import load_quietly
from tests.support.spatial import pin

import linkwork as lw
from linkwork.compat.pinocchio import Conventions
from linkwork.io.named_robots import robots_folder
from linkwork.io.sdf.writer import convert_sdf
from linkwork.model.graph import opened

pytestmark = pytest.mark.peers

FOLDER = (robots_folder() or Path()) / "cassie_description" / "robots"
RODS = {"pitch-rod-joint": "spherical", "plantar-foot-joint": "spherical"}
SPRINGS = {"shin-spring-joint": "prismatic"}
LOOPS = {  # by file: the joints of one leg that close loops, and the number of all equations
    "cassie": (RODS | SPRINGS, 2 * (3 + 3 + 5) + 10),  # a prismatic joint has 5, a gearbox 1
    "cassie_reduced": (RODS, 12),
    "cassie_simple": (RODS, 12),
    "cassie_v2": (RODS, 12),
    "cassie_wo_gearbox_spring": (RODS, 12),
}


def load_cassie(name):
    model = load_quietly(FOLDER / f"{name}.sdf")
    return lw.KinDyn(model, floating=model.default_base != "world", representation="body")


def matrix(text):
    """The matrix of x y z roll pitch yaw."""
    x, y, z, roll, pitch, yaw = map(float, text.split())
    (c, b, a), (t, s, r) = np.cos([roll, pitch, yaw]), np.sin([roll, pitch, yaw])
    Rz = np.array([[a, -r, 0], [r, a, 0], [0, 0, 1]])
    Ry = np.array([[b, 0, s], [0, 1, 0], [-s, 0, b]])
    Rx = np.array([[1, 0, 0], [0, c, -t], [0, t, c]])
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = Rz @ Ry @ Rx, (x, y, z)
    return H


def test_conversion_replaces_gearboxes_by_dependent_joints_and_lists_them():
    """SDF is written without gearboxes: their joints mimic others, which halves the coordinates."""
    model = load_quietly(FOLDER / "cassie.sdf")
    conversion = convert_sdf(model)
    written = load_quietly(conversion.text)

    [warning] = [one for one in conversion.findings if one.severity == "warning"]
    assert "couplings become joints that mimic others" in warning.text
    assert "mass matrix" in warning.text
    full, reduced = on_numpy(lw.KinDyn(model)), on_numpy(lw.KinDyn(written))
    assert reduced.nv == full.nv - len(model.constraints) == full.nv - 10
    # nu of the file = G nu of the conversion
    G = np.zeros((full.nv, reduced.nv))
    q, q_reduced = full.neutral(), reduced.neutral()
    G[:6, :6] = np.eye(6)
    angles = {name: 0.1 + 0.01 * k for k, name in enumerate(reduced.joint_names)}
    couplings = {one.first: (one.second, one.coefficients[1]) for one in model.constraints}
    for name in full.joint_names:
        leader, ratio = couplings.get(name, (name, 1.0))
        G[full.layout.nu[name], reduced.layout.nu[leader]] = ratio
        q[full.layout.q[name]] = ratio * angles[leader]
        q_reduced[reduced.layout.q[leader]] = angles[leader]
    np.testing.assert_allclose(
        G.T @ full.mass_matrix(q) @ G, reduced.mass_matrix(q_reduced), rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(
        full.jacobian("left-foot", q) @ G, reduced.jacobian("left-foot", q_reduced), atol=1e-10
    )


@pytest.mark.parametrize("name", LOOPS)
def test_loops_and_inertias_are_those_of_the_file(name):
    """At zero, links are at their poses in the file, so that every loop is closed."""
    kd = load_cassie(name)
    closing, n_equations = LOOPS[name]
    expected = {
        f"{side}-{joint}": kind for side in ("left", "right") for joint, kind in closing.items()
    }
    assert {joint.name: joint.kind for joint in kd.closing_joints} == expected
    constrained = kd.constrained()
    assert constrained.m == n_equations
    q, interpreted = (
        kd.layout.zero(),
        on_numpy(lw.KinDyn(opened(kd.model, kd.closing_joints), floating=False)),
    )
    (error,) = run_program(constrained.function("error").program, q)
    assert np.abs(error).max() < 1e-15
    parts = list(etree.parse(FOLDER / f"{name}.sdf").iter("link"))
    poses = {part.get("name"): matrix(part.findtext("pose")) for part in parts}
    top = np.eye(4) if kd.model.default_base == "world" else poses["pelvis"]
    at_zero = interpreted.layout.zero()
    for part in parts:
        link = kd.model.link(part.get("name"))
        pose = top @ interpreted.transform(link.name, at_zero)
        np.testing.assert_allclose(pose, poses[link.name], atol=1e-14)
        inertial = part.find("inertial")
        about = matrix(inertial.findtext("pose"))
        xx, xy, xz, yy, yz, zz = (
            float(inertial.findtext(f"inertia/i{axes}"))
            for axes in ("xx", "xy", "xz", "yy", "yz", "zz")
        )
        tensor = about[:3, :3] @ [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]] @ about[:3, :3].T
        assert link.inertia.mass == float(inertial.findtext("mass"))
        np.testing.assert_array_equal(link.inertia.com, about[:3, 3])
        np.testing.assert_allclose(link.inertia.matrix(), tensor, rtol=0, atol=1e-16)


def test_gearboxes_couple_the_joints_of_motors():
    """The output turns by minus the ratio times the input, where both axes are the same."""
    model = load_quietly("cassie")
    couplings = {one.name: (one.first, one.second, one.coefficients) for one in model.constraints}
    assert len(couplings) == 10
    assert couplings["left-roll-joint"] == ("left-roll-op", "left-roll-ip", (0.0, -0.04))
    assert couplings["right-foot-joint"] == ("right-foot-op", "right-foot-ip", (0.0, -0.02))
    assert not load_quietly(FOLDER / "cassie.sdf", mimic=False).constraints


class Legs:
    """Cassie on a vertical rail with closed loops, here and in Pinocchio, which reads no SDF."""

    def __init__(self, name):
        self.kd = kd = load_cassie(name)
        self.here = kd.constrained()
        self.q = kd.layout.zero()
        if name == "cassie_wo_gearbox_spring":  # the loops of the other one are locked
            assembled = lw.assemble(kd, kd.neutral())
            assert assembled.converged
            self.q = assembled.q
        rng = np.random.default_rng(1)
        self.J = self.run("jacobian")[0]
        _, sizes, rows = np.linalg.svd(self.J)
        self.G = rows[(sizes > 1e-6).sum() :].T  # velocities that keep the loops closed
        self.nu = self.G @ rng.normal(size=self.G.shape[1])
        self.tau = 10 * rng.normal(size=kd.nv)
        self.model = pin.buildModelFromXML(
            lw.dump_urdf(opened(kd.model, kd.closing_joints).rerooted())
        )
        self.model.gravity.linear = np.array(kd.gravity)
        self.data = self.model.createData()
        maps = Conventions(kd, self.model)
        self.q_there = maps.q_to_pinocchio(self.q)
        self.order = np.argmax(maps.v_to_pinocchio(self.q, np.eye(kd.nv)), axis=1)
        self.loops, self.loop_data = (
            pin.StdVec_RigidConstraintModel(),
            pin.StdVec_RigidConstraintData(),
        )
        pin.forwardKinematics(self.model, self.data, self.q_there)
        pin.updateFramePlacements(self.model, self.data)
        for joint in kd.closing_joints:
            one = pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D,
                self.model,
                *self.anchor(joint.first, joint.first_H_joint.matrix()),
                *self.anchor(joint.second, np.linalg.inv(joint.joint_H_second.matrix())),
                pin.ReferenceFrame.LOCAL,
            )
            self.loops.append(one)
            self.loop_data.append(one.createData())
        pin.initConstraintDynamics(self.model, self.data, self.loops, self.loop_data)
        self.settings = pin.ProximalSettings(1e-13, 1e-13, 1e-8, 100)

    def run(self, name, *arguments):
        return run_program(self.here.function(name).program, self.q, *arguments)

    def anchor(self, link, link_H_joint):
        """The joint of Pinocchio that carries a link, and the pose of an anchor in it.

        In the URDF, the frames of links are on their joints; the pose in the world is the same.
        """
        tree = on_numpy(lw.KinDyn(opened(self.kd.model, self.kd.closing_joints), floating=False))
        there = self.model.frames[self.model.getFrameId(link, pin.FrameType.BODY)].parentJoint
        world_H_anchor = tree.transform(link, self.q) @ link_H_joint
        return there, self.data.oMi[there].inverse() * pin.SE3(world_H_anchor)

    def of_pin(self, matrix):
        return matrix[np.ix_(self.order, self.order)]


@pytest.fixture(scope="module", params=["cassie_reduced", "cassie_wo_gearbox_spring"])
def legs(request):
    return Legs(request.param)


def close(actual, expected, rtol=1e-9):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=rtol * np.abs(expected).max())


def test_constrained_dynamics_agree_with_pinocchio(legs):
    """Accelerations and joint forces of the loops, and derivatives along closed motions.

    Away from closed configurations, the two libraries define the error of a loop differently, so
    derivatives with respect to q are compared along changes that keep loops closed and velocities
    valid: J dq = 0 and J dnu + d(J nu)/dq dq = 0.
    """
    there = np.zeros((2, legs.kd.nv))
    there[:, legs.order] = legs.nu, legs.tau
    arguments = legs.model, legs.data, legs.q_there, *there
    loops = legs.loops, legs.loop_data
    expected = pin.constraintDynamics(*arguments, *loops, legs.settings).copy()
    nu_dot, forces, residual = legs.run("forward_dynamics", legs.nu, legs.tau)
    close(nu_dot, expected[legs.order])
    assert np.abs(residual).max() < 1e-9
    total = np.zeros(legs.kd.nv)
    for one, data in zip(*loops, strict=True):
        J = pin.getConstraintJacobian(legs.model, legs.data, one, data)
        total += J.T @ data.contact_force.linear
    close(legs.J.T @ forces, total[legs.order])
    pin.computeConstraintDynamicsDerivatives(legs.model, legs.data, *loops, legs.settings)
    dq, dnu, dtau, *_ = legs.run("forward_dynamics_derivatives", legs.nu, legs.tau)
    data, G = legs.data, legs.G
    # the tree has coordinates only, so d(J nu)/dq dq is symmetric in nu and dq
    both_ways = [
        legs.run("bias", legs.nu + s * G[:, k])[0] for s in (1, -1) for k in range(len(G.T))
    ]
    turned = np.subtract(*np.split(np.array(both_ways), 2)).T / 4
    change = -np.linalg.pinv(legs.J, rcond=1e-9) @ turned
    close(dtau, legs.of_pin(data.ddq_dtau))
    close(dnu @ G, legs.of_pin(data.ddq_dv) @ G)
    # a small difference of large terms
    expected = legs.of_pin(data.ddq_dq) @ G + legs.of_pin(data.ddq_dv) @ change
    close(dq @ G + dnu @ change, expected, rtol=1e-8)


def test_quantities_of_independent_velocities_need_no_configuration_within_the_limits():
    """The files place their links at position zero, outside of the limits of the feet."""
    constrained = load_cassie("cassie_reduced").constrained()
    q = constrained.layout.zero()
    G = constrained.independent_velocities(q)
    assert G.shape == (23, 11)
    assert np.abs(constrained.jacobian(q) @ G).max() < 1e-12
