"""Maps of q, v, a, tau, J, M and h to Pinocchio and back, and errors."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.support.kindyn import on_numpy
from tests.support.models import ALL_KINDS, BATCHES, assert_close, random_model, random_q
from tests.support.pinocchio import Both, frame_index, to_pinocchio
from tests.support.real_robots import ROBOT_FILES, label, load_quietly
from tests.support.spatial import pin

import linkwork as lw
from linkwork.compat.pinocchio import Conventions
from linkwork.model.graph import walk

VELOCITIES = ("mixed", "body", "inertial")
INVERTIBLE_KINDS = ("fixed", "revolute", "revolute_cos_sin", "prismatic", "helical")
WITH_UNBOUNDED_REVOLUTE = {"centauro_description/centauro", "quadruped_description/quadruped"}
STATES = [(True, velocity) for velocity in VELOCITIES] + [(False, "mixed")]


def some_robot(seed, **options):
    """Return a robot with every kind of joint, or one with another base than in its file."""
    kinds = ALL_KINDS if seed % 3 == 0 else INVERTIBLE_KINDS
    model = forward(random_model(np.random.default_rng(seed), 10, kinds, mimic=False))
    base = [None, model.link_names[-1], model.frames[0].name][seed % 3]
    return lw.KinDyn(model, base=base, **options)


def forward(model):
    """Exchange the links of joints that point to the base, as in no URDF file."""
    outer = {
        visit.joint.name: visit.link for visit in walk(model, model.default_base) if visit.joint
    }
    joints = [
        replace(joint, first=joint.second, second=joint.first)
        if joint.second != outer[joint.name]
        else joint
        for joint in model.joints
    ]
    return replace(model, joints=tuple(joints))


@pytest.mark.parametrize("seed", range(12))
def test_any_kind_of_joint_has_the_same_dynamics(seed):
    velocity = VELOCITIES[seed // 3 % 3]
    kd = some_robot(seed, floating=seed % 4 != 3, representation=velocity)
    pin_model = to_pinocchio(kd)

    Both(kd, pin_model, seed=seed).assert_same(kd.model.frame_names, rtol=1e-12)
    Both(kd, pin_model, Conventions(kd, pin_model)).assert_same((), rtol=1e-12)


@pytest.mark.parametrize("path", ROBOT_FILES, ids=label)
def test_every_real_robot_agrees_with_the_one_that_pinocchio_reads(path):
    kd = lw.KinDyn(load_quietly(path, mimic=False))
    theirs = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    theirs.gravity.linear = np.array(kd.gravity)

    maps = Conventions(kd, theirs)

    if label(path) not in WITH_UNBOUNDED_REVOLUTE:  # see docs/pinocchio.md
        assert Conventions(kd).slices == maps.slices
    frames = np.random.default_rng(1).choice(kd.model.link_names, 3)
    Both(kd, theirs, maps).assert_same(frames, rtol=1e-12)


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

    there = pin.buildModelFromXML(lw.dump_urdf(model), pin.JointModelFreeFlyer())

    assert there.njoints == len(model.joints) + 2 - fixed
    assert there.nbodies == len(model.links) + 1 - fixed - massless


def test_the_center_of_mass_of_pinocchio_excludes_bodies_on_the_universe():
    """See docs/pinocchio.md: with a fixed base it is that of the moving links only."""
    kd = lw.KinDyn(lw.load(lw.robots.path("arm"), mimic=False), floating=False)
    there, q = pin.buildModelFromUrdf(lw.robots.path("arm")), kd.random(seed=0)
    base = kd.model.link(kd.base).inertia
    com = pin.centerOfMass(there, there.createData(), Conventions(kd).q_to_pinocchio(q))
    moving = kd.total_mass - base.mass
    assert base.mass > 1
    assert pin.computeTotalMass(there) == pytest.approx(moving, rel=1e-14)
    both = (moving * com + base.mass * np.array(base.com)) / kd.total_mass
    assert_close(kd.com(q), both, 1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("floating", "velocity"), STATES)
def test_maps_and_their_inverses(seed, floating, velocity):
    kd = some_robot(seed, floating=floating, representation=velocity)
    both = Both(kd, to_pinocchio(kd), seed=seed)
    maps, q, q_there, nu, v = both.maps, both.q, both.q_there, both.nu, both.v
    M, h, tau = both.here()
    J = np.random.default_rng(0).normal(size=(5, kd.nv))

    def assert_back(result, expected):
        assert_close(result, expected, rtol=1e-14, scale=max(np.abs(expected).max(), 1.0))

    assert_back(maps.q_from_pinocchio(q_there), q)
    assert_back(maps.v_from_pinocchio(q_there, v), nu)
    assert_back(maps.a_from_pinocchio(q_there, v, both.a), both.nu_dot)
    assert_back(maps.tau_from_pinocchio(q_there, maps.tau_to_pinocchio(q, tau)), tau)
    assert_back(maps.jacobian_from_pinocchio(q_there, maps.jacobian_to_pinocchio(q, J)), J)
    M_there = maps.mass_matrix_to_pinocchio(q, M)
    assert_back(maps.mass_matrix_from_pinocchio(q_there, M_there), M)
    h_there = maps.bias_to_pinocchio(q, nu, h, M)
    assert_back(maps.bias_from_pinocchio(q_there, v, h_there, M_there), h)


@pytest.mark.parametrize("kind", [kind for kind in ALL_KINDS if kind != "fixed"])
@pytest.mark.parametrize("velocity", VELOCITIES)
def test_velocities_are_rates_of_positions(kind, velocity):
    """Integrating v in Pinocchio for a short time agrees with linkwork's positions."""
    model = forward(random_model(np.random.default_rng(5), 5, (kind, "revolute"), mimic=False))
    kd = lw.KinDyn(model, representation=velocity)
    pin_model, maps = to_pinocchio(kd), Conventions(kd)
    q = random_q(kd.layout, np.random.default_rng(1))
    nu = np.random.default_rng(2).normal(size=kd.nv) * 3
    v, step = maps.v_to_pinocchio(q, nu), 1e-6
    q_there = maps.q_to_pinocchio(q)

    rates = []
    for frame in model.frame_names:
        ends = []
        for time in (step, -step):
            moved = maps.q_from_pinocchio(pin.integrate(pin_model, q_there, time * v))
            ends.append(on_numpy(kd).transform(frame, moved))
        rates.append((ends[0] - ends[1])[:3, 3] / (2 * step))

    mixed = on_numpy(kd.replace(representation="mixed"))
    in_mixed = Conventions(mixed).v_from_pinocchio(q_there, v)
    expected = [mixed.velocity(frame, q, in_mixed)[:3] for frame in model.frame_names]
    assert_close(rates, expected, rtol=1e-8)


@pytest.mark.parametrize("velocity", VELOCITIES)
def test_frame_accelerations_agree_with_pinocchio(velocity):
    kd = some_robot(4, representation=velocity)
    both = Both(kd, to_pinocchio(kd))
    model, data = both.pin_model, both.data
    pin.forwardKinematics(model, data, both.q_there, both.v, both.a)
    pin.updateFramePlacements(model, data)
    reference = getattr(pin.ReferenceFrame, both.maps.reference_frame)
    mixed = velocity == "mixed"
    theirs = pin.getFrameClassicalAcceleration if mixed else pin.getFrameAcceleration

    for frame in kd.model.frame_names:
        index = frame_index(model, frame)
        result = on_numpy(kd).velocity(frame, both.q, both.nu)
        assert_close(result, pin.getFrameVelocity(model, data, index, reference).vector, 1e-13)
        result = on_numpy(kd).acceleration(frame, both.q, both.nu, both.nu_dot)
        assert_close(result, theirs(model, data, index, reference).vector, 1e-13)


@pytest.mark.parametrize("batch", BATCHES)
def test_each_row_of_a_batch_agrees_with_a_single_call(batch):
    kd = some_robot(3)
    both = Both(kd, to_pinocchio(kd), batch=batch)
    maps, rng = both.maps, np.random.default_rng(1)
    M, J = rng.normal(size=(*batch, kd.nv, kd.nv)), rng.normal(size=(*batch, 4, kd.nv))
    calls = {
        "q_to_pinocchio": (both.q,),
        "q_from_pinocchio": (both.q_there,),
        "v_to_pinocchio": (both.q, both.nu),
        "v_from_pinocchio": (both.q_there, both.v),
        "a_to_pinocchio": (both.q, both.nu, both.nu_dot),
        "a_from_pinocchio": (both.q_there, both.v, both.a),
        "tau_to_pinocchio": (both.q, both.nu),
        "tau_from_pinocchio": (both.q_there, both.nu),
        "jacobian_to_pinocchio": (both.q, J),
        "jacobian_from_pinocchio": (both.q_there, J),
        "mass_matrix_to_pinocchio": (both.q, M),
        "mass_matrix_from_pinocchio": (both.q_there, M),
        "bias_to_pinocchio": (both.q, both.nu, both.nu_dot, M),
        "bias_from_pinocchio": (both.q_there, both.v, both.nu, M),
    }
    for name, arguments in calls.items():
        function = getattr(maps, name)
        complete = function(*arguments)
        assert complete.shape[: len(batch)] == batch
        for row in np.ndindex(batch):
            one = function(*(argument[row] for argument in arguments))
            assert_close(complete[row], one, rtol=1e-14, scale=max(1.0, np.abs(one).max()))


def test_one_configuration_with_many_velocities():
    kd = some_robot(0)
    q, nu = random_q(kd.layout, np.random.default_rng(0)), np.ones((3, 2, kd.nv))

    assert Conventions(kd).v_to_pinocchio(q, nu).shape == (3, 2, kd.nv)


def test_power_is_the_same_on_both_sides():
    kd = some_robot(1, representation="inertial")
    both = Both(kd, to_pinocchio(kd))
    tau = np.random.default_rng(1).normal(size=kd.nv)

    power = both.maps.tau_to_pinocchio(both.q, tau) @ both.v

    assert np.isclose(power, tau @ both.nu, rtol=1e-13)


def test_the_mixed_acceleration_of_a_rotating_and_translating_base():
    """In closed form: at the identity, a = nu_dot - (w x v; 0)."""
    kd = lw.KinDyn(lw.Model(name="body", links=(lw.Link(name="body"),)))
    nu = [1.0, 0, 0, 0, 0, 2.0]

    a = Conventions(kd).a_to_pinocchio(kd.neutral(), nu, np.zeros(6))

    assert a.tolist() == [0.0, -2.0, 0.0, 0.0, 0.0, 0.0]


def test_quaternions_are_xyzw_and_free_angles_cos_sin():
    kd = lw.KinDyn(lw.robots.load("cartpole"))
    q = np.array([1, 2, 3, 0.5, -0.5, 0.5, 0.5, 0.25, np.pi / 3])

    there = Conventions(kd).q_to_pinocchio(q)

    assert_close(there, [1, 2, 3, -0.5, 0.5, 0.5, 0.5, 0.25, 0.5, np.sqrt(0.75)], 1e-15)


def test_full_rotations_of_a_continuous_joint_are_lost():
    kd = lw.KinDyn(lw.robots.load("cartpole"), floating=False)
    maps = Conventions(kd)

    back = maps.q_from_pinocchio(maps.q_to_pinocchio([0.0, 7.0]))

    assert_close(back, [0.0, 7.0 - 2 * np.pi], 1e-15)


def test_importing_the_maps_does_not_import_pinocchio():
    code = """
import sys, linkwork as lw
from linkwork.compat.pinocchio import Conventions
from linkwork.model.graph import walk
kd = lw.KinDyn(lw.robots.load("humanoid"))
Conventions(kd).q_to_pinocchio(kd.neutral())
print("pinocchio" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


class TestErrors:
    def test_a_fixed_base_and_a_floating_one(self):
        kd = lw.KinDyn(lw.robots.load("cartpole"), floating=False)
        with pytest.raises(ValueError, match=r"Pinocchio model floats.* is fixed"):
            Conventions(kd, to_pinocchio(kd.replace(floating=True)))

    def test_a_joint_of_another_robot(self):
        kd = lw.KinDyn(lw.robots.load("pendulum"), floating=False)
        other = to_pinocchio(lw.KinDyn(lw.robots.load("cartpole"), floating=False))
        with pytest.raises(lw.NameNotFoundError, match=f"'{other.names[1]}'"):
            Conventions(kd, other)

    def test_a_joint_that_mimics_only_here(self):
        bound, free = lw.robots.load("arm"), lw.load(lw.robots.path("arm"), mimic=False)
        message = "'right_finger_slide' mimics 'left_finger_slide'.*mimic=False.*mimic=True"
        with pytest.raises(ValueError, match=message):
            Conventions(lw.KinDyn(bound), to_pinocchio(lw.KinDyn(free)))

    def test_a_joint_with_other_coordinates_from_the_other_side(self):
        model = forward(random_model(np.random.default_rng(0), 3, ("spherical",), mimic=False))
        with pytest.raises(lw.ModelError, match="spherical joint cannot be turned around"):
            Conventions(lw.KinDyn(model, base=model.link_names[-1]))

    def test_a_joint_of_another_kind(self):
        def robot(kind):
            builder = lw.ModelBuilder("r")
            builder.add_link("a")
            builder.add_link("b")
            builder.add_joint("j", kind, "a", "b")
            return lw.KinDyn(builder.build())

        with pytest.raises(ValueError, match=r"'j'.*prismatic.*4 position coordinates"):
            Conventions(robot("prismatic"), to_pinocchio(robot("planar")))

    def test_a_row_of_the_wrong_length(self):
        kd = lw.KinDyn(lw.robots.load("pendulum"), floating=False)
        with pytest.raises(lw.ShapeError, match=r"nu: expected \(..., 1\), got \(2,\)"):
            Conventions(kd).v_to_pinocchio([0.0], [1.0, 2.0])
        with pytest.raises(lw.ShapeError, match=r"M: expected \(..., 1, 1\), got \(1,\)"):
            Conventions(kd).mass_matrix_from_pinocchio([0.0], [1.0])

    def test_arguments_of_other_types(self):
        with pytest.raises(lw.ArgumentError, match=r"^kd: .*KinDyn.*'arm'"):
            Conventions("arm")
