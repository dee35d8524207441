"""`lw.Simulation`: states, batches, bits, bad input, and physics that can be computed by hand."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw

FEET = ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]


@pytest.fixture(scope="module")
def quadruped():
    """The bundled quadruped on its feet."""
    return lw.Simulation(lw.load("quadruped"), ground=FEET, dt=0.002, friction=0.8)


def ball(radius=0.1, mass=2.0):
    """A solid sphere that floats."""
    return lw.Model(
        name="ball",
        links=(
            lw.Link(
                name="ball",
                inertia=lw.solid_sphere(mass, radius),
                collisions=(lw.Shape(lw.Sphere(radius)),),
            ),
        ),
    )


def block(edges=(0.3, 0.2, 0.1), mass=3.0):
    """A box that floats."""
    shape = lw.Shape(lw.Box(edges))
    inertia = lw.solid_box(mass, edges)
    return lw.Model(
        name="block", links=(lw.Link(name="block", inertia=inertia, collisions=(shape,)),)
    )


def standing(sim, n=40):
    """States of a quadruped that falls, lands and slides."""
    rng = np.random.default_rng(0)
    x = sim.state(batch=n)
    q, nu = np.array(x.q), 0.5 * rng.normal(size=x.nu.shape)
    q[:, 2] += rng.uniform(0.25, 0.45, n)
    u = 2.0 * rng.normal(size=(n, sim.n_controls))
    states = sim.rollout(x._replace(q=q, nu=nu), np.repeat(u[:, None], 150, axis=1))
    return lw.SimulationState(*(part[:, -1].copy() for part in states)), u


def test_a_state_is_named_and_batched(quadruped):
    sim = quadruped
    x = sim.state(batch=(2, 3))
    assert [part.shape for part in x] == [(2, 3, n) for n in (sim.nq, sim.nv, 0, sim.nv)]
    u = np.zeros(sim.n_controls)
    after = sim.step(x, u)
    assert isinstance(after, lw.SimulationState)
    assert after.q.shape == (2, 3, sim.nq)
    np.testing.assert_array_equal(sim.step(*x, u).nu, after.nu)
    assert len(sim.controls) == sim.n_controls == 12
    given = sim.state(qpos=sim.qpos(after), qvel=sim.qvel(after))
    np.testing.assert_allclose(given.nu, after.nu, atol=1e-15)


def test_rows_do_not_depend_on_others_or_on_threads(quadruped):
    sim = quadruped
    x, u = standing(sim)
    sim.step.warmup()
    together = sim.step(x, u)
    active = sim.forward(x, u).active.sum(axis=-1)
    assert active.min() < active.max(), "some rows touch the ground at more points than others"
    order = np.random.default_rng(1).permutation(len(u))
    mixed = sim.step(*(part[order] for part in x), u[order], threads=2)
    for a, b in zip(mixed, together, strict=True):
        np.testing.assert_array_equal(a, b[order])


def test_a_row_that_diverges_is_alone(quadruped):
    sim = quadruped
    x, u = standing(sim, 16)
    expected = sim.step(x, u)
    u = u.copy()
    u[5, 0] = np.nan
    after = sim.step(x, u)
    assert np.isnan(after.nu[5]).any()
    others = np.arange(16) != 5
    np.testing.assert_array_equal(after.nu[others], expected.nu[others])
    sim = lw.Simulation(ball(), ground=True, check=True)
    x = sim.state(nu=[np.nan, 0, 0, 0, 0, 0])
    with pytest.raises(lw.ValueRangeError, match="nu"):
        sim.step(x, [])
    nu = np.zeros((4, 6))
    nu[2] = 1e200
    for n in (4, 1000):  # the second in C, with code of several rows
        x = sim.state(nu=np.resize(nu, (n, 6)))
        with pytest.raises(lw.ValueRangeError, match=f"not finite.*row 2 of {n}"):
            sim.step(x, [])


def test_copies_are_equal(quadruped):
    copy = pickle.loads(pickle.dumps(quadruped))
    assert copy == quadruped
    assert copy.step.program.digest == quadruped.step.program.digest
    with pytest.raises(lw.FrozenError):
        quadruped.scene = None
    other = quadruped.replace(dtype=np.float32, iterations=3)
    assert (other.dtype, other.settings.iterations, other.scene) == (np.float32, 3, copy.scene)
    assert (
        repr(copy)
        == f"<Simulation of 'quadruped': nq={copy.nq}, nv={copy.nv}, 4 contacts, 12 controls>"
    )


def test_rollouts_are_steps(quadruped):
    sim = quadruped
    x, u = standing(sim, 3)
    states = sim.rollout(x, np.repeat(u[:, None], 4, axis=1))
    for k in range(4):
        x = sim.step(x, u)
        np.testing.assert_allclose(states.q[:, k + 1], x.q, rtol=0, atol=1e-12)


def test_the_solver_converges_everywhere(quadruped):
    x, u = standing(quadruped, 200)
    assert quadruped.forward(x, u).residual.max() < 1e-9


LEG_WITH_TWO_SPHERES = """
<body pos="{x} 0 0">
  <joint axis="0 1 0"/>
  <geom type="sphere" size="0.05" pos="0 0 -0.2" mass="0.3"/>
  <body pos="0 0 -0.2">
    <joint axis="0 1 0"/>
    <geom type="sphere" size="0.02" pos="0 0 -0.2" mass="0.1"/>
  </body>
</body>
"""
STIFF_FRICTION = """
<mujoco>
  <option timestep="0.002" cone="pyramidal" impratio="100"/>
  <default>
    <geom condim="6" friction="0.8 0.02 0.01" conaffinity="0"/>
    <joint range="-1 1" frictionloss="0.2" armature="0.01" damping="0.1"/>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="9 9 1" conaffinity="1"/>
    <body>
      <freejoint/>
      <geom type="box" size="0.1 0.1 0.1" mass="2" contype="0"/>
      {geoms}
    </body>
  </worldbody>
</mujoco>
"""


@pytest.mark.peers
def test_the_solver_converges_in_deep_contact_and_at_high_speed():
    """Rolling friction, impratio 100, and limits that are far exceeded: up to 60 Newton steps."""
    corners = [(0.4, 0.0, 0.1), (-0.2, 0.3, 0.0), (-0.3, -0.3, 0.1), (0.3, -0.2, -0.1)]
    geoms = [f'<geom size="0.05" pos="{x} {y} {z}" mass="0.2"/>' for x, y, z in corners]
    geoms += [LEG_WITH_TWO_SPHERES.format(x=x) for x in (0.4, -0.4)]
    sim = lw.Simulation(STIFF_FRICTION.format(geoms="".join(geoms)))
    rng, n = np.random.default_rng(0), 2000
    x = sim.state(batch=n)
    q = np.array(x.q)
    q[:, 2], q[:, 7:] = rng.uniform(-0.3, 0.6, n), rng.uniform(-3.0, 3.0, (n, 4))
    q[:, 3:7] = rng.normal(size=(n, 4))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    nu = 10.0 ** rng.uniform(-2.0, 1.5, (n, 1)) * rng.normal(size=x.nu.shape)
    now = sim.forward(x._replace(q=q, nu=nu), np.zeros((n, 0)))
    assert (now.residual / (1.0 + np.linalg.norm(now.nu_dot, axis=-1))).max() < 1e-11


def tumbling(n=24):
    """A block that hits the ground and slides, and its states."""
    sim = lw.Simulation(block(), ground=True, friction=0.5)
    rng = np.random.default_rng(3)
    x = sim.state(nu=rng.normal(size=(n, 6)))
    q = np.array(x.q)
    q[:, 2] = rng.uniform(0.1, 0.2, n)
    states = sim.rollout(x._replace(q=q), np.zeros((n, 100, 0)))
    return sim, lw.SimulationState(*(part[:, -1].copy() for part in states))


def test_derivatives_are_those_of_the_solution():
    sim, x = tumbling()
    u, rng = np.zeros((24, 0)), np.random.default_rng(2)
    assert sim.forward(x, u).active.any(axis=-1).mean() > 0.5
    cotangents = [rng.normal(size=part.shape) for part in x]
    cotangents[3][:] = 0.0
    q, nu, start = sim.step.vjp("q", "nu", "acceleration")(*x, u, *cotangents)
    assert not start.any(), "the result does not depend on where the solver starts"

    def cost(x):
        after = sim.step(x, u)
        return (after.q * cotangents[0]).sum(-1) + (after.nu * cotangents[1]).sum(-1)

    h, direction = 1e-6, rng.normal(size=x.nu.shape)
    moved = [x._replace(q=sim.kd.integrate(x.q, direction, s)) for s in (h, -h)]
    pushed = [x._replace(nu=x.nu + s * direction) for s in (h, -h)]
    along = np.einsum("nij,nj->ni", sim.kd.velocity_kinematics(x.q), direction)
    for (after, before), exact in (
        (moved, (q * along).sum(-1)),
        (pushed, (nu * direction).sum(-1)),
    ):
        difference = (cost(after) - cost(before)) / (2.0 * h)
        error = abs(difference - exact) / (1e-3 + abs(exact))
        assert np.median(error) < 1e-6
        assert np.quantile(error, 0.9) < 1e-4  # differences cross a switch in few rows
    A, B = sim.linearize(x, u)
    assert (A.shape, B.shape) == ((24, 12, 12), (24, 12, 0))
    after = sim.step.jvp("nu")(*x, u, direction)[1]
    np.testing.assert_allclose(
        np.einsum("nij,nj->ni", A[:, 6:, 6:], direction), after, rtol=1e-9, atol=1e-12
    )


SWITCHES = """
<mujoco>
  <option timestep="0.002" cone="{cone}"/>
  <default>
    <geom conaffinity="0" condim="{condim}" friction="{friction} {friction} {friction}"
      solimp="0.9 0.95 0.001"/>
    <joint limited="true" range="-0.5 0.5" margin="0" damping="0.1"/>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="9 9 1" conaffinity="1"/>
    <body name="base">
      <freejoint/>
      <geom type="{shape}" size="0.1 0.1 0.1" mass="1"/>
      <body name="arm" pos="0.5 0 1">
        <joint name="arm" axis="0 1 0" frictionloss="0.2"/>
        <geom type="sphere" size="0.05" mass="1"/>
        <body name="hand" pos="0 0 0.5">
          <joint name="hand" type="ball" range="0 0.5"/>
          <geom type="sphere" size="0.05" pos="0 0 0.1" mass="1"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position joint="arm" kp="10" ctrllimited="true" ctrlrange="-1 1" forcelimited="true"
      forcerange="-5 5"/>
  </actuator>
</mujoco>
"""


@pytest.mark.peers
@pytest.mark.parametrize(
    ("shape", "condim", "cone", "friction", "iterations"),
    [
        ("sphere", 1, "elliptic", 1.0, None),
        ("sphere", 3, "elliptic", 0.0, None),
        ("sphere", 6, "pyramidal", 0.0, None),
        ("box", 4, "elliptic", 1.0, None),
        ("box", 4, "elliptic", 1.0, 1),  # it does not converge
        ("capsule", 6, "elliptic", 1.0, None),
        ("cylinder", 3, "pyramidal", 1.0, None),
        ("ellipsoid", 6, "elliptic", 0.0, None),
    ],
)
def test_gradients_are_finite_at_switches(shape, condim, cone, friction, iterations):
    """Zero slip, zero penetration, |r| = width, limits, edges of clamps, no rotation, no motion."""
    text = SWITCHES.format(cone=cone, shape=shape, condim=condim, friction=friction)
    sim = lw.Simulation(text, iterations=iterations)
    half = 0.2 if shape == "capsule" else 0.1  # of the height of the shape
    rows = [
        (half + gap, arm, turn, speed, control)
        for gap in (0.0, -0.001, -0.002, 1.0)
        for arm in (0.0, 0.5, -0.5, 0.6)
        for turn in (0.0, 0.5)
        for speed in (0.0, -1.0)
        for control in (0.0, 0.5, 1.0)
    ]
    q, nu = np.zeros((len(rows), sim.nq)), np.zeros((len(rows), sim.nv))
    for k, (z, arm, turn, speed, _) in enumerate(rows):
        q[k, 2:4], q[k, 7], nu[k, 2] = (z, 1.0), arm, speed
        q[k, 8:12] = np.cos(0.5 * turn), np.sin(0.5 * turn), 0.0, 0.0
    x, u = sim.state(q=q, nu=nu), np.array([row[-1:] for row in rows])
    after = sim.step(x, u)
    gradients = sim.step.vjp("q", "nu", "control")(*x, u, *(np.ones_like(p) for p in x))
    assert all(np.isfinite(part).all() for part in (*after, *gradients))


LEG = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom name="floor" type="plane" size="9 9 1"/>
    <body name="trunk">
      <joint name="rise" type="slide" axis="0 0 1"/>
      <inertial pos="0 0 0" mass="4" diaginertia="1 1 1"/>
      <body name="leg">
        <joint name="extend" type="slide" axis="0 0 1"/>
        <geom name="foot" type="sphere" size="0.05" pos="0 0 -0.4" mass="1"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="extend"/></actuator>
</mujoco>
"""


@pytest.mark.peers
def test_distances_before_touchdown_act_in_derivatives_if_asked_to():
    """A leg in the air moves with its inner force, so the momentum of the robot does not change."""
    momentum, ends = {}, []
    for width in (0.0, 0.1):
        sim = lw.Simulation(LEG, touchdown_gradient=width)
        x = sim.state(q=[[0.5, 0.0], [0.8, 0.0]], nu=[-0.5, 0.0])  # 5 cm and 35 cm above the floor
        end = sim.rollout(x, np.zeros((2, 10, 1))).nu[:, -1]
        ends.append(end)

        @lw.compile(q=2, nu=2, u=1)
        def cost(q, nu, u, step=sim.step):
            state = (q, nu, np.zeros(0), np.zeros(2))
            for _ in range(10):
                state = step(*state, u)
            return 5.0 * state[1][0] + 1.0 * state[1][1]

        momentum[width] = cost.gradient("u")(x.q, x.nu, np.zeros((2, 1)))[:, 0]
        np.testing.assert_allclose(cost(x.q, x.nu, np.zeros((2, 1))), end @ [5.0, 1.0], rtol=1e-12)
        copy = pickle.loads(pickle.dumps(sim))
        assert copy.settings.touchdown_gradient == width
    np.testing.assert_array_equal(*ends)
    np.testing.assert_allclose(momentum[0.0], 0.0, atol=1e-12)
    near, far = momentum[0.1]
    assert near < -1e-6, "raising the leg lets the floor push later"
    assert abs(far) < 1e-12
    with pytest.raises(lw.ArgumentError, match="touchdown_gradient"):
        lw.Simulation(LEG, touchdown_gradient=-1.0)


def test_all_numbers_of_random_states_are_finite(quadruped):
    """Slow and fast, above and below the ground, some at rest."""
    sim, rng, count = quadruped, np.random.default_rng(0), 20_000
    x = sim.state(batch=count)
    q = sim.kd.random(count, seed=0)
    q[:, :2], q[:, 2] = 0.0, rng.uniform(0.0, 0.6, count)
    x = x._replace(q=q, nu=rng.normal(size=x.nu.shape) * rng.choice([0, 0.1, 10], (count, 1)))
    u = rng.normal(size=(count, sim.n_controls)) * rng.choice([0, 30], (count, 1))
    after = sim.step(x, u)
    assert all(np.isfinite(part).all() for part in after)
    assert sim.forward(x, u).residual.max() < 1e-9


def test_a_resting_body_is_carried():
    sim = lw.Simulation(block(), ground=True, dt=0.002)
    x = sim.state(q=[0, 0, 0.05, 1, 0, 0, 0])
    none = np.zeros((2000, 0))
    x = lw.SimulationState(*(part[-1] for part in sim.rollout(x, none)))
    forces = sim.forward(x, none[0]).contact_forces
    assert forces[:, 0].sum() == pytest.approx(3.0 * 9.80665, rel=1e-9)
    assert abs(x.nu).max() < 1e-9


@pytest.mark.parametrize("slope", [0.2, 0.6])
def test_a_block_slides_down_a_slope_beyond_the_angle_of_friction(slope):
    """Friction 0.4: at rest up to a slope of 0.38 rad, but for MuJoCo's creep."""
    g = 9.80665
    sim = lw.Simulation(block(), ground=True, friction=0.4)
    tilted = (g * np.sin(slope), 0.0, -g * np.cos(slope))  # the ground stays, gravity tilts
    sim = lw.Simulation(sim.model, scene=_with_gravity(sim.scene, tilted))
    x = sim.state(q=[0, 0, 0.05, 1, 0, 0, 0])
    nu = sim.rollout(x, np.zeros((500, 0))).nu[-1]
    expected = g * max(0.0, np.sin(slope) - 0.4 * np.cos(slope))
    assert nu[0] == pytest.approx(expected * 1.0, rel=0.02, abs=5e-3)


def test_a_sphere_that_slides_ends_up_rolling():
    """Sliding friction acts until v = w r: from v0, a solid sphere keeps 5/7 of it."""
    sim = lw.Simulation(ball(), ground=True, friction=0.5)
    x = sim.state(q=[0, 0, 0.1, 1, 0, 0, 0], nu=[2.0, 0, 0, 0, 0, 0])
    nu = sim.rollout(x, np.zeros((1500, 0))).nu[-1]
    assert nu[0] == pytest.approx(2.0 * 5 / 7, rel=5e-3)
    assert nu[4] == pytest.approx(nu[0] / 0.1, rel=5e-3)


def test_momentum_is_kept_in_the_air(quadruped):
    sim = quadruped
    x = sim.state(q=_raised(sim, 3.0), nu=np.r_[0.3, -0.2, 2.0, np.zeros(sim.nv - 3)])
    u = 5.0 * np.random.default_rng(0).normal(size=(100, sim.n_controls))
    end = sim.rollout(x, u)
    assert not sim.forward(*(part[-1] for part in end), u[0]).active.any()
    momentum = sim.kd.momentum(end.q, end.nu)[:, :3]
    times = sim.dt * np.arange(101)
    expected = momentum[0] + np.outer(times, sim.kd.total_mass * np.array(sim.kd.gravity))
    np.testing.assert_allclose(momentum, expected, atol=2e-2 * sim.kd.total_mass)


def test_bad_input_is_explained(quadruped):
    with pytest.raises(lw.ArgumentError, match="friction: expected a number of at least 0"):
        lw.Simulation(ball(), ground=True, friction=-1.0)
    with pytest.raises(lw.ArgumentError, match="dt: expected a positive time"):
        lw.Simulation(ball(), ground=True, dt=0.0)
    with pytest.raises(lw.ModelError, match="friction: expected a number, got 'high'"):
        lw.Simulation(ball(), ground=True, friction="high")
    with pytest.raises(lw.ArgumentError, match="ground: expected True, or a list of links, got 5"):
        lw.Simulation(ball(), ground=5)
    with pytest.raises(lw.ArgumentError, match="tolerance: expected a number of at least 0"):
        lw.Simulation(ball(), ground=True, tolerance=-1.0)
    with pytest.raises(lw.ModelError, match="no mass or inertia moves with the base"):
        _ = lw.Simulation(lw.Model(name="empty", links=(lw.Link(name="a"),)), ground=[]).step
    sim = lw.Simulation(ball(), ground=[])
    with pytest.raises(lw.ValueRangeError, match="the base quaternion has norm 0"):
        sim.step(sim.state(q=np.zeros(7)), [])
    with pytest.raises(lw.ArgumentError, match="iterations: expected a positive integer"):
        lw.Simulation(ball(), ground=True, iterations=0)
    with pytest.raises(lw.ShapeError, match="nu: expected shape"):
        quadruped.state(nu=np.zeros(3))
    with pytest.raises(lw.NameNotFoundError, match="keyframe"):
        quadruped.state("hom")
    with pytest.raises(lw.ArgumentError, match="given twice"):
        quadruped.state(q=quadruped.state().q, qpos=quadruped.state().q)


def test_negative_friction_of_a_file_is_an_error():
    text = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
    <body><freejoint/><geom name="ball" size="0.1" friction="-0.5"/></body></worldbody>
    <contact><pair geom1="floor" geom2="ball" friction="1 1 1 1 -1"/></contact></mujoco>"""
    with pytest.raises(
        lw.ParseError, match=r"<text>:2: geom 'ball': .* negative friction"
    ) as error:
        lw.Simulation(text)
    assert "<text>:3: pair" in str(error.value)


def test_a_floating_model_without_ground_is_a_warning():
    with pytest.warns(lw.LinkworkWarning, match="nothing touches a ground, so the robot falls"):
        lw.Simulation(replace(ball(), name="falling ball"))


@pytest.mark.parametrize("wrong", [None, "x", 5, (), np.zeros(3), np.full((4, 5), 1j), [object()]])
def test_wrong_states_are_errors_of_every_method(wrong):
    sim = lw.Simulation(ball(), ground=True)
    x = sim.state(batch=2)
    methods = [sim.qpos, sim.qvel, sim.place_on_ground]
    methods += [lambda x: sim.linearize(x, []), lambda x: sim.rollout(x, np.zeros((3, 0)))]
    for state in (wrong, (wrong, *x[1:]), x._replace(q=wrong), x._replace(nu=wrong)):
        for method in methods:
            with pytest.raises(lw.LinkworkError, match=r"^(x|q|nu|batch axes)\b"):
                method(state)
    for options in ({"batch": "many"}, {"batch": -1}, {"keyframe": np.zeros(2)}):
        with pytest.raises(lw.ArgumentError, match=f"^{next(iter(options))}: expected"):
            sim.state(**options)
    with pytest.raises(lw.ShapeError, match=r"q \(2,\), nu \(3,\)"):
        sim.state(q=x.q, nu=np.zeros((3, 6)))
    with pytest.raises(lw.LinkworkError, match="clearance"):
        sim.place_on_ground(x, np.zeros(2))


def test_single_precision_is_close(quadruped):
    sim = lw.Simulation(quadruped.model, ground=FEET, dt=0.002, friction=0.8, dtype=np.float32)
    x, u = standing(quadruped, 16)
    a, b = sim.step(*x, u), quadruped.step(*x, u)
    assert a.nu.dtype == np.float32
    assert abs(a.nu - b.nu).max() < 1e-4
    patient = lw.Simulation(sim.model, **{**sim.options, "iterations": 300})
    np.testing.assert_array_equal(patient.step(*x, u).nu, a.nu)  # it stops where rounding begins


def test_what_starts_below_the_ground_is_pushed_out():
    sim = lw.Simulation(ball(), ground=True)
    x = sim.state(q=[[0, 0, z, 1, 0, 0, 0] for z in (0.09, -0.5)])
    x = lw.SimulationState(*(part[:, -1] for part in sim.rollout(x, np.zeros((2, 4000, 0)))))
    np.testing.assert_allclose(x.q[:, 2], 0.1, atol=1e-3)
    assert abs(x.nu).max() < 1e-6


def _with_gravity(scene, gravity):
    from dataclasses import replace

    return replace(scene, options=replace(scene.options, gravity=gravity))


def _raised(sim, height):
    q = np.array(sim.state().q)
    q[2] += height
    return q
