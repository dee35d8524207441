"""Steps between configurations: integrate, difference, normalize."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kindyn import STATES_THAT_DIFFER, random_case, rate_of_q
from tests.support.models import assert_close, random_q
from tests.support.spatial import pin

import linkwork as lw
from linkwork.errors import ValueRangeError
from linkwork.mechanics.base import REPRESENTATIONS
from linkwork.spatial import se3

SEEDS = (1, 2, 3)
every_representation = pytest.mark.parametrize("velocity", REPRESENTATIONS)
on_many_robots = pytest.mark.parametrize("seed", SEEDS)


def poses(case, q):
    return case.kd.transforms(case.model.frame_names, q)


@on_many_robots
@pytest.mark.parametrize(("floating", "velocity"), STATES_THAT_DIFFER)
def test_difference_leads_where_integrate_goes(seed, floating, velocity):
    case = random_case(seed, floating=floating, velocity=velocity)
    kd, rng = case.kd.kd, np.random.default_rng(seed)
    for size in (1e-9, 0.1, 1.0):
        step = size * rng.uniform(-1, 1, size=kd.nv)
        end = kd.integrate(case.q, step)
        assert_close(kd.difference(case.q, end), step, rtol=1e-12, scale=max(size, 1e-3))
    end = random_q(kd.layout, rng)
    there = kd.integrate(case.q, kd.difference(case.q, end))
    assert_close(poses(case, there), poses(case, end), rtol=1e-12)  # q and -q are one rotation
    assert np.abs(kd.difference(case.q, case.q)).max() < 1e-15
    assert_close(kd.normalize(there), there, rtol=1e-15)


@on_many_robots
@every_representation
def test_integrate_starts_with_the_rate_of_the_configuration(seed, velocity):
    case = random_case(seed, velocity=velocity)
    kd, h = case.kd.kd, 1e-6
    rate = rate_of_q(kd.layout, case.q, case.nu, velocity)
    ahead, behind = kd.integrate(case.q, case.nu, h), kd.integrate(case.q, case.nu, -h)
    assert_close((ahead - behind) / (2 * h), rate, rtol=1e-8)


@on_many_robots
@every_representation
def test_many_small_steps_at_constant_nu_are_one_large_step(seed, velocity):
    case = random_case(seed, velocity=velocity)
    kd = case.kd.kd
    q = case.q
    for _ in range(50):
        q = kd.integrate(q, case.nu, 0.02)
    assert_close(q, kd.integrate(case.q, case.nu), rtol=1e-11)


@every_representation
def test_the_base_moves_as_the_representation_says(velocity):
    kd = lw.KinDyn(lw.robots.load("quadruped"), representation=velocity)
    q, rng = kd.random(seed=1), np.random.default_rng(2)
    V = rng.normal(size=6)
    nu = np.concatenate([V, np.zeros(kd.nv - 6)])
    H, moved = (kd.transform(kd.base, x) for x in (q, kd.integrate(q, nu)))
    if velocity == "body":
        assert_close(moved, H @ se3.exp(V), rtol=1e-13)
    elif velocity == "inertial":
        assert_close(moved, se3.exp(V) @ H, rtol=1e-13)
    else:
        assert_close(moved[:3, 3], H[:3, 3] + V[:3], rtol=1e-13)
        spin = se3.exp([0, 0, 0, *V[3:]])[:3, :3]
        assert_close(moved[:3, :3], spin @ H[:3, :3], rtol=1e-13)


@pytest.mark.peers
def test_pinocchio_integrates_and_subtracts_alike():
    """Its free-flyer moves as a base in the body representation; quaternions are x y z w."""
    model = lw.robots.load("quadruped")
    kd = lw.KinDyn(model, representation="body")
    there = pin.buildModelFromXML(lw.dump_urdf(model), pin.JointModelFreeFlyer())
    order = [there.joints[there.getJointId(name)].idx_v for name in kd.joint_names]
    q, end = kd.random(2, seed=3)
    nu = np.random.default_rng(4).normal(size=kd.nv)

    def theirs(q):
        found = np.zeros(there.nq)
        found[:3], found[3:6], found[6] = q[:3], q[4:7], q[3]
        found[np.array(order) + 1] = q[7:]
        return found

    v = np.zeros(there.nv)
    v[:6], v[order] = nu[:6], nu[6:]
    assert_close(theirs(kd.integrate(q, nu)), pin.integrate(there, theirs(q), v), rtol=1e-12)
    d = pin.difference(there, theirs(q), theirs(end))
    assert_close(kd.difference(q, end), np.concatenate([d[:6], d[order]]), rtol=1e-11)


def test_steps_take_batches_and_times_for_each_row():
    kd = lw.KinDyn(lw.robots.load("humanoid"))
    q, nu = kd.random((4, 3), seed=1), np.random.default_rng(0).normal(size=kd.nv)
    dt = np.linspace(0, 1, 12).reshape(4, 3)
    found = kd.integrate(q, nu, dt)
    assert found.shape == (4, 3, kd.nq)
    for at in np.ndindex(4, 3):
        assert_close(found[at], kd.integrate(q[at], nu, dt[at]), rtol=1e-13)
    assert_close(kd.difference(q, found), dt[..., None] * nu, rtol=1e-11)


def test_normalize_scales_what_must_have_norm_one():
    case = random_case(1)
    kd = case.kd.kd
    rest, scaled = case.q.copy(), case.q.copy()
    for unit in kd.function("com").signature.unit_norms:
        scaled[unit.offset : unit.offset + unit.count] *= 3.0
    assert_close(kd.normalize(scaled), rest, rtol=1e-14)
    assert_close(kd.normalize(np.stack([scaled, rest])), np.stack([rest, rest]), rtol=1e-14)


def test_a_quaternion_of_zeros_has_no_direction():
    kd = lw.KinDyn(lw.robots.load("quadruped"))
    q = kd.neutral()
    q[3:7] = 0.0
    with pytest.raises(ValueRangeError, match=r"base quaternion.*zero"):
        kd.normalize(q)
    with pytest.raises(ValueRangeError, match=r"row 1 of 2"):
        kd.normalize(np.stack([kd.neutral(), q]))
    q[4] = np.inf
    with pytest.raises(ValueRangeError, match=r"base quaternion.*infinite.*row 1 of 2"):
        kd.normalize(np.stack([kd.neutral(), q]))
    q[4] = np.nan
    assert np.isnan(kd.normalize(q)[3:7]).all()


def test_half_a_turn_is_found():
    kd = lw.KinDyn(lw.robots.load("quadruped"))
    q, end = kd.neutral(), kd.neutral()
    end[3:7] = [0, 0, 1, 0]
    step = kd.difference(q, end)
    assert_close(step[3:6], [0, np.pi, 0], rtol=1e-15)


@pytest.mark.parametrize("n", [-1, 2.5, "three", (2, -1), (1.5,), None])
def test_random_refuses_what_is_no_number_of_rows(n):
    kd = lw.KinDyn(lw.robots.load("quadruped"))
    with pytest.raises(lw.ArgumentError, match="batch shape"):
        kd.random(n)


@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e308, 5e-324, 1e-310])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_normalize_takes_numbers_of_any_size(scale, dtype):
    """The largest entry is 1 first, so that no square overflows or vanishes."""
    kd = lw.KinDyn(lw.robots.load("quadruped"), dtype=dtype)
    limits = np.finfo(dtype)
    scale = float(np.clip(scale, float(limits.smallest_subnormal), float(limits.max)))
    q = kd.neutral()
    q[3:7] = np.array([1.0, 0.0, -1.0, 0.0]) * dtype(scale)
    half = np.sqrt(0.5)
    expected, rtol = [half, 0, -half, 0], 8 * float(limits.eps)
    assert_close(kd.normalize(q)[3:7], expected, rtol=rtol)
    kd.warmup("normalize")  # fast code multiplies by inverses
    assert_close(kd.normalize(q)[3:7], expected, rtol=rtol)
    assert_close(kd.normalize(np.stack([q] * 9))[5, 3:7], expected, rtol=rtol)


def test_normalize_refuses_what_has_no_direction():
    kd = lw.KinDyn(lw.robots.load("quadruped"))
    q = kd.random(3, seed=1)
    q[1, 3:7] = 0.0
    with pytest.raises(ValueRangeError, match=r"^q: .*base quaternion.*zero.*row 1 of 3"):
        kd.normalize(q)


MASKED = np.ma.masked_array([0.1, 0.2], mask=[False, True])


@pytest.mark.parametrize(
    ("dt", "facts"),
    [
        (1j, "dt: .*complex"),
        ("0.1", "dt: .*str"),
        (None, "dt: .*NoneType"),
        (np.datetime64(1, "s"), "dt: .*datetime64"),
        (np.timedelta64(1, "s"), "dt: .*timedelta64"),
        (MASKED, r"dt: .*masked.*filled\(\)"),
        ([0.1 + 0j], "dt: .*list"),
        ({}, "dt: .*dict"),
    ],
)
def test_a_time_that_is_no_number_is_refused(dt, facts):
    kd = lw.KinDyn(lw.robots.load("quadruped"))
    with pytest.raises(lw.ArgumentError, match=facts):
        kd.integrate(kd.neutral(), np.zeros(kd.nv), dt)


def test_the_time_of_a_step_is_an_input_of_the_function_too():
    kd = lw.KinDyn(lw.robots.load("quadruped"))
    q, nu = kd.random(seed=1), np.random.default_rng(2).normal(size=kd.nv)
    step = kd.function("integrate")
    assert [port.name for port in step.signature.inputs] == ["q", "nu", "dt"]
    for dt in (0.25, 2, np.float32(0.5), np.array(0.125), np.array([0.1, 0.2])):
        np.testing.assert_array_equal(step(q, nu, dt), kd.integrate(q, nu, dt))
    assert_close(kd.integrate(q, nu, 0.25), kd.integrate(q, 0.25 * nu), rtol=1e-15)
    assert kd.integrate(q, nu, np.ones((3, 1))).shape == (3, 1, kd.nq)
