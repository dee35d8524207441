"""The numbered examples run, print what their README shows, and have correct physics."""

from __future__ import annotations

import re
import runpy
from functools import cache
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

import linkwork as lw

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
NUMBERED = sorted(EXAMPLES.glob("[0-9][0-9]_*.py"))
TESTED_ELSEWHERE = {  # with fewer samples or steps than their defaults
    "11_mppi_quadruped": "tests/examples/test_rollout_examples.py",
    "12_identify_payload": "tests/examples/test_identify_payload.py",
    "14_cartpole_swing_up": "tests/examples/test_rollout_examples.py",
    "15_jax_swing_up": "tests/bridges/jax_arrays/test_jax_example.py",
    "16_torch_policy": "tests/bridges/test_torch_example.py",
    "17_casadi_reach": "tests/bridges/test_casadi.py",
    "23_push_recovery": "tests/examples/test_rollout_examples.py",
    "24_train_quadruped": "tests/envs/test_train_quadruped.py",
    "25_gradient_policy": "tests/envs/test_train_quadruped.py",
    "20_whole_body_qp": "tests/examples/test_whole_body_qp.py",
}
HERE = [path.stem for path in NUMBERED if path.stem not in TESTED_ELSEWHERE]


def loaded(name):
    """Return the functions of an example."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


@cache
def ran(name):
    """Return the result of the main function of an example, and its output; run once."""
    with patch("sys.stdout", new_callable=StringIO) as printed:
        result = loaded(name)["main"]()
    return result, printed.getvalue()


def shown(name):
    """Return the output of an example in the README."""
    message = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    match = re.search(rf"^## {name}\n.*?```text\n(.*?)```", message, re.DOTALL | re.MULTILINE)
    assert match, f"README.md does not show {name}"
    return match.group(1)


def without_times(output):
    return [line for line in output.splitlines() if " ms" not in line]


def test_examples_are_numbered_without_gaps_and_all_are_tested():
    assert [int(path.stem[:2]) for path in NUMBERED] == list(range(1, len(NUMBERED) + 1))
    for name, path in TESTED_ELSEWHERE.items():
        assert f"{name}.py" in (EXAMPLES.parent / path).read_text(encoding="utf-8")


# their robots are in other packages, or they write MJCF
WITH_PEERS = ("21_cassie", "22_drop_and_settle")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.peers] * (name in WITH_PEERS)) for name in HERE],
)
def test_the_readme_shows_what_is_printed(name):
    assert without_times(ran(name)[1]) == without_times(shown(name))


@pytest.mark.parametrize("name", TESTED_ELSEWHERE)
def test_the_readme_lists_the_others_too(name):
    assert shown(name)
    assert f"python examples/{name}.py" in (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")


def test_gravity_is_compensated_and_a_push_has_a_reaction():
    result, _ = ran("02_gravity_compensation")
    assert result["falling"] > 10.0
    assert result["held"] < 1e-10
    assert result["pressed"] < 1e-10


def test_runge_kutta_keeps_the_energy():
    result, _ = ran("03_simulate_energy")
    assert result["Runge-Kutta"] < 1e-5 * result["swing"]
    assert result["Euler"] > 1e3 * result["Runge-Kutta"]


def test_the_tool_follows_the_circle():
    result, _ = ran("04_operational_space_control")
    assert result["error"] < 2e-4
    assert result["effort"] < 1.0
    np.testing.assert_allclose(result["traveled"], 0.16, atol=1e-3)


def test_the_velocity_of_the_circle_is_the_derivative_of_its_position():
    circle, step = loaded("04_operational_space_control")["circle"], 1e-6
    for t in (0.3, 0.9999995, 1.7):
        before, now, after = (circle(t + k * step, np.zeros(3)) for k in (-1, 0, 1))
        np.testing.assert_allclose((after[0] - before[0]) / (2 * step), now[1], atol=1e-8)
        np.testing.assert_allclose((after[1] - before[1]) / (2 * step), now[2], atol=1e-5)


def test_poses_are_reached_within_the_limits():
    result, _ = ran("05_inverse_kinematics")
    assert result["error"] < 1e-6
    assert result["rate"] > 0.99
    assert result["within"]
    assert result["missing"] > 0.1


@pytest.mark.parametrize("expected", ["1", "8"])
def test_the_wrenches_balance_the_robot_and_are_admissible(expected):
    result, _ = ran("06_whole_body_tick")
    example = loaded("06_whole_body_tick")
    kd = lw.KinDyn(lw.robots.load("humanoid"))
    q, remaining = example["standing"](kd), np.zeros(kd.nv)
    a, wrenches, tau = np.split(result[expected], [kd.nv, kd.nv + 12])
    wrenches = dict(zip(example["FEET"], wrenches.reshape(2, 6), strict=True))

    forces = kd.inverse_dynamics(q, remaining, a, wrenches=wrenches)
    np.testing.assert_allclose(forces, np.concatenate([np.zeros(6), tau]), atol=1e-8)
    for foot, wrench in wrenches.items():
        np.testing.assert_allclose(kd.jacobian(foot, q) @ a, 0.0, atol=1e-9)
        x, y, z, tx, ty, _ = wrench
        assert z >= -1e-8
        assert np.hypot(x, y) <= example["FRICTION"] * z + 1e-8
        assert abs(tx) <= example["HALF_WIDTH"] * z + 1e-8
        assert abs(ty) <= example["HALF_LENGTH"] * z + 1e-8
    assert (np.abs(tau) <= kd.limits.effort + 1e-8).all()


def test_the_quadratic_program_is_optimal(rng):
    """The Karush-Kuhn-Tucker conditions hold."""
    solve = loaded("06_whole_body_tick")["quadratic_program"]
    for _ in range(20):
        root, g = rng.normal(size=(8, 8)), 3 * rng.normal(size=8)
        H, A, C = root @ root.T + np.eye(8), rng.normal(size=(2, 8)), rng.normal(size=(12, 8))
        inside = rng.normal(size=8)
        b, d = A @ inside, C @ inside + rng.uniform(0.0, 1.0, size=12)
        x = solve(H, g, (A, b), (C, d))
        np.testing.assert_allclose(A @ x, b, atol=1e-9)
        assert (C @ x <= d + 1e-8).all()
        active = C[C @ x > d - 1e-7]
        gradient = H @ x + g
        normals = np.vstack([A, active]).T
        multipliers, *_ = np.linalg.lstsq(normals, -gradient, rcond=None)
        np.testing.assert_allclose(normals @ multipliers, -gradient, atol=1e-6)
        assert (multipliers[2:] >= -1e-6).all()


def test_the_humanoid_balances_on_one_foot():
    result, _ = ran("07_balance_on_one_foot")
    assert result["lifted"] > 0.10
    assert result["along"] < 0.07
    assert result["across"] < 0.04
    np.testing.assert_allclose(result["bears"], 1.0, atol=1e-2)


def test_the_workspace_is_as_large_as_the_links_are_long():
    result, _ = ran("08_workspace")
    kd = lw.KinDyn(lw.robots.load("arm"), floating=False)
    chain = ["shoulder", "upper_arm_base", "upper_arm", "elbow", "forearm", "wrist", "hand", "tool"]
    points = np.array([kd.transform(link, kd.neutral())[:3, 3] for link in chain])
    longest = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
    assert 0.95 * longest < result["reach"] <= longest
    assert 0.0 < result["volume"] < 4 / 3 * np.pi * longest**3


def test_rows_of_the_batch_agree_with_single_calls():
    assert ran("09_batch_of_states")[0]["error"] < 1e-9


def test_the_payload_acts_as_its_weight_at_the_tool():
    result, _ = ran("10_pick_and_place")
    kd = lw.KinDyn(lw.robots.load("arm"), floating=False)
    weight = np.array([0.0, 0.0, -1.5 * 9.80665, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(result["q gripped"], result["q at the box"])
    felt = result["gripped"] - result["at the box"]
    J = kd.jacobian("tool", result["q gripped"])
    np.testing.assert_allclose(felt, -J.T @ weight, atol=1e-4)
    np.testing.assert_allclose(result["box"], [0.45, 0.30, 0.10], atol=1e-5)


def test_two_arms_share_the_beam_and_squeeze_it():
    result, _ = ran("19_two_arm_grasp")
    names = ("left arm alone", "both arms", "both, squeezing")
    assert max(np.abs(result[f"nu_dot {name}"]).max() for name in names) < 1e-9
    alone, shared, squeezed = (result[f"forces {name}"][:3] for name in names)
    np.testing.assert_allclose(alone, 0.0, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(shared), 9.80665, atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(squeezed - shared), 20.0, atol=1e-8)
    assert np.abs(result["weak residual"]).max() < 1e-9
    np.testing.assert_allclose(result["lift"], [0, 0, 1, 0, 0, 0], atol=1e-9)


@pytest.mark.peers
def test_cassie_stands_and_falls():
    result, _ = ran("21_cassie")
    assert np.abs(result["nu_dot"]).max() < 1e-6
    assert np.abs(result["residual"]).max() < 1e-9
    np.testing.assert_allclose(result["carried"], 1.0, rtol=1e-9)
    assert result["height"][-1] < result["height"][0] - 0.05
    assert result["errors"] < 1e-6
    assert np.abs(result["lost"]).max() < 2e-3


@pytest.mark.peers
def test_quadrupeds_fall_and_stand():
    result, _ = ran("22_drop_and_settle")
    assert np.abs(result["nu"]).max() < 0.05
    np.testing.assert_allclose(result["q"][:, 2], 0.343, atol=2e-3)
    assert result["residual"].max() < 1e-10


def test_the_c_program_agrees_with_python():
    result, _ = ran("13_c_controller")
    np.testing.assert_allclose(result["C"], result["Python"], atol=1e-12)


def test_the_workspace_of_the_delta_robot_is_that_of_its_equations():
    """Each leg alone: the elbow is on a circle of the arm and on a sphere of the rod."""
    result, _ = ran("18_delta_workspace")
    names = ("BASE", "ARM", "ROD", "PLATFORM", "MOTOR")
    base, arm, rod, platform, (lower, upper) = map(loaded("18_delta_workspace").get, names)
    reachable = np.ones(len(result["points"]), dtype=bool)
    for yaw in (0.0, 2 * np.pi / 3, 4 * np.pi / 3):
        x, y, z = (result["points"] @ lw.spatial.so3.rot_z(yaw)).T
        x = x + platform - base  # of the end of the rod, from the motor
        # x cos(angle) - z sin(angle) = h
        h = (x**2 + y**2 + z**2 + arm**2 - rod**2) / (2 * arm)
        with np.errstate(invalid="ignore"):
            between = np.arccos(h / np.hypot(x, z))
        angles = np.arctan2(-z, x) + np.stack([-between, between])
        angles = (angles + np.pi) % (2 * np.pi) - np.pi
        reachable &= ((angles >= lower) & (angles <= upper)).any(axis=0)
    np.testing.assert_array_equal(result["converged"], reachable)


@pytest.mark.peers
@pytest.mark.parametrize("name", [n for n in HERE if "plot" in (EXAMPLES / f"{n}.py").read_text()])
def test_plots_are_drawn(name):
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    example = loaded(name)
    arrays = {
        "03_simulate_energy": [{"a": np.arange(5.0)}],
        "04_operational_space_control": [np.ones((4, 3))],
        "07_balance_on_one_foot": [np.ones((4, 2))],
        "08_workspace": [np.ones((4, 3)), np.ones(4)],
        "18_delta_workspace": [np.ones((4, 3))],
    }
    with patch.object(plt, "show") as show:
        example["show"](*arrays[name])
    show.assert_called_once()
    plt.close("all")
