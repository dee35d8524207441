"""Where forward dynamics has no answer it says so and names the joint; NaN in is NaN out."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.models import random_inertia

import linkwork as lw
from linkwork.errors import ValueRangeError

BOX = lw.Inertia(2.0, (0.1, 0.0, 0.05), (0.02, 0.0, 0.0, 0.03, 0.0, 0.04))
POINT_ON_AXIS = lw.Inertia(1.0, (0.0, 0.0, 0.3), (0.0,) * 6)  # of a joint about z


def arm(leaf, *, kind="revolute", axis=(0, 0, 1), mimic=None):
    """Two links that move well, and a third one by a joint called "wrist"."""
    builder = lw.ModelBuilder("arm")
    for name, inertia in (("base", BOX), ("upper", BOX), ("lower", BOX), ("leaf", leaf)):
        builder.add_link(name, inertia=inertia)
    lift = lw.Pose(xyz=(0.0, 0.1, 0.4), rpy=(0.3, 0.2, 0.1))
    builder.add_joint("shoulder", "revolute", "base", "upper", axis=(0, 1, 0), first_H_joint=lift)
    builder.add_joint("elbow", "revolute", "upper", "lower", axis=(1, 0, 0), first_H_joint=lift)
    builder.add_joint("wrist", kind, "lower", "leaf", axis=axis, first_H_joint=lift, mimic=mimic)
    return builder.build()


def call(kd, **changes):
    rng = np.random.default_rng(0)
    state = {"q": kd.random(seed=0), "nu": rng.normal(size=kd.nv), "tau": rng.normal(size=kd.nv)}
    state |= changes
    return kd.forward_dynamics(state["q"], state["nu"], state["tau"])


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("kind", ["revolute", "prismatic", "spherical", "planar", "floating"])
def test_a_moving_leaf_without_mass_is_named(kind, floating):
    kd = lw.KinDyn(arm(lw.Inertia(), kind=kind), floating=floating)
    with pytest.raises(lw.SingularJointError, match="wrist"):
        call(kd)


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("velocity", ["mixed", "body", "inertial"])
def test_mass_on_the_axis_resists_no_turning_and_the_joint_is_named(floating, velocity):
    kd = lw.KinDyn(arm(POINT_ON_AXIS), floating=floating, representation=velocity)
    with pytest.raises(lw.SingularJointError, match="wrist"):
        call(kd)


def test_mass_on_a_tilted_axis_is_as_singular_as_on_z():
    """The frame is turned onto the axis first, which leaves noise where zeros should be."""
    axis = np.array([1.0, 2.0, -2.0]) / 3
    leaf = lw.Inertia(1.0, tuple((0.3 * axis).tolist()), (0.0,) * 6)
    kd = lw.KinDyn(arm(leaf, axis=tuple(axis.tolist())))
    with pytest.raises(lw.SingularJointError, match="wrist"):
        call(kd)


AXIS = np.array([1.0, 2.0, -2.0]) / 3
ROD = 0.1 * (np.eye(3) - np.outer(AXIS, AXIS))  # thin: nothing turns about its own axis
THIN = {
    "point": lw.Inertia(1.0, (0.1, 0.2, 0.3), (0.0,) * 6),
    "rod": lw.Inertia(1.0, tuple((0.3 * AXIS).tolist()), tuple(ROD[np.triu_indices(3)].tolist())),
}


@pytest.mark.parametrize("body", THIN)
@pytest.mark.parametrize("kind", ["spherical", "floating"])
def test_a_point_or_thin_rod_that_turns_freely_is_singular_and_named(body, kind):
    """It resists turning about two axes of three; rounding must not be taken for the third."""
    kd = lw.KinDyn(arm(THIN[body], kind=kind))
    with pytest.raises(lw.SingularJointError, match="wrist"):
        call(kd)


@pytest.mark.parametrize("body", THIN)
def test_a_point_or_thin_rod_as_the_only_link_is_singular(body):
    kd = lw.KinDyn(lw.Model(name="thin", links=(lw.Link(name="link", inertia=THIN[body]),)))
    with pytest.raises(lw.SingularJointError, match="base"):
        call(kd)


def test_a_chain_of_joints_that_only_turn_nothing_names_one_of_them():
    builder = lw.ModelBuilder("two")
    for name, inertia in (("base", BOX), ("one", lw.Inertia()), ("two", lw.Inertia())):
        builder.add_link(name, inertia=inertia)
    builder.add_joint("first", "revolute", "base", "one", axis=(1, 0, 0))
    builder.add_joint("second", "revolute", "one", "two", axis=(0, 1, 0))
    with pytest.raises(lw.SingularJointError, match=r"first|second"):
        call(lw.KinDyn(builder.build()))


def test_a_base_without_mass_is_singular():
    """A point is no body that floats freely: nothing resists its turning."""
    builder = lw.ModelBuilder("point")
    builder.add_link("point", inertia=lw.Inertia(1.0))
    kd = lw.KinDyn(builder.build())
    with pytest.raises(lw.SingularJointError, match="base"):
        call(kd)


def test_a_dependent_leaf_without_mass_is_no_trouble():
    """What it follows has inertia, so the coordinate is resisted."""
    kd = lw.KinDyn(arm(lw.Inertia(), mimic=lw.Mimic(joint="elbow", multiplier=2.0, offset=0.1)))
    nu_dot = call(kd)
    assert np.isfinite(nu_dot).all()


def test_a_dependent_joint_whose_leader_moves_nothing_is_named():
    builder = lw.ModelBuilder("pair")
    for name, inertia in (("base", BOX), ("one", lw.Inertia()), ("two", lw.Inertia())):
        builder.add_link(name, inertia=inertia)
    builder.add_joint("leader", "revolute", "base", "one", axis=(1, 0, 0))
    mimic = lw.Mimic(joint="leader", multiplier=2.0, offset=0.0)
    builder.add_joint("follower", "revolute", "base", "two", axis=(0, 1, 0), mimic=mimic)
    for floating in (True, False):
        with pytest.raises(lw.SingularJointError, match="leader"):
            call(lw.KinDyn(builder.build(), floating=floating))


def singular_somewhere():
    """An intermediate link without mass: singular only where the joints beyond line up with it.

    A point mass at the end of a slider, which hangs on a joint about z: with the slider drawn in,
    the mass is on the axis.
    """
    builder = lw.ModelBuilder("turntable")
    for name, inertia in (("base", BOX), ("table", lw.Inertia()), ("mass", lw.Inertia(1.0))):
        builder.add_link(name, inertia=inertia)
    builder.add_joint("turn", "revolute", "base", "table", axis=(0, 0, 1))
    builder.add_joint("slide", "prismatic", "table", "mass", axis=(1, 0, 0))
    return builder.build()


def test_what_is_singular_in_one_configuration_only_is_never_nan():
    kd = lw.KinDyn(singular_somewhere(), floating=False)
    fine = np.array([0.3, 0.5])

    assert np.isfinite(kd.forward_dynamics(fine, [0.1, 0.2], [1.0, 2.0])).all()
    with pytest.raises(lw.SingularJointError, match="turn"):
        kd.forward_dynamics([0.3, 0.0], [0.1, 0.2], [1.0, 2.0])


SINGULAR_LEAVES = [
    *(
        (lw.Inertia(), kind)
        for kind in ("revolute", "prismatic", "spherical", "planar", "floating")
    ),
    *((body, kind) for body in THIN.values() for kind in ("spherical", "floating")),
    (POINT_ON_AXIS, "revolute"),
]


@pytest.mark.parametrize(("leaf", "kind"), SINGULAR_LEAVES)
def test_the_inverse_mass_matrix_is_refused_where_forward_dynamics_is(leaf, kind):
    kd = lw.KinDyn(arm(leaf, kind=kind))
    with pytest.raises(lw.SingularJointError) as of_forward_dynamics:
        call(kd)
    with pytest.raises(lw.SingularJointError) as error:
        kd.inverse_mass_matrix(kd.random(seed=0))
    assert str(error.value) == str(of_forward_dynamics.value)


def test_derivatives_where_the_robot_is_singular_are_never_nan():
    kd = lw.KinDyn(singular_somewhere(), floating=False)
    fine, drawn_in = [0.3, 0.5], [0.3, 0.0]
    by = kd.forward_dynamics_derivatives(fine, [0.1, 0.2], [1.0, 2.0])
    assert all(np.isfinite(array).all() for array in by)
    with pytest.raises(lw.SingularJointError, match="'turn'"):
        kd.inverse_mass_matrix(drawn_in)
    with pytest.raises(lw.SingularJointError, match="'turn'"):
        kd.forward_dynamics_derivatives(drawn_in, [0.1, 0.2], [1.0, 2.0])


def test_of_a_batch_the_singular_row_is_named():
    kd = lw.KinDyn(singular_somewhere(), floating=False)
    q = np.tile([0.3, 0.5], (9, 1))
    q[6, 1] = 0.0
    with pytest.raises(lw.SingularJointError, match=r"row 6 of 9"):
        kd.forward_dynamics(q, np.zeros((9, 2)), np.ones((9, 2)))


def test_other_quantities_of_singular_robots_are_finite():
    kd = lw.KinDyn(arm(lw.Inertia()))
    q, nu = kd.random(seed=0), np.ones(kd.nv)
    assert np.isfinite(kd.inverse_dynamics(q, nu, nu)).all()
    assert np.isfinite(kd.mass_matrix(q)).all()
    assert np.isfinite(kd.centroidal_momentum(q, nu)).all()


@pytest.mark.parametrize("place", ["q", "nu", "tau"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_gives_nan_without_an_error(place, value):
    kd = lw.KinDyn(arm(random_inertia(np.random.default_rng(1))))
    rng = np.random.default_rng(0)
    state = {"q": kd.random(seed=0), "nu": rng.normal(size=kd.nv), "tau": rng.normal(size=kd.nv)}
    state[place] = state[place].copy()
    state[place][-1] = value

    found = call(kd, **state)

    assert not np.isfinite(found).all()


def test_one_row_that_is_no_number_leaves_the_other_rows_alone():
    kd = lw.KinDyn(arm(random_inertia(np.random.default_rng(1))))
    q = kd.random(11, seed=0)
    tau = np.ones((11, kd.nv))
    right = kd.forward_dynamics(q, 0 * tau, tau)
    tau[4] = np.nan

    found = kd.forward_dynamics(q, 0 * tau[0], tau)

    assert np.isnan(found[4]).all()
    rest = np.arange(11) != 4
    np.testing.assert_allclose(found[rest], right[rest], rtol=1e-12)


@pytest.mark.parametrize("place", ["nu", "tau"])
def test_with_check_the_joint_of_what_is_no_number_is_named(place):
    kd = lw.KinDyn(arm(random_inertia(np.random.default_rng(1))), check=True)
    bad = np.zeros(kd.nv)
    bad[kd.layout.nu["elbow"]] = np.nan
    with pytest.raises(ValueRangeError, match=rf"{place}.*elbow.*nan"):
        call(kd, **{place: bad})


def test_with_check_the_joint_in_q_and_the_row_are_named():
    kd = lw.KinDyn(arm(random_inertia(np.random.default_rng(1))), check=True)
    q = kd.random(5, seed=0)
    q[3, kd.layout.q["wrist"]] = np.inf
    with pytest.raises(ValueRangeError, match=r"q.*wrist.*inf.*row 3"):
        kd.mass_matrix(q)
    q = kd.random(seed=0)
    q[1] = np.nan
    with pytest.raises(ValueRangeError, match=r"base"):
        kd.com(q)


def test_with_check_fine_input_gives_what_it_gives_without():
    kd = lw.KinDyn(arm(random_inertia(np.random.default_rng(1))))
    strict = kd.replace(check=True)
    for each in (kd, strict):  # code that is made quickly may round otherwise
        each.warmup("forward_dynamics")
    np.testing.assert_array_equal(call(kd), call(strict))


@pytest.mark.parametrize("batch", [(4,), (2, 3)])
def test_a_robot_that_is_singular_by_its_numbers_marks_every_row(batch):
    kd = lw.KinDyn(arm(lw.Inertia()))
    q = kd.random(batch, seed=1)
    with pytest.raises(lw.SingularJointError, match="wrist") as caught:
        kd.forward_dynamics(q, np.zeros(kd.nv), np.ones(kd.nv))
    assert caught.value.mask.tolist() == [True] * np.prod(batch)
    with pytest.raises(lw.SingularJointError) as caught:
        kd.forward_dynamics(q=kd.neutral(), nu=np.zeros(kd.nv), tau=np.ones(kd.nv))
    assert caught.value.mask is None


def test_a_singular_robot_is_an_error_of_linear_algebra():
    with pytest.raises(np.linalg.LinAlgError):
        call(lw.KinDyn(arm(lw.Inertia())))


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("change", [{"nu": 1e200}, {"tau": 1e308}])
def test_numbers_that_overflow_are_not_called_singular(change, floating):
    kd = lw.KinDyn(arm(BOX), floating=floating)
    ((name, size),) = change.items()
    for n in ((), (3,)):
        rows = {"q": kd.random(n, seed=0), "nu": np.ones((*n, kd.nv)), "tau": np.ones((*n, kd.nv))}
        rows[name][..., -1] = size
        rows[name][..., 0] = -size
        where = ".*row 0 of 3" if n else ""
        with pytest.raises(ValueRangeError, match=f"^forward_dynamics: .*too large{where}"):
            call(kd, **rows)


def test_a_configuration_that_overflows_is_not_called_singular():
    kd = lw.KinDyn(arm(BOX, kind="prismatic"), floating=False)
    with pytest.raises(ValueRangeError, match=r"forward_dynamics: .*too large"):
        call(kd, q=np.array([0.1, 0.2, 1e200]))
    body = lw.KinDyn(arm(BOX, kind="prismatic"))
    q = body.neutral()
    q[-1] = 1e200
    with pytest.raises(ValueRangeError, match=r"average_velocity_jacobian: .*too large"):
        body.average_velocity_jacobian(q)
    with pytest.raises(ValueRangeError, match=r"average_velocity: .*too large"):
        body.average_velocity(body.neutral(), np.full(body.nv, 1e308))
