"""`lw.VectorEnv`: steps, resets, bits, bad input, and what gymnasium requires."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import linkwork as lw
from linkwork.envs import Row, SingleEnv

FORCE = 20.0


@pytest.fixture(scope="module")
def sim():
    return lw.Simulation(lw.load("cartpole"), floating=False, dt=0.005)


def observe(row):
    return {"policy": np.concatenate([row.q, row.nu, row.goal]), "critic": row.q * row.age}


def reward(row):
    change = row.action - row.last_action
    return {"upright": np.cos(row.q[1]), "change": -0.1 * (change @ change)}


def reset(row):
    q = row.random.uniform([-0.3, -1.0], [0.3, 1.0])
    return {"q": q, "goal": row.random.normal(0.0, 1.0, 3), "age": np.zeros(())}


def control(row):
    return np.concatenate([FORCE * row.action, np.zeros(1)])


def memory(row):
    return {"age": row.age + 1.0}


def off_track(row):
    return abs(row.q[0]) > 0.4


def make(sim, **options):
    defaults = {
        "observe": observe,
        "reward": reward,
        "terminate": off_track,
        "reset": reset,
        "control": control,
        "memory": memory,
        "action_range": ([-1.0], [1.0]),
        "max_steps": 20,
        "num_envs": 50,
    }
    return lw.VectorEnv(sim, **defaults | options)


def random_actions(env, steps, seed=0):
    """Actions of which some are out of range."""
    rng = np.random.default_rng(seed)
    shape = (steps, *env.action_space.shape)
    return (1.5 * rng.normal(size=shape)).astype(np.float32)


def run(env, actions):
    """Return the results of all steps after a reset with a seed."""
    observation, _ = env.reset(seed=4)
    return [({**observation},), *(env.step(action) for action in actions)]


def flattened(results):
    """Return all arrays of results."""
    if isinstance(results, dict):
        return [array for name in sorted(results) for array in flattened(results[name])]
    if isinstance(results, (list, tuple)):
        return [array for part in results for array in flattened(part)]
    return [np.asarray(results)]


def assert_equal_bits(first, second):
    first, second = flattened(first), flattened(second)
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()


def test_a_step_is_some_steps_of_the_simulation_and_the_functions_after_them(sim):
    """The same functions with NumPy, one environment at a time."""
    env = make(sim, max_steps=None, terminate=None)
    env.reset(seed=1)
    actions = random_actions(env, 3)
    for row in (0, 17):
        env.reset(seed=1)
        x = lw.SimulationState(*(part[row].copy() for part in env.x))
        goal, last, total = env.memory["goal"][row].copy(), np.zeros(1), 0.0
        for k, given in enumerate(actions):
            observation, rewards, *_ = env.step(given)
            action = np.clip(given[row].astype(float), -1.0, 1.0)
            for _ in range(env.substeps):
                x = sim.step(*x, np.array([FORCE * action[0], 0.0]))
            notes = {"goal": goal, "age": np.array(k + 1.0)}
            one = Row(x, action, last, np.array(k + 1.0), None, notes)
            for name, value in observe(one).items():
                np.testing.assert_allclose(observation[name][row], value, rtol=1e-6, atol=1e-6)
            total = sum(reward(one).values())
            np.testing.assert_allclose(rewards[row], total, rtol=1e-6)
            last = action
        assert total != 0.0


@pytest.mark.parametrize("mode", ["SameStep", "NextStep", "Disabled"])
def test_bits_depend_neither_on_threads_nor_on_the_number_of_environments(sim, mode):
    many = make(sim, autoreset_mode=mode, threads=1, num_envs=600)
    actions = random_actions(many, 25)
    results = run(many, actions)
    assert any("final_info" in result[-1] for result in results[1:])
    assert_equal_bits(
        results, run(make(sim, autoreset_mode=mode, threads=2, num_envs=600), actions)
    )

    few = run(make(sim, autoreset_mode=mode, num_envs=7), actions[:, :7])
    for (*large, _), (*small, _) in zip(results[1:], few[1:], strict=True):
        assert_equal_bits([array[:7] for array in flattened(large)], flattened(small))


def test_same_step_returns_the_first_observation_and_keeps_the_last(sim):
    same, apart = make(sim), make(sim, autoreset_mode="NextStep")
    actions = random_actions(same, 60)
    same.reset(seed=2)
    apart.reset(seed=2)
    ends = np.zeros(same.num_envs, bool)
    counts = np.zeros(2, int)
    for action in actions:
        first, rewards, terminated, truncated, info = same.step(action)
        ended = terminated | truncated
        if not ended.any():
            assert "final_obs" not in info
            assert "final_info" not in info
            continue
        assert (info["_final_obs"] == ended).all()
        assert (info["_final_info"] == ended).all()
        steps = info["final_info"]["steps"]
        final = info["final_obs"]["policy"]
        age = info["final_obs"]["critic"][ended] / final[ended, :2]
        np.testing.assert_allclose(age, np.repeat(steps[ended, None], 2, axis=1), rtol=1e-5)
        assert (first["critic"][ended] == 0.0).all()
        assert (same.episode_steps[ended] == 0).all()
        off = np.abs(final[:, 0]) > 0.4
        assert (terminated == off & ended).all()
        assert (truncated == (steps == 20) & ~terminated).all()
        assert (rewards[ended] != 0.0).all()
        ends |= ended
        counts += terminated.sum(), truncated.sum()
    assert ends.all()
    assert (counts > 0).all()


def test_next_step_resets_in_the_step_after_the_end(sim):
    env = make(sim, autoreset_mode=AutoresetMode.NEXT_STEP)
    env.reset(seed=2)
    ended = np.zeros(env.num_envs, bool)
    restarts = 0
    for action in random_actions(env, 60):
        observation, rewards, terminated, truncated, info = env.step(action)
        assert "final_obs" not in info
        assert (observation["critic"][ended] == 0.0).all()
        assert (rewards[ended] == 0.0).all()
        assert not (terminated | truncated)[ended].any()
        assert (env.episode_steps[ended] == 0).all()
        assert (env.episode_steps[~ended] > 0).all()
        restarts += ended.sum()
        ended = terminated | truncated
    assert restarts > env.num_envs


def test_disabled_resets_the_rows_of_a_mask_only(sim):
    env = make(sim, autoreset_mode="Disabled")
    env.reset(seed=2)
    actions = random_actions(env, 5)
    for action in actions:
        before, *_ = env.step(action)
    mask = np.arange(env.num_envs) % 3 == 0
    after, info = env.reset(options={"reset_mask": mask})
    assert info == {}
    assert (after["policy"][~mask] == before["policy"][~mask]).all()
    assert (after["policy"][mask, 2:4] == 0.0).all()
    assert (env.episode_steps == np.where(mask, 0, 5)).all()
    assert len(np.unique(after["policy"][:, 0])) == env.num_envs
    second, _ = env.reset(seed=2)
    assert_equal_bits(second, make(sim, autoreset_mode="Disabled").reset(seed=2)[0])


def test_the_sums_of_an_episode_are_those_of_its_rewards(sim):
    env = make(sim)
    env.reset(seed=3)
    returns, names = np.zeros(env.num_envs), list(env.terms)
    sums = {name: np.zeros(env.num_envs) for name in names}
    for action in random_actions(env, 45):
        _, rewards, terminated, truncated, info = env.step(action)
        returns += rewards
        for name in names:
            sums[name] += info["terms"][name]
        ended = terminated | truncated
        if ended.any():
            final = info["final_info"]
            np.testing.assert_allclose(final["return"][ended], returns[ended], rtol=1e-5)
            for name in names:
                np.testing.assert_allclose(final["terms"][name][ended], sums[name][ended])
                sums[name][ended] = 0.0
        returns[ended] = 0.0


def test_a_saved_state_continues_with_the_same_bits(sim):
    env, other = make(sim), make(sim)
    actions = random_actions(env, 40)
    env.reset(seed=5)
    for action in actions[:18]:
        observation, *_ = env.step(action)
    saved = env.save()
    ahead = [env.step(action) for action in actions[18:]]
    assert_equal_bits(other.restore(saved), observation)
    assert_equal_bits([other.step(action) for action in actions[18:]], ahead)
    with pytest.raises(lw.ArgumentError, match="other environments"):
        make(sim, num_envs=3).restore(saved)


def test_episodes_of_later_resets_differ_and_a_seed_repeats_them(sim):
    env = make(sim)
    first, _ = env.reset(seed=6)
    second, _ = env.reset()
    third, _ = env.reset(seed=6)
    assert_equal_bits(first, third)
    assert (first["policy"][:, 0] != second["policy"][:, 0]).all()


@pytest.mark.parametrize("what", ["observation", "reward", "action"])
def test_a_row_that_diverges_starts_again_or_is_named(sim, what):
    def diverging(row):
        return np.where(row.goal[0] > 0.0, np.nan, 1.0)

    functions = {
        "observation": {"observe": lambda row: np.stack([row.q[0] * diverging(row)])},
        "reward": {"reward": lambda row: {"good": row.q[0], "bad": np.log(-diverging(row))}},
        "action": {},
    }[what]
    if what == "reward":
        functions["reward"] = lambda row: {"good": row.q[0], "bad": diverging(row)}
    actions = np.zeros((50, 1), np.float32)
    if what == "observation":  # at the start, there is nothing to start again from
        functions["observe"] = lambda row: np.stack([np.where(row.steps > 0.5, diverging(row), 1)])
    env = make(sim, **functions)
    env.reset(seed=7)
    wrong = env.memory["goal"][:, 0] > 0.0
    if what == "action":
        actions[wrong] = np.nan
    observation, rewards, terminated, truncated, info = env.step(actions)
    assert (info["diverged"] == wrong).all()
    assert 0 < wrong.sum() < 50
    assert (terminated == wrong).all()
    assert not truncated.any()
    assert (rewards[wrong] == 0.0).all()
    assert np.isfinite(rewards).all()
    assert all(np.isfinite(part).all() for part in flattened((observation, info["final_obs"])))

    env = make(sim, **functions, on_nan="raise")
    env.reset(seed=7)
    with pytest.raises(lw.ValueRangeError) as raised:
        env.step(actions)
    expected = {"observation": "observation 'observe'", "reward": "reward 'bad'", "action": "q"}
    assert expected[what] in str(raised.value)
    assert f"environment {np.argmax(wrong)}:" in str(raised.value)
    assert (raised.value.mask == wrong).all()


def test_arrays_are_new_unless_copy_is_off(sim):
    env = make(sim)
    first, _ = env.reset(seed=1)
    actions = random_actions(env, 2)
    second, rewards, *_ = env.step(actions[0])
    assert not np.shares_memory(first["policy"], second["policy"])
    assert second["policy"].dtype == rewards.dtype == np.float32
    env = make(sim, copy=False)
    first, _ = env.reset(seed=1)
    again, again_rewards, *_ = env.step(actions[0])
    assert again["policy"] is first["policy"]
    assert_equal_bits([again, again_rewards], [second, rewards])


def test_pushes_change_the_velocity(sim):
    pushed = make(sim, memory=lambda row: {"nu": row.nu + np.array([0.5, 0.0])})
    free = make(sim, memory=None)
    results = []
    for env in (pushed, free):
        env.reset(seed=1)
        results.append(env.step(np.zeros((50, 1)))[0]["policy"])
    np.testing.assert_allclose(results[0][:, 2] - results[1][:, 2], 0.5, atol=1e-6)


def test_contacts_and_sensors_are_what_the_simulation_computes():
    feet = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
    sim = lw.Simulation(lw.load("quadruped"), ground=feet, dt=0.005)

    def forces(row):
        return row.forward.contact_forces[:, 0]

    env = lw.VectorEnv(
        sim,
        observe=forces,
        reward=lambda row: np.sum(row.forward.active),
        reset=lambda row: {
            "q": np.concatenate(
                [np.array([0, 0, 0.318, 1, 0, 0, 0.0]), np.tile([0.0, 0.8, -1.6], 4)]
            )
        },
        num_envs=3,
    )
    env.reset()
    for _ in range(5):
        observation, rewards, *_ = env.step(np.zeros((3, 12)))
    expected = sim.forward(env.x, np.zeros((3, 12)))
    assert (expected.contact_forces[:, :, 0] > 1.0).any()
    np.testing.assert_allclose(observation, expected.contact_forces[:, :, 0], rtol=1e-5, atol=1e-5)
    assert (rewards == expected.active.sum(axis=1)).all()


def test_single_precision_is_that_of_the_simulation():
    sim = lw.Simulation(lw.load("cartpole"), floating=False, dt=0.005, dtype=np.float32)
    single, double = make(sim), make(lw.Simulation(sim.model, floating=False, dt=0.005))
    results = []
    for env in (single, double):
        env.reset(seed=1)
        results.append(env.step(np.full((50, 1), 0.3))[0]["policy"])
    assert single.x.q.dtype == np.float32
    np.testing.assert_allclose(*results, atol=1e-4)


def test_parameters_are_drawn_at_each_reset():
    sim = lw.Simulation(
        lw.load("cartpole"),
        floating=False,
        dt=0.005,
        parameters=[lw.parameters.DensityMultiplier("pole")],
    )

    def start(row):
        scale = row.random.log_uniform(0.5, 2.0)
        return {**reset(row), "parameters": {"density_multiplier.pole": scale}}

    env = make(sim, reset=start, terminate=None, max_steps=3)
    env.reset(seed=1)
    first = env.parameters["density_multiplier.pole"].copy()
    assert first.shape == (50, 1)
    x = lw.SimulationState(*(part.copy() for part in env.x))
    values = sim.parameter_values() * np.ones((50, 1))
    values[:, sim.parameters["density_multiplier.pole"]] = first
    env.step(np.full((50, 1), 0.5))
    for _ in range(env.substeps):
        x = sim.step(*x, np.array([FORCE * 0.5, 0.0]), values)
    np.testing.assert_allclose(env.x.nu, x.nu, rtol=1e-9)
    for _ in range(2):
        env.step(np.full((50, 1), 0.5))
    assert (env.parameters["density_multiplier.pole"] != first).all()

    with pytest.raises(lw.ArgumentError, match="density_multiplier"):
        make(sim, reset=lambda row: {**reset(row), "parameters": {"density": 1.0}})


def test_a_step_has_gradients(sim):
    """Derivatives of the reward with respect to the action, compared with differences."""
    env = make(sim, max_steps=None, terminate=None, num_envs=6)
    env.reset(seed=2)
    for action in random_actions(env, 3):
        env.step(action)
    state = env.save()["state"]
    rest = [*state, np.zeros((6, 0)), np.full((6, env.kernel.signature.inputs[-2].size), 0.5)]
    action, h = np.linspace(-0.8, 0.8, 6)[:, None], 1e-5
    names = [port.shape for port in env.kernel.signature.outputs]
    which = len(state)  # the reward follows the state
    cotangents = [np.ones(shape) * (k == which) for k, shape in enumerate(names)]
    gradient = env.kernel.vjp("action")(*rest, action, *cotangents)
    ahead, behind = (env.kernel(*rest, action + x)[which] for x in (h, -h))
    assert np.abs(gradient).max() > 1e-3
    np.testing.assert_allclose(gradient[:, 0], (ahead - behind) / (2 * h), rtol=1e-5, atol=1e-8)


# Gymnasium.


def test_spaces_contain_what_is_returned(sim):
    env = make(sim)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    assert env.step(env.action_space.sample())[0] in env.observation_space
    assert env.action_space.shape == (50, 1)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert isinstance(
        make(sim, observe=lambda row: row.q).single_observation_space, gymnasium.spaces.Box
    )


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_gymnasium_counts_the_same_episodes(sim, mode):
    env = RecordEpisodeStatistics(make(sim, autoreset_mode=mode))
    env.reset(seed=3)
    for action in random_actions(env, 45):
        *_, info = env.step(action)
        if "final_info" in info:
            mask = info["_final_info"]
            assert (info["_episode"] == mask).all()
            np.testing.assert_allclose(
                info["episode"]["r"][mask], info["final_info"]["return"][mask], rtol=1e-5
            )
            assert (info["episode"]["l"][mask] == info["final_info"]["steps"][mask]).all()
    assert env.episode_count > 50


@pytest.mark.filterwarnings("ignore:.*Box observation space m.*infinity")
def test_gymnasium_accepts_a_single_environment(sim):
    env = SingleEnv(lambda **options: make(sim, **options))
    check_env(env, skip_render_check=True)


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_autoreset_is_that_of_gymnasium(sim, mode):
    """Gymnasium's own vector of single environments, with the same random numbers."""
    ours = make(sim, num_envs=1, autoreset_mode=mode)
    theirs = SyncVectorEnv(
        [lambda: SingleEnv(lambda **options: make(sim, **options))],
        autoreset_mode=AutoresetMode(mode),
    )
    observations = [env.reset(seed=8)[0] for env in (ours, theirs)]
    assert_equal_bits(*observations)
    ends = 0
    for action in random_actions(ours, 50):
        mine, other = ours.step(action), theirs.step(action)
        for k in (0, 2, 3):
            assert_equal_bits(mine[k], other[k])
        np.testing.assert_allclose(mine[1], other[1], rtol=1e-6)
        if "final_obs" in other[4]:
            ends += 1
            for name, array in other[4]["final_obs"][0].items():
                assert (mine[4]["final_obs"][name][0] == array).all()
        assert ("final_obs" in mine[4]) == ("final_obs" in other[4])
    assert ends == 0 if mode == "NextStep" else ends > 1


def test_render_shows_the_first_environment_and_close_ends_it(sim, monkeypatch):
    shown = []

    class Viewer:
        def show(self, q):
            shown.append(q.copy())

        def close(self):
            shown.append("closed")

    monkeypatch.setattr("linkwork.viewer.viewer.view", lambda kd, open_browser: Viewer())
    env = SingleEnv(lambda **options: make(sim, **options), render_mode="human")
    env.reset(seed=1)
    env.render()
    env.step(np.ones(1))
    env.render()
    assert (shown[0] != shown[1]).any()
    assert (shown[1] == env.env.x.q[0]).all()
    env.close()
    env.close()
    assert shown[2:] == ["closed"]

    silent = make(sim)
    silent.reset()
    silent.render()
    silent.close()
    assert len(shown) == 3


# Bad input.


def test_steps_need_a_reset_and_open_environments(sim):
    env = make(sim)
    with pytest.raises(ResetNeeded):
        env.step(np.zeros((50, 1)))
    with pytest.raises(ResetNeeded):
        env.reset(options={"reset_mask": np.arange(50) < 3})
    env.reset()
    for actions in (np.zeros((49, 1)), np.zeros(50)):
        with pytest.raises(lw.ShapeError, match=r"\(50, 1\)"):
            env.step(actions)
    for mask in (np.ones(3, bool), np.ones(50)):
        with pytest.raises(lw.ShapeError, match="reset_mask"):
            env.reset(options={"reset_mask": mask})
    with pytest.raises(lw.LinkworkError, match="options: expected a dict"):
        env.reset(options=np.ones(50, bool))
    env.close()
    with pytest.raises(ClosedEnvironmentError):
        env.step(np.zeros((50, 1)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_envs": 0}, "num_envs"),
        ({"substeps": 1.5}, "substeps"),
        ({"max_steps": -1}, "max_steps"),
        ({"autoreset_mode": "Never"}, "SameStep"),
        ({"on_nan": "ignore"}, "on_nan"),
        ({"render_mode": "rgb_array"}, "render_mode"),
        ({"action_range": 1.0}, "action_range"),
        ({"action_range": ([1.0], [0.0])}, "below"),
        ({"control": lambda row: row.action}, r"control: expected shape \(2,\), got \(1,\)"),
        ({"terminate": lambda row: row.q > 0.0}, "terminate"),
        ({"reward": lambda row: row.q}, "reward"),
        ({"reward": lambda row: {}}, "reward"),
        ({"observe": None}, "observe: expected a function"),
        ({"memory": 5}, "memory: expected a function"),
        ({"sim": 5}, "sim: expected a Simulation"),
        ({"observe": lambda row: row.gaol}, "did you mean 'goal'"),
        ({"reset": lambda row: {"q": np.zeros(3)}}, r"q: expected shape \(2,\)"),
        ({"reset": lambda row: row.q}, "dictionary"),
        ({"reset": lambda row: {"goal": np.zeros(3), "random": 1.0, "age": 0.0}}, "random"),
        ({"memory": lambda row: {"agee": row.age}}, "did you mean 'age'"),
        ({"memory": lambda row: {"goal": row.age}}, r"goal: expected shape \(3,\)"),
        ({"memory": lambda row: {"age": row.random.uniform(0, 1, 5000)[0]}}, "random numbers"),
    ],
)
def test_bad_arguments_are_errors_that_name_them(sim, options, message):
    with pytest.raises((lw.LinkworkError, AttributeError), match=message):
        make(**{"sim": sim} | options)
