"""Options of a `KinDyn`, what they are kept as, and what is known of a robot without computing."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from tests.support.models import assert_close, random_model
from tests.support.pinocchio import to_pinocchio
from tests.support.spatial import pin

import linkwork as lw
from linkwork.mechanics.base import REPRESENTATIONS

ARM = lw.robots.load("arm")
PLACED = lw.Pose(xyz=(0.3, -0.2, 0.5), rpy=(0.4, -0.7, 1.1))


# Names of options.


@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_the_representation_of_velocities(name):
    kd = lw.KinDyn(ARM, representation=name)
    assert kd == lw.KinDyn(ARM).replace(representation=name)
    assert kd.representation == kd.options["representation"] == name
    assert kd.replace(floating=False).representation == name


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        (
            lambda: lw.KinDyn(ARM, representation="bodi"),
            ".*representation 'bodi'.*'body'",
        ),
        (lambda: lw.KinDyn(ARM, floatin=False), "KinDyn .*'floatin'.*'floating'"),
        (lambda: lw.KinDyn(ARM).replace(dtyp=float), "KinDyn .*'dtyp'.*'dtype'"),
        (
            lambda: lw.KinDyn("robot.urdf"),
            r"model: .*Model.*'robot\.urdf'.*lw\.load",
        ),
        (lambda: lw.KinDyn(ARM, None, False), r"KinDyn\w*\.__init__\(\)"),
        (lambda: lw.KinDyn(ARM).random(1, 2), r"KinDyn\.random\(\)"),
        (lambda: lw.KinDyn(ARM).jacobian(), r"jacobian\(frame, q\): .*name of a frame"),
        (lambda: lw.KinDyn(ARM).transform(q=np.zeros(15)), r"transform\(frame, q\): .*frame"),
        (lambda: lw.KinDyn(ARM).relative_transform("tool"), r"relative_transform\(reference, f"),
        (lambda: lw.KinDyn(ARM).transforms(1, fram=2), "transforms: .*'fram'.*'frames'"),
        (
            lambda: lw.KinDyn(ARM, base_pose=PLACED),
            "base_pose: ",
        ),
    ],
)
def test_what_is_wrong_with_an_option_is_said_in_public_names(make, facts):
    with pytest.raises(TypeError, match=f"^{facts}"):
        make()


def test_a_configuration_of_the_wrong_size_is_told_what_its_entries_are():
    floating, fixed = lw.KinDyn(ARM), lw.KinDyn(ARM, floating=False)
    entries = r"base position \(3\).*quaternion wxyz \(4\).*s \(8\) of 8 joints.*floating=False"
    with pytest.raises(lw.ShapeError, match=rf"^q: .*\(\.\.\., 15\).*\(8,\).*{entries}"):
        floating.mass_matrix(np.zeros(8))
    entries = r"s_dot \(8\) of 8 joints.*floating=True.*base velocity \(6\)"
    with pytest.raises(lw.ShapeError, match=rf"^nu: .*\(\.\.\., 8\).*\(14,\).*{entries}"):
        fixed.bias_force(np.zeros(8), np.zeros(14))


# Values.


def test_equal_robots_and_options_are_equal_and_hash_alike():
    kd = lw.KinDyn(ARM, gravity=(0, 0, -9.8))
    twin = lw.KinDyn(lw.robots.load("arm"), gravity=[0.0, 0.0, -9.8])
    assert kd == twin
    assert hash(kd) == hash(twin)
    assert {kd: "found"}[twin] == "found"
    assert kd == pickle.loads(pickle.dumps(kd)) == kd.replace()
    others = [
        kd.replace(**change)
        for change in (
            {"base": "tool"},
            {"floating": False},
            {"representation": "body"},
            {"gravity": (0, 0, -9.7)},
            {"dtype": np.float32},
            {"check": True},
            {"joint_dynamics": True},
            {"floating": False, "base_pose": PLACED},
            {"model": ARM.renamed(name="other")},
        )
    ]
    for k, other in enumerate(others):
        assert other != kd
        assert all(other != another for another in others[:k])
    assert kd != "kd"

    class Own(lw.KinDyn):
        pass

    assert Own(ARM) != lw.KinDyn(ARM)


def test_limits_are_arrays_in_the_order_of_s():
    kd = lw.KinDyn(ARM)
    limits = kd.limits
    joints = [ARM.joint(name) for name in kd.joint_names]
    assert limits.lower.tolist() == [joint.limits.lower for joint in joints]
    assert limits.upper.tolist() == [joint.limits.upper for joint in joints]
    assert limits.velocity.tolist() == [joint.limits.velocity for joint in joints]
    assert limits.effort.tolist() == [joint.limits.effort for joint in joints]
    assert limits is kd.limits
    for array in (limits.lower, limits.upper, limits.velocity, limits.effort):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_limits_have_an_entry_for_each_coordinate_of_every_kind_of_joint():
    kd = lw.KinDyn(random_model(np.random.default_rng(3), 12))
    n_q, n_v = kd.nq - 7, kd.nv - 6
    assert kd.limits.lower.shape == kd.limits.upper.shape == (n_q,)
    assert kd.limits.velocity.shape == kd.limits.effort.shape == (n_v,)
    for name in kd.joint_names:
        joint, at = kd.model.joint(name), kd.layout.q[name]
        lower = kd.limits.lower[at.start - 7 : at.stop - 7]
        assert np.all(lower == (joint.limits.lower if joint.nq == 1 else -np.inf))


def test_a_configuration_is_made_from_names():
    kd = lw.KinDyn(ARM)
    expected = kd.neutral()
    assert kd.q().tolist() == expected.tolist()
    expected[kd.layout.q["elbow_pitch"]] = 0.3
    assert kd.q(elbow_pitch=0.3).tolist() == expected.tolist()
    assert kd.q({"elbow_pitch": [0.3]}).tolist() == expected.tolist()
    for pose in (PLACED, PLACED.matrix()):
        q = kd.q({"elbow_pitch": 0.3}, base_pose=pose, wrist_pitch=-1)
        assert_close(kd.transform("base", q), PLACED.matrix(), rtol=1e-14)
        assert q[kd.layout.q["wrist_pitch"]] == -1
    fixed = lw.KinDyn(ARM, floating=False, dtype=np.float32)
    assert fixed.q(elbow_pitch=0.3).dtype == np.float32
    assert fixed.q(elbow_pitch=0.3).shape == (8,)


@pytest.mark.parametrize("floating", [False, True])
def test_neutral_is_zero_or_the_limit_nearest_to_it(floating):
    kd = lw.KinDyn(lw.robots.load("quadruped"), floating=floating)
    q = kd.neutral()
    s = q[7:] if floating else q
    knees = [name.endswith("knee") for name in kd.joint_names]
    np.testing.assert_array_equal(s, np.where(knees, -0.4, 0.0))
    assert ((kd.limits.lower <= s) & (s <= kd.limits.upper)).all()
    np.testing.assert_array_equal(kd.q(), q)
    np.testing.assert_array_equal(kd.layout.zero()[7 if floating else 0 :], 0.0)
    with pytest.warns(lw.LinkworkWarning) as caught:
        kd.q(FL_knee=-60)
    assert all(word in str(caught[0].message) for word in ("FL_knee", "-2.6", "-0.4", "deg2rad"))
    with pytest.warns(lw.LinkworkWarning, match=r"FL_knee.*limits"):
        kd.q(FL_knee=0.0)
    kd.q(FL_knee=-0.4, FR_knee=-2.6, RL_knee=-0.4 + 1e-9)


def test_a_joint_of_several_coordinates_takes_them_all():
    kd = lw.KinDyn(random_model(np.random.default_rng(3), 12))
    ball = next(name for name in kd.joint_names if kd.model.joint(name).kind == "spherical")
    assert kd.q({ball: [0, 1, 0, 0]})[kd.layout.q[ball]].tolist() == [0, 1, 0, 0]
    with pytest.raises(lw.ShapeError, match=rf"^joint {ball!r}: .*4.*\(\)"):
        kd.q({ball: 1.0})


@pytest.mark.parametrize(
    ("arguments", "named", "facts"),
    [
        ((), {"elbo_pitch": 1}, "joint.*'elbo_pitch'.*'elbow_pitch'"),
        ((), {"right_finger_slide": 1}, "'right_finger_slide'.*mimics"),
        ((), {"elbow_pitch": "1"}, "joint 'elbow_pitch': .*'1'"),
        ((), {"elbow_pitch": [1, 2]}, r"joint 'elbow_pitch': .*\(2,\)"),
        (({"elbow_pitch": 1},), {"elbow_pitch": 1}, "joint 'elbow_pitch'.*twice"),
        (([0.1, 0.2],), {}, r"q: .*by name.*\[0\.1, 0\.2\]"),
        ((), {"base_pose": np.eye(3)}, r"base_pose: .*Pose.*\(4, 4\)"),
    ],
)
def test_a_configuration_from_wrong_names_or_numbers_is_refused(arguments, named, facts):
    with pytest.raises(lw.LinkworkError, match=facts):
        lw.KinDyn(ARM).q(*arguments, **named)


@pytest.mark.parametrize(
    ("gravity", "said"),
    [
        (("0", "0", "-9.8"), "numbers"),
        (np.array([0, 0, -9.8 + 0j]), "numbers"),
        (np.array([0, 0, 1], "datetime64[s]"), "numbers"),
        ([0, 0, None], "numbers"),
        (np.ma.masked_array([0, 0, -9.8], mask=[0, 0, 1]), "masked"),
    ],
)
def test_gravity_that_is_no_vector_of_numbers_is_refused(gravity, said):
    with pytest.raises(lw.LinkworkError, match=f"gravity: .*{said}"):
        lw.KinDyn(ARM, gravity=gravity)
    kd = lw.KinDyn(ARM)
    with pytest.raises(lw.LinkworkError, match="gravity: "):
        kd.gravity_force(kd.neutral(), gravity=gravity)


def test_a_fixed_base_has_no_pose_in_q():
    with pytest.raises(lw.ArgumentError, match=r"^base_pose: .*fixed base.*KinDyn"):
        lw.KinDyn(ARM, floating=False).q(base_pose=PLACED)


# A fixed base anywhere.


@pytest.mark.parametrize(
    ("representation", "base"), [("mixed", None), ("body", "frame0"), ("inertial", "frame0")]
)
def test_a_fixed_base_is_a_floating_one_that_does_not_move(representation, base):
    """Every quantity, with wrenches and gravity: the joints' part of the floating robot's."""
    model = random_model(np.random.default_rng(4), 8)
    options = {"representation": representation, "gravity": (1.0, -2.0, -9.0)}
    floating = lw.KinDyn(model, base, **options)
    fixed = lw.KinDyn(model, base, floating=False, base_pose=PLACED, **options)
    assert fixed.base_pose == PLACED
    rng = np.random.default_rng(5)
    s, (s_dot, s_ddot) = fixed.random(seed=6), rng.normal(size=(2, fixed.nv))
    q = np.concatenate([floating.q(base_pose=PLACED)[:7], s])
    still = np.zeros(6)
    small = {"q": s, "nu": s_dot, "nu_dot": s_ddot}
    large = {"q": q, "nu": np.r_[still, s_dot], "nu_dot": np.r_[still, s_ddot]}
    wrenches = rng.normal(size=(2, 6))
    frames = ("frame1", "link2", "link0", "link3")
    compared = 0
    for name, quantity in lw.KinDyn.quantities.items():
        inputs = [one.name for one in quantity.inputs]
        if not set(inputs) <= set(small) or name == "inverse_mass_matrix":
            continue  # the inverse of a part of M is not that part of its inverse
        own = (frames,) if quantity.of_many else frames[: len(quantity.frames)]
        acting = ["link1", "frame1"] if "wrenches" in quantity.forces else []
        pair = []
        for kd, rows in ((fixed, small), (floating, large)):
            function = kd.function((name, *own), wrenches=acting)
            program_inputs = [rows[one] for one in inputs] + list(wrenches[: len(acting)])
            pair.append(interpreted(function, program_inputs))
        found, expected = pair
        sizes = zip(found.shape, expected.shape, strict=True)
        part = tuple(slice(b - a, None) for a, b in sizes)
        assert_close(found, expected[part], rtol=1e-11, scale=np.abs(expected).max() + 1e-3)
        compared += 1
    assert compared >= 38


def interpreted(function, rows):
    from tests.support.kindyn import run_program

    return run_program(function.program, *rows)[0]


def test_forward_dynamics_of_a_placed_base_undoes_inverse_dynamics():
    kd = lw.KinDyn(ARM, floating=False, base_pose=PLACED.matrix())
    s, (s_dot, s_ddot) = kd.random(seed=1), np.random.default_rng(2).normal(size=(2, kd.nv))
    tau = kd.inverse_dynamics(s, s_dot, s_ddot)
    assert_close(kd.forward_dynamics(s, s_dot, tau), s_ddot, rtol=1e-11)
    level = lw.KinDyn(ARM, floating=False)
    assert np.abs(kd.gravity_force(s) - level.gravity_force(s)).max() > 1e-2
    turned = PLACED.matrix()[:3, :3].T @ np.array(kd.gravity)
    assert_close(kd.gravity_force(s), level.gravity_force(s, gravity=turned), rtol=1e-12)
    assert_close(kd.transform("tool", s), PLACED.matrix() @ level.transform("tool", s), rtol=1e-13)


@pytest.mark.peers
def test_pinocchio_sees_a_placed_base_where_it_is():
    arm = lw.load(lw.robots.path("arm"), mimic=False)
    kd = lw.KinDyn(arm, floating=False, base_pose=PLACED, representation="body")
    there = to_pinocchio(kd)
    data = there.createData()
    pin.framesForwardKinematics(there, data, pin.neutral(there))
    s = kd.neutral()
    for frame in ("base", "forearm", "tool"):
        pose = data.oMf[there.getFrameId(frame)].homogeneous
        assert_close(kd.transform(frame, s), pose, rtol=1e-14)
    gravity = pin.computeGeneralizedGravity(there, data, pin.neutral(there))
    assert_close(np.sort(kd.gravity_force(s)), np.sort(gravity), rtol=1e-12)


@pytest.mark.filterwarnings("always::linkwork.FloatingBaseWarning")
@pytest.mark.parametrize(
    ("name", "sign"),
    [
        ("arm", "chain of 7"),
        ("pendulum", "pendulum"),
        ("double_pendulum", "pendulum"),
        ("cartpole", "cartpole"),
        ("quadruped", ""),
        ("humanoid", ""),
        ("quadrotor", ""),
    ],
)
def test_a_fixed_robot_that_floats_by_default_gets_a_hint_once(monkeypatch, name, sign):
    monkeypatch.setattr("linkwork.errors._warned_topics", set())
    model = lw.load(name)
    with warnings.catch_warnings(record=True) as caught:
        for _ in range(2):
            assert lw.KinDyn(model).floating
        lw.KinDyn(model, floating=True)
        lw.KinDyn(model, floating=False)
    assert len(caught) == bool(sign)
    for one in caught:
        assert one.category is lw.FloatingBaseWarning
        assert all(fact in str(one.message) for fact in (name, sign, "floating=False"))


@pytest.mark.filterwarnings("error::linkwork.FloatingBaseWarning")
@pytest.mark.parametrize(
    ("base", "mass", "sign"), [("world", 1.0, "'world'"), ("root", 0.0, "mass")]
)
def test_the_signs_of_a_fixed_base(monkeypatch, base, mass, sign):
    monkeypatch.setattr("linkwork.errors._warned_topics", set())
    builder = lw.ModelBuilder("r")
    builder.add_link(base, inertia=lw.Inertia(mass, (0, 0, 0), (mass, 0, 0, mass, 0, mass)))
    builder.add_link("a", inertia=lw.Inertia(1.0, (0, 0, 0), (1, 0, 0, 1, 0, 1)))
    builder.add_joint("j", "revolute", base, "a", axis=(0, 0, 1))
    model = builder.build()
    with pytest.raises(lw.FloatingBaseWarning, match=sign):
        lw.KinDyn(model)
    assert not lw.KinDyn(model, floating=False).floating
