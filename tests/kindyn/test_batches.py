"""Calls of compiled functions: any batch gives what single calls give, whatever the arrays are."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from tests.support.kindyn import Interpreted
from tests.support.models import assert_close, random_inertia, random_model, random_q
from tests.support.real_robots import ROBOT_FILES, label, load_quietly

import linkwork as lw
from linkwork.errors import ValueRangeError
from linkwork.mechanics.base import REPRESENTATIONS

BATCHES = [(), (1,), (7,), (3, 5), (0,), (2, 0, 3), (4097,)]
METHODS = {
    name: [one.name for one in quantity.inputs]
    for name, quantity in lw.KinDyn.quantities.items()
    if name != "transforms"
}
FRAMES = ("frame1", "link2", "frame0", "link5")
SHAPES = {
    "mass_matrix": lambda nv: (nv, nv),
    "inverse_dynamics": lambda nv: (nv,),
    "forward_dynamics": lambda nv: (nv,),
    "com": lambda nv: (3,),
    "kinetic_energy": lambda nv: (),
    "jacobian": lambda nv: (6, nv),
    "transform": lambda nv: (4, 4),
}


@pytest.fixture(scope="module")
def kd():
    """A robot with every kind of joint and dependent ones, seen from an additional frame."""
    model = random_model(np.random.default_rng(3), 9)
    return lw.KinDyn(model, base="frame0")


def arguments(kd, name, batch=(), seed=0):
    rng = np.random.default_rng(seed)
    rows = {what: rng.normal(size=(*batch, kd.nv)) for what in ("nu", "nu_dot", "tau")}
    rows |= {what: random_q(kd.layout, rng, batch) for what in ("q", "q_start", "q_end")}
    rows["dt"] = rng.uniform(0.1, 2.0, size=batch)
    rows["q"] = (2 if name == "normalize" else 1) * rows["q"]
    return [rows[what] for what in METHODS[name]]


def method(kd, name, all_frames=FRAMES):
    frames = all_frames[: len(lw.KinDyn.quantities[name].frames)]
    if name == "relative_jacobian_at" and not isinstance(kd, Interpreted):
        options = dict(zip(("origin", "axes"), frames[2:], strict=True))
        return partial(kd.relative_jacobian, *frames[:2], **options)
    if name == "external_force" and not isinstance(kd, Interpreted):
        return partial(kd.external_force, wrenches={})
    return partial(getattr(kd, name), *frames)


def each(result):
    """The arrays of a named tuple, or one array alone."""
    return result if isinstance(result, tuple) else (result,)


def close(found, expected, rtol=1e-13):
    """Row by row, each relative to its own largest entry."""
    assert found.shape == expected.shape
    for one, other in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
        assert_close(one, other, rtol)


@pytest.mark.parametrize("name", METHODS)
def test_compiled_code_gives_what_the_program_says(name, kd):
    """One row, and rows for all lanes and their tail; in quick code and in fast code."""
    rows = arguments(kd, name, (11,))
    expected = each(method(Interpreted(kd), name)(*rows))

    quick = each(method(kd, name)(*rows))
    kd.function((name, *FRAMES[: len(lw.KinDyn.quantities[name].frames)])).warmup()
    fast = each(method(kd, name)(*rows))
    singles = [each(method(kd, name)(*row)) for row in zip(*rows, strict=True)]
    single = [np.array(parts) for parts in zip(*singles, strict=True)]

    solves = name.startswith("forward_dynamics") or name == "inverse_mass_matrix"
    rtol = 1e-11 if solves else 1e-13
    for found in (quick, fast, single):
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == np.float64
            close(one, other, rtol)
    for one, other in zip(fast, single, strict=True):
        close(one, other, rtol)


@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("name", SHAPES)
def test_every_batch_shape_gives_its_rows(name, batch, kd):
    rows = arguments(kd, name, batch)

    found = method(kd, name)(*rows)

    assert found.shape == (*batch, *SHAPES[name](kd.nv))
    flat = [row.reshape(-1, row.shape[-1]) for row in rows]
    n = len(flat[0])
    for k in {0, 1, n // 2, n - 2, n - 1} & set(range(n)):
        single = method(kd, name)(*(row[k] for row in flat))
        own = found.reshape(n, *SHAPES[name](kd.nv))[k]
        assert_close(own, single, rtol=1e-13)


@pytest.mark.parametrize("warm", [False, True])
def test_no_rows_give_no_rows_whatever_the_call(warm):
    """An empty batch is a batch: of the first call, of lists, of mixed types, into `out`."""
    kd = lw.KinDyn(lw.robots.load("humanoid"))
    if warm:
        kd.com_velocity(kd.neutral(), np.zeros(kd.nv))
        kd.com(kd.neutral())
    q, nu = np.zeros((0, kd.nq)), np.zeros((0, kd.nv))
    assert kd.com(q).shape == (0, 3)
    assert kd.com(q[None]).shape == (1, 0, 3)
    assert kd.com(q.astype(np.float32)).shape == (0, 3)
    assert kd.com_velocity(q, nu).shape == (0, 3)
    assert kd.com_velocity(q, np.zeros(kd.nv)).shape == (0, 3)
    assert kd.com(q, out=np.zeros((0, 3))).shape == (0, 3)
    assert kd.replace(check=True).com(q).shape == (0, 3)
    assert kd.forward_dynamics(q, nu, nu).shape == (0, kd.nv)


def test_quaternions_are_normalized_when_nearly_unit_and_refused_when_not(kd):
    """In one row, in a batch, and in every joint that has one."""
    q = arguments(kd, "mass_matrix", (5,))[0]
    expected = kd.mass_matrix(q)
    places = [kd.layout.base_wxyz]
    for joint in kd.joint_names:
        at, kind = kd.layout.q[joint], kd.model.joint(joint).kind
        if kind in ("spherical", "revolute_cos_sin"):
            places.append(at)
        elif kind == "floating":
            places.append(slice(at.start + 3, at.stop))
    assert len(places) >= 3
    for at in places:
        rough, wrong = q.copy(), q.copy()
        rough[:, at] *= 1 + 1e-5
        wrong[3, at] *= 1.5
        close(kd.mass_matrix(rough), expected)
        assert_close(kd.mass_matrix(rough[2]), expected[2], rtol=1e-13)
        with pytest.raises(ValueRangeError, match=r"norm 1\.5.*row 3"):
            kd.mass_matrix(wrong)
        with pytest.raises(ValueRangeError, match=r"norm 1\.5"):
            kd.mass_matrix(wrong[3])


def test_one_configuration_is_broadcast_against_many_velocities(kd):
    q, nu = arguments(kd, "bias_force", (6,))
    expected = np.array([kd.bias_force(q[0], row) for row in nu])

    close(kd.bias_force(q[0], nu), expected)
    close(kd.bias_force(q[:1], nu), expected)
    grid = kd.bias_force(q[:, None], nu)
    assert grid.shape == (6, 6, kd.nv)
    close(grid[0], expected)
    assert_close(grid[4, 2], kd.bias_force(q[4], nu[2]), rtol=1e-13)


def test_wrenches_and_gravity_are_broadcast_too(kd):
    q, nu, nu_dot = arguments(kd, "inverse_dynamics")
    rng = np.random.default_rng(1)
    f, g = rng.normal(size=(5, 6)), rng.normal(size=(4, 1, 3))
    found = kd.inverse_dynamics(q, nu, nu_dot, wrenches={"frame1": f}, gravity=g)

    assert found.shape == (4, 5, kd.nv)
    one = kd.inverse_dynamics(q, nu, nu_dot, wrenches={"frame1": f[3]}, gravity=g[2, 0])
    assert_close(found[2, 3], one, rtol=1e-13)
    back = kd.forward_dynamics(q, nu, found, wrenches={"frame1": f}, gravity=g)
    assert_close(back, np.broadcast_to(nu_dot, back.shape), rtol=1e-9)


def test_the_order_in_which_wrenches_are_listed_does_not_matter(kd):
    q, nu, nu_dot = arguments(kd, "inverse_dynamics")
    rng = np.random.default_rng(1)
    f = {frame: rng.normal(size=6) for frame in ("frame1", "link2", "link0")}
    backwards = dict(reversed(f.items()))

    one = kd.inverse_dynamics(q, nu, nu_dot, wrenches=f)

    assert_close(kd.inverse_dynamics(q, nu, nu_dot, wrenches=backwards), one, rtol=1e-13)


@pytest.mark.parametrize("name", ["mass_matrix", "bias_force", "kinetic_energy"])
@pytest.mark.parametrize("batch", [(), (7,), (3, 5)], ids=str)
def test_out_is_written_and_returned(name, batch, kd):
    rows = arguments(kd, name, batch)
    expected = method(kd, name)(*rows)
    out = np.full(expected.shape, np.nan)

    assert method(kd, name)(*rows, out=out) is out

    assert np.array_equal(out, expected)


def test_out_may_be_strided_or_the_input_itself(kd):
    q, nu = arguments(kd, "bias_force", (7,))
    expected = kd.bias_force(q, nu)
    wide = np.zeros((7, 3 * kd.nv))
    kd.bias_force(q, nu, out=wide[:, ::3])
    assert np.array_equal(wide[:, ::3], expected)
    assert not wide[:, 1::3].any()
    kd.bias_force(q, nu, out=nu)
    assert np.array_equal(nu, expected)


def test_a_wrong_out_is_refused(kd):
    q = arguments(kd, "mass_matrix")[0]
    with pytest.raises(lw.ShapeError, match="out"):
        kd.mass_matrix(q, out=np.zeros((kd.nv, kd.nv + 1)))
    with pytest.raises(lw.ArgumentError, match="out"):
        kd.mass_matrix(q, out=np.zeros((kd.nv, kd.nv), dtype=np.float32))
    with pytest.raises(lw.ArgumentError, match="read-only"):
        kd.mass_matrix(q, out=np.broadcast_to(0.0, (kd.nv, kd.nv)))


def test_arrays_of_any_stride_order_and_type_are_taken(kd):
    q, nu = arguments(kd, "bias_force", (6,))
    expected = kd.bias_force(q, nu)
    spread = np.zeros((12, 2 * kd.nq))
    spread[::2, ::2] = q
    swapped = q.astype(q.dtype.newbyteorder())
    for form in (spread[::2, ::2], np.asfortranarray(q), q[::-1][::-1], swapped, q.tolist()):
        assert np.array_equal(kd.bias_force(form, nu), expected)
    whole = np.round(nu)
    for form in (whole.astype(int), whole.astype(np.int8), whole.astype(np.float32)):
        assert np.array_equal(kd.bias_force(q, form), kd.bias_force(q, whole))
    assert np.array_equal(kd.bias_force(q.astype(np.longdouble), nu), expected)


def test_inputs_are_left_as_they_were(kd):
    rows = arguments(kd, "inverse_dynamics", (5,))
    before = [row.copy() for row in rows]
    for row in rows:
        row.flags.writeable = False
    kd.inverse_dynamics(*rows)
    assert all(np.array_equal(row, copy) for row, copy in zip(rows, before, strict=True))


def test_wrong_shapes_are_refused(kd):
    q, nu = arguments(kd, "bias_force", (5,))
    for bad in (q[:, :-1], q[0, 0], np.zeros((5, kd.nq + 1))):
        with pytest.raises(lw.ShapeError, match="q"):
            kd.bias_force(bad, nu)
    with pytest.raises(lw.ShapeError, match="batch"):
        kd.bias_force(q, nu[:4])
    with pytest.raises(lw.ShapeError, match="wrench_frame1"):
        kd.inverse_dynamics(q, nu, nu, wrenches={"frame1": np.zeros(5)})
    with pytest.raises(lw.NameNotFoundError, match="frame7"):
        kd.inverse_dynamics(q, nu, nu, wrenches={"frame7": np.zeros(6)})


FLOAT32_BOUND = 2e-5
"""Error of float32 results relative to the largest entry: about 200 times its rounding."""


@pytest.mark.parametrize("name", ["mass_matrix", "inverse_dynamics", "com", "jacobian"])
@pytest.mark.parametrize("velocity", REPRESENTATIONS)
def test_float32_stays_within_its_bound(name, velocity):
    double = lw.KinDyn(lw.robots.load("humanoid"), representation=velocity)
    single = double.replace(dtype=np.float32)
    frame = double.model.frame_names[-1]
    rows = arguments(double, name, (9,))
    rough = [row.astype(np.float32) for row in rows]

    found = method(single, name, (frame,))(*rough)

    assert found.dtype == np.float32
    exact = method(double, name, (frame,))(*(row.astype(np.float64) for row in rough))
    close(found.astype(float), exact, rtol=FLOAT32_BOUND)
    assert np.array_equal(method(single, name, (frame,))(*rows), found)


def test_fused_functions_give_what_single_ones_give(kd):
    requests = ["mass_matrix", "bias_force", ("jacobian", "frame1"), "kinetic_energy", "com"]
    q, nu = arguments(kd, "bias_force", (3, 4))

    M, h, J, energy, com = kd.function(*requests)(q, nu)

    close(M, kd.mass_matrix(q))
    close(h, kd.bias_force(q, nu))
    close(J, kd.jacobian("frame1", q))
    close(energy, kd.kinetic_energy(q, nu))
    close(com, kd.com(q))
    out = tuple(np.empty_like(x) for x in (M, h, J, energy, com))
    assert all(a is b for a, b in zip(kd.function(*requests)(q, nu, out=out), out, strict=True))
    assert np.array_equal(out[0], M)


def test_transforms_are_the_transform_of_each_frame(kd):
    q = arguments(kd, "com", (4,))[0]
    expected = np.stack([kd.transform(frame, q) for frame in kd.model.frame_names], axis=1)

    assert_close(kd.transforms(q), expected, rtol=1e-13)
    place = kd.model.frame_index("frame1")
    assert_close(kd.transforms(q, frames=["frame1"]), expected[:, [place]], rtol=1e-13)
    assert kd.transforms(q, frames=[]).shape == (4, 0, 4, 4)


def test_a_copy_by_pickle_gives_the_same_numbers(kd):
    q, nu = arguments(kd, "bias_force")
    twin = pickle.loads(pickle.dumps(kd))
    assert_close(twin.bias_force(q, nu), kd.bias_force(q, nu), rtol=1e-13)


def test_random_configurations_repeat_by_seed_and_have_their_shape(kd):
    assert kd.random().shape == (kd.nq,)
    assert kd.random((2, 3), seed=1).shape == (2, 3, kd.nq)
    assert kd.random(0).shape == (0, kd.nq)
    assert np.array_equal(kd.random(5, seed=1), kd.random(5, seed=1))
    assert not np.array_equal(kd.random(5, seed=1), kd.random(5, seed=2))
    assert np.isfinite(kd.mass_matrix(kd.random(50, seed=3))).all()


@pytest.mark.peers
@pytest.mark.parametrize("batch", [(), (1,), (3, 2), (0,)], ids=str)
def test_a_robot_that_cannot_move_has_empty_vectors_and_all_the_rest(batch):
    """A quadrotor bolted to the ground: nv = 0."""
    path = next(p for p in ROBOT_FILES if label(p) == "hector_description/quadrotor_base")
    kd = lw.KinDyn(load_quietly(path), floating=False)
    none = np.zeros((*batch, 0))

    assert (kd.nq, kd.nv) == (0, 0)
    assert kd.mass_matrix(none).shape == (*batch, 0, 0)
    assert kd.inverse_dynamics(none, none, none).shape == (*batch, 0)
    assert kd.forward_dynamics(none, none, none).shape == (*batch, 0)
    assert kd.jacobian(kd.base, none).shape == (*batch, 6, 0)
    assert kd.com_jacobian(none).shape == (*batch, 3, 0)
    assert kd.kinetic_energy(none, none).shape == batch
    assert not kd.kinetic_energy(none, none).any()
    assert not kd.momentum(none, none).any()
    expected = np.broadcast_to(np.eye(4), (*batch, 4, 4))
    assert np.array_equal(kd.transform(kd.base, none), expected)
    assert kd.com(none).shape == (*batch, 3)


@pytest.mark.parametrize("velocity", REPRESENTATIONS)
def test_a_single_body_obeys_newton_and_euler(velocity):
    """F = m (c_ddot - g) and N = d/dt (I w) about the center of mass, written out."""
    inertia = random_inertia(np.random.default_rng(2))
    kd = lw.KinDyn(
        lw.Model(name="body", links=(lw.Link(name="body", inertia=inertia),)),
        representation=velocity,
    )
    q, nu, nu_dot = arguments(kd, "inverse_dynamics")
    H = kd.transform("body", q)
    R, o = H[:3, :3], H[:3, 3]
    mixed = lw.KinDyn(kd.model)
    if velocity == "body":
        v, w = R @ nu[:3], R @ nu[3:]
        a, u = R @ (nu_dot[:3] + np.cross(nu[3:], nu[:3])), R @ nu_dot[3:]
    elif velocity == "inertial":
        w, u = nu[3:], nu_dot[3:]
        v = nu[:3] + np.cross(w, o)
        a = nu_dot[:3] + np.cross(u, o) + np.cross(w, v)
    else:
        v, w, a, u = nu[:3], nu[3:], nu_dot[:3], nu_dot[3:]
    arm, tensor = R @ inertia.com, R @ inertia.matrix() @ R.T
    c_ddot = a + np.cross(u, arm) + np.cross(w, np.cross(w, arm))
    force = inertia.mass * (c_ddot - np.array(kd.gravity))
    moment = tensor @ u + np.cross(w, tensor @ w) + np.cross(arm, force)
    if velocity == "body":
        force, moment = R.T @ force, R.T @ moment
    elif velocity == "inertial":
        moment = moment + np.cross(o, force)

    tau = kd.inverse_dynamics(q, nu, nu_dot)

    assert_close(tau, np.concatenate([force, moment]), rtol=1e-13)
    assert_close(kd.forward_dynamics(q, nu, tau), nu_dot, rtol=1e-12)
    assert_close(kd.com_velocity(q, nu), v + np.cross(w, arm), rtol=1e-13)
    assert_close(kd.com(q), mixed.com(q), rtol=1e-13)
