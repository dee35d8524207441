"""Commands that compute: fk, dynamics, ik."""

import json

import numpy as np
import pytest
from tests.support.commands import run_here as run

import linkwork as lw


@pytest.fixture(scope="module")
def arm():
    return lw.KinDyn(lw.robots.load("arm"), floating=False)


def test_fk_prints_the_pose_of_a_frame(arm):
    done = run(
        "fk", "arm", "tool", "--set", "elbow_pitch=30deg", "--set", "wrist_roll=-0.2", "--json"
    )
    facts = json.loads(done.stdout)
    pose = arm.transform("tool", arm.q(elbow_pitch=np.radians(30), wrist_roll=-0.2))

    assert done.returncode == 0
    np.testing.assert_allclose(facts["matrix"], pose, atol=1e-15)
    np.testing.assert_allclose(facts["position"], pose[:3, 3])
    rotation = lw.spatial.quat.to_rotation(np.array(facts["quaternion_wxyz"]))
    np.testing.assert_allclose(rotation, pose[:3, :3], atol=1e-14)
    rotation = lw.spatial.so3.from_rpy(np.array(facts["roll_pitch_yaw"]))
    np.testing.assert_allclose(rotation, pose[:3, :3], atol=1e-14)


def test_fk_for_people_has_the_same_numbers(arm):
    lines = run("fk", "arm", "tool").stdout.splitlines()
    row = next(line for line in lines if line.startswith("position"))

    assert lines[0] == "pose of tool in base"
    numbers = [float(text) for text in row.removeprefix("position [m]").split(",")]
    np.testing.assert_allclose(numbers, arm.transform("tool", arm.neutral())[:3, 3], atol=1e-6)


def test_a_position_outside_of_the_limits_is_computed_and_noted(arm):
    done = run("fk", "arm", "tool", "--set", "elbow_pitch=90", "--json")
    with pytest.warns(lw.LinkworkWarning, match="elbow_pitch"):
        pose = arm.transform("tool", arm.q(elbow_pitch=90))

    assert done.returncode == 0
    np.testing.assert_allclose(json.loads(done.stdout)["matrix"], pose, atol=1e-12)
    assert all(fact in done.stderr for fact in ("'elbow_pitch': 90", "-0.9", "2.2", "30deg"))
    assert not run("fk", "arm", "tool", "--set", "elbow_pitch=2.2").stderr


def test_the_examples_in_the_help_succeed():
    for name in ("fk", "dynamics", "ik"):
        lines = run(name, "--help").stdout.splitlines()
        example = next(line for line in lines if line.startswith("  linkwork "))

        assert run(*example.split()[1:]).returncode == 0, example


def test_warnings_of_the_file_are_counted_on_standard_error(tmp_path):
    path = tmp_path / "doubtful.urdf"
    path.write_text(lw.robots.path("pendulum").read_text().replace("<axis ", "<axis size='1' "))
    done = run("dynamics", path, "--json")

    assert json.loads(done.stdout)["total_mass"] > 0
    assert done.stderr.startswith("linkwork: warning: ")
    assert "1 warning" in done.stderr
    assert f"`linkwork check {path}`" in done.stderr


def test_fk_from_another_link():
    facts = json.loads(run("fk", "arm", "base", "--base", "tool", "--json").stdout)
    kd = lw.KinDyn(lw.robots.load("arm"), "tool", floating=False)

    np.testing.assert_allclose(facts["matrix"], kd.transform("base", kd.neutral()), atol=1e-15)
    assert facts["base"] == "tool"


def test_dynamics_as_json_holds_forces_and_matrix(arm):
    words = ("--set", "shoulder_pitch=90deg", "--velocity", "elbow_pitch=1.5")
    facts = json.loads(run("dynamics", "arm", "--fixed", *words, "--json").stdout)
    q, nu = arm.q(shoulder_pitch=np.pi / 2), np.zeros(arm.nv)
    nu[arm.layout.nu["elbow_pitch"]] = 1.5

    assert facts["total_mass"] == arm.total_mass
    assert facts["coordinates"] == list(arm.joint_names)
    np.testing.assert_allclose(facts["mass_matrix"], arm.mass_matrix(q), atol=1e-14)
    np.testing.assert_allclose(facts["gravity_force"], arm.gravity_force(q), atol=1e-13)
    np.testing.assert_allclose(facts["bias_force"], arm.bias_force(q, nu), atol=1e-13)
    assert facts["kinetic_energy"] == pytest.approx(0.5 * nu @ arm.mass_matrix(q) @ nu)


def test_dynamics_compares_forces_with_limits(arm):
    lines = run("dynamics", "arm", "--fixed", "--set", "shoulder_pitch=90deg").stdout.splitlines()
    row = next(line for line in lines if line.startswith("shoulder_pitch")).split()
    force = arm.gravity_force(arm.q(shoulder_pitch=np.pi / 2))[1]

    assert float(row[1]) == pytest.approx(force, rel=1e-5)
    assert row[3:] == ["90", f"{abs(force) / 90:.0%}"[:-1]]


def test_dynamics_prints_a_large_matrix_on_request():
    short, long = (run("dynamics", "quadruped", *more).stdout for more in ((), ("--matrix",)))

    assert "18 x 18" in short.splitlines()[-1]
    assert "--matrix" in short.splitlines()[-1]
    assert "base about z" in short
    assert len(long.splitlines()) > len(short.splitlines()) + 17


def test_ik_finds_positions_for_a_target(arm):
    pose = arm.transform("tool", arm.q(elbow_pitch=0.5, shoulder_pitch=0.4))
    position = ",".join(map(str, pose[:3, 3]))
    rpy = ",".join(map(str, lw.spatial.so3.to_rpy(pose[:3, :3])))
    done = run("ik", "arm", "tool", "--fixed", "--position", position, "--rpy", rpy, "--json")
    facts = json.loads(done.stdout)

    assert done.returncode == 0
    assert facts["converged"]
    found = arm.transform("tool", np.array(list(facts["q"].values())))
    np.testing.assert_allclose(found, pose, atol=1e-5)
    wxyz = ",".join(map(str, lw.spatial.quat.from_rotation(pose[:3, :3])))
    again = run("ik", "arm", "tool", "--fixed", "--position", position, "--wxyz", wxyz, "--json")
    assert json.loads(again.stdout)["converged"]


def test_ik_prints_the_error_of_a_target_out_of_reach():
    done = run("ik", "arm", "tool", "--fixed", "--position", "4 0 0.5", "--restarts", "2")

    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("not converged: error 3")


def test_ik_tries_as_many_starts_as_the_library(monkeypatch):
    calls = []

    def record(*_: object, **options: object) -> None:
        calls.append(options)
        raise lw.LinkworkError("recorded")

    monkeypatch.setattr("linkwork.inverse_kinematics.ik", record)
    for words in ([], ["--restarts", 3]):
        run("ik", "arm", "tool", "--fixed", "--position", "4,0,0", *words)
    assert calls == [{}, {"restarts": 3}]


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        ("fk arm tol", ["'tol'", "'tool'"]),
        ("fk arm tool --set elbow", ["--set", "joint=value", "'elbow'"]),
        ("fk arm tool --set elbow_pitch=x", ["elbow_pitch", "'x'"]),
        ("fk arm tool --set elbow_pitch=nan", ["elbow_pitch", "'nan'", "finite"]),
        ("fk arm tool --set elbow_pitch=1 --set elbow_pitch=2", ["'elbow_pitch'", "twice"]),
        ("fk arm tool --set elbow=1", ["no joint", "'elbow'"]),
        ("dynamics arm --fixed --velocity elbow_pitch=1,2", ["elbow_pitch", "1 number", "got 2"]),
        ("ik arm tool", ["--position X,Y,Z"]),
        ("ik arm tool 0.5 0.2 0.6", ["0.5 0.2 0.6", "--position"]),
        ("ik arm tool -0.5 0.2 0.6", ["-0", "--position"]),
        ("inof arm", ["'inof'", "'info'? see"]),
        ("ik arm tool --fixed --position 1,2", ["--position", "3 numbers", "got 2"]),
        ("ik arm tool --fixed --position 1,2,3 --rpy 0,0,0 --wxyz 1,0,0,0", ["--rpy", "--wxyz"]),
        ("ik arm tool --fixed --position 1,2,3 --wxyz 0,0,0,0", ["--wxyz", "zero"]),
    ],
)
def test_bad_use_is_one_line_and_exit_code_2(words, facts):
    done = run(*words.split())

    assert done.returncode == 2
    assert done.stdout == ""
    assert all(fact in done.stderr for fact in facts)
    assert len(done.stderr.splitlines()) == 1
