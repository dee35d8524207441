"""The ready environments: registered with gymnasium, with tasks that can be solved."""

from __future__ import annotations

import json

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from tests.support.commands import run_here

import linkwork as lw
from linkwork.envs import READY, Row, VectorEnv, humanoid


@pytest.mark.parametrize("name", READY)
def test_gymnasium_makes_them(name):
    env = gymnasium.make_vec(name, num_envs=8)
    assert isinstance(env, VectorEnv)
    assert env.spec.id == name
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    for _ in range(3):
        observation, rewards, terminated, *_ = env.step(np.zeros(env.action_space.shape))
    assert observation in env.observation_space
    assert np.isfinite(rewards).all()
    assert not terminated.any()
    assert len(np.unique(observation, axis=0)) == 8


@pytest.mark.filterwarnings("ignore:.*Box observation space m.*infinity")
def test_one_of_them_is_an_environment_of_its_own():
    env = gymnasium.make("linkwork/CartpoleBalance-v0")
    check_env(env.unwrapped, skip_render_check=True)
    env.reset(seed=0)
    assert env.step(env.action_space.sample())[0] in env.observation_space


def test_a_cartpole_is_balanced_by_feedback():
    """The gains are of a linear regulator, computed by hand: no learning."""
    env = gymnasium.make_vec("linkwork/CartpoleBalance-v0", num_envs=64, max_steps=None)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    env.unwrapped.x.q[:] = rng.uniform(-0.15, 0.15, (64, 2))
    gains = np.array([-0.6, -4.0, -0.7, -0.8])
    for _ in range(400):
        x = env.unwrapped.x
        action = -np.concatenate([x.q, x.nu], axis=1) @ gains[:, None]
        _, rewards, terminated, *_ = env.step(action)
        assert not terminated.any()
    assert (rewards > 0.099).all()


@pytest.mark.parametrize("robot", ["Quadruped", "Go2"])
def test_a_quadruped_stands_at_its_targets(robot):
    env = gymnasium.make_vec(f"linkwork/{robot}Velocity-v0", num_envs=16)
    env.reset(seed=0)
    for _ in range(100):
        _, _, terminated, truncated, _ = env.step(np.zeros((16, 12)))
        assert not (terminated | truncated).any()
    up = env.unwrapped.x.q[:, 2]
    assert ((up > 0.22) & (up < 0.33)).all()


@pytest.fixture(scope="module")
def humanoid_sim():
    return humanoid.simulation()


def in_stance(sim):
    return sim.state(q=[0.0, 0.0, humanoid.HEIGHT, 1.0, 0.0, 0.0, 0.0, *humanoid.STANCE])


def test_a_humanoid_stands_on_the_corners_of_its_soles(humanoid_sim):
    """All spheres are inside of the boxes of the file, and touch the ground in the stance."""
    distances = humanoid_sim.forward(in_stance(humanoid_sim), np.zeros(31)).distances
    assert distances.shape == (8,)
    np.testing.assert_allclose(distances, 0.0, atol=1e-3)
    file = lw.load("humanoid")
    for foot in humanoid.FEET:
        box = file.link(foot).collisions[0]
        for one in humanoid_sim.model.link(foot).collisions:
            offset = np.subtract(one.link_H_shape.xyz, box.link_H_shape.xyz)
            assert (abs(offset) + one.geometry.radius <= np.array(box.geometry.size) / 2).all()
    assert humanoid_sim.kd.total_mass == pytest.approx(lw.KinDyn(file).total_mass)


def test_motors_of_a_humanoid_are_as_strong_as_its_file_says(humanoid_sim):
    x, joints = in_stance(humanoid_sim), lw.load("humanoid").joints
    strongest = [joint.limits.effort for joint in joints if not joint.is_fixed]
    limited = humanoid_sim.step(x, np.full(31, 1e4)).nu
    np.testing.assert_array_equal(limited, humanoid_sim.step(x, strongest).nu)


@pytest.mark.parametrize(
    ("phase", "speed", "left", "right"),
    [(0.5, 1.0, 1, 0), (1.5, 1.0, 0, 1), (1.0, 1.0, 0, 0), (0.5, 0.0, 0, 0)],
)
def test_a_clock_bends_one_leg_of_a_walking_humanoid(humanoid_sim, phase, speed, left, right):
    memory = {"phase": phase * np.pi, "command": np.array([speed, 0.0, 0.0])}
    x, action = in_stance(humanoid_sim), np.zeros(12)
    row = Row(x, action, action, steps=0, random=None, memory=memory)
    torques = humanoid.control(row)
    bend = humanoid.STIFFNESS[:6] * humanoid.BEND
    np.testing.assert_allclose(torques[:6], left * bend, atol=1e-10)
    np.testing.assert_allclose(torques[6:12], right * bend, atol=1e-10)
    np.testing.assert_allclose(torques[12:], 0.0, atol=1e-10)


def test_a_humanoid_is_pushed_in_all_directions_while_it_stands():
    after = []  # velocities after a step from the same states, with and without pushes
    for options in ({}, {"memory": None}):
        env = gymnasium.make_vec("linkwork/HumanoidStand-v0", num_envs=4000, **options).unwrapped
        env.reset(seed=0)
        assert not env.memory["command"].any()
        env.step(np.zeros((4000, 12)))
        after.append(env.x.nu[:, :2].copy())
    changes = after[0] - after[1]
    pushes = changes[changes.any(axis=1)]
    assert 10 < len(pushes) < 60  # one in 150 steps
    assert (pushes.min(axis=0) < -0.2).all()
    assert (pushes.max(axis=0) > 0.2).all()


def test_a_humanoid_is_rewarded_for_feet_that_follow_the_clock():
    env = gymnasium.make_vec("linkwork/HumanoidVelocity-v0", num_envs=200, memory=None).unwrapped
    env.reset(seed=0)
    env.x.q[:], env.x.nu[:] = in_stance(env.sim).q, 0.0
    stands = ~env.memory["command"].any(axis=1)
    lifts = np.where(stands, 0.0, abs(np.sin(env.memory["phase"])))
    _, _, _, _, info = env.step(np.zeros((200, 12)))
    feet = info["terms"]["feet"]  # both feet are still on the ground
    assert 20 < stands.sum() < 60
    assert feet[lifts < 0.1].min() > 0.03
    assert feet[lifts > 0.9].max() < 0.02


def test_a_command_lists_them():
    output = run_here("envs").stdout
    assert all(name in output for name in READY)
    assert [entry["name"] for entry in json.loads(run_here("envs", "--json").stdout)] == [*READY]
