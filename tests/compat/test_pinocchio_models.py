"""Conversion of models to Pinocchio: the same robot, with the same dynamics."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.support.models import assert_close, random_model
from tests.support.pinocchio import Both
from tests.support.real_robots import ROBOT_FILES, label, load_quietly
from tests.support.spatial import pin

import linkwork as lw
from linkwork.compat.pinocchio import Conventions, to_pinocchio
from linkwork.compat.pinocchio.order import joint_order

SERIAL_KINDS = ("fixed", "revolute", "prismatic", "planar", "spherical", "floating")
WITH_UNBOUNDED_REVOLUTE = {"centauro_description/centauro", "quadruped_description/quadruped"}


def robots_that_mimic(count):
    """Return random robots with dependent joints that Pinocchio supports."""
    result = []
    for seed in range(100):
        model = random_model(np.random.default_rng(seed), 10, SERIAL_KINDS)
        try:
            to_pinocchio(model)
        except lw.ModelError:
            continue
        if any(joint.mimic for joint in model.joints):
            result.append(model)
        if len(result) == count:
            break
    return result


@pytest.mark.parametrize("seed", range(12))
def test_any_kind_of_joint_from_any_base_has_the_same_dynamics(seed):
    model = random_model(np.random.default_rng(seed), 10, mimic=False)
    base = [None, model.link_names[-1], model.frames[0].name][seed % 3]
    velocity = ("mixed", "body", "inertial")[seed // 3 % 3]
    kd = lw.KinDyn(model, base=base, floating=seed % 4 != 3, representation=velocity)
    pin_model = to_pinocchio(kd)

    Both(kd, pin_model, seed=seed).assert_same(model.frame_names, rtol=1e-12)
    Both(kd, pin_model, Conventions(kd, pin_model)).assert_same((), rtol=1e-12)


@pytest.mark.parametrize("model", robots_that_mimic(8))
def test_dependent_joints_become_mimic_joints(model):
    kd = lw.KinDyn(model)
    pin_model = to_pinocchio(kd)

    assert pin_model.nv == kd.nv
    Both(kd, pin_model).assert_same(model.frame_names, rtol=1e-12)


def test_crba_of_pinocchio_is_wrong_for_some_trees_with_mimic_joints():
    """Pinocchio's RNEA shows it: each column of M is a difference of RNEA results."""
    errors = []
    for model in robots_that_mimic(20):
        kd = lw.KinDyn(model)
        both = Both(kd, to_pinocchio(kd))
        M = pin.crba(both.pin_model, both.data, both.q_there)
        M = np.triu(M) + np.triu(M, 1).T
        errors.append(np.abs(M - both.mass_matrix()).max())

    assert min(errors) < 1e-12
    assert max(errors) > 1e-3


def pinocchio_reads(path, *, floating):
    return pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating else []))


@pytest.mark.parametrize("path", ROBOT_FILES, ids=label)
def test_every_real_robot_is_the_one_that_pinocchio_reads(path):
    """Order, frames, counts and placements, and the dynamics of the model that Pinocchio reads."""
    kd = lw.KinDyn(load_quietly(path, mimic=False))
    theirs = pinocchio_reads(path, floating=True)
    theirs.gravity.linear = np.array(kd.gravity)

    ours = to_pinocchio(kd)

    assert_same_parts(ours, theirs, bounds=label(path) not in WITH_UNBOUNDED_REVOLUTE)
    if label(path) not in WITH_UNBOUNDED_REVOLUTE:  # see docs/pinocchio.md
        assert Conventions(kd).slices == Conventions(kd, theirs).slices
    frames = np.random.default_rng(1).choice(kd.model.link_names, 3)
    Both(kd, theirs, Conventions(kd, theirs)).assert_same(frames, rtol=1e-12)


@pytest.mark.parametrize("path", ROBOT_FILES, ids=label)
def test_every_real_robot_on_a_fixed_base_is_the_one_that_pinocchio_reads(path):
    kd = lw.KinDyn(load_quietly(path, mimic=False), floating=False)

    ours, theirs = to_pinocchio(kd), pinocchio_reads(path, floating=False)

    assert_same_parts(ours, theirs, bounds=label(path) not in WITH_UNBOUNDED_REVOLUTE)


BOUNDS = ("PositionLimit", "VelocityLimit", "EffortLimit", "DryFrictionLimit")


def assert_same_parts(ours, theirs, *, bounds):
    """Compare joints, frames and inertias; also kinds and bounds, unless a file omits bounds."""
    assert list(ours.names) == list(theirs.names)
    assert list(ours.parents) == list(theirs.parents)
    assert ours.nbodies == theirs.nbodies
    assert [(f.name, f.type) for f in ours.frames] == [(f.name, f.type) for f in theirs.frames]
    assert [f.parentFrame for f in ours.frames] == [f.parentFrame for f in theirs.frames]
    assert [f.parentJoint for f in ours.frames] == [f.parentJoint for f in theirs.frames]
    assert_same_inertias([f.inertia for f in ours.frames], [f.inertia for f in theirs.frames])
    if not bounds:
        return
    assert [j.shortname() for j in ours.joints] == [j.shortname() for j in theirs.joints]
    assert_same_inertias(ours.inertias, theirs.inertias)
    for name in (*(side + bound for bound in BOUNDS for side in ("lower", "upper")), "damping"):
        assert getattr(ours, name).tolist() == getattr(theirs, name).tolist(), name


def assert_same_inertias(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        assert_close(a.matrix(), b.matrix(), 1e-13, scale=max(np.abs(b.matrix()).max(), 1e-12))


def test_the_inertia_beyond_a_frame_agrees_with_pinocchio():
    """For a force-torque sensor in an arm: the mass beyond it, also behind fixed joints."""
    (path,) = (path for path in ROBOT_FILES if label(path) == "iCubGenova04/model")
    theirs = pinocchio_reads(path, floating=True)
    ours = to_pinocchio(load_quietly(path, mimic=False))

    def carried(model, frame):
        data = model.createData()
        pin.forwardKinematics(model, data, pin.neutral(model))
        return pin.computeSupportedInertiaByFrame(model, data, model.getFrameId(frame), True)

    result = carried(ours, "l_arm_ft_sensor")
    assert result.mass == pytest.approx(1.935, abs=1e-3)
    assert_same_inertias([result], [carried(theirs, "l_arm_ft_sensor")])


def test_a_configuration_can_be_sampled():
    model = to_pinocchio(lw.robots.load("quadruped"))
    q = pin.randomConfiguration(model)
    assert np.linalg.norm(q[3:7]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("axis", "kind"), [((1, 0, 0), "RX"), ((0, 1, 0), "RY"), ((0, 0, 1), "RZ")]
)
@pytest.mark.parametrize("noise", [0.0, 2.2e-16, -2.2e-16, 1e-9])
def test_an_axis_is_aligned_up_to_rounding(axis, kind, noise):
    builder = lw.ModelBuilder("one")
    builder.add_link("a"), builder.add_link("b")
    noisy = np.array(axis) + noise * np.roll(axis, 1)
    builder.add_joint("j", "revolute", "a", "b", axis=tuple(noisy), lower=-1, upper=1)
    name = to_pinocchio(builder.build()).joints[2].shortname()
    assert name == (f"JointModel{kind}" if noise != 1e-9 else "JointModelRevoluteUnaligned")


def test_the_center_of_mass_of_pinocchio_excludes_bodies_on_the_universe():
    """See docs/pinocchio.md: with a fixed base it is that of the moving links only."""
    kd = lw.KinDyn(lw.robots.load("arm"), floating=False)
    there, q = to_pinocchio(kd), kd.random(seed=0)
    base = kd.model.link(kd.base).inertia
    com = pin.centerOfMass(there, there.createData(), Conventions(kd).q_to_pinocchio(q))
    moving = kd.total_mass - base.mass
    assert base.mass > 1
    assert pin.computeTotalMass(there) == pytest.approx(moving, rel=1e-14)
    both = (moving * com + base.mass * np.array(base.com)) / kd.total_mass
    assert_close(kd.com(q), both, 1e-12)


def test_limits_friction_damping_and_armature_are_kept():
    builder = lw.ModelBuilder("one")
    builder.add_link("a", inertia=lw.Inertia(1.0, (0, 0, 0), (1, 0, 0, 1, 0, 1)))
    builder.add_link("b", inertia=lw.Inertia(1.0, (0, 0, 0), (1, 0, 0, 1, 0, 1)))
    values = {"lower": -1, "upper": 2, "velocity": 3, "effort": 4}
    more = {"damping": 5, "friction": 6, "armature": 7}
    builder.add_joint("j", "revolute", "a", "b", **values, **more)
    model = builder.build()

    there = to_pinocchio(model)

    assert [there.lowerPositionLimit[7], there.upperPositionLimit[7]] == [-1, 2]
    assert [there.velocityLimit[6], there.effortLimit[6]] == [3, 4]
    assert [there.damping[6], there.upperDryFrictionLimit[6], there.armature[6]] == [5, 6, 7]
    assert there.lowerDryFrictionLimit[6] == -6


def test_armature_agrees_if_joint_dynamics_are_enabled():
    model = random_model(np.random.default_rng(2), 6, ("revolute", "spherical"), mimic=False)
    joints = tuple(replace(joint, armature=0.5 + i) for i, joint in enumerate(model.joints))
    kd = lw.KinDyn(replace(model, joints=joints), joint_dynamics=True)

    Both(kd, to_pinocchio(kd)).assert_same(model.link_names, rtol=1e-12)


def test_gravity_and_the_name_are_kept():
    there = to_pinocchio(lw.KinDyn(lw.robots.load("arm"), gravity=(1, 2, 3)))

    assert there.name == "arm"
    assert there.gravity.linear.tolist() == [1, 2, 3]


def test_a_helical_joint_that_mimics_raises():
    builder = lw.ModelBuilder("screw")
    for name in "abc":
        builder.add_link(name)
    builder.add_joint("j", "revolute", "a", "b")
    builder.add_joint("k", "helical", "b", "c", pitch=0.1, mimic=lw.Mimic(joint="j"))
    with pytest.raises(lw.ModelError, match=r"joint 'k': .*helical.*mimics"):
        to_pinocchio(builder.build())


def test_a_leader_beyond_the_joint_that_mimics_it_raises():
    builder = lw.ModelBuilder("r")
    for name in "abc":
        builder.add_link(name)
    builder.add_joint("j", "revolute", "a", "b", mimic=lw.Mimic(joint="k"))
    builder.add_joint("k", "revolute", "b", "c")
    with pytest.raises(lw.ModelError, match="joint 'j': mimics 'k'"):
        to_pinocchio(builder.build())


def test_arguments_of_other_types_raise():
    with pytest.raises(lw.ArgumentError, match=r"^robot: .*'arm'"):
        to_pinocchio("arm")


def test_without_pinocchio_the_error_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    with pytest.raises(ImportError, match="pip install pin"):
        to_pinocchio(lw.robots.load("pendulum"))


def test_branches_with_leaders_come_first_then_alphabetical_order():
    builder = lw.ModelBuilder("hand")
    for name in "abcd":
        builder.add_link(name)
    builder.add_joint("finger2", "revolute", "a", "c", mimic=lw.Mimic(joint="thumb"))
    builder.add_joint("finger1", "revolute", "a", "b")
    builder.add_joint("thumb", "revolute", "a", "d")

    assert joint_order(builder.build(), "a") == ("finger1", "thumb", "finger2")


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("massless", [False, True])
def test_counts_of_links_and_joints(fixed, massless):
    """links + 1 = nbodies and joints + 2 = njoints hold only without fixed and massless links."""
    body = lw.Inertia(1.0, (0, 0, 0), (1, 0, 0, 1, 0, 1))
    builder = lw.ModelBuilder("three")
    for name in "abc":
        builder.add_link(name, inertia=lw.Inertia() if massless and name == "c" else body)
    builder.add_joint("j", "fixed" if fixed else "revolute", "a", "b")
    builder.add_joint("k", "revolute", "b", "c")
    model = builder.build()

    there = to_pinocchio(model)

    assert there.njoints == len(model.joints) + 2 - fixed
    assert there.nbodies == len(model.links) + 1 - fixed - massless
    read = pin.buildModelFromXML(lw.dump_urdf(model), pin.JointModelFreeFlyer())
    assert (read.njoints, read.nbodies) == (there.njoints, there.nbodies)
